"""Brings the local CloudFormation in line with AWS. It refuses what AWS refuses: parameters outside their
constraints, the deletion of what is protected, and a schedule by a name that another stack has. It takes alarms on
metric math, and keeps them without looking at their metrics.
"""

import re

from ministack.services import cognito, dynamodb, scheduler
from ministack.services.cloudformation import changesets, engine, handlers, provisioners


def wrong_with(name: str, declared: dict, value: str) -> str | None:
    """What CloudFormation says of a value that breaks a constraint, in its words."""
    length, said = len(value), declared.get("ConstraintDescription")
    failed = None
    if "MinLength" in declared and length < int(declared["MinLength"]):
        failed = f"Parameter '{name}' must contain at least {declared['MinLength']} characters"
    if "MaxLength" in declared and length > int(declared["MaxLength"]):
        failed = f"Parameter '{name}' must contain at most {declared['MaxLength']} characters"
    # an empty default, where the pattern leaves room for none, is refused as well
    if "AllowedPattern" in declared and not re.fullmatch(declared["AllowedPattern"], value):
        failed = f"Parameter '{name}' must match pattern {declared['AllowedPattern']}"
    if declared.get("Type") == "Number":
        if "MinValue" in declared and float(value) < float(declared["MinValue"]):
            failed = f"Parameter '{name}' must be a number not less than {declared['MinValue']}"
        if "MaxValue" in declared and float(value) > float(declared["MaxValue"]):
            failed = f"Parameter '{name}' must be a number not greater than {declared['MaxValue']}"
    if failed and said:
        return f"Parameter {name} failed to satisfy constraint: {said}"
    return failed


def checked(resolve):
    def resolve_and_check(template, *arguments, **named):
        values = resolve(template, *arguments, **named)
        for name, declared in template.get("Parameters", {}).items():
            value = str(values[name]["Value"])
            of_a_list = declared.get("Type", "String") not in ("String", "Number")
            for each in value.split(",") if of_a_list else [value]:
                if failed := wrong_with(name, declared, each):
                    raise ValueError(failed)
        return values

    return resolve_and_check


def protected(resource: str, is_protected):
    """The resource's deletion, which fails while it is protected."""
    delete = provisioners._RESOURCE_HANDLERS[resource]["delete"]

    def refuse_or_delete(physical_id, properties):
        if is_protected(physical_id):
            raise ValueError(f"{resource} {physical_id} cannot be deleted: deletion protection is active")
        return delete(physical_id, properties)

    return refuse_or_delete


def table_is_protected(name: str) -> bool:
    return str(dynamodb._tables.get(name, {}).get("DeletionProtectionEnabled", False)).lower() == "true"


def pool_is_protected(pool: str) -> bool:
    return (cognito._user_pools.get(pool) or {}).get("DeletionProtection") == "ACTIVE"


def create_schedule(create):
    def refuse_or_create(logical_id, properties, stack_name):
        key = f"{properties.get('GroupName', 'default')}/{properties.get('Name')}"
        if key in scheduler._schedules:
            raise ValueError(f"Schedule {properties['Name']} already exists.")
        return create(logical_id, properties, stack_name)

    return refuse_or_create


def alarm_record(record):
    def record_with_math(name, properties):
        metrics = properties.get("Metrics")
        if not metrics:
            return record(name, properties)
        first = next(each["MetricStat"] for each in metrics if "MetricStat" in each)
        single = {
            "Namespace": first["Metric"]["Namespace"],
            "MetricName": first["Metric"]["MetricName"],
            "Dimensions": first["Metric"].get("Dimensions", []),
            "Statistic": first["Stat"],
            "Period": first["Period"],
        }
        rest = {key: value for key, value in properties.items() if key != "Metrics"}
        return record(name, rest | single | {"ActionsEnabled": False})

    return record_with_math


def install() -> None:
    resolve = checked(engine._resolve_parameters)
    for module in (engine, handlers, changesets):
        if hasattr(module, "_resolve_parameters"):
            module._resolve_parameters = resolve
    of = provisioners._RESOURCE_HANDLERS
    of["AWS::DynamoDB::Table"]["delete"] = protected("AWS::DynamoDB::Table", table_is_protected)
    of["AWS::Cognito::UserPool"]["delete"] = protected("AWS::Cognito::UserPool", pool_is_protected)
    of["AWS::Scheduler::Schedule"]["create"] = create_schedule(of["AWS::Scheduler::Schedule"]["create"])
    provisioners._cw_metric_alarm_record = alarm_record(provisioners._cw_metric_alarm_record)
