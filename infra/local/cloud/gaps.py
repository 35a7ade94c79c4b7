"""Fills what the local cloud's CloudFormation leaves out of a stack that it calls complete: the
routes, authorizers, integrations and CORS in an HTTP API's body, and the time to live of tables.

    gaps.py STACK
"""

import json
import sys

import boto3
from samtranslator.yaml_helper import yaml_parse

AWS_PSEUDO = {
    "AWS::Region": "us-east-1",
    "AWS::Partition": "aws",
    "AWS::AccountId": "000000000000",
    "AWS::URLSuffix": "amazonaws.com",
}


class Stack:
    """A deployed stack, and the values of its template's functions."""

    def __init__(self, name: str):
        self.name = name
        cloudformation = boto3.client("cloudformation")
        self.template = cloudformation.get_template(StackName=name, TemplateStage="Processed")["TemplateBody"]
        if isinstance(self.template, str):
            self.template = json.loads(self.template)
        described = cloudformation.describe_stacks(StackName=name)["Stacks"][0]
        self.refs = dict(AWS_PSEUDO, **{"AWS::StackName": name})
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
            return [self.value(each) for each in node]
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
                case "Fn::Join":
                    return arguments[0].join(self.value(arguments[1]))
                case "Fn::Split":
                    return self.value(arguments[1]).split(arguments[0])
                case "Fn::Sub":
                    return self.substituted(arguments)
        return {key: self.value(each) for key, each in node.items()}

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
    """Gives the HTTP API its CORS. The local transform puts a parameter's default in place of its value, so
    this is read from the template as it was written."""
    template = boto3.client("cloudformation").get_template(StackName=stack.name, TemplateStage="Original")
    template = template["TemplateBody"]
    template = yaml_parse(template) if isinstance(template, str) else template
    for logical, resource in template["Resources"].items():
        cors = stack.value(resource.get("Properties", {}).get("CorsConfiguration"))
        if resource["Type"] == "AWS::Serverless::HttpApi" and cors:
            cors = {name[0].upper() + name[1:]: value for name, value in cors.items()}
            boto3.client("apigatewayv2").update_api(ApiId=stack.refs[logical], CorsConfiguration=cors)


def make_routes(api: str, body: dict) -> None:
    """Makes the API's routes from its OpenAPI body, in place of those that are there."""
    gateway = boto3.client("apigatewayv2")
    for route in gateway.get_routes(ApiId=api)["Items"]:
        gateway.delete_route(ApiId=api, RouteId=route["RouteId"])
    for authorizer in gateway.get_authorizers(ApiId=api)["Items"]:
        gateway.delete_authorizer(ApiId=api, AuthorizerId=authorizer["AuthorizerId"])
    authorizers = {}
    schemes = body.get("components", {}).get("securitySchemes", {})
    for name, scheme in schemes.items():
        declared = scheme["x-amazon-apigateway-authorizer"]
        tokens = declared["jwtConfiguration"]
        made = gateway.create_authorizer(
            ApiId=api,
            Name=name,
            AuthorizerType="JWT",
            IdentitySource=[declared["identitySource"]],
            JwtConfiguration={"Issuer": tokens["issuer"], "Audience": tokens["audience"]},
        )
        authorizers[name] = made["AuthorizerId"]
    integrations = {}
    for path, methods in body["paths"].items():
        for method, operation in methods.items():
            declared = operation["x-amazon-apigateway-integration"]
            uri = declared["uri"]
            if uri not in integrations:
                integrations[uri] = gateway.create_integration(
                    ApiId=api,
                    IntegrationType="AWS_PROXY",
                    IntegrationUri=uri,
                    PayloadFormatVersion=declared["payloadFormatVersion"],
                )["IntegrationId"]
            verb = "ANY" if method == "x-amazon-apigateway-any-method" else method.upper()
            needed = [name for need in operation.get("security", []) for name in need if name in authorizers]
            guard = {"AuthorizationType": "JWT", "AuthorizerId": authorizers[needed[0]]} if needed else {}
            gateway.create_route(
                ApiId=api,
                RouteKey="$default" if path.strip("/") == "$default" else f"{verb} {path}",
                Target=f"integrations/{integrations[uri]}",
                **guard,
            )


def fill_gaps(name: str) -> None:
    stack = Stack(name)
    allow_origins(stack)
    for logical, resource in stack.template["Resources"].items():
        properties = resource.get("Properties", {})
        if resource["Type"] == "AWS::ApiGatewayV2::Api":
            make_routes(stack.refs[logical], stack.value(properties["Body"]))
        if resource["Type"] == "AWS::Lambda::EventSourceMapping" and "ScalingConfig" in properties:
            # a number that is a parameter arrives as a text, and stops all deliveries
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
