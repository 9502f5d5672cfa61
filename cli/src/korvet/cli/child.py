"""One child process of `korvet up`: its log, its start and its end.

A child never outlives its parent: where the kernel can, it signals the child when `up`
dies, even by kill -9. Children are in sessions of their own, so that a Ctrl-C at the
terminal reaches `up` alone and the order of stopping stays its decision.
"""

import asyncio
import contextlib
import os
import signal
import sys
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from typing import Final

from korvet.cli import dying_with_parent
from korvet.cli.child_log import LogLine
from korvet.cli.failure import Failure

_LINES_KEPT: Final = 40


class Child:
    """A running process.

    `on_line` gets each line of its output as it comes, and says whether it showed it: the
    others are kept, and told should the process fail.
    """

    def __init__(
        self,
        name: str,
        process: asyncio.subprocess.Process,
        on_line: Callable[[str, str], bool],
    ) -> None:
        self.name = name
        self.exited: Final = asyncio.ensure_future(process.wait())
        self._process = process
        self._on_line = on_line
        self._last_lines: deque[str] = deque(maxlen=_LINES_KEPT)
        self._reader: Final = asyncio.ensure_future(self._read_output())

    @classmethod
    async def start(
        cls,
        name: str,
        command: Sequence[str],
        *,
        environ: Mapping[str, str],
        on_line: Callable[[str, str], bool],
        parent_death: signal.Signals = signal.SIGKILL,
    ) -> "Child":
        """Start `command`; `parent_death` is what it gets when this process dies."""
        process = await asyncio.create_subprocess_exec(
            *_dying_with(os.getpid(), parent_death),
            *command,
            env=environ,
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
            start_new_session=True,
        )
        return cls(name, process, on_line)

    @property
    def pid(self) -> int:
        return self._process.pid

    async def failure(self) -> Failure:
        """What to tell about a child that ended by itself."""
        code = await self.exited
        await self._reader
        how = f"was killed by signal {-code}" if code < 0 else f"exited with status {code}"
        return Failure(f"{self.name} {how}.", self.last_lines())

    def last_lines(self) -> str:
        """For people: what it wrote last, after anything that was shown already."""
        if not self._last_lines:
            return ""
        lines = (LogLine.parse(line).text for line in self._last_lines)
        return "\n".join(["Its last lines:", *(f"  {line}" for line in lines)])

    async def stop(self, grace: float) -> None:
        """Ask it to end, and kill it if it has not within `grace` seconds."""
        self._signal(signal.SIGTERM)
        done, _ = await asyncio.wait({self.exited}, timeout=grace)
        if not done:
            self.kill()
        await self.exited
        await self._reader

    def kill(self) -> None:
        self._signal(signal.SIGKILL)

    def _signal(self, number: signal.Signals) -> None:
        if self._process.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                self._process.send_signal(number)

    async def _read_output(self) -> None:
        assert self._process.stdout is not None
        while line := await self._next_line(self._process.stdout):
            text = line.decode(errors="replace").rstrip()
            if self._on_line(self.name, text):
                self._last_lines.clear()
            else:
                self._last_lines.append(text)

    @staticmethod
    async def _next_line(stream: asyncio.StreamReader) -> bytes:
        while True:
            try:
                return await stream.readline()
            except ValueError:
                # A line beyond the reader's limit; what was buffered of it is gone.
                continue


def _dying_with(parent: int, number: signal.Signals) -> Sequence[str]:
    """What to put before a command, where the kernel can do that for us."""
    if sys.platform != "linux":
        return ()
    program = dying_with_parent.__file__
    return (sys.executable, "-I", "-S", program, str(parent), str(int(number)))
