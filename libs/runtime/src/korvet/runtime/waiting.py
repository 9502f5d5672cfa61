"""Spans of waiting: a long poll, a parked join show as what they are, not as slowness."""

import time
from typing import Final

from korvet.runtime.tracing import Work, current

_SECONDS: Final = "korvet.wait.seconds"
_WOKEN_BY: Final = "korvet.wait.woken_by"


class Waiting:
    """Something is waited for, in a request that is recorded."""

    __slots__ = ("_since", "_work")

    def __init__(self, work: Work) -> None:
        self._work = work
        self._since = time.monotonic()

    def end(self, woken_by: str) -> None:
        waited = time.monotonic() - self._since
        self._work.span.set_attributes({_SECONDS: waited, _WOKEN_BY: woken_by})
        self._work.end()


def begin_wait(what: str) -> Waiting | None:
    """None where nobody records it."""
    asking = current.get()
    work = asking and asking.child(f"wait for {what}")
    return Waiting(work) if work else None
