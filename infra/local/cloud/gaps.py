"""Adds the parts of a stack that the local cloud's CloudFormation leaves out: the routes, authorizers, integrations and
CORS in an HTTP API's body, and the time to live of tables.

    gaps.py STACK
"""

import json
import sys

import boto3
from samtranslator.yaml_helper import yaml_parse

NO_VALUE = object()


class Stack:
    """A deployed stack, and the values of its template's functions."""

    def __init__(self, name: str):
        self.name = name
        cloudformation = boto3.client("cloudformation")
        self.template = cloudformation.get_template(StackName=name, TemplateStage="Processed")["TemplateBody"]
        if isinstance(self.template, str):
            self.template = json.loads(self.template)
        described = cloudformation.describe_stacks(StackName=name)["Stacks"][0]
        # arn:aws:cloudformation:<region>:<account>:stack/<name>/<id>
        _, partition, _, region, account, _ = described["StackId"].split(":", 5)
        self.refs = {
            "AWS::StackName": name,
            "AWS::StackId": described["StackId"],
            "AWS::Region": region,
            "AWS::Partition": partition,
            "AWS::AccountId": account,
            "AWS::URLSuffix": "amazonaws.com",
            "AWS::NoValue": NO_VALUE,
        }
        for parameter in described.get("Parameters", []):
            declared = self.template["Parameters"].get(parameter["ParameterKey"], {})
            value = parameter["ParameterValue"]
            is_list = declared.get("Type") == "CommaDelimitedList"
            self.refs[parameter["ParameterKey"]] = value.split(",") if is_list else value
        self.types = {}
        for resource in cloudformation.describe_stack_resources(StackName=name)["StackResources"]:
            self.refs[resource["LogicalResourceId"]] = resource["PhysicalResourceId"]
            self.types[resource["LogicalResourceId"]] = resource["ResourceType"]

    def attribute(self, resource: str, name: str) -> str:
        if self.types[resource] == "AWS::Lambda::Function" and name == "Arn":
            found = boto3.client("lambda").get_function(FunctionName=self.refs[resource])
            return found["Configuration"]["FunctionArn"]
        if self.types[resource] == "AWS::CloudFormation::Stack" and name.startswith("Outputs."):
            nested = boto3.client("cloudformation").describe_stacks(StackName=self.refs[resource])["Stacks"][0]
            outputs = {output["OutputKey"]: output["OutputValue"] for output in nested["Outputs"]}
            return outputs[name.removeprefix("Outputs.")]
        raise LookupError(f"no rule for {resource}.{name}")

    def holds(self, condition) -> bool:
        if isinstance(condition, str):
            return self.holds(self.template["Conditions"][condition])
        ((function, arguments),) = condition.items()
        match function:
            case "Condition":
                return self.holds(arguments)
            case "Fn::Equals":
                return self.value(arguments[0]) == self.value(arguments[1])
            case "Fn::Not":
                return not self.holds(arguments[0])
            case "Fn::And":
                return all(self.holds(each) for each in arguments)
            case "Fn::Or":
                return any(self.holds(each) for each in arguments)
        raise LookupError(f"no rule for the condition {function}")

    def value(self, node):
        if isinstance(node, list):
            values = [self.value(each) for each in node]
            return [value for value in values if value is not NO_VALUE]
        if not isinstance(node, dict):
            return node
        if len(node) == 1:
            ((function, arguments),) = node.items()
            match function:
                case "Ref":
                    return self.refs.get(arguments)
                case "Fn::GetAtt":
                    parts = arguments.split(".", 1) if isinstance(arguments, str) else arguments
                    return self.attribute(*parts)
                case "Fn::If":
                    return self.value(arguments[1 if self.holds(arguments[0]) else 2])
                case "Fn::FindInMap":
                    of, first, second = self.value(arguments[:3])
                    return self.value(self.template["Mappings"][of][str(first)][str(second)])
                case "Fn::Select":
                    return self.value(arguments[1])[int(self.value(arguments[0]))]
                case "Fn::Join":
                    return arguments[0].join(self.value(arguments[1]))
                case "Fn::Split":
                    return self.value(arguments[1]).split(arguments[0])
                case "Fn::Sub":
                    return self.substituted(arguments)
        values = {key: self.value(each) for key, each in node.items()}
        return {key: value for key, value in values.items() if value is not NO_VALUE}

    def substituted(self, arguments) -> str:
        text, extra = (arguments, {}) if isinstance(arguments, str) else arguments
        pieces = text.split("${")
        result = pieces[0]
        for piece in pieces[1:]:
            name, _, rest = piece.partition("}")
            if name in extra:
                value = self.value(extra[name])
            elif "." in name:
                value = self.attribute(*name.split(".", 1))
            else:
                value = self.refs[name]
            result += f"{value}{rest}"
        return result


def allow_origins(stack: Stack) -> None:
    """Sets the CORS of the HTTP API. The local transform uses a parameter's default instead of its value, so CORS is
    read from the original template."""
    template = boto3.client("cloudformation").get_template(StackName=stack.name, TemplateStage="Original")
    template = template["TemplateBody"]
    template = yaml_parse(template) if isinstance(template, str) else template
    for logical, resource in template["Resources"].items():
        if resource["Type"] != "AWS::Serverless::HttpApi":
            continue
        cors = stack.value(resource["Properties"].get("CorsConfiguration"))
        if cors and cors is not NO_VALUE:
            cors = {name[0].upper() + name[1:]: value for name, value in cors.items()}
            boto3.client("apigatewayv2").update_api(ApiId=stack.refs[logical], CorsConfiguration=cors)


def verb(method: str) -> str:
    return "ANY" if method == "x-amazon-apigateway-any-method" else method.upper()


def keep(wanted: dict, found: dict, make, remove) -> dict:
    """Makes the missing items, removes those that are not wanted, and does not change the others, because requests
    continue while a stack is updated. Returns the id of each wanted item."""
    for each in found.keys() - wanted.keys():
        remove(found[each])
    return {each: found[each] if each in found else make(wanted[each]) for each in wanted}


def make_routes(api: str, body: dict) -> None:
    """Makes the authorizers, integrations and routes of the API's OpenAPI body, and removes all others."""
    gateway = boto3.client("apigatewayv2")

    def items(kind: str) -> list[dict]:
        return gateway.get_paginator(f"get_{kind}").paginate(ApiId=api).build_full_result()["Items"]

    schemes = body.get("components", {}).get("securitySchemes", {})
    declared = {name: scheme["x-amazon-apigateway-authorizer"] for name, scheme in schemes.items()}
    wanted = {
        (name, scheme["identitySource"], tokens["issuer"], *tokens["audience"]): {
            "Name": name,
            "IdentitySource": [scheme["identitySource"]],
            "JwtConfiguration": {"Issuer": tokens["issuer"], "Audience": tokens["audience"]},
        }
        for name, scheme in declared.items()
        for tokens in [scheme["jwtConfiguration"]]
    }
    found = {
        (each["Name"], each["IdentitySource"][0], tokens["Issuer"], *tokens["Audience"]): each["AuthorizerId"]
        for each in items("authorizers")
        for tokens in [each["JwtConfiguration"]]
    }
    authorizers = keep(
        wanted,
        found,
        lambda each: gateway.create_authorizer(ApiId=api, AuthorizerType="JWT", **each)["AuthorizerId"],
        lambda each: gateway.delete_authorizer(ApiId=api, AuthorizerId=each),
    )
    authorizers = {name: each for (name, *_), each in authorizers.items()}

    operations = [
        (path, method, operation, operation["x-amazon-apigateway-integration"])
        for path, methods in body["paths"].items()
        for method, operation in methods.items()
    ]
    integrations = keep(
        {target["uri"]: target for *_, target in operations},
        {each["IntegrationUri"]: each["IntegrationId"] for each in items("integrations")},
        lambda each: gateway.create_integration(
            ApiId=api,
            IntegrationType="AWS_PROXY",
            IntegrationUri=each["uri"],
            PayloadFormatVersion=each["payloadFormatVersion"],
        )["IntegrationId"],
        lambda each: gateway.delete_integration(ApiId=api, IntegrationId=each),
    )

    wanted = {}
    for path, method, operation, target in operations:
        key = "$default" if path.strip("/") == "$default" else f"{verb(method)} {path}"
        needed = [name for need in operation.get("security", []) for name in need if name in authorizers]
        guard = authorizers[needed[0]] if needed else None
        way = f"integrations/{integrations[target['uri']]}"
        wanted[key, way, guard] = {"RouteKey": key, "Target": way} | (
            {"AuthorizationType": "JWT", "AuthorizerId": guard} if guard else {}
        )
    keep(
        wanted,
        {
            (each["RouteKey"], each["Target"], each.get("AuthorizerId") or None): each["RouteId"]
            for each in items("routes")
        },
        lambda each: gateway.create_route(ApiId=api, **each)["RouteId"],
        lambda each: gateway.delete_route(ApiId=api, RouteId=each),
    )


def fill_gaps(name: str) -> None:
    stack = Stack(name)
    allow_origins(stack)
    for logical, resource in stack.template["Resources"].items():
        properties = resource.get("Properties", {})
        if resource["Type"] == "AWS::ApiGatewayV2::Api":
            make_routes(stack.refs[logical], stack.value(properties["Body"]))
        if resource["Type"] == "AWS::Lambda::EventSourceMapping" and "ScalingConfig" in properties:
            # a number from a parameter arrives as a text, which would stop all deliveries
            most = int(stack.value(properties["ScalingConfig"])["MaximumConcurrency"])
            boto3.client("lambda").update_event_source_mapping(
                UUID=stack.refs[logical], ScalingConfig={"MaximumConcurrency": most}
            )
        if resource["Type"] == "AWS::DynamoDB::Table" and "TimeToLiveSpecification" in properties:
            boto3.client("dynamodb").update_time_to_live(
                TableName=stack.refs[logical],
                TimeToLiveSpecification=stack.value(properties["TimeToLiveSpecification"]),
            )


if __name__ == "__main__":
    fill_gaps(sys.argv[1])
