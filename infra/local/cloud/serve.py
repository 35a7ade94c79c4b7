"""Runs the local cloud (ministack) in the foreground, tuned for many short invocations, and enforces the functions'
policies. It ends with the process that started it.

Two waits of ministack take about 97 ms of each invocation of a provided.* function: a small packet is sent only after
the last one was acknowledged, and ministack waits 50 ms for the first line of the function's log. The first wait is
switched off, the second is shortened.

Every call of a function is checked against its role, as on AWS. Unsigned calls come from the tools on this machine, which
may do everything. FANFOLD_CALLS names a file that gets a line of JSON for each different call that was allowed or
refused: {"function", "action", "resource", "allowed"}.

FANFOLD_API_PORT is the port of the deployed API, and FANFOLD_API_FILE the file that will name it (see front.py).
"""

import json
import os
import pathlib
import socketserver
import sys

import front
import parent

parent.end_with_parent()

os.environ["AUTH"] = "true"
socketserver.StreamRequestHandler.disable_nagle_algorithm = True

from ministack.core import iam_evaluator, lambda_runtime  # noqa: E402
from ministack.services import sts  # noqa: E402

first_line_s, next_line_s, longest_s = 0.002, 0.001, 0.25
lambda_runtime.Worker._drain_stderr_bounded.__defaults__ = (first_line_s, next_line_s, longest_s)


class Calls:
    """The calls that were allowed or refused. Each is noted once."""

    def __init__(self, path: str | None):
        self.seen = set()
        self.file = open(path, "a", buffering=1) if path else None

    def note(self, access_key: str, action: str, resource: str, allowed: bool) -> None:
        # arn:aws:sts::000000000000:assumed-role/<role>/<function>
        session = sts._sessions.get(access_key)
        if session is None or "assumed-role" not in session["Arn"]:
            return
        call = (session["Arn"].rsplit("/", 1)[-1], action, resource, allowed)
        if call not in self.seen:
            self.seen.add(call)
            if self.file:
                names = ("function", "action", "resource", "allowed")
                self.file.write(json.dumps(dict(zip(names, call))) + "\n")


calls = Calls(os.environ.get("FANFOLD_CALLS"))
enforce, check = iam_evaluator.enforce, iam_evaluator.check_credentials


# AWS has no actions for batches: a batch needs the right to the single action
BATCHES = {f"sqs:{name}Batch": f"sqs:{name}" for name in ("SendMessage", "DeleteMessage", "ChangeMessageVisibility")}


def enforce_signed(access_key, action, service, region, resource_arn="*", service_context=None):
    if not access_key:
        return None
    action = BATCHES.get(action, action)
    refused = enforce(access_key, action, service, region, resource_arn, service_context)
    calls.note(access_key, action, resource_arn, refused is None)
    return refused


def check_signed(access_key, service=None):
    return check(access_key, service) if access_key else None


iam_evaluator.enforce = enforce_signed
iam_evaluator.check_credentials = check_signed

import cloudformation  # noqa: E402
import user_pools  # noqa: E402

cloudformation.install()
user_pools.install(os.environ.get("FANFOLD_CODE"))
if "FANFOLD_API_PORT" in os.environ:
    front.install(int(os.environ["FANFOLD_API_PORT"]), pathlib.Path(os.environ["FANFOLD_API_FILE"]))

from ministack.app import main  # noqa: E402

sys.exit(main())
