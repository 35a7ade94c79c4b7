"""Computes the monthly cost of a deployed stack that nobody calls, and the daily cost of one that anybody calls without a
token, from the translated templates.

    idle_cost.py
"""

import gzip
import math
import re

from translated import ROOT, Stack, deployed

HOURS = 730
MINUTES = HOURS * 60

# List prices of us-east-1 in US$ as of writing (2026), without free tiers, from the price pages of each service. Other
# regions and later prices differ. This program does not call AWS.
ENDPOINT_HOUR = 0.01  # interface endpoint, in each zone
NODE_HOUR = {  # Valkey on ElastiCache, each node
    "cache.t4g.micro": 0.0128,
    "cache.t4g.small": 0.0256,
    "cache.t4g.medium": 0.052,
}
SERVERLESS_GB_HOUR = 0.084  # Valkey Serverless, of which at least 0.1 GB are charged
SERVERLESS_LEAST_GB = 0.1
SERVERLESS_ECPU = 0.0023 / 1e6
ALARM_METRIC = 0.10  # a month, for each metric that an alarm looks at
DASHBOARD = 3.00  # a month
CUSTOM_METRIC = 0.30  # a month
KEY = 1.00  # a month
LAMBDA_REQUEST = 0.20 / 1e6
LAMBDA_GB_SECOND = 0.0000133334  # arm64
SCHEDULE = 1.00 / 1e6  # an invocation
SQS_REQUEST = 0.40 / 1e6
LOGS_GB = 0.50
API_REQUEST = 1.00 / 1e6  # HTTP API, each begun part of 512 KiB of an answer
TRANSFER_GB = 0.09  # to the internet
READ_UNIT = 0.125 / 1e6  # DynamoDB on demand
WRITE_UNIT = 0.625 / 1e6

KINDS = ("endpoints", "Valkey", "alarms", "dashboards", "keys", "metrics", "schedules", "tables", "polls")

# Assumptions; the real values are lower.
IDLE_INVOCATION_SECONDS = 0.2
LOG_GB_PER_INVOCATION = 2e-6
# Lambda polls an idle queue with five long polls of 20 seconds.
POLLS_A_MINUTE = 15


def scheduled(stack: Stack) -> dict[str, float]:
    """Invocations a minute by function."""
    rates = {}
    for schedule in stack.of_type("AWS::Scheduler::Schedule").values():
        minutes = int(re.fullmatch(r"rate\((\d+) minutes?\)", schedule["ScheduleExpression"])[1])
        # the target is an alias: <stack>-<function>Alias<name>-<unique part>
        function = re.search(r"-(\w+)Alias", schedule["Target"]["Arn"])[1]
        rates[function] = rates.get(function, 0) + 1 / minutes
    return rates


def metrics_written(function: str) -> int:
    """Custom metrics that a function writes with each invocation, from the source."""
    adapter = (ROOT / "functions" / function.lower() / "mod.rs").read_text()
    found = re.search(r"\binvoked\(\s*function,\s*(?:metrics::)?(\w+|&\[\])", adapter)
    if found[1] == "&[]":
        return 0
    metrics = (ROOT / "shared/runtime/src/metrics.rs").read_text()
    constant = re.search(rf"const {found[1]}: &\[&str\] =\s*&\[([^\]]*)\]", metrics)
    return len([name for name in constant[1].split(",") if name.strip()])


def units_of_look_aheads() -> tuple[float, float]:
    """Units of reads and writes in a minute in which nothing is due, from the bounds in the source.

    A look-ahead reads an item of each part of the index, and asks for overdue entries of the hours that it checks again: by
    default the present hour and the one before it. Once an hour it loads each part's entries of the next hour, and notes an
    hour that is over. A strongly consistent read of nothing takes a unit."""
    limits = (ROOT / "shared/core/src/limits.rs").read_text()
    parts = int(re.search(r"const DUE_PARTS: u16 = (\d+);", limits)[1])
    checks = (ROOT / "shared/engines/src/due/check.rs").read_text()
    back = re.search(r"const DUE_CHECK_BACK: Duration = Duration::from_secs\(([0-9_]+)\);", checks)[1]
    hours = 1 + -(-int(back) // 3600)
    return parts * (1 + hours + 1 / 60), parts / 60


def idle_cost(stack: Stack) -> dict[str, float]:
    """US$ a month for each kind of charge."""
    costs = dict.fromkeys(KINDS, 0.0)
    for each in stack.all().values():
        for endpoint in each.of_type("AWS::EC2::VPCEndpoint").values():
            if endpoint["VpcEndpointType"] == "Interface":
                costs["endpoints"] += len(endpoint["SubnetIds"]) * ENDPOINT_HOUR * HOURS
        for nodes in each.of_type("AWS::ElastiCache::ReplicationGroup").values():
            count = int(nodes["NumNodeGroups"]) * (1 + int(nodes["ReplicasPerNodeGroup"]))
            costs["Valkey"] += count * NODE_HOUR[nodes["CacheNodeType"]] * HOURS
        for cache in each.of_type("AWS::ElastiCache::ServerlessCache").values():
            reserved = int(cache["CacheUsageLimits"]["ECPUPerSecond"].get("Minimum", 0))
            hour = SERVERLESS_LEAST_GB * SERVERLESS_GB_HOUR + reserved * 3600 * SERVERLESS_ECPU
            costs["Valkey"] += hour * HOURS
        for alarm in each.of_type("AWS::CloudWatch::Alarm").values():
            metrics = [query for query in alarm.get("Metrics", [alarm]) if "Expression" not in query]
            costs["alarms"] += len(metrics) * ALARM_METRIC
        costs["dashboards"] += len(each.of_type("AWS::CloudWatch::Dashboard")) * DASHBOARD
        costs["keys"] += len(each.of_type("AWS::KMS::Key")) * KEY
    for function, rate in scheduled(stack).items():
        memory_gb = int(stack[function]["MemorySize"]) / 1024
        invocation = (
            LAMBDA_REQUEST
            + memory_gb * IDLE_INVOCATION_SECONDS * LAMBDA_GB_SECOND
            + SCHEDULE
            + LOG_GB_PER_INVOCATION * LOGS_GB
        )
        costs["schedules"] += rate * MINUTES * invocation
        costs["metrics"] += metrics_written(function) * CUSTOM_METRIC
    reads, writes = units_of_look_aheads()
    look_aheads = scheduled(stack).get("LookAhead", 0) * MINUTES
    costs["tables"] = look_aheads * (reads * READ_UNIT + writes * WRITE_UNIT)
    queues = len(stack.of_type("AWS::Lambda::EventSourceMapping"))
    costs["polls"] += queues * POLLS_A_MINUTE * MINUTES * SQS_REQUEST
    return costs


def largest_file() -> int:
    """The bytes of the largest answer that needs no token. Files of the page are always compressed, and the description of
    the API is for clients that read gzip."""
    site = ROOT / "shared/page/site"
    files = [file for folder in ("", "docs", "vendor") for file in (site / folder).iterdir() if file.is_file()]
    packed = [len(gzip.compress(file.read_bytes())) for file in files]
    return max(*packed, (ROOT / "shared/web/openapi.json").stat().st_size)


def open_cost(stack: Stack) -> float:
    """US$ a day, if somebody asks for the largest file without a pause."""
    (stage,) = stack.of_type("AWS::ApiGatewayV2::Stage").values()
    requests = float(stage["RouteSettings"]["$default"]["ThrottlingRateLimit"]) * 86400
    memory_gb = int(stack["Users"]["MemorySize"]) / 1024
    size = largest_file()
    request = (
        API_REQUEST * math.ceil(size / 2**19)
        + LAMBDA_REQUEST
        + memory_gb * IDLE_INVOCATION_SECONDS * LAMBDA_GB_SECOND
        + LOG_GB_PER_INVOCATION * LOGS_GB
        + size / 1e9 * TRANSFER_GB
    )
    return requests * request


def by_kind() -> dict[str, dict[str, float]]:
    return {kind: idle_cost(deployed(ValkeyKind=kind)) for kind in ("cluster", "serverless")}


if __name__ == "__main__":
    for kind, costs in by_kind().items():
        parts = ", ".join(f"{what} {cost:.2f}" for what, cost in costs.items())
        print(f"{kind}: US$ {sum(costs.values()):.2f} a month ({parts})")
    print(f"without a token: US$ {open_cost(deployed()):.2f} a day at most, for {largest_file()} bytes a request")
