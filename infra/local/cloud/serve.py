"""Runs the local cloud (ministack) in the foreground, tuned for many short invocations and with the
functions' policies enforced. It ends with the process that started it.

Two of its waits cost about 97 ms for each invocation of a provided.* function: small packets
held back until the last one is acknowledged, and 50 ms for a first line of the function's log.
Both are switched off here.

Every call of a function is held against its role, as on AWS. What nobody signed comes from this
machine's own tools, which may do everything. FANFOLD_CALLS names a file that gets a line of JSON for
each call that was decided, the first time that it is made: {"function", "action", "resource", "allowed"}.
"""

import ctypes
import json
import os
import signal
import socketserver
import sys

PR_SET_PDEATHSIG = 1

if sys.platform == "linux":
    ctypes.CDLL(None, use_errno=True).prctl(PR_SET_PDEATHSIG, signal.SIGTERM)

os.environ["AUTH"] = "true"
socketserver.StreamRequestHandler.disable_nagle_algorithm = True

from ministack.core import iam_evaluator, lambda_runtime  # noqa: E402
from ministack.services import sts  # noqa: E402

first_line_s, next_line_s, longest_s = 0.002, 0.001, 0.25
lambda_runtime.Worker._drain_stderr_bounded.__defaults__ = (first_line_s, next_line_s, longest_s)


class Calls:
    """The calls that were decided, each noted once."""

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


# AWS knows no such actions: a batch needs the right to what it is a batch of
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

cloudformation.install()

from ministack.app import main  # noqa: E402

sys.exit(main())
