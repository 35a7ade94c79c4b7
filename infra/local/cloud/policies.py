"""Compares the rights of each function with its calls.

    policies.py --stack NAME --calls FILE

FILE has a line for each call that the local cloud allowed or refused (see serve.py). Prints refused calls, rights that
were never used, and rights with a wildcard. Exits with 1 if there are any.
"""

import argparse
import json
import pathlib
import sys

import boto3

# Rights for rare calls, which the tests of the deployed stack do not make, or not in every run. Other tests make them.
RARE = {
    # Lambda sends the event of a failed scheduled invocation there, with the rights of the function
    ("audit", "sqs:SendMessage", "schedules-dead"),
    ("sweep", "sqs:SendMessage", "schedules-dead"),
    ("lookahead", "sqs:SendMessage", "schedules-dead"),
    # only if a feed differs (rules::audit)
    ("audit", "dynamodb:GetItem", "UsersTable"),
    ("audit", "dynamodb:DeleteItem", "GraphTable"),
    # only if a bucket that is visited has cards, or a feed differs (rules::audit)
    ("audit", "dynamodb:BatchGetItem", "UsersTable"),
    ("audit", "dynamodb:BatchGetItem", "PostsTable"),
    ("audit", "dynamodb:BatchGetItem", "GraphTable"),
    ("audit", "dynamodb:Query", "MarksTable"),
    ("audit", "dynamodb:GetItem", "PostsTable"),
    ("audit", "dynamodb:UpdateItem", "PostsTable"),
    # only if a post is not under the tags of its text (rules::tag_costs)
    ("audit", "dynamodb:BatchWriteItem", "MarksTable"),
    # only if a bucket that is visited has copies of boards (rules::audit)
    ("audit", "dynamodb:GetItem", "BoardsTable"),
    ("audit", "dynamodb:BatchGetItem", "BoardsTable"),
    ("audit", "dynamodb:Query", "BoardsTable"),
    # only if a function died after a member fell out of a board (rules::boards)
    ("audit", "dynamodb:UpdateItem", "BoardsTable"),
    # only for a board that is too large to be copied within a request (rules::boards)
    ("boards", "sqs:SendMessage", "rebuilds"),
    ("rebuild", "dynamodb:GetItem", "BoardsTable"),
    ("rebuild", "dynamodb:BatchGetItem", "BoardsTable"),
    ("rebuild", "dynamodb:Query", "BoardsTable"),
    ("rebuild", "dynamodb:UpdateItem", "BoardsTable"),
    # only for a ranking of very many authors (rules::rankings)
    ("rebuild", "dynamodb:BatchGetItem", "UsersTable"),
    # only for a viewer who likes more than 200 posts (rules::likes)
    ("posts", "dynamodb:BatchGetItem", "MarksTable"),
    ("timeline", "dynamodb:BatchGetItem", "MarksTable"),
    # only if the number of followers in a profile is wrong (rules::audit)
    ("audit", "dynamodb:UpdateItem", "UsersTable"),
    # a chunk or a dispatch whose push is late, so that relations are read again (rules::relations, rules::pulled)
    ("deliver", "dynamodb:BatchGetItem", "GraphTable"),
    ("dispatch", "dynamodb:BatchGetItem", "GraphTable"),
    # only what is more than two minutes ahead, or was lost; requests hand on the rest themselves (rules::due)
    ("lookahead", "sqs:SendMessage", "due-items"),
    # a post is scheduled at least a minute ahead (rules::due)
    ("due", "dynamodb:PutItem", "PostsTable"),
    ("due", "sqs:SendMessage", "post-events"),
    # only for an author who has as many heads as possible, or only heads of newer posts (rules::heads)
    ("due", "dynamodb:GetItem", "UsersTable"),
    # only an entry whose item was removed by hand (rules::due)
    ("due", "dynamodb:ConditionCheckItem", "DueTable"),
    # only with WebhookUrl, which takes https alone (rules::webhook)
    ("due", "sqs:SendMessage", "webhooks"),
}

# Rights for rare calls of a function to the queues that it receives messages from: a message is requeued because a store
# did not answer for half of its tries, the rest of a chunk is sent, or a failed message waits shorter (rules::retries,
# faults).
RARE_ON_OWN_QUEUES = {"sqs:SendMessage", "sqs:ChangeMessageVisibility"}


def is_of(stack: str, function: str) -> bool:
    """Whether it is a function of this stack: its name is the stack's name, a hyphen and one word."""
    return function.rpartition("-")[0] == stack


def event_sources(stack: str) -> set[tuple[str, str]]:
    """(function, queue's ARN) for each queue that a function receives messages from."""
    pages = boto3.client("lambda").get_paginator("list_event_source_mappings").paginate()
    found = set()
    for source in (each for page in pages for each in page["EventSourceMappings"]):
        # arn:aws:lambda:<region>:<account>:function:<name>, and perhaps an alias
        function = source["FunctionArn"].split(":")[6]
        if is_of(stack, function):
            found.add((function, source["EventSourceArn"]))
    return found


def is_rare(stack: str, grant: tuple[str, str, str], sources: set[tuple[str, str]]) -> bool:
    function, action, resource = grant
    if action in RARE_ON_OWN_QUEUES and (function, resource) in sources:
        return True
    name = resource.rpartition(":")[2].removeprefix("table/").removeprefix(f"{stack}-")
    # the name of a table ends with a unique part
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
    options.add_argument("--every-call", action="store_true", help="the functions have made all of their calls")
    given = options.parse_args()

    calls = [json.loads(line) for line in given.calls.read_text().splitlines()]
    mine = [call for call in calls if is_of(given.stack, call["function"])]
    used = {(call["function"], call["action"], call["resource"]) for call in mine if call["allowed"]}
    refused = {(call["function"], call["action"], call["resource"]) for call in mine if not call["allowed"]}
    granted = allowed(given.stack)
    wildcards = {grant for grant in granted if "*" in grant[1] + grant[2]}
    sources = event_sources(given.stack)
    missing = granted - used if given.every_call else set()
    unused = {grant for grant in missing if not is_rare(given.stack, grant, sources)}
    for what, grants in (("refused", refused), ("never used", unused), ("too wide", wildcards)):
        for function, action, resource in sorted(grants):
            print(f"{what}: {function} {action} {resource}")
    print(f"{len({call[0] for call in used})} functions made {len(used)} kinds of calls, {len(granted)} are allowed")
    return 1 if refused or unused or wildcards or not used else 0


if __name__ == "__main__":
    sys.exit(main())
