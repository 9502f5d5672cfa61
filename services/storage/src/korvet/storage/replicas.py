"""What acks=all waits for beyond Redis itself: its replicas, and its disk.

What cannot be confirmed is refused beforehand, and so is what nobody knows about yet: an
append goes on only with replicas that were counted. What replicas that hang leave
unconfirmed is bounded, so that it takes no place from other topics' appends.
"""

import asyncio
import contextlib
import logging
import re
from collections.abc import Callable
from typing import Final, NamedTuple

import hiredis

from korvet.kafka.errors import ErrorCode, KafkaError
from korvet.redis.lane import ConnectionLost, Lane, NotSent
from korvet.storage.confirmations import Confirmations, Confirmed, Level

log = logging.getLogger(__name__)

_COUNT_SECONDS: Final = 1.0
_OLDEST_WITH_WAITAOF: Final = (7, 2)
# Of appends that are not confirmed yet. A gateway's stream has room for more, so that
# other appends get through beside them.
MAX_UNCONFIRMED: Final = 1024
MAX_UNCONFIRMED_BYTES: Final = 32 << 20


class _Counted(NamedTuple):
    """What a server told."""

    # Its own and that of its data: another one may have other replicas.
    history: str
    connected: int
    # Why it cannot tell what is on disk; empty where it can.
    no_disk: str


class Replicas:
    def __init__(
        self, redis_url: str, channel: str, lookup_lane: Lane, needed: Callable[[], bool]
    ) -> None:
        self._url = redis_url
        self._channel = channel
        self._lookup_lane = lookup_lane
        self._needed = needed
        self._counted: _Counted | None = None
        self._counting = asyncio.Lock()
        self._levels: dict[Level, Confirmations] = {}
        self._new_levels: asyncio.Queue[Confirmations] = asyncio.Queue()
        self._unconfirmed = 0
        self._unconfirmed_bytes = 0

    async def counted(self, by: float) -> None:
        """Await this before `refusal`: the count, where that is not known, but no longer.

        It is known but after a start, the first topic that needs it, or a lost connection.
        """
        if self._known() is None:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout_at(by), self._counting:
                    if self._known() is None:
                        await self._count()

    def refusal(self, level: Level) -> KafkaError | None:
        """Why an append cannot be confirmed, as far as that is known beforehand."""
        known = self._known()
        if known is None:
            # Retriable, and says that nothing was written.
            return KafkaError(
                ErrorCode.KAFKA_STORAGE_ERROR,
                "Redis has not told how many replicas it has",
            )
        if level.on_disk and known.no_disk:
            return KafkaError(ErrorCode.INVALID_CONFIG, f"acks.fsync: {known.no_disk}")
        if known.connected < level.replicas:
            return KafkaError(
                ErrorCode.NOT_ENOUGH_REPLICAS,
                f"{known.connected} of {level.replicas} Redis replicas are connected",
            )
        if (
            self._unconfirmed >= MAX_UNCONFIRMED
            or self._unconfirmed_bytes >= MAX_UNCONFIRMED_BYTES
        ):
            return KafkaError(
                ErrorCode.NOT_ENOUGH_REPLICAS,
                "too many appends wait for Redis to confirm them",
            )
        return None

    def hold(self, size: int) -> None:
        """Count an append that will have to be confirmed; `release` ends that."""
        self._unconfirmed += 1
        self._unconfirmed_bytes += size

    def release(self, size: int) -> None:
        self._unconfirmed -= 1
        self._unconfirmed_bytes -= size

    def confirm(self, level: Level, history: str, deadline: float, done: Confirmed) -> None:
        """Find out whether what Redis has carried out in `history` is safe by now."""
        confirmations = self._levels.get(level)
        if confirmations is None:
            confirmations = Confirmations(self._url, self._channel, level)
            self._levels[level] = confirmations
            self._new_levels.put_nowait(confirmations)
        confirmations.confirm(history, deadline, done)

    async def run(self) -> None:
        """Keep counting the connected replicas, and connected where they are needed."""
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._keep_counting())
            while True:
                confirmations = await self._new_levels.get()
                tasks.create_task(confirmations.lane.run())

    async def _keep_counting(self) -> None:
        while True:
            if self._needed():
                async with self._counting:
                    await self._count()
            else:
                self._counted = None
            await asyncio.sleep(_COUNT_SECONDS)

    def _known(self) -> _Counted | None:
        known = self._counted
        return known if known and known.history == self._lookup_lane.history else None

    async def _count(self) -> None:
        lane = self._lookup_lane
        history = lane.history
        sections = ("replication", "server", "persistence")
        try:
            replication, server, persistence = await asyncio.gather(
                *(lane.send("INFO", section) for section in sections)
            )
        except (NotSent, ConnectionLost, hiredis.ReplyError) as error:
            log.debug("replicas were not counted: %s", error)
            self._counted = None
            return
        connected = sum(
            line.startswith(b"slave") and b"state=online" in line
            for line in replication.splitlines()
        )
        self._counted = _Counted(history, connected, why_no_disk(server, persistence))


def why_no_disk(server: bytes, persistence: bytes) -> str:
    """Why there is no WAITAOF, of INFO's answers; empty where there is."""
    # Valkey tells the version of Redis that it is compatible with.
    found = re.search(rb"redis_version:(\d+)\.(\d+)", server)
    if found is None or (int(found[1]), int(found[2])) < _OLDEST_WITH_WAITAOF:
        return "this Redis is older than 7.2, and cannot tell what is on disk"
    if b"aof_enabled:1" not in persistence:
        return "this Redis keeps no append-only file (appendonly)"
    return ""
