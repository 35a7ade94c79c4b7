"""Compares what each function's policy allows with what the function did, both ways.

    policies.py --stack NAME --calls FILE

FILE has a line for each call that the local cloud decided (see serve.py). Says what was refused, and what is
allowed but was never used; ends with 1 if there is either.
"""

import argparse
import json
import pathlib
import sys

import boto3

# What the deployed functions do where the tests of the stack do not lead them, or not each time.
RARE = {
    # Lambda itself sends there as the function, when an invocation of a schedule fails
    ("audit", "sqs:SendMessage", "schedules-dead"),
    ("sweep", "sqs:SendMessage", "schedules-dead"),
    # only where a feed differs (rules::audit)
    ("audit", "dynamodb:GetItem", "UsersTable"),
    ("audit", "dynamodb:BatchGetItem", "PostsTable"),
    # a message that starts anew, where a store was away for half of its tries (rules::letters, faults)
    ("dispatch", "sqs:SendMessage", "post-events"),
    ("dispatch", "sqs:SendMessage", "bulk-events"),
    ("deliver", "sqs:SendMessage", "chunks"),
    ("deliver", "sqs:SendMessage", "bulk-chunks"),
    ("graph", "sqs:SendMessage", "graph-events"),
    ("rebuild", "sqs:SendMessage", "rebuilds"),
    # a late chunk, and a very large author, whose fan-out comes as it comes (rules::relations, rules::pulled)
    ("deliver", "dynamodb:BatchGetItem", "GraphTable"),
    ("dispatch", "dynamodb:BatchGetItem", "GraphTable"),
}


def is_of(stack: str, function: str) -> bool:
    """Whether it is a function of this stack: its name has one word more."""
    return function.rpartition("-")[0] == stack


def is_rare(stack: str, grant: tuple[str, str, str]) -> bool:
    function, action, resource = grant
    name = resource.rpartition(":")[2].removeprefix("table/").removeprefix(f"{stack}-")
    # a table has a unique part behind its name
    table = name.partition("-")[0]
    where = table if table.endswith("Table") else name
    return (function.removeprefix(f"{stack}-"), action, where) in RARE


def allowed(stack: str) -> set[tuple[str, str, str]]:
    """(function, action, resource) for each statement of a function's own."""
    iam, functions = boto3.client("iam"), boto3.client("lambda")
    pages = functions.get_paginator("list_functions").paginate()
    found = set()
    for function in (each for page in pages for each in page["Functions"]):
        name = function["FunctionName"]
        if not is_of(stack, name):
            continue
        role = function["Role"].rsplit("/", 1)[-1]
        for policy in iam.list_role_policies(RoleName=role)["PolicyNames"]:
            document = iam.get_role_policy(RoleName=role, PolicyName=policy)["PolicyDocument"]
            for statement in document["Statement"]:
                actions, resources = statement["Action"], statement["Resource"]
                actions = [actions] if isinstance(actions, str) else actions
                resources = [resources] if isinstance(resources, str) else resources
                found |= {(name, action, resource) for action in actions for resource in resources}
    return found


def main() -> int:
    options = argparse.ArgumentParser()
    options.add_argument("--stack", required=True)
    options.add_argument("--calls", type=pathlib.Path, required=True)
    given = options.parse_args()

    calls = [json.loads(line) for line in given.calls.read_text().splitlines()]
    mine = [call for call in calls if is_of(given.stack, call["function"])]
    used = {(call["function"], call["action"], call["resource"]) for call in mine if call["allowed"]}
    refused = {(call["function"], call["action"], call["resource"]) for call in mine if not call["allowed"]}
    granted = allowed(given.stack)
    wildcards = {grant for grant in granted if "*" in grant[1] + grant[2]}
    unused = {grant for grant in granted - used if not is_rare(given.stack, grant)}
    for what, grants in (("refused", refused), ("never used", unused), ("too wide", wildcards)):
        for function, action, resource in sorted(grants):
            print(f"{what}: {function} {action} {resource}")
    print(f"{len({call[0] for call in used})} functions made {len(used)} kinds of calls, {len(granted)} are allowed")
    return 1 if refused or unused or wildcards or not used else 0


if __name__ == "__main__":
    sys.exit(main())
