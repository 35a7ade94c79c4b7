"""Deploys infra/template.yaml to the local cloud and prints the stack's outputs as JSON: creates the stack, or
updates it if it exists. A parameter that is not given keeps its value.

    deploy.py --stack NAME --template FILE --bootstrap FILE [--parameter NAME=VALUE ...]

The bootstrap is the binary of all functions; `Handler` in the template names the function that it runs. The template is
the one that is deployed to AWS. Only the locations of the code and of each nested template are filled in, as
`sam package` does.
"""

import argparse
import hashlib
import io
import json
import pathlib
import sys
import uuid
import zipfile

import boto3
from botocore.exceptions import ClientError, WaiterError
from samtranslator.yaml_helper import yaml_parse

from gaps import fill_gaps

BUCKET = "fanfold-artifacts"
URL = f"https://s3.amazonaws.com/{BUCKET}/"


class Failed(Exception):
    """A deployment that failed, with the reason in one line."""


def packed(bootstrap: pathlib.Path) -> bytes:
    """A zip with the binary alone. The same binary gives the same bytes."""
    entry = zipfile.ZipInfo("bootstrap")
    entry.external_attr = 0o755 << 16
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        archive.writestr(entry, bootstrap.read_bytes())
    return buffer.getvalue()


def package(file: pathlib.Path, bootstrap: pathlib.Path) -> tuple[str, set[str]]:
    """Puts the templates and the functions' code into S3 and names them in the template. Returns the template's URL and
    the names of its parameters."""
    s3 = boto3.client("s3")
    s3.create_bucket(Bucket=BUCKET)

    def put(name: str, kind: str, content: bytes) -> str:
        key = f"{name}-{hashlib.sha256(content).hexdigest()[:16]}.{kind}"
        s3.put_object(Bucket=BUCKET, Key=key, Body=content)
        return key

    template = yaml_parse(file.read_text())
    # one artefact for all functions
    code = {"Bucket": BUCKET, "Key": put("functions", "zip", packed(bootstrap))}
    template["Globals"]["Function"]["CodeUri"] = code
    for name, resource in template["Resources"].items():
        properties = resource.get("Properties", {})
        if resource["Type"] == "AWS::Serverless::Application":
            nested = yaml_parse((file.parent / properties["Location"]).read_text())
            properties["Location"] = URL + put(name, "json", json.dumps(nested).encode())
    url = URL + put("fanfold", "json", json.dumps(template).encode())
    return url, set(template["Parameters"])


def existing(cloudformation, stack: str) -> dict | None:
    """The stack, if there is one by this name."""
    try:
        return cloudformation.describe_stacks(StackName=stack)["Stacks"][0]
    except ClientError as error:
        if "does not exist" in str(error):
            return None
        raise


def parameters_of(stack: dict | None, given: list[str], declared: set[str]) -> list[dict]:
    """The given values; a parameter that is not given keeps the value that the stack has."""
    values = dict(pair.split("=", 1) for pair in given)
    kept = {each["ParameterKey"] for each in (stack or {}).get("Parameters", [])} & declared - values.keys()
    return [{"ParameterKey": name, "ParameterValue": value} for name, value in values.items()] + [
        {"ParameterKey": name, "UsePreviousValue": True} for name in sorted(kept)
    ]


def why_it_failed(cloudformation, stack: str, token: str) -> str:
    """The reasons that the events of one operation on the stack name, the first one first."""
    pages = cloudformation.get_paginator("describe_stack_events").paginate(StackName=stack)
    events = [event for page in pages for event in page["StackEvents"]]
    failed = [
        event
        for event in reversed(events)
        if event["ResourceStatus"].endswith("FAILED") and event.get("ClientRequestToken") == token
    ]
    reasons = [f"{event['LogicalResourceId']}: {event.get('ResourceStatusReason', '')}" for event in failed]
    return "; ".join(reasons) or "no reason was given"


def deploy(stack: str, template: pathlib.Path, bootstrap: pathlib.Path, given: list[str]) -> dict[str, str]:
    """Creates or updates the stack, waits for it, and gives its outputs."""
    cloudformation = boto3.client("cloudformation")
    token = f"deploy-{uuid.uuid4()}"
    try:
        url, declared = package(template, bootstrap)
        before = existing(cloudformation, stack)
        order = dict(
            StackName=stack,
            TemplateURL=url,
            Parameters=parameters_of(before, given, declared),
            Capabilities=["CAPABILITY_IAM", "CAPABILITY_AUTO_EXPAND"],
            ClientRequestToken=token,
        )
        if before is None:
            cloudformation.create_stack(**order)
            done = cloudformation.get_waiter("stack_create_complete")
        else:
            cloudformation.update_stack(**order)
            done = cloudformation.get_waiter("stack_update_complete")
        done.wait(StackName=stack, WaiterConfig={"Delay": 0.2, "MaxAttempts": 300})
    except WaiterError as error:
        raise Failed(f"the stack failed: {why_it_failed(cloudformation, stack, token)}") from error
    except ClientError as error:
        if "No updates are to be performed" not in str(error):
            raise Failed(f"the template was refused: {error}") from error
    fill_gaps(stack)
    outputs = existing(cloudformation, stack).get("Outputs", [])
    return {output["OutputKey"]: output["OutputValue"] for output in outputs}


def main() -> int:
    options = argparse.ArgumentParser()
    options.add_argument("--stack", required=True)
    options.add_argument("--template", type=pathlib.Path, required=True)
    options.add_argument("--bootstrap", type=pathlib.Path, required=True)
    options.add_argument("--parameter", action="append", default=[])
    given = options.parse_args()
    try:
        outputs = deploy(given.stack, given.template, given.bootstrap, given.parameter)
    except Failed as failed:
        print(failed, file=sys.stderr)
        return 1
    print(json.dumps(outputs))
    return 0


if __name__ == "__main__":
    sys.exit(main())
