"""Runs the local cloud (ministack) in the foreground, tuned for many short invocations.

Two of its waits cost about 97 ms for each invocation of a provided.* function: small packets
held back until the last one is acknowledged, and 50 ms for a first line of the function's log.
Both are switched off here. It ends with the process that started it.
"""

import ctypes
import signal
import socketserver
import sys

PR_SET_PDEATHSIG = 1

if sys.platform == "linux":
    ctypes.CDLL(None, use_errno=True).prctl(PR_SET_PDEATHSIG, signal.SIGTERM)

socketserver.StreamRequestHandler.disable_nagle_algorithm = True

from ministack.core import lambda_runtime  # noqa: E402

first_line_s, next_line_s, longest_s = 0.002, 0.001, 0.25
lambda_runtime.Worker._drain_stderr_bounded.__defaults__ = (first_line_s, next_line_s, longest_s)

from ministack.app import main  # noqa: E402

sys.exit(main())
