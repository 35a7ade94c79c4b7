"""Makes the local CloudFormation behave like AWS. It refuses to delete a protected table or user pool, and to create a
schedule with a name that another stack has. It accepts alarms on metric math, but does not evaluate them.
"""

from ministack.services import cognito, dynamodb, scheduler
from ministack.services.cloudformation import provisioners


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
    of = provisioners._RESOURCE_HANDLERS
    of["AWS::DynamoDB::Table"]["delete"] = protected("AWS::DynamoDB::Table", table_is_protected)
    of["AWS::Cognito::UserPool"]["delete"] = protected("AWS::Cognito::UserPool", pool_is_protected)
    of["AWS::Scheduler::Schedule"]["create"] = create_schedule(of["AWS::Scheduler::Schedule"]["create"])
    provisioners._cw_metric_alarm_record = alarm_record(provisioners._cw_metric_alarm_record)
