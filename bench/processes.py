"""Child processes of a benchmark: start, wait for, watch, stop.

Every process is started, and ended, by its own id; a wait always has a deadline, and a
child that dies during one ends it with the tail of the child's log.
"""

import multiprocessing
import os
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Any, ParamSpec, TypeVar

import psutil

P = ParamSpec("P")
T = TypeVar("T")

# Role ("gateway", "storage", "redis", "broker" ...) -> the processes that play it.
Roles = Mapping[str, Sequence[int]]

_STOP_GRACE = 15.0
# Short, since the time until a system is ready is itself measured.
_LOOK_AGAIN = 0.01


class PeerError(RuntimeError):
    """A system under test did not start, or died."""


def unwind_on_sigterm() -> None:
    """Let a benchmark that is told to end stop its servers, as after Ctrl-C."""
    signal.signal(signal.SIGTERM, signal.default_int_handler)


def free_ports(count: int) -> list[int]:
    """Ports that were free a moment ago; all held together, so they differ."""
    sockets = [socket.socket() for _ in range(count)]
    try:
        for one in sockets:
            one.bind(("127.0.0.1", 0))
        return [int(one.getsockname()[1]) for one in sockets]
    finally:
        for one in sockets:
            one.close()


@contextmanager
def running(
    command: Sequence[str | Path], log: Path, environment: Mapping[str, str] | None = None
) -> Iterator["subprocess.Popen[bytes]"]:
    """Run a command beside us, its output in `log`; end it when the block ends."""
    with log.open("wb") as output:
        child = subprocess.Popen(
            [str(word) for word in command],
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            env={**os.environ, **(environment or {})},
            # Ctrl-C at the terminal is for the benchmark, which then stops its children
            # in order.
            start_new_session=True,
        )
    try:
        yield child
    finally:
        _stop(child)


def _stop(child: "subprocess.Popen[bytes]") -> None:
    try:
        below = psutil.Process(child.pid).children(recursive=True)
    except psutil.NoSuchProcess:
        below = []
    child.send_signal(signal.SIGTERM)
    try:
        child.wait(_STOP_GRACE)
    except subprocess.TimeoutExpired:
        child.kill()
        child.wait(_STOP_GRACE)
    for orphan in below:
        with suppress(psutil.NoSuchProcess):
            orphan.kill()


def wait_until(
    ready: Callable[[], bool],
    child: "subprocess.Popen[bytes]",
    log: Path,
    deadline: float,
) -> None:
    """Wait for `ready`; raise if the child ends first or `deadline` seconds pass."""
    end = time.monotonic() + deadline
    while not ready():
        code = child.poll()
        if code is not None or time.monotonic() > end:
            what = f"exited with {code}" if code is not None else "is not ready in time"
            tail = log.read_text(errors="replace")[-3000:]
            raise PeerError(f"{child.args!r} {what}; its log ends with:\n{tail}")
        time.sleep(_LOOK_AGAIN)


def accepts(port: int) -> bool:
    try:
        socket.create_connection(("127.0.0.1", port), 1.0).close()
    except OSError:
        return False
    return True


def cpu_seconds(roles: Roles) -> dict[str, float]:
    """User and system time of each role so far."""
    return {
        role: sum(sum(psutil.Process(pid).cpu_times()[:2]) for pid in pids)
        for role, pids in roles.items()
    }


def rss_mb(roles: Roles) -> dict[str, float]:
    return {
        role: sum(psutil.Process(pid).memory_info().rss for pid in pids) / 1e6
        for role, pids in roles.items()
    }


def forget_peaks(roles: Roles) -> None:
    """Let `peak_rss_mb` start again from now."""
    for pid in (pid for pids in roles.values() for pid in pids):
        Path(f"/proc/{pid}/clear_refs").write_text("5")


def peak_rss_mb(roles: Roles) -> dict[str, float]:
    """The most memory each role has held; the kernel keeps it, so no sampling costs CPU."""
    return {role: sum(_high_water(pid) for pid in pids) for role, pids in roles.items()}


def _high_water(pid: int) -> float:
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) * 1024 / 1e6
    return 0.0


def run_apart(
    deadline: float, function: Callable[P, T], *args: P.args, **kwargs: P.kwargs
) -> T:
    """Call a module-level function in a fresh process; kill it after `deadline` seconds.

    A fresh process each time: its CPU time is the call's alone, and nothing that one
    measurement left in the heap slows the next.
    """
    context = multiprocessing.get_context("spawn")
    here, there = context.Pipe(duplex=False)
    worker = context.Process(target=_call, args=(there, function, args, kwargs))
    worker.start()
    there.close()
    try:
        if not here.poll(deadline):
            raise PeerError(f"{_name(function)} took more than {deadline:.0f} s")
        ok, value = here.recv()
    except EOFError:
        worker.join(_STOP_GRACE)
        raise PeerError(f"{_name(function)} died with {worker.exitcode}") from None
    finally:
        here.close()
        worker.join(1.0)
        if worker.is_alive():
            worker.kill()
            worker.join(_STOP_GRACE)
    if not ok:
        raise PeerError(f"{_name(function)}: {value}")
    result: T = value
    return result


def _name(function: Callable[..., object]) -> str:
    inner = function.func if isinstance(function, partial) else function
    return str(getattr(inner, "__name__", inner))


def _call(answer: Any, function: Callable[..., object], args: Any, kwargs: Any) -> None:
    try:
        value = function(*args, **kwargs)
    except Exception as error:  # noqa: BLE001 - it goes to the caller, whatever it is
        answer.send((False, repr(error)))
    else:
        answer.send((True, value))
    answer.close()
