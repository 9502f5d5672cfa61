"""A progress bar on standard error, for work that turns out to be long."""

import threading
import time
from collections.abc import Iterable
from types import TracebackType
from typing import Final, Self

from rich import progress
from rich.console import RenderableType

from korvet.cli.terminal import errors

# Nobody wants a bar to flash by.
_SHOWN_AFTER: Final = 1.0


class Progress:
    """Counts items, and how much of a known total they are; shown only at a terminal.

    It is drawn by a thread of its own, so that work which waits is seen to wait.
    """

    def __init__(self, unit: str, total: int | None, *, wanted: bool) -> None:
        self._unit = unit
        self._total = total
        self.items = 0
        self._done = 0
        self._started = time.monotonic()
        self._bar: _Bar | None = None
        self._opening = threading.Timer(_SHOWN_AFTER, self._open)
        self._wanted = wanted and errors.is_terminal

    def __enter__(self) -> Self:
        if self._wanted:
            self._opening.daemon = True
            self._opening.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        if self._wanted:
            self._opening.cancel()
            self._opening.join()
        if self._bar is not None:
            self._bar.stop()

    def advance(self, items: int, size: int) -> None:
        self.items += items
        self._done += size

    def update(self, bar: "_Bar", task: progress.TaskID) -> None:
        """Before the bar is drawn: how far the work is."""
        rate = self.items / max(time.monotonic() - self._started, 1e-9)
        bar.update(task, completed=self._done, items=self.items, rate=rate)

    def _open(self) -> None:
        self._bar = _Bar(self, self._unit, self._total)
        self._bar.start()


class _Bar(progress.Progress):
    def __init__(self, source: Progress, unit: str, total: int | None) -> None:
        super().__init__(
            progress.BarColumn(),
            progress.TaskProgressColumn(),
            progress.TextColumn("{task.fields[items]:,} {task.fields[unit]}"),
            progress.TextColumn("{task.fields[rate]:,.0f}/s"),
            progress.TimeRemainingColumn(),
            console=errors,
            transient=True,
        )
        self._source = source
        self._task = self.add_task("", total=total, items=0, unit=unit, rate=0.0)

    def get_renderables(self) -> Iterable[RenderableType]:
        # Not yet there when the base class is made.
        if self.tasks:
            self._source.update(self, self._task)
        return super().get_renderables()
