"""Ends this process when its parent process ends for any reason.

    parent.py PARENT PROGRAM [ARGUMENT …]

As a program: becomes PROGRAM, which ends when its parent, the process with the id PARENT, ends (on Linux).
"""

import ctypes
import os
import signal
import sys
import threading
import time

PR_SET_PDEATHSIG = 1
POLL_S = 0.5

# loaded here: a child that was just forked must not load anything
libc = ctypes.CDLL(None) if sys.platform == "linux" else None


def ask_the_kernel() -> None:
    """Makes Linux end this process with its parent. Also for a child between fork and exec, where a thread is not
    possible."""
    if libc:
        libc.prctl(PR_SET_PDEATHSIG, signal.SIGTERM)


def end_with_parent() -> None:
    """Ends this process with its parent, on every system. On other systems than Linux, a thread checks the parent."""
    if libc:
        return ask_the_kernel()
    parent = os.getppid()

    def look() -> None:
        while os.getppid() == parent:
            time.sleep(POLL_S)
        os.kill(os.getpid(), signal.SIGTERM)

    threading.Thread(target=look, name="parent", daemon=True).start()


def become(parent: int, program: list[str]) -> None:
    ask_the_kernel()
    # the kernel tells only of a parent that ends from now on
    if os.getppid() != parent:
        sys.exit("the process that started this one has ended")
    os.execvp(program[0], program)


if __name__ == "__main__":
    become(int(sys.argv[1]), sys.argv[2:])
