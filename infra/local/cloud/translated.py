"""The templates as AWS sees them: infra/template.yaml as SAM translates it, nested templates as they are written, and
the values of their intrinsic functions.

Values that only AWS knows (ids, endpoints) are replaced by tokens of the same length. A token depends on the resource's
create-only properties, and the number of a hosted configuration on its content, so that a comparison shows what
CloudFormation replaces.
"""

import copy
import functools
import hashlib
import ipaddress
import logging
import os
import pathlib
import re

os.environ.setdefault("AWS_DEFAULT_REGION", "us-east-1")
logging.disable(logging.WARNING)

from samtranslator.open_api import open_api  # noqa: E402
from samtranslator.translator.transform import transform  # noqa: E402
from samtranslator.yaml_helper import yaml_parse  # noqa: E402

# The translator copies the description of the API several times for each route, which is most of its time. It changes
# the copy and puts it in the place of the original, so it may change the original.
open_api._deepcopy = lambda document: document

ROOT = pathlib.Path(__file__).resolve().parents[3]
# the folder of the templates; a copy can be tested instead
INFRA = pathlib.Path(os.environ.get("FANFOLD_TEMPLATES", ROOT / "infra"))

ACCOUNT = "123456789012"
NESTED = "AWS::CloudFormation::Stack"
# the suffix that CloudFormation appends to names that it generates
UNIQUE = "1ABCDEFGHIJKL"
NO_VALUE = object()


@functools.cache
def written(file: str) -> dict:
    """A template as it is written."""
    return yaml_parse((INFRA / file).read_text())


def digest(value) -> str:
    return hashlib.sha256(repr(value).encode()).hexdigest()


class NoPolicies:
    """The template names no managed policy by its short name."""

    def load(self) -> dict:
        return {}


def translated(parameters: dict[str, str]) -> dict:
    """infra/template.yaml as the SAM transform leaves it for these parameters."""
    template = copy.deepcopy(written("template.yaml"))
    template["Globals"]["Function"].pop("CodeUri")
    for resource in template["Resources"].values():
        if resource["Type"] == "AWS::Serverless::Function":
            resource["Properties"]["CodeUri"] = {"Bucket": "artifacts", "Key": "function.zip"}
    return transform(template, parameters, NoPolicies())


class Stack:
    """A template with values for its parameters: `resources` are those whose conditions hold, resolved."""

    def __init__(self, template: dict, parameters: dict, name: str, region: str, partition: str = "aws"):
        self.template = template
        declared = template.get("Parameters", {})
        unknown = set(parameters) - set(declared)
        assert not unknown, f"no such parameters: {unknown}"
        self.values = {}
        for key, parameter in declared.items():
            value = parameters.get(key, parameter.get("Default"))
            assert value is not None, f"no value for {key}"
            is_list = parameter["Type"] == "CommaDelimitedList" and not isinstance(value, list)
            self.values[key] = value.split(",") if is_list else value
        self.name, self.region, self.partition = name, region, partition
        unique = digest(name)
        self.pseudo = {
            "AWS::StackName": name,
            "AWS::StackId": f"arn:{partition}:cloudformation:{region}:{ACCOUNT}:stack/{name}/"
            f"{unique[:8]}-{unique[8:12]}-{unique[12:16]}-{unique[16:20]}-{unique[20:32]}",
            "AWS::Region": region,
            "AWS::Partition": partition,
            "AWS::AccountId": ACCOUNT,
            "AWS::URLSuffix": "amazonaws.com",
            "AWS::NoValue": NO_VALUE,
        }
        # nested stacks are one per logical id
        self.nested = {}
        self.tokens = {}
        self.resolved = {}

    def __getitem__(self, logical: str) -> dict:
        """A resource's resolved properties."""
        if logical not in self.resolved:
            self.resolved[logical] = self.resolve(self.template["Resources"][logical].get("Properties", {}))
        return self.resolved[logical]

    @functools.cached_property
    def resources(self) -> dict[str, dict]:
        resources = self.template["Resources"].items()
        return {logical: resource for logical, resource in resources if self.exists(resource)}

    def of_type(self, kind: str) -> dict[str, dict]:
        """The resolved properties of the resources of a type that exist."""
        return {each: self[each] for each, resource in self.resources.items() if resource["Type"] == kind}

    def exists(self, resource: dict) -> bool:
        return "Condition" not in resource or self.holds({"Condition": resource["Condition"]})

    def stack(self, logical: str) -> "Stack":
        """A nested stack."""
        if logical not in self.nested:
            properties = self[logical]
            self.nested[logical] = Stack(
                written(properties["TemplateURL"]),
                properties["Parameters"],
                f"{self.name}-{logical}-{UNIQUE}",
                self.region,
                self.partition,
            )
        return self.nested[logical]

    def all(self) -> dict[str, "Stack"]:
        """The template and the nested ones, by file."""
        stacks = {self[each]["TemplateURL"]: self.stack(each) for each in self.of_type(NESTED)}
        return {"template.yaml": self, **stacks}

    def output(self, name: str):
        return self.resolve(self.template["Outputs"][name]["Value"])

    # ---- intrinsic functions ----

    def holds(self, condition) -> bool:
        ((function, arguments),) = condition.items()
        match function:
            case "Condition":
                return self.holds(self.template["Conditions"][arguments])
            case "Fn::Equals":
                left, right = (self.resolve(each) for each in arguments)
                return text(left) == text(right)
            case "Fn::Not":
                return not self.holds(arguments[0])
            case "Fn::And":
                return all(self.holds(each) for each in arguments)
            case "Fn::Or":
                return any(self.holds(each) for each in arguments)
        raise LookupError(f"no rule for the condition {function}")

    def resolve(self, node):
        if isinstance(node, list):
            return [value for value in map(self.resolve, node) if value is not NO_VALUE]
        if not isinstance(node, dict):
            return node
        if len(node) == 1:
            ((function, arguments),) = node.items()
            if function == "Ref" or function.startswith("Fn::"):
                return self.call(function, arguments)
        values = {key: self.resolve(value) for key, value in node.items()}
        return {key: value for key, value in values.items() if value is not NO_VALUE}

    def call(self, function: str, arguments):
        match function:
            case "Ref":
                return self.ref(arguments)
            case "Fn::GetAtt":
                parts = arguments.split(".", 1) if isinstance(arguments, str) else arguments
                return self.attribute(parts[0], ".".join(parts[1:]))
            case "Fn::If":
                return self.resolve(arguments[1 if self.holds({"Condition": arguments[0]}) else 2])
            case "Fn::Sub":
                return self.substituted(arguments)
            case "Fn::GetAZs":
                return [f"{self.region}{zone}" for zone in "abc"]
        arguments = self.resolve(arguments)
        match function:
            case "Fn::Join":
                return arguments[0].join(map(text, arguments[1]))
            case "Fn::Split":
                return arguments[1].split(arguments[0])
            case "Fn::Select":
                return arguments[1][int(arguments[0])]
            case "Fn::FindInMap":
                table, first, second = arguments
                return self.template["Mappings"][table][text(first)][second]
            case "Fn::Cidr":
                block, count, bits = arguments
                subnets = ipaddress.ip_network(block).subnets(new_prefix=32 - int(bits))
                return [str(next(subnets)) for _ in range(int(count))]
        raise LookupError(f"no rule for {function}")

    def substituted(self, arguments) -> str:
        pattern, variables = (arguments, {}) if isinstance(arguments, str) else arguments

        def value(found: re.Match) -> str:
            name = found[1]
            if name.startswith("!"):
                return f"${{{name[1:]}}}"
            if name in variables:
                return text(self.resolve(variables[name]))
            return text(self.attribute(*name.split(".", 1)) if "." in name else self.ref(name))

        return re.sub(r"\$\{([^}]+)\}", value, pattern)

    def ref(self, name: str):
        if name in self.values:
            return self.values[name]
        if name in self.pseudo:
            return self.pseudo[name]
        kind = self.kind(name)
        named = self.given_name(name)
        match kind:
            case "AWS::SQS::Queue":
                return f"https://sqs.{self.region}.amazonaws.com/{ACCOUNT}/{named}"
            case "AWS::IAM::ManagedPolicy":
                return f"arn:{self.partition}:iam::{ACCOUNT}:policy/{named}"
            case "AWS::SNS::Topic":
                return f"arn:{self.partition}:sns:{self.region}:{ACCOUNT}:{named}"
            case "AWS::AppConfig::HostedConfigurationVersion":
                return str(10000 + int(digest(self[name]), 16) % 90000)
        return named

    def attribute(self, logical: str, name: str):
        kind = self.kind(logical)
        if kind == NESTED:
            return self.stack(logical).output(name.removeprefix("Outputs."))
        if name == "Arn":
            service = {
                "AWS::SQS::Queue": "sqs::{}",
                "AWS::DynamoDB::Table": "dynamodb::table/{}",
                "AWS::Lambda::Function": "lambda::function:{}",
                "AWS::Logs::LogGroup": "logs::log-group:{}:*",
                "AWS::IAM::Role": "iam::role/{}",
            }[kind]
            service, _, rest = service.partition("::")
            return f"arn:{self.partition}:{service}:{self.region}:{ACCOUNT}:{rest.format(self.given_name(logical))}"
        # endpoints and ids: as long as they are
        return f"{self.token(logical)}.{name}"

    def kind(self, logical: str) -> str:
        assert logical in self.resources, f"{logical} does not exist here"
        return self.resources[logical]["Type"]

    def given_name(self, logical: str) -> str:
        properties = self.resources[logical].get("Properties", {})
        for key in NAMES.get(self.kind(logical), ()):
            if key in properties:
                return self.resolve(properties[key])
        return self.token(logical)

    def token(self, logical: str) -> str:
        """A value that AWS generates for a resource. A resource that CloudFormation replaces gets another value."""
        if logical not in self.tokens:
            unique = digest((self.name, logical, self.create_only(logical)))
            is_nested = self.name.endswith(UNIQUE)
            token = f"{logical}-{unique[:17]}" if is_nested else f"{self.name}-{logical}-{unique[: len(UNIQUE)].upper()}"
            self.tokens[logical] = token
        return self.tokens[logical]

    def create_only(self, logical: str) -> dict:
        """The properties that CloudFormation cannot change: it replaces the resource."""
        resource = self.resources[logical]
        properties = resource.get("Properties", {})
        fixed = {key: properties[key] for key in CREATE_ONLY[resource["Type"]] if key in properties}
        return self.resolve(fixed)


# The createOnlyProperties of each type that the templates use, from CloudFormation's resource schemas. Of other
# services' options that no template here uses, some are left out.
CREATE_ONLY = {
    "AWS::ApiGatewayV2::Api": ("ProtocolType",),
    "AWS::ApiGatewayV2::Stage": ("StageName", "ApiId"),
    "AWS::AppConfig::Application": (),
    "AWS::AppConfig::ConfigurationProfile": ("LocationUri", "Type", "ApplicationId"),
    "AWS::AppConfig::HostedConfigurationVersion": (
        "ApplicationId",
        "ConfigurationProfileId",
        "Description",
        "Content",
        "ContentType",
        "LatestVersionNumber",
        "VersionLabel",
    ),
    "AWS::CloudFormation::Stack": (),
    "AWS::CloudFormation::WaitConditionHandle": (),
    "AWS::CloudWatch::Alarm": ("AlarmName",),
    "AWS::CloudWatch::Dashboard": ("DashboardName",),
    "AWS::CodeDeploy::Application": ("ApplicationName", "ComputePlatform"),
    "AWS::CodeDeploy::DeploymentGroup": ("DeploymentGroupName", "ApplicationName"),
    "AWS::Cognito::UserPool": (),
    "AWS::Cognito::UserPoolClient": ("GenerateSecret", "UserPoolId"),
    "AWS::DynamoDB::Table": ("TableName", "ImportSourceSpecification", "KeySchema"),
    "AWS::EC2::RouteTable": ("VpcId",),
    "AWS::EC2::SecurityGroup": ("GroupDescription", "GroupName", "VpcId"),
    "AWS::EC2::Subnet": ("VpcId", "AvailabilityZone", "AvailabilityZoneId", "CidrBlock", "Ipv6CidrBlock", "OutpostArn"),
    "AWS::EC2::SubnetRouteTableAssociation": ("SubnetId", "RouteTableId"),
    "AWS::EC2::VPC": ("CidrBlock", "InstanceTenancy"),
    "AWS::EC2::VPCEndpoint": ("ServiceName", "VpcEndpointType", "VpcId", "ServiceRegion"),
    "AWS::ElastiCache::ParameterGroup": ("CacheParameterGroupFamily",),
    "AWS::ElastiCache::ReplicationGroup": (
        "AtRestEncryptionEnabled",
        "CacheSubnetGroupName",
        "DataTieringEnabled",
        "GlobalReplicationGroupId",
        "KmsKeyId",
        "NetworkType",
        "Port",
        "PreferredCacheClusterAZs",
        "ReplicationGroupId",
        "SnapshotArns",
        "SnapshotName",
    ),
    "AWS::ElastiCache::ServerlessCache": (
        "ServerlessCacheName",
        "KmsKeyId",
        "SnapshotArnsToRestore",
        "SubnetIds",
        "NetworkType",
        "ConnectionType",
    ),
    "AWS::ElastiCache::SubnetGroup": ("CacheSubnetGroupName",),
    "AWS::ElastiCache::User": ("UserId", "UserName"),
    "AWS::ElastiCache::UserGroup": ("UserGroupId",),
    "AWS::IAM::ManagedPolicy": ("ManagedPolicyName", "Description", "Path"),
    "AWS::IAM::Role": ("Path", "RoleName"),
    "AWS::KMS::Key": (),
    "AWS::Lambda::Alias": ("Name", "FunctionName"),
    "AWS::Lambda::EventInvokeConfig": ("FunctionName", "Qualifier"),
    "AWS::Lambda::EventSourceMapping": ("EventSourceArn", "StartingPosition", "StartingPositionTimestamp"),
    "AWS::Lambda::Function": ("FunctionName", "PackageType", "TenancyConfig", "DurableConfig"),
    "AWS::Lambda::Permission": (
        "FunctionName",
        "FunctionUrlAuthType",
        "SourceAccount",
        "SourceArn",
        "Principal",
        "PrincipalOrgID",
        "Action",
        "EventSourceToken",
    ),
    "AWS::Lambda::Version": ("FunctionName", "Description", "CodeSha256", "ProvisionedConcurrencyConfig"),
    "AWS::Logs::LogGroup": ("LogGroupName",),
    "AWS::SNS::Subscription": ("Endpoint", "Protocol", "TopicArn"),
    "AWS::SNS::Topic": ("TopicName", "FifoTopic"),
    "AWS::SQS::Queue": ("FifoQueue", "QueueName"),
    "AWS::Scheduler::Schedule": ("Name",),
}

# Properties by which there can be only one of a type, where it is not a name.
ONLY_ONE = {
    "AWS::ApiGatewayV2::Stage": ("ApiId", "StageName"),
    "AWS::AppConfig::ConfigurationProfile": ("ApplicationId", "Name"),
    "AWS::EC2::Subnet": ("VpcId", "CidrBlock"),
    "AWS::EC2::SubnetRouteTableAssociation": ("SubnetId",),
    "AWS::EC2::VPCEndpoint": ("VpcId", "ServiceName"),
    "AWS::Lambda::Alias": ("FunctionName", "Name"),
    "AWS::Lambda::EventInvokeConfig": ("FunctionName", "Qualifier"),
    "AWS::Lambda::EventSourceMapping": ("FunctionName", "EventSourceArn"),
}

# Names that a template gives, by type. Each is unique in an account and region, or in an account.
NAMES = {
    "AWS::AppConfig::Application": ("Name",),
    "AWS::CloudWatch::Alarm": ("AlarmName",),
    "AWS::CloudWatch::Dashboard": ("DashboardName",),
    "AWS::Cognito::UserPool": ("UserPoolName",),
    "AWS::ElastiCache::ReplicationGroup": ("ReplicationGroupId",),
    "AWS::ElastiCache::ServerlessCache": ("ServerlessCacheName",),
    "AWS::ElastiCache::SubnetGroup": ("CacheSubnetGroupName",),
    "AWS::ElastiCache::User": ("UserId",),
    "AWS::ElastiCache::UserGroup": ("UserGroupId",),
    "AWS::Lambda::Function": ("FunctionName",),
    "AWS::Logs::LogGroup": ("LogGroupName",),
    "AWS::SNS::Topic": ("TopicName",),
    "AWS::SQS::Queue": ("QueueName",),
    "AWS::Scheduler::Schedule": ("Name",),
}


def text(value) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)


@functools.cache
def deployed(name: str = "fanfold", region: str = "us-east-1", partition: str = "aws", **parameters: str) -> Stack:
    """The stack with these parameters, and defaults for the others."""
    given = {key: str(value) for key, value in parameters.items()}
    return Stack(translated(given), given, name, region, partition)
