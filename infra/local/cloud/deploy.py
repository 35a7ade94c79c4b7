"""Deploys infra/template.yaml to the local cloud and prints the stack's outputs as JSON.

    deploy.py --stack NAME --template FILE --binaries DIR [--parameter NAME=VALUE ...]

DIR holds a folder with a `bootstrap` for each function, as cargo-lambda leaves it. The template is
the one that goes to AWS; only where each function's code lies is filled in, as `sam package` does.
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


def packed(bootstrap: pathlib.Path) -> bytes:
    """A zip with the binary alone; the same binary gives the same bytes."""
    entry = zipfile.ZipInfo("bootstrap")
    entry.external_attr = 0o755 << 16
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        archive.writestr(entry, bootstrap.read_bytes())
    return buffer.getvalue()


def package(template: dict, binaries: pathlib.Path) -> dict:
    """Puts each function's code into S3 and names it in the template."""
    s3 = boto3.client("s3")
    s3.create_bucket(Bucket=BUCKET)
    template["Globals"]["Function"].pop("CodeUri")
    for resource in template["Resources"].values():
        if resource["Type"] != "AWS::Serverless::Function":
            continue
        name = resource["Metadata"]["BuildProperties"]["Binary"]
        code = packed(binaries / name / "bootstrap")
        key = f"{name}-{hashlib.sha256(code).hexdigest()[:16]}.zip"
        s3.put_object(Bucket=BUCKET, Key=key, Body=code)
        resource["Properties"]["CodeUri"] = {"Bucket": BUCKET, "Key": key}
    return template


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

    template = package(yaml_parse(given.template.read_text()), given.binaries)
    pairs = (parameter.partition("=") for parameter in given.parameter)
    parameters = [{"ParameterKey": k, "ParameterValue": v} for k, _, v in pairs]
    cloudformation = boto3.client("cloudformation")
    try:
        cloudformation.create_stack(
            StackName=given.stack,
            TemplateBody=json.dumps(template),
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
