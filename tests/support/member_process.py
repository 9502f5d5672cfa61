"""One member of a group as a process: started, stalled, frozen, killed.

It is only ever ended by its own process id. What it tells goes into a `GroupHistory`, also
what it told just before it was killed.
"""

import contextlib
import json
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from tests.support.group_history import GroupHistory
from tests.support.group_member import MemberOptions, Place

# A healthy group needs a small part of it; a busy machine may need more.
PATIENCE: Final = 40.0
_ROOT: Final = Path(__file__).parents[2]


class GroupMember:
    """One process; `name` is what the history calls it."""

    def __init__(self, name: str, options: MemberOptions, history: GroupHistory) -> None:
        self.name = name
        self.options = options
        self._history = history
        self._process = subprocess.Popen(
            [sys.executable, "-m", "tests.support.group_member", options.to_json()],
            cwd=_ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        self._listening = threading.Thread(target=self._listen)
        self._listening.start()

    @property
    def is_running(self) -> bool:
        return self._process.poll() is None

    @property
    def owned(self) -> set[Place]:
        return self._history.owned(self.name)

    def leave(self) -> None:
        """Say goodbye, and end."""
        self._history.absent(self.name, time.monotonic())
        self._order("leave")
        self._reap()
        assert self._process.returncode == 0, f"{self.name} failed"

    def kill(self) -> None:
        """End without a word."""
        self._history.absent(self.name, time.monotonic())
        self._process.kill()
        self._reap()

    def stall(self) -> None:
        """Poll no more, while the library goes on in the background."""
        self._history.absent(self.name, time.monotonic())
        self._order("stall")

    def proceed(self) -> None:
        self._order("proceed")

    @contextlib.contextmanager
    def frozen(self) -> Iterator[None]:
        """Do nothing at all, heartbeats included."""
        self._history.absent(self.name, time.monotonic())
        self._process.send_signal(signal.SIGSTOP)
        try:
            yield
        finally:
            self._process.send_signal(signal.SIGCONT)

    def _order(self, word: str) -> None:
        assert self._process.stdin is not None
        self._process.stdin.write(f"{word}\n")
        self._process.stdin.flush()

    def _listen(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            # Killed in the middle of a line: that much was not told.
            with contextlib.suppress(json.JSONDecodeError):
                self._history.add(self.name, json.loads(line))
        self._history.gone(self.name, time.monotonic())

    def _reap(self) -> None:
        self._process.wait(PATIENCE)
        self._listening.join(PATIENCE)
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                with contextlib.suppress(BrokenPipeError):
                    pipe.close()
