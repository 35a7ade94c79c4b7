"""Deploys infra/template.yaml to the local cloud and prints the stack's outputs as JSON.

    deploy.py --stack NAME --template FILE --binaries DIR [--parameter NAME=VALUE ...]

DIR holds a folder with a `bootstrap` for each function, as cargo-lambda leaves it. The template is
the one that goes to AWS; only where each function's code and each nested template lie is filled in, as
`sam package` does.
"""

import argparse
import hashlib
import io
import json
import pathlib
import sys
import zipfile

import boto3
from botocore.exceptions import ClientError, WaiterError
from samtranslator.yaml_helper import yaml_parse

from gaps import fill_gaps

BUCKET = "fanfold-artifacts"
URL = f"https://s3.amazonaws.com/{BUCKET}/"


def packed(bootstrap: pathlib.Path) -> bytes:
    """A zip with the binary alone; the same binary gives the same bytes."""
    entry = zipfile.ZipInfo("bootstrap")
    entry.external_attr = 0o755 << 16
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        archive.writestr(entry, bootstrap.read_bytes())
    return buffer.getvalue()


def package(file: pathlib.Path, binaries: pathlib.Path) -> str:
    """Puts templates and each function's code into S3, names them in the template, and says where it lies."""
    s3 = boto3.client("s3")
    s3.create_bucket(Bucket=BUCKET)

    def put(name: str, kind: str, content: bytes) -> str:
        key = f"{name}-{hashlib.sha256(content).hexdigest()[:16]}.{kind}"
        s3.put_object(Bucket=BUCKET, Key=key, Body=content)
        return key

    template = yaml_parse(file.read_text())
    template["Globals"]["Function"].pop("CodeUri")
    for name, resource in template["Resources"].items():
        properties = resource["Properties"]
        if resource["Type"] == "AWS::Serverless::Application":
            nested = yaml_parse((file.parent / properties["Location"]).read_text())
            properties["Location"] = URL + put(name, "json", json.dumps(nested).encode())
        if resource["Type"] == "AWS::Serverless::Function":
            code = packed(binaries / name.lower() / "bootstrap")
            properties["CodeUri"] = {"Bucket": BUCKET, "Key": put(name, "zip", code)}
    return URL + put("fanfold", "json", json.dumps(template).encode())


def why_it_failed(cloudformation, stack: str) -> str:
    events = cloudformation.describe_stack_events(StackName=stack)["StackEvents"]
    failed = [e for e in events if e["ResourceStatus"].endswith("FAILED")]
    reasons = [f"{e['LogicalResourceId']}: {e.get('ResourceStatusReason', '')}" for e in failed]
    return "; ".join(reversed(reasons)) or "no reason was given"


def main() -> int:
    options = argparse.ArgumentParser()
    options.add_argument("--stack", required=True)
    options.add_argument("--template", type=pathlib.Path, required=True)
    options.add_argument("--binaries", type=pathlib.Path, required=True)
    options.add_argument("--parameter", action="append", default=[])
    given = options.parse_args()

    template = package(given.template, given.binaries)
    pairs = (parameter.partition("=") for parameter in given.parameter)
    parameters = [{"ParameterKey": k, "ParameterValue": v} for k, _, v in pairs]
    cloudformation = boto3.client("cloudformation")
    try:
        cloudformation.create_stack(
            StackName=given.stack,
            TemplateURL=template,
            Parameters=parameters,
            Capabilities=["CAPABILITY_IAM", "CAPABILITY_AUTO_EXPAND"],
        )
        done = cloudformation.get_waiter("stack_create_complete")
        done.wait(StackName=given.stack, WaiterConfig={"Delay": 0.2, "MaxAttempts": 300})
    except WaiterError:
        print(f"the stack failed: {why_it_failed(cloudformation, given.stack)}", file=sys.stderr)
        return 1
    except ClientError as error:
        print(f"the template was refused: {error}", file=sys.stderr)
        return 1
    fill_gaps(given.stack)
    stack = cloudformation.describe_stacks(StackName=given.stack)["Stacks"][0]
    print(json.dumps({o["OutputKey"]: o["OutputValue"] for o in stack.get("Outputs", [])}))
    return 0


if __name__ == "__main__":
    sys.exit(main())
