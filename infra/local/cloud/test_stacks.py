"""Tests stacks on the local cloud: updates, two stacks side by side, a name that is too long, given zones, deletion.

    test_stacks.py --bootstrap FILE --valkey FILE

The first file is the binary of all functions, the second a valkey-server.
"""

import argparse
import json
import os
import pathlib
import platform
import signal
import sys
import tempfile
import unittest
import urllib.error
import urllib.request

import boto3
from samtranslator.yaml_helper import yaml_parse

import results
from names import functions
from servers import INFRA, Cloud, Valkey, wait_for

GIVEN = argparse.Namespace(bootstrap=None, valkey=None)
TEMPLATE = INFRA / "template.yaml"
FUNCTIONS = functions(yaml_parse(TEMPLATE.read_text()))
PASSWORD = "Fanfold-test-1"
ZONES = ["us-east-1b", "us-east-1c"]
# kinds of resources that have a name of their own in the account and region
NAMED = (
    "AWS::Lambda::Function",
    "AWS::SQS::Queue",
    "AWS::Logs::LogGroup",
    "AWS::Scheduler::Schedule",
    "AWS::DynamoDB::Table",
    "AWS::IAM::Role",
    "AWS::IAM::ManagedPolicy",
    "AWS::Cognito::UserPool",
)


def longest_name() -> int:
    """How long a stack's name may be, by the nested templates that get it as a parameter."""
    limits = set()
    for resource in yaml_parse(TEMPLATE.read_text())["Resources"].values():
        if resource["Type"] == "AWS::Serverless::Application":
            declared = yaml_parse((INFRA / resource["Properties"]["Location"]).read_text())["Parameters"]
            passed = resource["Properties"]["Parameters"].items()
            limits |= {declared[name]["MaxLength"] for name, value in passed if value == {"Ref": "AWS::StackName"}}
    (limit,) = limits
    return int(limit)


class Refused(Exception):
    pass


class Stack:
    """A deployed stack."""

    def __init__(self, name: str, **parameters):
        self.name = name
        self.outputs = {}
        self.deploy(**parameters)

    def deploy(self, **parameters) -> None:
        # not before the environment names the local cloud
        import deploy

        machine = {"x86_64": "x86_64", "aarch64": "arm64", "arm64": "arm64"}[platform.machine()]
        # each running function is a process on this machine, which has few cores
        fixed = {"Architecture": machine, "FanOutAtOnce": "2", "BulkAtOnce": "2", "RebuildsAtOnce": "2", "DueAtOnce": "2", "WebhooksAtOnce": "2"}
        pairs = [f"{name}={value}" for name, value in (fixed | parameters).items()]
        try:
            self.outputs = deploy.deploy(self.name, TEMPLATE, GIVEN.bootstrap, pairs)
        except deploy.Failed as failed:
            raise Refused(str(failed)) from failed

    def order(self, order: dict) -> dict:
        """The answer of the function `admin` to an order."""
        name = f"{self.name}-admin"
        answer = boto3.client("lambda").invoke(FunctionName=name, Qualifier="live", Payload=json.dumps(order))
        answered = json.loads(answer["Payload"].read())
        if "errorMessage" in answered:
            raise AssertionError(f"{order}: {answered}")
        return answered

    def live(self, function: str) -> dict:
        return boto3.client("lambda").get_function_configuration(
            FunctionName=f"{self.name}-{function}", Qualifier="live"
        )

    def settings(self, setting: str) -> dict[str, str | None]:
        """The value of a setting in each function, in the version that the alias names."""
        return {each: self.live(each)["Environment"]["Variables"].get(setting) for each in FUNCTIONS}

    def versions(self) -> dict[str, int]:
        return {each: int(self.live(each)["Version"]) for each in FUNCTIONS}

    def log(self, function: str) -> list[dict]:
        events = boto3.client("logs").filter_log_events(logGroupName=f"/aws/lambda/{self.name}-{function}")["events"]
        lines = [line for event in events for line in event["message"].splitlines()]
        return [json.loads(line) for line in lines if line.startswith("{")]

    def resources(self, kind: str) -> dict[str, str]:
        """Physical ids of a type, by logical id."""
        pages = boto3.client("cloudformation").get_paginator("list_stack_resources").paginate(StackName=self.name)
        found = [each for page in pages for each in page["StackResourceSummaries"] if each["ResourceType"] == kind]
        return {each["LogicalResourceId"]: each["PhysicalResourceId"] for each in found}


class User:
    """A user of a stack, with a token and a profile."""

    def __init__(self, stack: Stack, handle: str):
        self.stack, self.handle = stack, handle
        self.api = f"{os.environ['AWS_ENDPOINT_URL']}/_aws/execute-api/{stack.outputs['ApiId']}/$default"
        pools = boto3.client("cognito-idp")
        client, pool = stack.outputs["UserPoolClientId"], stack.outputs["UserPoolId"]
        email = [{"Name": "email", "Value": f"{handle}@example.com"}]
        pools.sign_up(ClientId=client, Username=handle, Password=PASSWORD, UserAttributes=email)
        pools.admin_confirm_sign_up(UserPoolId=pool, Username=handle)
        signed_in = pools.initiate_auth(
            ClientId=client,
            AuthFlow="USER_PASSWORD_AUTH",
            AuthParameters={"USERNAME": handle, "PASSWORD": PASSWORD},
        )
        self.token = signed_in["AuthenticationResult"]["AccessToken"]
        self.must("PUT", "/v1/me", {"handle": handle, "name": handle.title()})

    def ask(self, method: str, path: str, body: dict | None = None) -> tuple[int, dict]:
        headers = {"Authorization": f"Bearer {self.token}", "Content-Type": "application/json"}
        data = json.dumps(body).encode() if body else None
        request = urllib.request.Request(self.api + path, data, headers, method=method)
        try:
            with urllib.request.urlopen(request, timeout=20) as answer:
                status, said = answer.status, answer.read()
        except urllib.error.HTTPError as refused:
            status, said = refused.code, refused.read()
        return status, json.loads(said or b"{}")

    def must(self, method: str, path: str, body: dict | None = None) -> dict:
        status, said = self.ask(method, path, body)
        if not 200 <= status < 300:
            raise AssertionError(f"{method} {path}: {status} {said}")
        return said

    def publish(self, text: str) -> str:
        return self.must("POST", "/v1/posts", {"text": text})["id"]

    def follow(self, handle: str) -> None:
        self.must("PUT", f"/v1/users/@{handle}/follow")

    def feed(self) -> list[str]:
        """The texts of the home feed, newest first."""
        return [item["text"] for item in self.must("GET", "/v1/timeline")["items"]]

    def has(self, *texts: str) -> None:
        """Waits until the home feed holds these texts and nothing else."""
        try:
            wait_for("a home feed", lambda: self.feed() == list(texts))
        except TimeoutError:
            raise AssertionError(f"{self.handle} of {self.stack.name} reads {self.feed()}, not {list(texts)}") from None


def inventory() -> set[tuple[str, str]]:
    """All resources in the account, of every kind that a stack makes."""
    found = set()

    def add(kind: str, service: str, operation: str, path: str, name: str | None = None, **arguments) -> None:
        client = boto3.client(service)
        if client.can_paginate(operation):
            pages = list(client.get_paginator(operation).paginate(**arguments))
        else:
            pages = [getattr(client, operation)(**arguments)]
        found.update((kind, each[name] if name else each) for page in pages for each in page.get(path, []))

    add("function", "lambda", "list_functions", "Functions", "FunctionName")
    add("event source", "lambda", "list_event_source_mappings", "EventSourceMappings", "UUID")
    add("queue", "sqs", "list_queues", "QueueUrls")
    add("table", "dynamodb", "list_tables", "TableNames")
    add("user pool", "cognito-idp", "list_user_pools", "UserPools", "Id", MaxResults=60)
    add("schedule", "scheduler", "list_schedules", "Schedules", "Name")
    add("log group", "logs", "describe_log_groups", "logGroups", "logGroupName")
    add("alarm", "cloudwatch", "describe_alarms", "MetricAlarms", "AlarmName")
    add("composite alarm", "cloudwatch", "describe_alarms", "CompositeAlarms", "AlarmName")
    add("dashboard", "cloudwatch", "list_dashboards", "DashboardEntries", "DashboardName")
    add("API", "apigatewayv2", "get_apis", "Items", "ApiId")
    add("configuration", "appconfig", "list_applications", "Items", "Id")
    add("topic", "sns", "list_topics", "Topics", "TopicArn")
    add("role", "iam", "list_roles", "Roles", "RoleName")
    add("policy", "iam", "list_policies", "Policies", "Arn", Scope="Local")
    add("VPC", "ec2", "describe_vpcs", "Vpcs", "VpcId")
    add("subnet", "ec2", "describe_subnets", "Subnets", "SubnetId")
    add("security group", "ec2", "describe_security_groups", "SecurityGroups", "GroupId")
    add("endpoint", "ec2", "describe_vpc_endpoints", "VpcEndpoints", "VpcEndpointId")
    return found


EVERYTHING = {
    "function",
    "event source",
    "queue",
    "table",
    "user pool",
    "schedule",
    "log group",
    "alarm",
    "dashboard",
    "API",
    "configuration",
    "topic",
    "role",
    "policy",
    "VPC",
    "subnet",
    "security group",
    "endpoint",
}


def delete(name: str) -> str:
    """Deletes a stack, and says how it ended."""
    cloudformation = boto3.client("cloudformation")
    stack_id = cloudformation.describe_stacks(StackName=name)["Stacks"][0]["StackId"]
    cloudformation.delete_stack(StackName=stack_id)

    def status() -> str | None:
        now = cloudformation.describe_stacks(StackName=stack_id)["Stacks"][0]
        return None if now["StackStatus"].endswith("_IN_PROGRESS") else now["StackStatus"]

    return wait_for("the deletion", status, 30)


class Stacks(unittest.TestCase):
    """Two stacks in one account and region, each with a Valkey of its own. One has the longest name."""

    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory(prefix="fanfold-")
        cls.addClassCleanup(folder.cleanup)
        folder = pathlib.Path(folder.name)
        cls.addClassCleanup(Cloud(folder).stop)
        cls.valkeys = []
        for _ in range(3):
            cls.valkeys.append(Valkey(GIVEN.valkey, folder))
            cls.addClassCleanup(cls.valkeys[-1].stop)
        cls.short = Stack("short", ValkeyUrl=cls.valkeys[0].url, Zones=",".join(ZONES), LogLevel="warn")
        cls.long = Stack(("long-name" * 20)[: longest_name()], ValkeyUrl=cls.valkeys[1].url)

    def test_a_change_of_parameters_reaches_what_runs(self):
        stack = self.short
        ash = User(stack, "ash_updated")
        before = stack.versions()
        for level, cap in (("debug", "40"), ("warn", "50"), ("debug", "40")):
            stack.deploy(LogLevel=level, FeedCap=cap)
            after = stack.versions()
            for function in FUNCTIONS:
                self.assertGreater(after[function], before[function], f"{function} runs an old version")
            self.assertEqual(set(stack.settings("LOG_LEVEL").values()), {level})
            self.assertEqual(set(stack.settings("FEED_CAP").values()), {cap})
            post = ash.publish(f"{level} {cap}")
            if level == "debug":
                wait_for("the line of a published post", lambda: self.published(stack, post))
                wait_for("lines for debugging", lambda: self.has_level(stack, "DEBUG"))
            before = after
        # the posts between were published by functions that do not tell it
        self.assertEqual(len([line for line in stack.log("posts") if line.get("message") == "published"]), 2)

    def test_a_parameter_of_one_function_can_be_changed(self):
        before = self.short.versions()
        self.short.deploy(AuditFeeds="20")
        self.assertEqual(self.short.settings("AUDIT_FEEDS")["audit"], "20")
        self.assertGreater(self.short.versions()["audit"], before["audit"])

    @staticmethod
    def has_level(stack: Stack, level: str) -> bool:
        return any(line.get("level") == level for line in stack.log("posts"))

    @staticmethod
    def published(stack: Stack, post: str) -> bool:
        lines = stack.log("posts")
        return any(line.get("message") == "published" and line.get("post") == post for line in lines)

    def test_a_deployment_without_a_change_publishes_nothing(self):
        before = self.long.versions()
        self.long.deploy(ValkeyUrl=self.valkeys[1].url)
        # and one that no function sees
        self.long.deploy(LogDays="7")
        self.assertEqual(self.long.versions(), before)
        for function in FUNCTIONS:
            name = f"{self.long.name}-{function}"
            published = boto3.client("lambda").list_versions_by_function(FunctionName=name)["Versions"]
            self.assertEqual({each["Version"] for each in published}, {"$LATEST", str(before[function])})

    def test_another_valkey_takes_over_at_once(self):
        stack, (first, _, second) = self.short, self.valkeys
        ash, birch = User(stack, "ash_moved"), User(stack, "birch_moved")
        birch.follow(ash.handle)
        texts = ["before"]
        ash.publish("before")
        birch.has("before")
        self.assertTrue(first.keys())
        self.assertEqual(second.keys(), set())
        for valkey, other, text in ((second, first, "between"), (first, second, "after")):
            stack.deploy(ValkeyUrl=valkey.url)
            # what it knew of an earlier time is wrong by now
            stack.order({"do": "begin-memory"})
            quiet = other.keys()
            ash.publish(text)
            texts.insert(0, text)
            birch.has(*texts)
            self.assertTrue(valkey.keys(), "functions do not write to the new Valkey")
            self.assertLessEqual(other.keys(), quiet, "functions still write to the old Valkey")

    def test_two_stacks_do_not_see_each_other(self):
        first = [User(self.short, name) for name in ("ash", "birch")]
        second = [User(self.long, name) for name in ("ash", "cedar")]
        for ash, reader in (first, second):
            reader.follow("ash")
            ash.publish(f"of {ash.stack.name}")
            reader.has(f"of {ash.stack.name}")
            wait_for("a count of followers", lambda: reader.must("GET", "/v1/users/@ash")["followers"] == 1)
        self.assertEqual(first[0].ask("GET", "/v1/users/@cedar")[0], 404)
        self.assertEqual(second[0].ask("GET", "/v1/users/@birch")[0], 404)
        first[1].token, second[1].token = second[1].token, first[1].token
        for stranger in (first[1], second[1]):
            self.assertEqual(stranger.ask("GET", "/v1/timeline")[0], 401)

    def test_each_stack_has_schedules_and_names_of_its_own(self):
        self.assertEqual(len(self.long.name), longest_name())
        for stack in (self.short, self.long):
            schedules = stack.resources("AWS::Scheduler::Schedule").values()
            self.assertEqual(len(schedules), 3)
            for name in schedules:
                self.assertTrue(name.startswith(f"{stack.name}-"), name)
                schedule = boto3.client("scheduler").get_schedule(Name=name)
                self.assertEqual(schedule["State"], "ENABLED")
                function = schedule["Target"]["Arn"].split(":function:")[1]
                self.assertRegex(function, rf"^{stack.name}-(audit|lookahead|sweep):live$")
        for kind in NAMED:
            one, other = (set(stack.resources(kind).values()) for stack in (self.short, self.long))
            self.assertTrue(one and other, kind)
            self.assertEqual(one & other, set())

    def test_everything_that_calls_a_function_calls_its_alias(self):
        functions, gateway = boto3.client("lambda"), boto3.client("apigatewayv2")
        for stack in (self.short, self.long):
            targets = {}
            for mapping in stack.resources("AWS::Lambda::EventSourceMapping").values():
                targets[mapping] = functions.get_event_source_mapping(UUID=mapping)["FunctionArn"]
            self.assertEqual(len(targets), 8)
            for schedule in stack.resources("AWS::Scheduler::Schedule").values():
                targets[schedule] = boto3.client("scheduler").get_schedule(Name=schedule)["Target"]["Arn"]
            integrations = gateway.get_integrations(ApiId=stack.outputs["ApiId"])["Items"]
            self.assertEqual(len(integrations), 5)
            for each in integrations:
                targets[each["IntegrationId"]] = each["IntegrationUri"].removesuffix("/invocations")
            for target, arn in targets.items():
                self.assertRegex(arn, rf":function:{stack.name}-[a-z]+:live$", target)
            for function in ("audit", "lookahead", "sweep"):
                name = f"{stack.name}-{function}"
                kept = functions.get_function_event_invoke_config(FunctionName=name, Qualifier="live")
                self.assertIn("schedules-dead", kept["DestinationConfig"]["OnFailure"]["Destination"])
            for nested in stack.resources("AWS::CloudFormation::Stack").values():
                described = boto3.client("cloudformation").describe_stacks(StackName=nested)["Stacks"][0]
                for parameter in described["Parameters"]:
                    self.assertNotRegex(parameter["ParameterValue"], r"\$LATEST|:function:")

    def test_subnets_are_in_the_given_zones_or_in_the_first_two(self):
        ec2 = boto3.client("ec2")
        first_two = sorted(zone["ZoneName"] for zone in ec2.describe_availability_zones()["AvailabilityZones"])[:2]
        for stack, zones in ((self.short, ZONES), (self.long, first_two)):
            (network,) = (
                arn for name, arn in stack.resources("AWS::CloudFormation::Stack").items() if name.startswith("Vpc")
            )
            described = boto3.client("cloudformation").describe_stacks(StackName=network)["Stacks"][0]
            (vpc,) = (each["OutputValue"] for each in described["Outputs"] if each["OutputKey"] == "VpcId")
            subnets = ec2.describe_subnets(Filters=[{"Name": "vpc-id", "Values": [vpc]}])["Subnets"]
            self.assertEqual(sorted(subnet["AvailabilityZone"] for subnet in subnets), zones)
            endpoints = [each for each in ec2.describe_vpc_endpoints()["VpcEndpoints"] if each["VpcId"] == vpc]
            placed = [endpoint["SubnetIds"] for endpoint in endpoints if endpoint.get("SubnetIds")]
            self.assertEqual(placed, [[subnet["SubnetId"] for subnet in subnets]])

    def test_zones_that_are_not_two_are_refused(self):
        for zones in ("us-east-1a", "us-east-1a,us-east-1b,us-east-1c", "us-east-1a us-east-1b"):
            with self.assertRaisesRegex(Refused, "Zones.*two availability zones"):
                Stack("zones", ValkeyUrl=self.valkeys[2].url, Zones=zones)

    def test_a_name_that_is_too_long_is_refused(self):
        before, longest = inventory(), longest_name()
        name = "t" * (longest + 1)
        with self.assertRaisesRegex(Refused, rf"stack's name.* {longest} characters"):
            Stack(name, ValkeyUrl=self.valkeys[2].url)
        self.assertEqual(inventory() - before, set())

    def test_tables_and_the_user_pool_stay_when_a_stack_is_deleted(self):
        before = inventory()
        stack = Stack("deleted", ValkeyUrl=self.valkeys[2].url)
        ash = User(stack, "ash")
        ash.publish("kept")
        made = inventory() - before
        kinds = {kind for kind, _ in made}
        self.assertLessEqual(EVERYTHING, kinds, "the inventory sees too little")
        self.assertEqual(delete(stack.name), "DELETE_COMPLETE")
        kept = {("table", stack.outputs[name]) for name in ("UsersTable", "PostsTable", "GraphTable", "DueTable", "MarksTable", "BoardsTable")}
        kept.add(("user pool", stack.outputs["UserPoolId"]))
        self.assertEqual(inventory() - before, kept)
        table = boto3.client("dynamodb").describe_table(TableName=stack.outputs["PostsTable"])["Table"]
        self.assertTrue(table["DeletionProtectionEnabled"])
        self.assertGreater(boto3.client("dynamodb").scan(TableName=stack.outputs["PostsTable"])["Count"], 0)
        pool = boto3.client("cognito-idp").describe_user_pool(UserPoolId=stack.outputs["UserPoolId"])["UserPool"]
        self.assertEqual(pool["DeletionProtection"], "ACTIVE")


if __name__ == "__main__":
    options = argparse.ArgumentParser()
    options.add_argument("--bootstrap", type=pathlib.Path, required=True)
    options.add_argument("--valkey", type=pathlib.Path, required=True)
    options.parse_args(namespace=GIVEN)
    # unittest takes any other exception for a failed test, and goes on
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    sys.exit(results.run(Stacks))
