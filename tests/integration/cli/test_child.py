"""The processes of `korvet up`."""

import os
import signal
import subprocess
import sys
from pathlib import Path

from korvet.cli.child import Child
from tests.support.eventually import eventually_true

_PARENT = """
import asyncio, os, sys
from korvet.cli.child import Child

async def main():
    child = await Child.start(
        "Sleeper", ["sleep", "60"], environ=os.environ, on_line=lambda *_: False
    )
    print(child.pid, flush=True)
    await child.exited

asyncio.run(main())
"""


async def test_nothing_runs_between_fork_and_exec() -> None:
    """gRPC's handlers of a fork, above all, which `up` has in it: they end the child."""
    forks: list[int] = []
    os.register_at_fork(before=lambda: forks.append(os.getpid()))

    child = await Child.start(
        "Said", ["echo", "hello"], environ=os.environ, on_line=lambda *_: False
    )
    status = await child.exited
    await child.stop(1)

    assert status == 0
    assert "hello" in child.last_lines()
    assert not forks


def test_a_child_dies_with_a_parent_that_is_killed() -> None:
    parent = subprocess.Popen(
        [sys.executable, "-c", _PARENT], stdout=subprocess.PIPE, text=True
    )
    assert parent.stdout is not None
    child = int(parent.stdout.readline())
    parent.send_signal(signal.SIGKILL)
    parent.wait()
    parent.stdout.close()

    eventually_true(lambda: not _is_alive(child))


def _is_alive(pid: int) -> bool:
    try:
        return " Z " not in Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return False
