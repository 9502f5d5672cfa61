"""The bytes of all connections' requests that are under way.

They are bounded by reading no more of them. A single request may go over the limit, so that
one larger than all of it still gets through.
"""

from collections import deque
from collections.abc import Callable


class RequestBudget:
    """The bytes of requests under way."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._used = 0
        self._waiting: deque[Callable[[], None]] = deque()

    @property
    def used(self) -> int:
        return self._used

    @property
    def is_full(self) -> bool:
        return self._used >= self._limit

    def take(self, size: int) -> None:
        self._used += size

    def give_back(self, size: int) -> None:
        """Return bytes, and let those who wait go on, in turn, while there is room."""
        self._used -= size
        while self._waiting and not self.is_full:
            self._waiting.popleft()()

    def call_when_free(self, callback: Callable[[], None]) -> None:
        """Call once, when there is room again."""
        self._waiting.append(callback)
