"""Watches Redis's memory, so that producers are refused before it is full.

What is left above the mark is for those who must go on: commits, group state, the
registrations of gateways, and whoever deletes records to make room.
"""

import asyncio
import logging
from typing import Final, NamedTuple

import hiredis

from korvet.redis.lane import ConnectionLost, Lane, NotSent
from korvet.runtime import metrics

log = logging.getLogger(__name__)

# Of maxmemory; from there on appends are refused.
HIGH_WATER: Final = 0.9
# Room is noticed sooner than the want of it.
_FULL_SECONDS: Final = 0.1


_used: Final = metrics.gauge(
    "korvet.redis.memory.used",
    unit="By",
    description="Memory that Redis uses. The same from every storage.",
)
_limit: Final = metrics.gauge(
    "korvet.redis.memory.limit",
    unit="By",
    description="Redis's maxmemory; 0 where it has none. The same from every storage.",
)


class RedisMemory(NamedTuple):
    used: int
    # 0: none.
    limit: int

    @property
    def is_high(self) -> bool:
        return self.limit > 0 and self.used > self.limit * HIGH_WATER


def parse_memory(info: bytes) -> RedisMemory:
    """From the answer to INFO memory."""
    lines = dict(line.split(b":", 1) for line in info.splitlines() if b":" in line)
    return RedisMemory(int(lines[b"used_memory"]), int(lines[b"maxmemory"]))


class MemoryWatch:
    def __init__(self, lane: Lane, interval: float) -> None:
        self._lane = lane
        self._interval = interval
        self._memory = RedisMemory(0, 0)

    @property
    def is_high(self) -> bool:
        return self._memory.is_high

    @property
    def refusal(self) -> str:
        used, limit = self._memory
        return f"Redis has {used} of {limit} bytes in use; retention or maxmemory must give"

    async def run(self) -> None:
        while True:
            try:
                await self.look()
            except (NotSent, ConnectionLost, hiredis.ReplyError) as error:
                log.debug("Redis's memory was not looked at: %s", error)
            await asyncio.sleep(_FULL_SECONDS if self.is_high else self._interval)

    async def look(self) -> None:
        was_high = self.is_high
        self._memory = parse_memory(await self._lane.send("INFO", "memory"))
        _used.of().value, _limit.of().value = self._memory
        if self.is_high and not was_high:
            log.warning("appends are refused: %s", self.refusal)
        elif was_high and not self.is_high:
            log.info("appends are taken again")
