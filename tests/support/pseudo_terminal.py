"""A terminal without a person: what a command shows there can be waited for and read."""

import contextlib
import os
import pty
import re
import termios
import threading
from typing import Final, Self

_DEADLINE: Final = 60.0
_ESCAPES: Final = re.compile(r"\x1b\[[0-9;?]*[a-zA-Z]")


class PseudoTerminal:
    """`end` is the side that a process gets. Output is read all the time, as screens do."""

    def __init__(self, columns: int = 80) -> None:
        self._ours, self.end = pty.openpty()
        termios.tcsetwinsize(self.end, (24, columns))
        self._shown = ""
        self._changed = threading.Condition()
        self._reader = threading.Thread(target=self._read, daemon=True)

    def __enter__(self) -> Self:
        self._reader.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.hang_up()
        os.close(self._ours)

    @property
    def shown(self) -> str:
        """All that was ever written, without colours and the moves of the cursor."""
        return _ESCAPES.sub("", self._shown)

    def type(self, text: bytes) -> None:
        os.write(self._ours, text)

    def wait_for(self, pattern: str) -> None:
        with self._changed:
            found = self._changed.wait_for(
                lambda: re.search(pattern, self.shown), timeout=_DEADLINE
            )
        assert found, f"{pattern} was not shown:\n{self.shown}"

    def hang_up(self) -> None:
        """Close our copy of the process's side: all is read when no process has one."""
        if self.end >= 0:
            os.close(self.end)
            self.end = -1
            self._reader.join()

    def _read(self) -> None:
        # A pseudo-terminal that nobody has open any more is an error to its reader.
        with contextlib.suppress(OSError):
            while data := os.read(self._ours, 65536):
                with self._changed:
                    self._shown += data.decode(errors="replace")
                    self._changed.notify_all()
