"""Tests infra/template.yaml, as SAM translates it, against rules of AWS that the local cloud does not have: replaced
resources after a change of a parameter, names, quotas, retained resources, and costs.

    test_template.py

It needs no server. FANFOLD_TEMPLATES names a folder with other templates to test.
"""

import base64
import functools
import itertools
import json
import math
import re
import sys
import unittest
from collections.abc import Iterator

from idle_cost import by_kind, open_cost
from translated import INFRA, NAMES, ONLY_ONE, ROOT, Stack, deployed, text, written

FUNCTION, VERSION, ALIAS = "AWS::Lambda::Function", "AWS::Lambda::Version", "AWS::Lambda::Alias"
SOURCE, QUEUE, ALARM = "AWS::Lambda::EventSourceMapping", "AWS::SQS::Queue", "AWS::CloudWatch::Alarm"
ROLE, POLICY, GROUP = "AWS::IAM::Role", "AWS::IAM::ManagedPolicy", "AWS::Logs::LogGroup"

RUNBOOK = ROOT / "infra/RUNBOOK.md"
PARAMETERS = written("template.yaml")["Parameters"]
GIVEN = {
    "Network": "given",
    "VpcId": "vpc-0123456789abcdef0",
    "SubnetIds": "subnet-0123456789abcdef0,subnet-0123456789abcdef1",
    "SecurityGroupIds": "sg-0123456789abcdef0",
}
OUTSIDE = {"Network": "none", "ValkeyUrl": "rediss-cluster://app@cache.example.com:6379", "ValkeyIamCache": "cache"}

# A value, and another one, for each parameter that takes any text.
TEXTS = {
    "VpcCidr": "10.91.0.0/18",
    "Zones": "us-east-1b,us-east-1d",
    "VpcId": "vpc-0fedcba9876543210",
    "SubnetIds": "subnet-0fedcba9876543210,subnet-0fedcba9876543211",
    "SecurityGroupIds": "sg-0fedcba9876543210",
    "ValkeyNodeType": "cache.t4g.small",
    "ValkeyMinEcpu": "60000",
    "ValkeyUrl": "rediss://other@valkey.example.com:6380",
    "ValkeyIamCache": "other-cache",
    "JwtIssuer": "https://issuer.example.com",
    "JwtAudience": "app,web",
    "PageClientId": "web",
    "PageOrigins": "https://tokens.example.com",
    "CorsOrigins": "https://app.example.com",
    "AlarmEmail": "operators@example.com",
    "AwsEndpointUrl": "http://172.17.0.1:4566",
    "EmailFrom": "Fanfold <fanfold@example.com>",
    "SesIdentityArn": "arn:aws:ses:us-east-1:123456789012:identity/example.com",
    "WebhookUrl": "https://hooks.example.com/timers?token=a%20b",
    "WebhookSecret": "whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD",
}


def others(parameter: str, value: str) -> list[str]:
    """Other values that a parameter takes."""
    declared = PARAMETERS[parameter]
    if "AllowedValues" in declared:
        found = [text(each) for each in declared["AllowedValues"]]
        found = found if len(found) < 6 else [found[0], found[-1]]
    elif declared["Type"] == "Number":
        found = map(text, (declared["MinValue"], declared.get("MaxValue", declared["Default"] * 2)))
    else:
        found = (TEXTS[parameter],)
    return [each for each in found if each != value]


def grouped(*labels: str) -> list[str]:
    """The parameters in these groups, or in all."""
    groups = written("template.yaml")["Metadata"]["AWS::CloudFormation::Interface"]["ParameterGroups"]
    wanted = [group for group in groups if not labels or group["Label"]["default"] in labels]
    return [parameter for group in wanted for parameter in group["Parameters"]]


def longest(parameter: str) -> str:
    """The longest value that a parameter takes, in bytes; 128 characters for what may be of any length."""
    declared = PARAMETERS[parameter]
    if "AllowedValues" in declared:
        return max(map(text, declared["AllowedValues"]), key=len)
    if "MaxValue" in declared:
        return text(declared["MaxValue"])
    host = "h" * 100 + ".example.com"
    value = {
        "VpcCidr": "255.255.248.0/21",
        "Zones": "us-east-1-wl1-bos-wlz-1,us-east-1-wl1-nyc-wlz-1",
        "ValkeyNodeType": "cache.r7gd.16xlarge",
        "ValkeyMinEcpu": "15000000",
        "ValkeyUrl": f"rediss-cluster://{'u' * 40}@{host}:65535",
        "ValkeyIamCache": "c" * 40,
        "JwtIssuer": f"https://{host}/realms/name",
        "JwtAudience": ",".join(["a" * 40] * 3),
        "PageClientId": "c" * 128,
        "PageOrigins": f"https://{host}",
        "CorsOrigins": f"https://{host},https://{host}",
        "AlarmEmail": f"operators@{host}",
        "AwsEndpointUrl": f"https://{host}:65535",
        "EmailFrom": f"fanfold@{host}",
        "SesIdentityArn": f"arn:aws:ses:us-east-1:{'1' * 12}:identity/{host}",
        "VpcId": "vpc-0123456789abcdef0",
        "SubnetIds": ",".join(["subnet-0123456789abcdef0"] * 6),
        "SecurityGroupIds": ",".join(["sg-0123456789abcdef0"] * 5),
        "LagAlarmMs": "100000000",
        "WebhookUrl": f"https://{host}/",
        "WebhookSecret": f"whsec_{'a' * 84}aA==",
    }[parameter]
    if "MaxLength" not in declared:
        return value
    # the limit counts characters: filled with the widest that the pattern takes
    filled = [value.ljust(int(declared["MaxLength"]), each) for each in "😀éa"]
    return next(each for each in filled if re.search(declared["AllowedPattern"], each))


def function_of(logical_alias: str) -> str:
    """dispatch, for an alias' or a version's token."""
    return re.search(r"-(\w+)Alias", logical_alias)[1]


# Characters that a name which a template gives may have.
LIMITS = {
    (ALIAS, "Name"): 128,
    ("AWS::ApiGatewayV2::Api", "Title"): 128,
    ("AWS::ApiGatewayV2::Stage", "StageName"): 128,
    ("AWS::AppConfig::Application", "Name"): 64,
    ("AWS::AppConfig::ConfigurationProfile", "Name"): 128,
    (ALARM, "AlarmName"): 255,
    ("AWS::CloudWatch::Dashboard", "DashboardName"): 255,
    ("AWS::Cognito::UserPool", "UserPoolName"): 128,
    ("AWS::Cognito::UserPoolClient", "ClientName"): 128,
    ("AWS::ElastiCache::ReplicationGroup", "ReplicationGroupId"): 40,
    ("AWS::ElastiCache::ServerlessCache", "ServerlessCacheName"): 40,
    ("AWS::ElastiCache::SubnetGroup", "CacheSubnetGroupName"): 255,
    ("AWS::ElastiCache::User", "UserId"): 40,
    ("AWS::ElastiCache::User", "UserName"): 40,
    ("AWS::ElastiCache::UserGroup", "UserGroupId"): 40,
    (FUNCTION, "FunctionName"): 64,
    (GROUP, "LogGroupName"): 512,
    ("AWS::SNS::Topic", "TopicName"): 256,
    (QUEUE, "QueueName"): 80,
    ("AWS::Scheduler::Schedule", "Name"): 64,
}

# Properties that end as names do, and refer to something that has one.
REFERENCES = {
    (ALARM, "MetricName"),
    (ALIAS, "FunctionName"),
    (SOURCE, "FunctionName"),
    (VERSION, "FunctionName"),
    ("AWS::ApiGatewayV2::Stage", "ApiId"),
    ("AWS::AppConfig::ConfigurationProfile", "ApplicationId"),
    ("AWS::AppConfig::HostedConfigurationVersion", "ApplicationId"),
    ("AWS::AppConfig::HostedConfigurationVersion", "ConfigurationProfileId"),
    ("AWS::CodeDeploy::DeploymentGroup", "ApplicationName"),
    ("AWS::CodeDeploy::DeploymentGroup", "DeploymentConfigName"),
    ("AWS::Cognito::UserPoolClient", "UserPoolId"),
    ("AWS::EC2::RouteTable", "VpcId"),
    ("AWS::EC2::SecurityGroup", "VpcId"),
    ("AWS::EC2::Subnet", "VpcId"),
    ("AWS::EC2::SubnetRouteTableAssociation", "RouteTableId"),
    ("AWS::EC2::SubnetRouteTableAssociation", "SubnetId"),
    ("AWS::EC2::VPCEndpoint", "ServiceName"),
    ("AWS::EC2::VPCEndpoint", "VpcId"),
    ("AWS::ElastiCache::ReplicationGroup", "CacheParameterGroupName"),
    ("AWS::ElastiCache::ReplicationGroup", "CacheSubnetGroupName"),
    ("AWS::ElastiCache::ServerlessCache", "UserGroupId"),
    ("AWS::Lambda::EventInvokeConfig", "FunctionName"),
    ("AWS::Lambda::Permission", "FunctionName"),
    ("AWS::SNS::Topic", "KmsMasterKeyId"),
}


def names_of(stack: Stack) -> dict[tuple[str, str, str, str], str]:
    """All names, and references by name, in all templates, by (file, logical id, type, property)."""
    found = {}
    for file, each in stack.all().items():
        for logical, resource in each.resources.items():
            properties = each[logical]
            if resource["Type"] == "AWS::ApiGatewayV2::Api":
                # SAM puts the API's name into its body
                found[file, logical, resource["Type"], "Title"] = properties["Body"]["info"]["title"]
            for key, value in properties.items():
                if key.endswith(("Name", "Id")):
                    found[file, logical, resource["Type"], key] = value
    return found


def physical_names(stack: Stack) -> list[tuple[tuple[str, str], str]]:
    """((type, property), name) of each resource that a template names, in all templates."""
    return [((kind, key), name) for (_, _, kind, key), name in names_of(stack).items() if (kind, key) in LIMITS]


# Characters of the longest name of a stack, and of a function's name behind it and a hyphen.
STACK_NAME_MAX = 48
FUNCTION_NAME_MAX = 15


def changes() -> Iterator[tuple[str, str, Stack, Stack]]:
    """(parameter, value, before, after) for each parameter, and in each network and kind of cache."""
    serverless = {"ValkeyKind": "serverless"}
    for base in ({}, serverless, GIVEN, GIVEN | serverless, OUTSIDE):
        # the effect of other parameters does not depend on the cache
        for parameter in grouped("Network", "Valkey") if base else PARAMETERS:
            for value in others(parameter, text(base.get(parameter, PARAMETERS[parameter]["Default"]))):
                changed = base | {parameter: value}
                if parameter == "Network":
                    changed = {"given": GIVEN, "none": OUTSIDE}.get(value, {}) | changed
                yield parameter, value, deployed(**base), deployed(**changed)


@functools.cache
def scenarios() -> list[Stack]:
    """Stacks that together have every resource and every branch of the templates."""
    return [
        deployed(),
        deployed(ValkeyKind="serverless", ValkeyMinEcpu="30000", GradualDeployment="true", Tracing="Active"),
        deployed(ValkeyShards="4", Zones="us-east-1b,us-east-1d", CorsOrigins="https://app.example.com"),
        deployed(**GIVEN, JwtIssuer="https://issuer.example.com", JwtAudience="app", AlarmEmail="me@example.com"),
        deployed(
            **GIVEN,
            JwtIssuer="https://issuer.example.com",
            JwtAudience="app,web",
            PageClientId="web",
            PageOrigins="https://a.example.com,https://b.example.com",
        ),
        deployed(**OUTSIDE, WebPage="false", ApiReserved="10", AwsEndpointUrl="http://localhost:4566", RouteMetrics="true"),
    ]


@functools.cache
def worst() -> list[Stack]:
    """Stacks with the longest names and values, with a cache of their own and with a given one."""
    name = "s" * STACK_NAME_MAX
    values = {parameter: longest(parameter) for parameter in PARAMETERS}
    own = {"Network": "own", "ValkeyUrl": "", "ValkeyShards": "4", "JwtIssuer": "", "JwtAudience": ""}
    own |= {"SubnetIds": "", "SecurityGroupIds": "", "VpcId": "", "GradualDeployment": "true"}
    variants = [own, own | {"ValkeyKind": "cluster"}, {"Network": "given", "GradualDeployment": "true"}]
    where = {"name": name, "region": "ap-southeast-7", "partition": "aws-us-gov"}
    return [deployed(**where, **(values | variant)) for variant in variants]


def functions(stack: Stack) -> dict[str, dict]:
    return stack.of_type(FUNCTION)


# ---- versions ----------------------------------------------------------------------------------

# properties of a function that its versions do not have
NOT_VERSIONED = {"Code", "FunctionName", "ReservedConcurrentExecutions", "RecursiveLoop", "Tags"}


def version_of(stack: Stack, function: str) -> tuple[str, str]:
    """The version that the alias of a function names: another logical id or description makes another one."""
    alias = stack.template["Resources"][f"{function}Aliaslive"]["Properties"]
    logical = alias["FunctionVersion"]["Fn::GetAtt"][0]
    return logical, stack[logical]["Description"]


def configuration(stack: Stack, function: str) -> dict:
    properties = stack[function]
    return {key: value for key, value in properties.items() if key not in NOT_VERSIONED}


def without_settings(properties: dict) -> dict:
    variables = dict(properties["Environment"]["Variables"])
    variables.pop("SETTINGS_VERSION", None)
    return properties | {"Environment": variables}


class Versions(unittest.TestCase):
    def test_a_changed_parameter_reaches_the_alias_of_each_function(self):
        reached = set()
        for parameter, value, before, after in changes():
            # tested below: the number of the secret takes its place
            for function in functions(before) if parameter != "WebhookSecret" else ():
                old, new = configuration(before, function), configuration(after, function)
                replaced = version_of(before, function) != version_of(after, function)
                with self.subTest(parameter=parameter, value=value, function=function):
                    if without_settings(old) != without_settings(new):
                        reached.add(parameter)
                        self.assertTrue(replaced, "the alias keeps the old configuration")
                    if replaced:
                        self.assertNotEqual(old, new, "PublishVersion refuses: nothing has changed")
        expected = {"LogLevel", "FeedCap", "InactiveAfter", "ValkeyUrl", "ValkeyKind", "Network", "Zones", "VpcCidr"}
        expected |= {"PullFollowers", "QueueTries", "Tracing", "Architecture", "SubnetIds", "AuditFeeds", "CardMemory"}
        expected |= {"FollowersPerPartition", "FollowerPartitions"}
        expected |= {"PostsPerMinute", "RelationChangesPerMinute", "ProfileChangesPerMinute", "TimerChangesPerMinute"}
        expected |= {"WebhookUrl"}
        self.assertLessEqual(expected, reached)

    def test_the_settings_hold_each_value_that_reaches_a_function(self):
        for stack in scenarios():
            content = json.loads(stack["Settings"]["Content"])
            held = set(itertools.chain.from_iterable(v if isinstance(v, list) else [v] for v in content.values()))
            for function, properties in functions(stack).items():
                left_out = ("SETTINGS_VERSION", "WEBHOOK_SECRET")
                values = {text(v) for k, v in properties["Environment"]["Variables"].items() if k not in left_out}
                self.assertLessEqual(values, held, function)
                for key in ("SubnetIds", "SecurityGroupIds"):
                    self.assertIn(",".join(properties.get("VpcConfig", {}).get(key, [])), held)

    def test_a_version_that_is_replaced_is_deleted(self):
        stack = deployed()
        kept = [v for v, r in stack.resources.items() if r["Type"] == VERSION and r.get("DeletionPolicy") != "Delete"]
        self.assertEqual(kept, [], "it keeps network interfaces in a VPC that an update may delete")

    def test_each_event_goes_to_the_alias(self):
        stack = deployed()
        targets = [properties["FunctionName"] for properties in stack.of_type(SOURCE).values()]
        targets += [properties["Target"]["Arn"] for properties in stack.of_type("AWS::Scheduler::Schedule").values()]
        self.assertTrue(targets)
        for target in targets:
            self.assertIn("Aliaslive", target)


# ---- replacements ------------------------------------------------------------------------------


def refusals(before: Stack, after: Stack) -> set[str]:
    """The changes that AWS refuses when one stack is updated to the other. CloudFormation creates a replacement before
    it deletes the old resource, so both must be able to exist at the same time."""
    found = set()
    olds, news = before.all(), after.all()
    for file in olds.keys() & news.keys():
        old, new = olds[file], news[file]
        for logical in old.resources.keys() & new.resources.keys():
            kind = old.resources[logical]["Type"]
            fixed, other = old.create_only(logical), new.create_only(logical)
            changed = sorted(key for key in fixed.keys() | other.keys() if fixed.get(key) != other.get(key))
            one, two = old[logical], new[logical]
            unique = [key for key in NAMES.get(kind, ()) + ONLY_ONE.get(kind, ()) if key in one]
            if changed and unique and all(one[key] == two.get(key) for key in unique):
                found.add(f"{logical}: {', '.join(changed)} under the same {', '.join(unique)}")
            # ModifyCacheSubnetGroup takes no subnet of another VPC, and takes none away that is in use
            if kind == "AWS::ElastiCache::SubnetGroup" and one["SubnetIds"] != two["SubnetIds"]:
                if old.given_name(logical) == new.given_name(logical):
                    found.add(f"{logical}: SubnetIds under the same name")
    return found


def cache_of(stack: Stack) -> str | None:
    """The name of the stack's own cache."""
    return stack.stack("Cache").output("Name") if "Cache" in stack.resources else None


class Replacements(unittest.TestCase):
    def test_a_replacement_can_stand_beside_what_it_replaces(self):
        refused = {}
        for parameter, _, before, after in changes():
            for each in refusals(before, after) | refusals(after, before):
                refused.setdefault(parameter, set()).add(each)
        # the table and the parameter say that other zones need another VpcCidr
        zones = refused.pop("Zones", set())
        self.assertEqual(zones, {f"Subnet{each}: AvailabilityZone under the same VpcId, CidrBlock" for each in "AB"})
        self.assertEqual(refused, {})

    def test_other_zones_need_another_range(self):
        for kind in PARAMETERS["ValkeyKind"]["AllowedValues"]:
            zones = {"Zones": "us-east-1b,us-east-1d"}
            before, after = deployed(ValkeyKind=kind), deployed(ValkeyKind=kind, VpcCidr="10.91.0.0/16", **zones)
            self.assertEqual(refusals(before, after), set())
            self.assertNotEqual(cache_of(before), cache_of(after))
        for said in (PARAMETERS["Zones"]["Description"], (INFRA / "PARAMETERS.md").read_text(), RUNBOOK.read_text()):
            said = " ".join(said.replace("`", "").split())
            self.assertTrue("change VpcCidr in the same deployment" in said, said[:100])

    def test_a_cache_is_replaced_only_where_it_must_be(self):
        replaced = {
            parameter
            for parameter, _, before, after in changes()
            if cache_of(before) and cache_of(after) and cache_of(before) != cache_of(after)
        }
        expected = {"Network", "VpcCidr", "Zones", "VpcId", "SubnetIds", "ValkeyKind"}
        self.assertEqual(replaced, expected, "feeds are lost with a cache")
        readme = " ".join((INFRA / "README.md").read_text().split())
        (said,) = re.findall(r"After a change of (`ValkeyUrl`.*?), all feeds must be rebuilt", readme)
        self.assertEqual(set(re.findall(r"`(\w+)`", said)), expected | {"ValkeyUrl"})

    def test_what_depends_on_a_replaced_cache_follows_it(self):
        for kind in PARAMETERS["ValkeyKind"]["AllowedValues"]:
            for parameters in ({}, {"VpcCidr": "10.91.0.0/16"}):
                stack = deployed(ValkeyKind=kind, **parameters)
                name = cache_of(stack)
                self.assertTrue(all(name in each for each in shown_nodes(stack)))
                self.assertTrue(all(name in each for each in watched_nodes(stack, "Evictions")))
                self.assertTrue(stack.stack("Cache").output("Arn").endswith(f":{name}"))


# ---- order -------------------------------------------------------------------------------------


def needs(stack: Stack, logical: str) -> set[str]:
    """The resources that exist before this one."""
    found = set()

    def look(node):
        if isinstance(node, list):
            for each in node:
                look(each)
        elif isinstance(node, dict) and "Fn::If" in node and len(node) == 1:
            condition, yes, no = node["Fn::If"]
            look(yes if stack.holds({"Condition": condition}) else no)
        elif isinstance(node, dict):
            for key, value in node.items():
                names = [value] if isinstance(value, str) else value if isinstance(value, list) else []
                if key == "Fn::Sub":
                    found.update(re.findall(r"\$\{(\w+)", value if isinstance(value, str) else value[0]))
                elif key in ("Ref", "Fn::GetAtt", "DependsOn"):
                    found.update(name.split(".")[0] for name in names if isinstance(name, str))
                look(value)

    resource = stack.resources[logical]
    look({key: resource[key] for key in ("Properties", "DependsOn") if key in resource})
    direct = found & stack.resources.keys() - {logical}
    return direct.union(*(needs(stack, each) for each in direct))


class Order(unittest.TestCase):
    def test_what_stays_is_made_when_all_else_that_may_be_refused_is_there(self):
        for parameters, before in (({}, {"Vpc", "Cache", "Names"}), (GIVEN, {"Cache", "Names"}), (OUTSIDE, {"Names"})):
            stack = deployed(**parameters)
            kept = [each for each, resource in stack.resources.items() if resource.get("DeletionPolicy") == "Retain"]
            self.assertEqual(len(kept), 7)
            for each in kept:
                self.assertLessEqual(before, needs(stack, each), each)

    def test_waiting_for_the_cache_changes_nothing_later(self):
        waits = {str(after["Names"]["Parameters"]) for _, _, _, after in changes() if "Cache" in after.resources}
        self.assertEqual(len(waits), 1)


# ---- names -------------------------------------------------------------------------------------


class Names(unittest.TestCase):
    # names within something that has a name, or that AWS gives
    SCOPED = {
        (ALIAS, "Name"),
        ("AWS::ApiGatewayV2::Stage", "StageName"),
        ("AWS::AppConfig::ConfigurationProfile", "Name"),
        ("AWS::CodeDeploy::DeploymentGroup", "DeploymentConfigName"),
        ("AWS::EC2::VPCEndpoint", "ServiceName"),
        (ALARM, "MetricName"),
    }
    # what is global in an account
    GLOBAL = {("AWS::CloudWatch::Dashboard", "DashboardName"), (ROLE, "RoleName"), (POLICY, "ManagedPolicyName")}

    def test_a_handler_is_the_name_of_its_function(self):
        # the one binary runs the function that its Handler names
        for logical, function in functions(deployed()).items():
            self.assertEqual(function["Handler"], logical.lower())
            self.assertTrue(function["FunctionName"].endswith(f"-{function['Handler']}"), logical)

    def test_two_stacks_share_no_name(self):
        for parameters in ({}, {"ValkeyKind": "serverless", "GradualDeployment": "true"}):
            one, two = (names_of(deployed(name, **parameters)) for name in ("one", "two"))
            for (file, logical, kind, key), name in one.items():
                if (kind, key) not in self.SCOPED:
                    self.assertNotEqual(name, two[file, logical, kind, key], f"{file}: {logical}.{key}")

    def test_two_regions_share_no_name_that_is_global(self):
        one, two = (names_of(deployed(region=region)) for region in ("us-east-1", "eu-central-1"))
        found = {where: name for where, name in one.items() if where[2:] in self.GLOBAL}
        self.assertTrue(found)
        for where, name in found.items():
            self.assertNotEqual(name, two[where], where)
        stack = deployed()
        self.assertTrue(stack.output("DashboardUrl").endswith(f"={stack.stack('Dashboard')['Dashboard']['DashboardName']}"))

    def test_each_name_has_a_limit(self):
        found = {where[2:] for stack in scenarios() for where in names_of(stack)}
        self.assertEqual(found - REFERENCES, LIMITS.keys())
        self.assertEqual(REFERENCES & LIMITS.keys(), set())
        self.assertLessEqual({(kind, key) for kind, keys in NAMES.items() for key in keys}, LIMITS.keys())

    def test_names_of_the_longest_stack_fit(self):
        for stack in worst():
            for kind, name in physical_names(stack):
                self.assertLessEqual(len(name), LIMITS[kind], f"{kind} {name}")

    def test_a_longer_stack_name_is_refused_by_each_nested_template(self):
        stack = deployed("stack-name")
        for logical in stack.of_type("AWS::CloudFormation::Stack"):
            template = stack.stack(logical).template
            taken = [key for key, value in stack.stack(logical).values.items() if value == stack.name]
            self.assertTrue(taken, f"{logical} does not see the stack's name")
            declared = template["Parameters"][taken[0]]
            self.assertEqual(declared["MaxLength"], STACK_NAME_MAX, logical)
            self.assertIn(f"{STACK_NAME_MAX} characters", declared["ConstraintDescription"])
        readme = " ".join((INFRA / "README.md").read_text().split())
        said = f"A stack's name has at most {STACK_NAME_MAX} characters"
        self.assertTrue(said in readme, f"infra/README.md wants '{said}'")

    def test_a_function_may_have_a_name_of_15_characters(self):
        whole = STACK_NAME_MAX + len("-") + FUNCTION_NAME_MAX
        for named in ((FUNCTION, "FunctionName"), ("AWS::Scheduler::Schedule", "Name")):
            self.assertLessEqual(whole, LIMITS[named])
        self.assertLessEqual(max(map(len, functions(deployed()))), FUNCTION_NAME_MAX)

    def test_names_in_elasticache_are_short_and_in_lower_case(self):
        stack = deployed("A-Stack-With-CAPITALS")
        cache = stack.stack("Cache")
        declared = cache.template["Parameters"]
        for (kind, _), name in physical_names(stack):
            if kind.startswith("AWS::ElastiCache"):
                self.assertRegex(name, r"^[a-z][a-z0-9]*(-[a-z0-9]+)*$")
                self.assertIn(name, (cache.values["Name"], f"{cache.values['Name']}-{cache.values['Number']}"))
        self.assertEqual(declared["Name"]["MaxLength"] + len("-") + declared["Number"]["MaxLength"], 40)


# ---- quotas ------------------------------------------------------------------------------------


class Quotas(unittest.TestCase):
    def test_environments_take_4_kb(self):
        reached = set()
        for stack in worst():
            for function, properties in functions(stack).items():
                variables = {key: text(value) for key, value in properties["Environment"]["Variables"].items()}
                size = len(json.dumps(variables, ensure_ascii=False).encode())
                self.assertLessEqual(size, 4096, function)
                reached |= {name for name, value in stack.values.items() if value and value in variables.values()}
        free = {each for each in reached if PARAMETERS[each]["Type"] == "String" and "AllowedValues" not in PARAMETERS[each]}
        self.assertEqual(free, {"ValkeyUrl", "ValkeyIamCache", "AwsEndpointUrl", "WebhookUrl", "WebhookSecret"})
        for parameter in free:
            self.assertIn("MaxLength", PARAMETERS[parameter], f"{parameter} may fill an environment")

    def test_policies(self):
        def size(document) -> int:
            return len(json.dumps(document, separators=(",", ":")))

        for stack in worst():
            for logical, role in stack.of_type(ROLE).items():
                inline = sum(size(policy["PolicyDocument"]) for policy in role.get("Policies", []))
                self.assertLessEqual(inline, 10240, logical)
                self.assertLessEqual(len(role.get("ManagedPolicyArns", [])), 10, logical)
                self.assertLessEqual(size(role["AssumeRolePolicyDocument"]), 2048, logical)
            for logical, policy in stack.of_type(POLICY).items():
                self.assertLessEqual(size(policy["PolicyDocument"]), 6144, logical)
                self.assertLessEqual(len(policy["Description"]), 1000, logical)
            self.assertTrue(stack.of_type(POLICY))

    def test_templates(self):
        for stack in worst():
            for file, each in stack.all().items():
                template = each.template
                for section, most in (("Resources", 500), ("Parameters", 200), ("Outputs", 200), ("Mappings", 200)):
                    self.assertLessEqual(len(template.get(section, {})), most, f"{file} {section}")
                self.assertLessEqual(len(template.get("Description", "")), 1024, file)
                self.assertLessEqual(len(json.dumps(template)), 1_000_000, file)
                for name, parameter in template.get("Parameters", {}).items():
                    self.assertLessEqual(len(parameter.get("Description", "")), 4000, name)
                for table in template.get("Mappings", {}).values():
                    self.assertLessEqual(len(table), 200)
                for logical in itertools.chain(template["Resources"], template.get("Outputs", {})):
                    self.assertRegex(logical, r"^[A-Za-z0-9]{1,255}$")

    def test_descriptions_of_versions_take_256_characters(self):
        for stack in worst():
            described = {**stack.of_type(VERSION), **functions(stack)}
            for logical, properties in described.items():
                self.assertLessEqual(len(properties["Description"]), 256, logical)

    def test_alarms(self):
        for stack in worst():
            for file, each in stack.all().items():
                for logical, alarm in each.of_type(ALARM).items():
                    self.assertLessEqual(len(alarm["AlarmDescription"]), 1024, logical)
                    self.assertLessEqual(len(alarm.get("Dimensions", [])), 30, logical)
                    queries = alarm.get("Metrics", [])
                    metrics = [query for query in queries if "Expression" not in query]
                    self.assertLessEqual(len(metrics), 10, logical)
                    periods = [alarm["Period"]] if "Period" in alarm else [m["MetricStat"]["Period"] for m in metrics]
                    for period in map(int, periods):
                        self.assertEqual(period % 60, 0, logical)
                        longest_s = 7 * 86400 if period >= 3600 else 86400
                        self.assertLessEqual(period * alarm["EvaluationPeriods"], longest_s, logical)

    def test_the_dashboard(self):
        for stack in scenarios() + worst():
            body = dashboard(stack)
            self.assertLessEqual(len(body["widgets"]), 500)
            metrics = [widget["properties"].get("metrics", []) for widget in body["widgets"]]
            self.assertLessEqual(max(map(len, metrics)), 500)
            self.assertLessEqual(sum(map(len, metrics)), 2500)

    def test_routes_and_the_access_log(self):
        stack = deployed()
        (api,) = stack.of_type("AWS::ApiGatewayV2::Api").values()
        self.assertLessEqual(sum(map(len, api["Body"]["paths"].values())), 300)
        (stage,) = stack.of_type("AWS::ApiGatewayV2::Stage").values()
        self.assertLessEqual(len(stage["AccessLogSettings"]["Format"].encode()), 3072)

    def test_messages_stay_hidden_while_a_function_works_on_them(self):
        least = deployed(QueueVisibility=str(PARAMETERS["QueueVisibility"]["MinValue"]))
        sources = least.of_type(SOURCE)
        queues = {queue["QueueName"]: queue for queue in least.of_type(QUEUE).values()}
        # each queue with messages of the product has a dead-letter queue, and a function that takes from it
        self.assertEqual(len(sources), sum("RedrivePolicy" in queue for queue in queues.values()))
        for source in sources.values():
            queue = queues[source["EventSourceArn"].rsplit(":", 1)[-1]]
            timeout = least[function_of(source["FunctionName"])]["Timeout"]
            self.assertGreaterEqual(int(queue["VisibilityTimeout"]), timeout)
            self.assertIn(int(source["ScalingConfig"]["MaximumConcurrency"]), range(2, 1001))


# ---- what stays --------------------------------------------------------------------------------


class Parameters(unittest.TestCase):
    def test_each_is_described_and_asked_for_in_one_group(self):
        self.assertEqual(sorted(grouped()), sorted(PARAMETERS))
        for name, parameter in PARAMETERS.items():
            self.assertIn("Description", parameter, name)

    # settings that not every function has
    SETTINGS = {
        "FollowersPerPartition": ("FOLLOWERS_PER_PARTITION", {"Changes", "Audit"}),
        "FollowerPartitions": ("FOLLOWER_PARTITIONS", {"Users"}),
        "PostsPerMinute": ("POSTS_PER_MINUTE", {"Posts"}),
        "RelationChangesPerMinute": ("RELATION_CHANGES_PER_MINUTE", {"Users"}),
        "ProfileChangesPerMinute": ("PROFILE_CHANGES_PER_MINUTE", {"Users"}),
        "TimerChangesPerMinute": ("TIMER_CHANGES_PER_MINUTE", {"Timers"}),
        "MarkChangesPerMinute": ("MARK_CHANGES_PER_MINUTE", {"Posts"}),
        "BoardChangesPerMinute": ("BOARD_CHANGES_PER_MINUTE", {"Boards"}),
        "PullQueriesPerMinute": ("PULL_QUERIES_PER_MINUTE", {"Timeline"}),
        "TimersMax": ("TIMERS_MAX", {"Timers"}),
        "TimerEveryMin": ("TIMER_EVERY_MIN", {"Timers"}),
        "RankingSeconds": ("RANKING_SECONDS", {"Timeline"}),
        "AuditFeeds": ("AUDIT_FEEDS", {"Audit"}),
        "PullFollowers": ("PULL_FOLLOWERS", {"Dispatch"}),
    }

    def test_a_setting_reaches_the_functions_that_read_it_and_no_other(self):
        for parameter, (setting, readers) in self.SETTINGS.items():
            for value in others(parameter, text(PARAMETERS[parameter]["Default"])):
                seen = {f: p["Environment"]["Variables"] for f, p in functions(deployed(**{parameter: value})).items()}
                reached = {f: text(each[setting]) for f, each in seen.items() if setting in each}
                self.assertEqual(reached, dict.fromkeys(readers, value), setting)

    def test_defaults_and_bounds_are_those_of_the_source(self):
        source = (ROOT / "shared/core/src/limits.rs").read_text()
        # durations are in seconds, as the parameters are
        known = dict(re.findall(r"pub const (\w+): \w+ = (?:Duration::from_secs\()?([0-9_* ]+)\)?;", source))
        known = {name: math.prod(int(factor) for factor in value.split("*")) for name, value in known.items()}
        limits = (ROOT / "shared/core/src/kinds.rs").read_text()
        for setting, usual, most in re.findall(r'"(\w+)" ([0-9_]+) at most ([0-9_]+);', limits):
            known |= {f"{setting}_DEFAULT": int(usual), f"{setting}_MAX": int(most)}
        compared = set()
        for parameter, declared in PARAMETERS.items():
            setting = re.sub(r"(?<!^)(?=[A-Z])", "_", parameter).upper()
            most = max(declared.get("AllowedValues", []), default=declared.get("MaxValue"))
            for constant, value in (("DEFAULT", declared["Default"]), ("MIN", declared.get("MinValue")), ("MAX", most)):
                name = f"{setting}_{constant}"
                if name in known:
                    self.assertEqual(value, known[name], f"{parameter}: {name}")
                    compared.add(name)
        self.assertLessEqual({"FEED_CAP_MIN", "INACTIVE_AFTER_DEFAULT", "QUEUE_TRIES_MIN", "QUEUE_TRIES_MAX"}, compared)
        self.assertLessEqual({"AUDIT_FEEDS_MAX", "CARD_MEMORY_DEFAULT", "CARD_MEMORY_MAX"}, compared)
        self.assertLessEqual({f"{setting}_DEFAULT" for setting, _ in self.SETTINGS.values()}, compared)
        self.assertLessEqual({re.sub(r"(?<!^)(?=[A-Z])", "_", name).upper() + "_MAX" for name in grouped("Request limits")}, compared)


class Kept(unittest.TestCase):
    DATA = {"AWS::DynamoDB::Table", "AWS::DynamoDB::GlobalTable", "AWS::Cognito::UserPool", "AWS::S3::Bucket"}

    def test_what_holds_data_or_refuses_deletion_is_retained(self):
        found = set()
        for stack in scenarios():
            for each in stack.all().values():
                for logical, resource in each.resources.items():
                    protected = any(key.startswith("DeletionProtection") for key in resource.get("Properties", {}))
                    if protected or resource["Type"] in self.DATA:
                        found.add(logical)
                        self.assertEqual(resource.get("DeletionPolicy"), "Retain", logical)
                        self.assertEqual(resource.get("UpdateReplacePolicy"), "Retain", logical)
        self.assertEqual(found, {"UsersTable", "PostsTable", "GraphTable", "DueTable", "MarksTable", "BoardsTable", "UserPool"})


# ---- how much at once --------------------------------------------------------------------------


class Concurrency(unittest.TestCase):
    def test_defaults_leave_8_of_50_executions(self):
        sources = deployed().of_type(SOURCE).values()
        most = sum(int(source["ScalingConfig"]["MaximumConcurrency"]) for source in sources)
        self.assertLessEqual(most, 42)
        least = 2 * len(sources)
        readme = " ".join((INFRA / "README.md").read_text().split())
        for said in (f"the queues use at most {most},", f"the queues alone may use {least} with the smallest values"):
            self.assertTrue(said in readme, f"infra/README.md wants '{said}'")
        reserved = [f for f, properties in functions(deployed()).items() if "ReservedConcurrentExecutions" in properties]
        self.assertEqual(reserved, [], "an account of 50 can reserve nothing")


# ---- messages ----------------------------------------------------------------------------------


def triggers(stack: Stack) -> dict[str, set[str]]:
    """The queues that each function is invoked from."""
    found = {function: set() for function in functions(stack)}
    for source in stack.of_type(SOURCE).values():
        found[function_of(source["FunctionName"])].add(source["EventSourceArn"])
    return found


def all_of(node) -> list:
    return [node] if isinstance(node, str) else node


def may(stack: Stack, function: str, action: str) -> set[str]:
    """The resources on which a function's own statements allow an action."""
    found = set()
    for policy in stack[f"{function}Role"].get("Policies", []):
        for statement in policy["PolicyDocument"]["Statement"]:
            if action in all_of(statement["Action"]):
                found |= set(all_of(statement["Resource"]))
    return found


def bounded(stack: Stack, function: str) -> set[str]:
    """The actions that the permissions boundary of a function allows."""
    statements = boundary(stack, function)
    return {action for statement in statements for action in all_of(statement["Action"])}


def boundary(stack: Stack, function: str) -> list[dict]:
    """The statements of the permissions boundary of a function."""
    given = stack[f"{function}Role"]["PermissionsBoundary"]
    (name,) = (name for name in ("Boundary", "WebhookBoundary") if stack.ref(name) == given)
    return stack[name]["PolicyDocument"]["Statement"]


def receivers(stack: Stack, function: str) -> set[str]:
    """The functions that receive the messages of this one. A function that may read the dead-letter queue of a queue
    only returns dead letters to it."""
    sent = may(stack, function, "sqs:SendMessage")
    read = may(stack, function, "sqs:ReceiveMessage")
    for logical, queue in stack.of_type(QUEUE).items():
        if queue.get("RedrivePolicy", {}).get("deadLetterTargetArn") in read:
            sent = sent - {stack.attribute(logical, "Arn")}
    return {each for each, queues in triggers(stack).items() if queues & sent} - {function}


class Messages(unittest.TestCase):
    def test_loops_are_allowed_where_a_function_sends_to_its_own_queue(self):
        stack = deployed()
        invoked = triggers(stack)
        loops = {function for function in invoked if may(stack, function, "sqs:SendMessage") & invoked[function]}
        allowed = {function for function, p in functions(stack).items() if p.get("RecursiveLoop") == "Allow"}
        self.assertEqual(loops, allowed)
        self.assertTrue(loops)

    def test_a_function_delays_messages_of_the_queues_that_it_takes_from_and_of_no_other(self):
        for stack in scenarios():
            for function, queues in triggers(stack).items():
                self.assertEqual(may(stack, function, "sqs:ChangeMessageVisibility"), queues, function)
                self.assertIn("sqs:ChangeMessageVisibility", bounded(stack, function), function)

    def test_a_failed_message_can_go_back_to_the_queue_that_it_came_from(self):
        for function, queues in triggers(deployed()).items():
            self.assertLessEqual(queues, may(deployed(), function, "sqs:SendMessage"), function)

    def test_what_may_loop_is_watched(self):
        stack = deployed()
        alarms = stack.stack("Alarms").of_type(ALARM).values()
        watched = {alarm["Dimensions"][0]["Value"] for alarm in alarms if alarm.get("MetricName") == "MessagesRequeued"}
        looping = {p["FunctionName"] for p in functions(stack).values() if "RecursiveLoop" in p}
        self.assertEqual(watched, looping)

    def test_one_looping_message_raises_the_alarm(self):
        alarms = deployed().stack("Alarms").of_type(ALARM).values()
        alarms = [alarm for alarm in alarms if alarm.get("MetricName") == "MessagesRequeued"]
        tries, visibility_s = (int(PARAMETERS[each]["Default"]) for each in ("QueueTries", "QueueVisibility"))
        source = (ROOT / "shared/runtime/src/sqs/retries.rs").read_text()
        (longest_wait_s,) = (int(each) for each in re.findall(r"const RETRY_MAX: Duration = Duration::from_secs\((\d+)\);", source))
        # how long it waits after each of half of its tries, and when it is sent again
        round_s = (tries // 2 + 1) * max(visibility_s, longest_wait_s)
        self.assertEqual(round_s, 1800)
        for alarm in alarms:
            # each period has a data point
            self.assertGreaterEqual(int(alarm["Period"]), 2 * round_s)
            self.assertEqual(alarm["DatapointsToAlarm"], alarm["EvaluationPeriods"])
            self.assertGreater(alarm["EvaluationPeriods"], 1, "an outage alone is no loop")

    def test_tries_outlast_throttled_polls(self):
        declared = PARAMETERS["QueueTries"]
        self.assertGreaterEqual(declared["MinValue"], 5)
        self.assertEqual(declared["Default"], 10)
        stack = deployed(QueueTries="7")
        redriven = [queue["RedrivePolicy"] for queue in stack.of_type(QUEUE).values() if "RedrivePolicy" in queue]
        self.assertEqual({text(policy["maxReceiveCount"]) for policy in redriven}, {"7"})
        for function, queues in triggers(stack).items():
            tries = stack[function]["Environment"]["Variables"].get("QUEUE_TRIES")
            self.assertEqual(text(tries) if queues else tries, "7" if queues else None, function)

    def test_the_doctor_has_a_queue(self):
        stack = deployed()
        queue = stack["Doctor"]
        self.assertEqual(stack.output("DoctorQueueUrl"), stack["Admin"]["Environment"]["Variables"]["DOCTOR_QUEUE_URL"])
        self.assertTrue(queue["SqsManagedSseEnabled"])
        self.assertLessEqual(queue["MessageRetentionPeriod"], 300)
        self.assertIn(stack.attribute("Doctor", "Arn"), may(stack, "Admin", "sqs:SendMessage"))


# ---- tables ------------------------------------------------------------------------------------


class Rights(unittest.TestCase):
    def test_followers_are_counted_by_who_may_write_the_count(self):
        """A follow writes a count row in the graph table, and the functions that add up these rows write the author's
        profile."""
        stack = deployed()
        users, graph = (stack.attribute(table, "Arn") for table in ("UsersTable", "GraphTable"))
        writers = {f for f in functions(stack) if graph in may(stack, f, "dynamodb:UpdateItem")}
        self.assertEqual(writers, {"Users", "Admin"})
        for function in ("Changes", "Audit"):
            self.assertIn(graph, may(stack, function, "dynamodb:Query"), function)
            for action in ("dynamodb:GetItem", "dynamodb:UpdateItem"):
                self.assertIn(users, may(stack, function, action), f"{function} {action}")

    def test_the_boundary_takes_nothing_away(self):
        for stack in scenarios():
            for function in functions(stack):
                policies = stack[f"{function}Role"].get("Policies", [])
                statements = [each for policy in policies for each in policy["PolicyDocument"]["Statement"]]
                actions = {action for statement in statements for action in all_of(statement["Action"])}
                self.assertLessEqual(actions, bounded(stack, function), function)


# ---- webhooks ----------------------------------------------------------------------------------


class Webhooks(unittest.TestCase):
    SECRETS = ("whsec_C2FVsBQIhrscChlQIMV+b5sSYspob7oD", "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw")

    def test_it_is_outside_the_network_and_reaches_its_queues_alone(self):
        for stack in scenarios():
            self.assertNotIn("VpcConfig", stack["Webhook"])
            role = stack["WebhookRole"]
            if "ConnectToCache" in stack.resources:
                self.assertNotIn(stack.ref("ConnectToCache"), role["ManagedPolicyArns"])
            statements = [each for policy in role["Policies"] for each in policy["PolicyDocument"]["Statement"]]
            actions = {action for statement in statements for action in all_of(statement["Action"])}
            self.assertEqual(actions, {"sqs:SendMessage", "sqs:ChangeMessageVisibility"})
            resources = {resource for statement in statements for resource in all_of(statement["Resource"])}
            self.assertEqual(resources, {stack.attribute(queue, "Arn") for queue in ("Webhooks", "WebhooksDead")})
            # SAM adds managed policies for all queues and for networks; the boundary takes these rights away
            self.assertEqual(role["PermissionsBoundary"], stack.ref("WebhookBoundary"))
            limits = boundary(stack, "Webhook")
            services = {action.partition(":")[0] for each in limits for action in all_of(each["Action"])}
            self.assertEqual(services, {"sqs", "logs", "xray"})
            queues = {r for each in limits if "sqs:SendMessage" in all_of(each["Action"]) for r in all_of(each["Resource"])}
            self.assertEqual(queues, resources)
            received = {r for each in limits if "sqs:ReceiveMessage" in all_of(each["Action"]) for r in all_of(each["Resource"])}
            self.assertEqual(received, {stack.attribute("Webhooks", "Arn")})
            logs = {r for each in limits if "logs:PutLogEvents" in all_of(each["Action"]) for r in all_of(each["Resource"])}
            self.assertTrue(all(each.endswith("-webhook:*") for each in logs), logs)
            for key in ("Runtime", "Architectures", "MemorySize"):
                self.assertEqual(stack["Webhook"][key], stack["Changes"][key], key)

    def test_the_secret_is_in_one_environment_and_nowhere_else(self):
        secret = self.SECRETS[0]
        stack = deployed(WebhookUrl="https://hooks.example.com", WebhookSecret=secret)
        self.assertIs(PARAMETERS["WebhookSecret"]["NoEcho"], True)
        found = set()
        for file, each in stack.all().items():
            for logical in each.resources:
                if secret in json.dumps(each[logical], default=str):
                    found.add((file, logical))
            outputs = [each.output(name) for name, out in each.template.get("Outputs", {}).items() if each.exists(out)]
            self.assertNotIn(secret, json.dumps(outputs, default=str), file)
        self.assertEqual(found, {("template.yaml", "Webhook")})
        # SAM puts AutoPublishCodeSha256 into a logical id, so it must not be the secret
        self.assertNotIn(secret.removeprefix("whsec_")[:4], " ".join(stack.template["Resources"]))

    def test_a_new_secret_reaches_the_alias_with_its_number(self):
        one, other = ({"WebhookUrl": "https://hooks.example.com", "WebhookSecret": each} for each in self.SECRETS)
        before = deployed(**one)
        same, raised = deployed(**other), deployed(**other, WebhookSecretNumber="2")
        self.assertEqual(version_of(before, "Webhook"), version_of(same, "Webhook"))
        self.assertNotEqual(version_of(before, "Webhook"), version_of(raised, "Webhook"))
        self.assertNotEqual(configuration(before, "Webhook"), configuration(raised, "Webhook"))
        for text in (PARAMETERS["WebhookSecret"]["Description"], (INFRA / "README.md").read_text(), RUNBOOK.read_text()):
            self.assertTrue("WebhookSecretNumber" in text, f"it does not say that a new secret needs a number: {text[:60]}")

    def test_an_address_needs_a_secret(self):
        rule = written("template.yaml")["Rules"]["SecretOfTheWebhook"]
        (assertion,) = rule["Assertions"]
        url = {"WebhookUrl": "https://hooks.example.com"}
        for given, applies, holds in (({}, False, False), (url, True, False), (url | {"WebhookSecret": "s"}, True, True)):
            stack = deployed(**given)
            self.assertEqual((stack.holds(rule["RuleCondition"]), stack.holds(assertion["Assert"])), (applies, holds))

    def test_what_may_be_given(self):
        def takes(parameter: str, value: str) -> bool:
            declared = PARAMETERS[parameter]
            return len(value) <= declared["MaxLength"] and re.fullmatch(declared["AllowedPattern"], value) is not None

        for url in ("", "https://a.example", "https://a.example:8443/b?c=d", "https://10.0.0.1/", TEXTS["WebhookUrl"]):
            self.assertTrue(takes("WebhookUrl", url), url)
        for url in ("http://a.example", "https://", "https:///a", "https://u:p@a.example/", "https://u@a.example", "a.example"):
            self.assertFalse(takes("WebhookUrl", url), url)
        # what would end the text in the JSON of Settings, or is no part of an address
        for url in ('https://a.example/"', "https://a.example/\\", "https://a.example/ b", "https://a.example/\n"):
            self.assertFalse(takes("WebhookUrl", url), url)
        for length in range(70):
            for byte in (b"\x00", b"\xa5", b"\xff"):
                secret = "whsec_" + base64.b64encode(byte * length).decode()
                self.assertEqual(takes("WebhookSecret", secret), 24 <= length <= 64, length)
        for secret in (self.SECRETS[0][6:], f"{self.SECRETS[0]}\n", self.SECRETS[0][:-1], f"whsec_{'a' * 32}aB=="):
            self.assertFalse(takes("WebhookSecret", secret), secret)
        # `sam deploy --guided` asks until it gets an answer that is not empty
        self.assertTrue(takes("WebhookSecret", PARAMETERS["WebhookSecret"]["Default"]))
        self.assertTrue(PARAMETERS["WebhookSecret"]["Default"])


# ---- logs and alarms ---------------------------------------------------------------------------

LEVELS = ["TRACE", "DEBUG", "INFO", "WARN", "ERROR", "FATAL"]


def evaluated(expression: str, series: dict[str, float | None], fills_nothing: bool) -> float | None:
    """A CloudWatch expression over one data point of each series. None is a missing one. An array function leaves
    missing points out. It is not documented whether FILL fills a metric that never had data: `fills_nothing`."""
    python = re.sub(r"\bAND\b", " and ", re.sub(r"\bIF\(", "when(", expression))
    names = {
        "when": lambda condition, yes, no: yes if condition else no,
        "FILL": lambda value, filling: filling if value is None and not fills_nothing else value,
        "MAX": lambda values: max((value for value in values if value is not None), default=None),
    }
    try:
        return eval(python, {"__builtins__": {}}, names | series)
    except TypeError:
        return None


def fires(alarm: dict, **series: float | None) -> bool:
    """Whether a data point raises the alarm, however FILL is read."""
    answers = set()
    for fills_nothing in (False, True):
        known, value = dict(series), None
        for query in alarm["Metrics"]:
            if "Expression" in query:
                value = evaluated(query["Expression"], known, fills_nothing)
                known[query["Id"]] = value
                if query.get("ReturnData", True):
                    answers.add(alarm["TreatMissingData"] == "breaching" if value is None else value >= float(alarm["Threshold"]))
    (answer,) = answers
    return answer


class Watching(unittest.TestCase):
    def test_lambda_drops_no_line_that_a_function_writes(self):
        for level in PARAMETERS["LogLevel"]["AllowedValues"]:
            for function, properties in functions(deployed(LogLevel=level)).items():
                logging = properties["LoggingConfig"]
                self.assertEqual(logging["LogFormat"], "JSON", function)
                self.assertEqual(properties["Environment"]["Variables"]["LOG_LEVEL"], level)
                lowest = LEVELS.index(logging.get("ApplicationLogLevel", "INFO"))
                self.assertLessEqual(lowest, LEVELS.index(level.upper()), f"{function} at {level}")
                # lines of metrics have no level: Lambda takes them for INFO
                self.assertLessEqual(lowest, LEVELS.index("INFO"), function)

    def test_the_audits_alarm_follows_its_schedule(self):
        for minutes in PARAMETERS["AuditEvery"]["AllowedValues"]:
            stack = deployed(AuditEvery=str(minutes))
            schedule = next(s for s in stack.of_type("AWS::Scheduler::Schedule").values() if s["Name"].endswith("-audit"))
            unit = "minute" if minutes == 1 else "minutes"
            self.assertEqual(schedule["ScheduleExpression"], f"rate({minutes} {unit})")
            alarm = stack.stack("Alarms")["AuditMissing"]
            self.assertEqual(int(alarm["Period"]), 3 * minutes * 60)
            # a change of AuditEvery is not measured at the time before it
            self.assertEqual((alarm["EvaluationPeriods"], alarm["DatapointsToAlarm"]), (2, 2))

    def test_a_silent_look_ahead_is_noticed_within_five_minutes(self):
        alarm = deployed().stack("Alarms")["LookAheadSilent"]
        self.assertEqual((int(alarm["Period"]), alarm["EvaluationPeriods"], alarm["DatapointsToAlarm"]), (60, 7, 5))
        # a look-ahead writes this metric, also if it is zero
        always = (ROOT / "shared/runtime/src/metrics.rs").read_text()
        self.assertRegex(always, r"const LOOK_AHEAD: &\[&str\] = &\[[^\]]*\bOVERDUE\b")
        self.assertIn(f'const OVERDUE: &str = "{alarm["MetricName"]}";', always)

    def test_each_schedule_is_missed_and_nothing_else(self):
        """Without any data, the alarms on what the scheduler runs fire, one for each, and no other."""
        for stack in scenarios():
            missed = {}
            for each in stack.all().values():
                for logical, alarm in each.of_type(ALARM).items():
                    self.assertIn(alarm["TreatMissingData"], ("breaching", "notBreaching", "missing"), logical)
                    if alarm["TreatMissingData"] != "breaching":
                        continue
                    below_one = (alarm["ComparisonOperator"], alarm["Threshold"])
                    self.assertEqual(below_one, ("LessThanThreshold", 1), logical)
                    self.assertIn(alarm["Statistic"], ("Sum", "SampleCount"), logical)
                    missed[alarm["Dimensions"][0]["Value"]] = int(alarm["Period"]) * alarm["DatapointsToAlarm"]
            rates = {function_of(s["Target"]["Arn"]): s for s in stack.of_type("AWS::Scheduler::Schedule").values()}
            self.assertEqual(missed.keys(), {stack[function]["FunctionName"] for function in rates})
            for function, schedule in rates.items():
                minutes = int(re.search(r"\d+", schedule["ScheduleExpression"])[0])
                self.assertGreaterEqual(missed[stack[function]["FunctionName"]], 5 * 60 * minutes, function)

    def test_each_table_is_watched_for_throttles_and_conflicts(self):
        stack = deployed()
        alarms = stack.stack("Alarms").of_type(ALARM).values()
        tables = {stack.ref(table) for table in stack.of_type("AWS::DynamoDB::Table")}
        self.assertEqual(len(tables), 6)
        # additions to the score of one member meet by nature, and those that fail are answered with 503
        boards = stack.ref("BoardsTable")
        for metric in ("ReadThrottleEvents", "WriteThrottleEvents", "TransactionConflict"):
            expected = tables - {boards} if metric == "TransactionConflict" else tables
            watching = [a for a in alarms if a.get("MetricName") == metric]
            self.assertEqual({a["Namespace"] for a in watching}, {"AWS/DynamoDB"}, metric)
            self.assertEqual({d["Name"] for a in watching for d in a["Dimensions"]}, {"TableName"}, metric)
            self.assertEqual(sorted(a["Dimensions"][0]["Value"] for a in watching), sorted(expected), metric)

    def test_one_user_at_the_limit_raises_no_alarm_on_conflicts(self):
        """Every change of one user may meet others twice, and no alarm is raised."""
        alarms = deployed().stack("Alarms").of_type(ALARM).values()
        (threshold,) = {a["Threshold"] for a in alarms if a.get("MetricName") == "TransactionConflict"}
        (period,) = {int(a["Period"]) for a in alarms if a.get("MetricName") == "TransactionConflict"}
        # changes of boards write the boards table, whose conflicts are not watched; pulls write nothing
        for limit in set(grouped("Request limits")) - {"BoardChangesPerMinute", "PullQueriesPerMinute"}:
            self.assertGreaterEqual(threshold, 2 * PARAMETERS[limit]["Default"] * period / 60, limit)

    def test_refused_writes_are_shown_for_each_function_that_refuses_them(self):
        stack = deployed()
        metrics = [m for widget in dashboard(stack)["widgets"] for m in widget["properties"].get("metrics", [])]
        shown = {m[3] for m in metrics if m[:2] == ["Fanfold", "RequestsLimited"]}
        limits = {f: p["Environment"]["Variables"].keys() for f, p in functions(stack).items()}
        limiting = {f for f, settings in limits.items() if any(each.endswith("_PER_MINUTE") for each in settings)}
        self.assertEqual(limiting, {"Posts", "Users", "Timers", "Boards", "Timeline"})
        self.assertEqual(shown, {stack[function]["FunctionName"] for function in limiting})

    def test_hits_and_misses_of_cards_are_shown_for_each_function_that_reads_them(self):
        stack = deployed()
        metrics = [m for widget in dashboard(stack)["widgets"] for m in widget["properties"].get("metrics", [])]
        readers = sorted(stack[function]["FunctionName"] for function in ("Posts", "Users", "Timeline"))
        for metric in ("CardHits", "CardMisses"):
            self.assertEqual(sorted(m[3] for m in metrics if m[:2] == ["Fanfold", metric]), readers, metric)

    def test_a_deployment_rolls_back_on_errors_of_functions_alone(self):
        stack = deployed(GradualDeployment="true")
        alarms = {p["AlarmName"]: p for p in stack.stack("Alarms").of_type(ALARM).values()}
        groups = stack.of_type("AWS::CodeDeploy::DeploymentGroup")
        group_of = {f"{function}DeploymentGroup": function for function in functions(stack)}
        self.assertEqual(groups.keys(), group_of.keys())
        for logical, group in groups.items():
            watched = [each["Name"] for each in group["AlarmConfiguration"]["Alarms"]]
            self.assertLessEqual(len(watched), 10, logical)
            kinds = {(alarms[name]["Namespace"], alarms[name]["MetricName"]) for name in watched}
            self.assertEqual(kinds, {("AWS/Lambda", "Errors")}, logical)
            seen = [alarms[name]["Dimensions"][0]["Value"] for name in watched]
            function = group_of[logical]
            expected = {function} | receivers(stack, function)
            self.assertEqual(sorted(seen), sorted(stack[each]["FunctionName"] for each in expected), logical)
        # the rule finds messages at all
        self.assertIn("Dispatch", receivers(stack, "Posts"))
        self.assertEqual(receivers(stack, "Admin"), set(), "it returns dead letters that others sent")

    def test_errors_are_seen_while_traffic_moves(self):
        for function, properties in functions(deployed()).items():
            alarm = deployed().stack("Alarms")[f"Errors{function}"]
            self.assertEqual(alarm["Dimensions"][0]["Value"], properties["FunctionName"])
            points = (int(alarm["Period"]), alarm["EvaluationPeriods"], alarm["DatapointsToAlarm"], alarm["Threshold"])
            # the shortest shift takes five minutes; the audit runs once in AuditEvery
            self.assertEqual(points, (900, 1, 1, 2) if function == "Audit" else (60, 3, 2, 1))

    def test_the_access_log_is_json(self):
        (stage,) = deployed().of_type("AWS::ApiGatewayV2::Stage").values()
        values = {
            "requestId": "Pd1xYhTqIAMEV3w=",
            "requestTime": "22/Nov/2026:09:00:00 +0000",
            "routeKey": "GET /v1/users/{user}",
            "status": "200",
            "responseLength": "12",
            "responseLatency": "3",
            "integrationLatency": "-",
            "error.message": 'No "scope" in the token',
            "error.messageString": '"No \\"scope\\" in the token"',
            "authorizer.error": "-",
            "identity.sourceIp": "2001:db8::1",
        }

        def line(**others: str) -> str:
            written = values | {"error.messageString": others.get("error", values["error.messageString"])}
            return re.sub(r"\$context\.([A-Za-z.]+)", lambda found: written[found[1]], stage["AccessLogSettings"]["Format"])

        self.assertEqual(json.loads(line())["error"], values["error.message"])
        self.assertEqual(json.loads(line(error='"-"'))["error"], "-")
        # A value that is missing is a hyphen. AWS documents $context.error.messageString as the quoted message and
        # does not say whether a missing one is quoted as well. If it is not, this field alone cannot be read:
        # `aws logs tail` still shows the line.
        bare = line(error="-")
        self.assertEqual(json.loads(bare.replace('"error":-,', '"error":null,'))["status"], "200")

    def test_every_operation_without_a_token_has_a_low_rate_of_its_own(self):
        described = json.loads((ROOT / "shared/web/openapi.json").read_text())["paths"]
        for stack in [*scenarios(), deployed(PublicRate="7", PublicBurst="9")]:
            (stage,) = stack.of_type("AWS::ApiGatewayV2::Stage").values()
            (api,) = stack.of_type("AWS::ApiGatewayV2::Api").values()
            limits, settings = ("ThrottlingRateLimit", "ThrottlingBurstLimit"), stage["RouteSettings"]
            given = [float(stack.values[name]) for name in ("PublicRate", "PublicBurst")]
            routes = {}
            for path, methods in api["Body"]["paths"].items():
                for method, operation in methods.items():
                    verb = "ANY" if method == "x-amazon-apigateway-any-method" else method.upper()
                    key = "$default" if path.strip("/") == "$default" else f"{verb} {path}"
                    routes[key] = any("Jwt" in need for need in operation.get("security", []))
            for key in (key for key, has_token in routes.items() if not has_token):
                self.assertIn(key, settings, "it has the rate of the users")
                self.assertEqual([float(settings[key][limit]) for limit in limits], given, key)
            for path, methods in described.items():
                for method, operation in methods.items():
                    # what no route names takes $default
                    has_token = routes.get(f"{method.upper()} {path}", routes["$default"])
                    self.assertEqual(has_token, bool(operation.get("security")), f"{method} {path}")
            self.assertFalse(routes["$default"])
        for rate, users in (("PublicRate", "ApiRate"), ("PublicBurst", "ApiBurst")):
            self.assertLessEqual(PARAMETERS[rate]["Default"] * 10, PARAMETERS[users]["Default"])

    def test_metrics_of_routes_are_paid_for_on_request(self):
        for value, expected in ((None, False), ("false", False), ("true", True)):
            stack = deployed() if value is None else deployed(RouteMetrics=value)
            (stage,) = stack.of_type("AWS::ApiGatewayV2::Stage").values()
            self.assertIs(stage["DefaultRouteSettings"]["DetailedMetricsEnabled"], expected)


# ---- Valkey ------------------------------------------------------------------------------------


def dashboard(stack: Stack) -> dict:
    return json.loads(stack.stack("Dashboard")["Dashboard"]["DashboardBody"])


def watched_nodes(stack: Stack, metric: str) -> list[str]:
    """The dimensions that alarms on a metric of ElastiCache look at, as `name=value`."""
    found = []
    for alarm in stack.stack("Alarms").of_type(ALARM).values():
        metrics = [q["MetricStat"]["Metric"] for q in alarm.get("Metrics", []) if "MetricStat" in q]
        for each in metrics or [alarm]:
            if (each["Namespace"], each["MetricName"]) == ("AWS/ElastiCache", metric):
                found += [f"{d['Name']}={d['Value']}" for d in each["Dimensions"]]
    return sorted(found)


def shown_nodes(stack: Stack) -> set[str]:
    metrics = [m for widget in dashboard(stack)["widgets"] for m in widget["properties"].get("metrics", [])]
    return {f"{m[2]}={m[3]}" for m in metrics if m[0] == "AWS/ElastiCache"}


class Caches(unittest.TestCase):
    def test_a_cluster(self):
        for shards in PARAMETERS["ValkeyShards"]["AllowedValues"]:
            stack = deployed(ValkeyKind="cluster", ValkeyShards=str(shards))
            cache = stack.stack("Cache")
            (group,) = cache.of_type("AWS::ElastiCache::ReplicationGroup").values()
            self.assertFalse(cache.of_type("AWS::ElastiCache::ServerlessCache"))
            settings = cache["Settings"]
            self.assertEqual(settings["Properties"]["maxmemory-policy"], "volatile-lru")
            self.assertEqual(settings["Properties"]["cluster-enabled"], "yes")
            self.assertEqual(settings["CacheParameterGroupFamily"], f"valkey{group['EngineVersion'].split('.')[0]}")
            for held in ("MultiAZEnabled", "AutomaticFailoverEnabled", "TransitEncryptionEnabled"):
                self.assertIs(group[held], True, held)
            self.assertIs(group["AtRestEncryptionEnabled"], True)
            self.assertEqual(group["TransitEncryptionMode"], "required")
            self.assertEqual(group["SnapshotRetentionLimit"], 0)
            self.assertTrue(group["UserGroupIds"])
            self.assertEqual(cache.template["Resources"]["Nodes"]["UpdatePolicy"], {"UseOnlineResharding": True})
            nodes = sorted(
                f"CacheClusterId={group['ReplicationGroupId']}-{shard:04}-{node:03}"
                for shard in range(1, int(group["NumNodeGroups"]) + 1)
                for node in range(1, int(group["ReplicasPerNodeGroup"]) + 2)
            )
            self.assertEqual(len(nodes), 2 * shards)
            for metric in ("DatabaseMemoryUsageCountedForEvictPercentage", "Evictions", "EngineCPUUtilization"):
                self.assertEqual(watched_nodes(stack, metric), nodes, metric)
            self.assertEqual(watched_nodes(stack, "ThrottledCmds"), [])
            self.assertEqual(shown_nodes(stack), set(nodes))

    def test_serverless(self):
        for least, reserved in (("0", None), ("30000", "30000")):
            stack = deployed(ValkeyKind="serverless", ValkeyMinEcpu=least)
            cache = stack.stack("Cache")
            (serverless,) = cache.of_type("AWS::ElastiCache::ServerlessCache").values()
            for kind in ("ReplicationGroup", "ParameterGroup", "SubnetGroup"):
                self.assertFalse(cache.of_type(f"AWS::ElastiCache::{kind}"))
            limits = serverless["CacheUsageLimits"]["ECPUPerSecond"]
            self.assertEqual(limits.get("Minimum"), reserved)
            self.assertEqual(text(limits["Maximum"]), text(PARAMETERS["ValkeyMaxEcpu"]["Default"]))
            named = [f"clusterId={serverless['ServerlessCacheName']}"]
            for metric in ("BytesUsedForCache", "Evictions", "ThrottledCmds"):
                self.assertEqual(watched_nodes(stack, metric), named, metric)
            self.assertEqual(watched_nodes(stack, "DatabaseMemoryUsageCountedForEvictPercentage"), [])
            self.assertEqual(shown_nodes(stack), set(named))

    def test_what_functions_are_told_of_each_kind(self):
        names = {}
        for kind, iam_kind, arn in (
            ("cluster", "replication-group", "replicationgroup"),
            ("serverless", "serverless", "serverlesscache"),
        ):
            stack = deployed(ValkeyKind=kind)
            cache = stack.stack("Cache")
            variables = stack["Timeline"]["Environment"]["Variables"]
            names[kind] = variables["REDIS_IAM_CACHE"]
            self.assertEqual(variables["REDIS_IAM_KIND"], iam_kind)
            user = cache["User"]["UserId"]
            self.assertTrue(variables["REDIS_URL"].startswith(f"rediss-cluster://{user}@"))
            (statement,) = stack["ConnectToCache"]["PolicyDocument"]["Statement"]
            ends = [f":{arn}:{names[kind]}", f":user:{user}"]
            for resource, end in zip(statement["Resource"], ends, strict=True):
                self.assertTrue(resource.endswith(end), resource)
        self.assertEqual(len(set(names.values())), 2, "a change of kind makes one cache beside the other")

    def test_every_function_finds_valkey_and_may_log_in(self):
        wanted = {"REDIS_URL", "REDIS_IAM_CACHE", "REDIS_IAM_KIND"}
        for stack in scenarios():
            for function, properties in functions(stack).items():
                self.assertLessEqual(wanted, properties["Environment"]["Variables"].keys(), function)
                login = stack.ref("ConnectToCache")
                if function == "Webhook":
                    continue
                self.assertIn(login, stack[f"{function}Role"]["ManagedPolicyArns"], function)
                self.assertEqual("VpcConfig" in properties, stack.values["Network"] != "none", function)
        # a Valkey without a login
        stack = deployed(Network="none", ValkeyUrl="redis://valkey.example.com")
        self.assertNotIn("ConnectToCache", stack.resources)
        self.assertTrue(functions(stack))

    def test_both_kinds_are_full_at_four_fifths(self):
        cluster, serverless = (deployed(ValkeyKind=kind).stack("Alarms") for kind in ("cluster", "serverless"))
        self.assertTrue(fires(cluster["ValkeyMemory1"], a=None, b=81))
        self.assertFalse(fires(cluster["ValkeyMemory1"], a=79, b=10))
        self.assertTrue(fires(cluster["ValkeyCpu1"], a=90, b=None))
        self.assertFalse(fires(cluster["ValkeyCpu1"], a=89, b=10))
        self.assertTrue(fires(cluster["ValkeyEvictions1"], a=1, b=0))
        self.assertFalse(fires(cluster["ValkeyEvictions1"], a=0, b=None))
        self.assertTrue(fires(serverless["ValkeyMemory"], used=8.1 * 2**30))
        self.assertFalse(fires(serverless["ValkeyMemory"], used=7.9 * 2**30))

    def test_the_access_string_is_one_line_with_rights_in_order(self):
        lines = (INFRA / "cache.yaml").read_text().splitlines()
        (line,) = (line for line in lines if line.strip().startswith("AccessString: "))
        words = line.strip().strip('"').split()
        # @write has FUNCTION LOAD, so scripting is taken away before two of its commands are given
        for one, other in itertools.pairwise(("-@all", "+@write", "-@scripting", "+eval")):
            self.assertLess(words.index(one), words.index(other))
        self.assertIn("+evalsha", words)
        self.assertIn("-@dangerous", words)

    def test_a_dashboard_without_a_known_cache_is_valid(self):
        stack = deployed(Network="none", ValkeyUrl="redis://valkey.example.com")
        self.assertEqual(shown_nodes(stack), set())


# ---- network -----------------------------------------------------------------------------------


class Zones(unittest.TestCase):
    def zones(self, **parameters: str) -> list[str]:
        subnets = deployed(**parameters).stack("Vpc").of_type("AWS::EC2::Subnet").values()
        return [subnet["AvailabilityZone"] for subnet in subnets]

    def test_the_given_ones_or_the_first_two(self):
        self.assertEqual(self.zones(), ["us-east-1a", "us-east-1b"])
        self.assertEqual(self.zones(Zones="us-east-1d,us-east-1f"), ["us-east-1d", "us-east-1f"])

    def test_what_may_be_given(self):
        pattern = PARAMETERS["Zones"]["AllowedPattern"]
        two = ("us-east-1a,us-east-1b", "us-gov-west-1a,us-gov-west-1c", "us-west-2-lax-1a,us-west-2-lax-1b")
        for fine in ("", *two, "us-east-1-wl1-bos-wlz-1,us-east-1a"):
            self.assertRegex(fine, pattern)
        for wrong in ("us-east-1a", "us-east-1a,", "us-east-1a, us-east-1b", "us-east-1,us-west-2", "a,b", ",".join("abc")):
            self.assertNotRegex(wrong, pattern)
        for same in ("us-east-1a,us-east-1a", "us-west-2-lax-1a,us-west-2-lax-1a"):
            self.assertNotRegex(same, pattern)


# ---- money -------------------------------------------------------------------------------------


class IdleCost(unittest.TestCase):
    def test_a_stack_costs_at_most_50_dollars_when_nobody_calls(self):
        for kind, costs in by_kind().items():
            self.assertLessEqual(sum(costs.values()), 50, f"{kind}: {costs}")
            self.assertTrue(all(cost > 0 for cost in costs.values()), f"{kind}: {costs}")

    def test_the_document_says_what_it_costs(self):
        paragraphs = re.split(r"\n\s*\n", (INFRA / "README.md").read_text())
        (said,) = (" ".join(each.split()) for each in paragraphs if "when nobody calls" in each)
        kinds = by_kind()
        for kind, costs in kinds.items():
            parts = ", ".join(f"{what} {cost:.2f}" for what, cost in costs.items())
            wanted = f"US$ {round(sum(costs.values()))}"
            self.assertIn(wanted, said, f"infra/README.md wants '{wanted}' beside 'when nobody calls' for {kind} ({parts})")
        # each part of the default, and what is other for the other kind
        cluster, serverless = kinds["cluster"], kinds["serverless"]
        stated = [float(each) for each in re.findall(r"\(([0-9.]+)\)", said.partition("ValkeyKind=serverless")[0])]
        self.assertEqual(sorted(stated), sorted(round(cost, 1) for cost in cluster.values()))
        self.assertEqual(round(sum(stated)), round(sum(cluster.values())))
        others = [what for what in cluster if round(cluster[what], 2) != round(serverless[what], 2)]
        self.assertEqual(others, ["Valkey", "alarms"])
        for what in others:
            self.assertIn(f"{what} {serverless[what]:.1f}", said)

    def test_the_document_says_what_anybody_can_cost(self):
        said = " ".join((INFRA / "README.md").read_text().split())
        wanted = f"for a whole day costs about US$ {round(open_cost(deployed()), -1):.0f} "
        self.assertTrue(wanted in said, f"infra/README.md wants '{wanted}'")
        self.assertAlmostEqual(open_cost(deployed(PublicRate="1")), open_cost(deployed()) / PARAMETERS["PublicRate"]["Default"])


# ---- user pool and keys ------------------------------------------------------------------------


class UserPool(unittest.TestCase):
    def test_it_is_made_as_it_must_stay(self):
        for tier in PARAMETERS["UserPoolTier"]["AllowedValues"]:
            pool = deployed(UserPoolTier=tier)["UserPool"]
            self.assertEqual(pool["UserPoolTier"], tier)
            self.assertEqual(pool["UsernameConfiguration"], {"CaseSensitive": False})
            (email,) = (each for each in pool["Schema"] if each["Name"] == "email")
            self.assertEqual((email["Required"], email["Mutable"]), (True, True))
            self.assertEqual((pool["AutoVerifiedAttributes"], pool["AliasAttributes"]), (["email"], ["email"]))
            self.assertEqual(pool["AccountRecoverySetting"]["RecoveryMechanisms"], [{"Name": "verified_email", "Priority": 1}])
        self.assertEqual(PARAMETERS["UserPoolTier"]["Default"], "LITE")

    def test_its_sender_is_that_of_the_parameters(self):
        self.assertEqual(deployed()["UserPool"]["EmailConfiguration"], {"EmailSendingAccount": "COGNITO_DEFAULT"})
        own = {name: TEXTS[name] for name in ("EmailFrom", "SesIdentityArn")}
        wanted = {"EmailSendingAccount": "DEVELOPER", "From": own["EmailFrom"], "SourceArn": own["SesIdentityArn"]}
        self.assertEqual(deployed(**own)["UserPool"]["EmailConfiguration"], wanted)
        rule = written("template.yaml")["Rules"]["SenderOfTheUserPool"]
        self.assertNotIn("RuleCondition", rule)
        (assertion,) = rule["Assertions"]
        for given in ({}, own, *({name: value} for name, value in own.items())):
            self.assertEqual(deployed(**given).holds(assertion["Assert"]), len(given) != 1, given)
        good = {"EmailFrom": ("a@example.com", "A b <a@example.com>"), "SesIdentityArn": (TEXTS["SesIdentityArn"],)}
        bad = {"EmailFrom": ("a", "a@b@c", "<a@b>", "A <a>", "a b@c"), "SesIdentityArn": ("a@example.com", "arn:aws:sns:us-east-1:123456789012:a")}
        for name in own:
            for value in (*good[name], *bad[name]):
                taken = re.search(PARAMETERS[name]["AllowedPattern"], value) is not None
                self.assertEqual(taken, value in good[name], value)


class Keys(unittest.TestCase):
    def test_a_key_that_costs_nothing_encrypts_what_is_stored(self):
        """DynamoDB and CloudWatch encrypt with keys of their own if a template names none, and queues with that of SQS. The
        topic alone has a key of the stack: CloudWatch may not use the account's."""
        for given, tables in (({}, None), ({"TableKey": "aws-managed"}, {"SSEEnabled": True})):
            stack = deployed(**given)
            for logical, table in stack.of_type("AWS::DynamoDB::Table").items():
                self.assertEqual(table.get("SSESpecification"), tables, logical)
            for logical, queue in stack.of_type(QUEUE).items():
                self.assertIs(queue["SqsManagedSseEnabled"], True, logical)
            for logical, group in stack.of_type(GROUP).items():
                self.assertNotIn("KmsKeyId", group, logical)
            keys = [each for one in stack.all().values() for each in one.of_type("AWS::KMS::Key")]
            self.assertEqual(keys, ["Key"])


class Report(unittest.TestResult):
    """A line for each test, and the summary that `cargo test` prints."""

    def __init__(self):
        super().__init__()
        self.passed, self.failed = [], {}

    def startTest(self, test):
        super().startTest(test)
        self.why = []

    def addFailure(self, test, err):
        self.why.append(self._exc_info_to_string(err, test))

    addError = addFailure

    def addSubTest(self, test, subtest, err):
        if err is not None:
            self.why.append(f"{subtest._subDescription()} {self._exc_info_to_string(err, test)}")

    def stopTest(self, test):
        name = test.id().removeprefix("__main__.")
        if self.why:
            self.failed[name] = self.why
        else:
            self.passed.append(name)
        print(f"test {name} ... {'FAILED' if self.why else 'ok'}", flush=True)
        super().stopTest(test)


def main() -> int:
    report = Report()
    unittest.defaultTestLoader.loadTestsFromModule(sys.modules["__main__"]).run(report)
    for name, why in report.failed.items():
        shown = "\n".join(why[:3]) + (f"\n({len(why) - 3} more)" if len(why) > 3 else "")
        print(f"\n---- {name}\n{shown}")
    result = "FAILED" if report.failed else "ok"
    print(f"\ntest result: {result}. {len(report.passed)} passed; {len(report.failed)} failed; 0 ignored")
    return 1 if report.failed else 0


if __name__ == "__main__":
    sys.exit(main())
