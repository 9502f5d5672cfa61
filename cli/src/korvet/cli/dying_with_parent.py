"""Runs a command that gets a signal when the process that started this one dies.

    python -I -S dying_with_parent.py PARENT SIGNAL COMMAND [ARGUMENT ...]

It is a program, and not something that is done between fork and exec: `up` uses gRPC, whose
own handlers of a fork end the child, now and then. It imports only what Linux's Python has.
"""

import ctypes
import os
import sys

_PR_SET_PDEATHSIG = 1


def main(arguments: list[str]) -> None:
    parent, number = map(int, arguments[:2])
    command = arguments[2:]
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, number, 0, 0, 0)
    # The parent may have died before the call took effect.
    if os.getppid() != parent:
        os.kill(os.getpid(), number)
    os.execvp(command[0], command)  # noqa: S606  # whatever it was given, as it is


if __name__ == "__main__":
    main(sys.argv[1:])
