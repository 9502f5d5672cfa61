"""How much the answers to fetches may take in memory, for one connection and for all.

A fetch asks for much more than it mostly gets: 50 MiB is what clients ask for while they
wait for the next hundred bytes. So each connection has a window that follows the size of
its answers, as TCP's does, and a fetch reserves no more than that. No fetch is held up for
want of memory: it gets a smaller answer, but at least `FLOOR`.
"""

import asyncio
from typing import Final

from korvet.gateway.handler import Reply

FLOOR: Final = 256 * 1024
_FIRST_WINDOW: Final = 1024 * 1024
# Clients have one fetch under way on a connection; a second may overlap with its answer.
_MAX_OUTSTANDING: Final = 2


class FetchBudget:
    """What all connections' fetches have reserved."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._reserved = 0

    @property
    def reserved(self) -> int:
        return self._reserved

    @property
    def available(self) -> int:
        return self._limit - self._reserved

    def change(self, size: int) -> None:
        self._reserved += size


class FetchGrant:
    """One fetch's reservation. It is given back when the answer has been written."""

    def __init__(self, size: int, fetches: "ConnectionFetches") -> None:
        self.size: Final = size
        self._reserved = size
        self._fetches = fetches

    def answered(self, size: int) -> None:
        """Keep only what the answer takes, or more where a single batch was larger."""
        self._fetches.budget.change(size - self._reserved)
        self._reserved = size
        self._fetches.adapt(self.size, size)

    def give_back(self) -> None:
        self._fetches.budget.change(-self._reserved)
        self._fetches.turns.release()


class ConnectionFetches:
    """One connection's fetches (`handler.FetchMemory`)."""

    def __init__(self, budget: FetchBudget, *, max_bytes: int) -> None:
        self.budget: Final = budget
        self.turns: Final = asyncio.Semaphore(_MAX_OUTSTANDING)
        self._max_bytes = max_bytes
        self._window = min(_FIRST_WINDOW, max_bytes)

    async def take(self, wanted: int, reply: Reply) -> FetchGrant:
        await self.turns.acquire()
        size = min(wanted, self._window, max(self.budget.available, FLOOR))
        self.budget.change(size)
        grant = FetchGrant(size, self)
        reply.when_written(grant.give_back)
        return grant

    def adapt(self, granted: int, used: int) -> None:
        """Let the window follow what answers take."""
        if used >= granted // 2 and granted >= self._window:
            self._window = min(self._window * 2, self._max_bytes)
        elif used < self._window // 4:
            self._window = max(self._window // 2, min(FLOOR, self._max_bytes))
