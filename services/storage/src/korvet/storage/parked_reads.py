"""Reads that wait: until there are enough bytes, the time is up, or something is wrong.

Nothing polls. A read listens to its partitions first, then reads, and reads again only
those partitions that were appended to, and only once that can be enough.
"""

import asyncio
from collections.abc import Callable, Sequence
from contextlib import AbstractAsyncContextManager, nullcontext
from typing import TypeAlias

from korvet.kafka.errors import ErrorCode
from korvet.redis.keys import Keys
from korvet.runtime.waiting import begin_wait
from korvet.storage import log_metrics
from korvet.storage.partition_read import NOTHING, ReadResult, ReadTarget
from korvet.storage.reader import Reader
from korvet.storage.wakeups import Listener, Wakeups

# Entered for each look at Redis: an append wakes all who wait for it, and what they read at
# once must not be more than fits into memory.
Turn: TypeAlias = Callable[[], AbstractAsyncContextManager[None]]


class ParkedReads:
    def __init__(self, reader: Reader, wakeups: Wakeups, keys: Keys) -> None:
        self._reader = reader
        self._wakeups = wakeups
        self._keys = keys

    async def read(
        self,
        targets: Sequence[ReadTarget],
        *,
        max_wait: float,
        min_bytes: int,
        max_bytes: int,
        decoded: bool = False,
        turn: Turn = nullcontext,
    ) -> list[ReadResult]:
        results = await self._read(targets, max_wait, min_bytes, max_bytes, decoded, turn)
        log_metrics.read(targets, results)
        return results

    async def _read(
        self,
        targets: Sequence[ReadTarget],
        max_wait: float,
        min_bytes: int,
        max_bytes: int,
        decoded: bool,
        turn: Turn,
    ) -> list[ReadResult]:
        # As in Kafka: nobody waits for more than may be returned.
        min_bytes = min(min_bytes, max_bytes)
        if max_wait <= 0 or min_bytes <= 0:
            async with turn():
                return await self._reader.read(targets, max_bytes, decoded=decoded)
        news = _News()
        listening: list[tuple[str, Listener]] = []
        for index, target in enumerate(targets):
            channel = self._keys.appended(target.topic.name, target.partition)
            listener = news.listener(index)
            self._wakeups.listen(channel, listener)
            listening.append((channel, listener))
        try:
            return await self._read_until(
                targets, news, max_wait, min_bytes, max_bytes, decoded, turn
            )
        finally:
            for channel, listener in listening:
                self._wakeups.forget(channel, listener)

    async def _read_until(
        self,
        targets: Sequence[ReadTarget],
        news: "_News",
        max_wait: float,
        min_bytes: int,
        max_bytes: int,
        decoded: bool,
        turn: Turn,
    ) -> list[ReadResult]:
        deadline = asyncio.get_running_loop().time() + max_wait
        async with turn():
            results = await self._reader.read(targets, max_bytes, decoded=decoded)
        is_late = False
        while not is_late and not _enough(results, min_bytes):
            missing = min_bytes - sum(result.size for result in results)
            waiting = begin_wait("records")
            try:
                async with asyncio.timeout_at(deadline):
                    await news.wait(targets, results, missing)
            except TimeoutError:
                # What has come until now is returned, be it too little.
                is_late = True
            if waiting is not None:
                waiting.end("time" if is_late else news.kind)
            async with turn():
                again = news.take()
                for index in again:
                    results[index] = NOTHING
                kept = sum(result.size for result in results)
                found = await self._reader.read(
                    [targets[index] for index in again],
                    max_bytes - kept,
                    decoded=decoded,
                    may_exceed=not kept,
                )
            for index, result in zip(again, found, strict=True):
                results[index] = result
        return results


def _enough(results: Sequence[ReadResult], min_bytes: int) -> bool:
    # An error is answered at once, as in Kafka; and where there was no room, there is more.
    return any(
        result.error is not ErrorCode.NONE or result.is_skipped for result in results
    ) or (sum(result.size for result in results) >= min_bytes)


class _News:
    """What one parked read has heard since it last read each of its partitions."""

    def __init__(self) -> None:
        # The bytes of the log as first and as last heard; None: look for yourself.
        self._heard: dict[int, tuple[int, int] | None] = {}
        self._changed = asyncio.Event()

    def listener(self, index: int) -> Listener:
        def heard(log_bytes: int | None) -> None:
            if log_bytes is None:
                self._heard[index] = None
            elif index not in self._heard:
                self._heard[index] = (log_bytes, log_bytes)
            elif (earlier := self._heard[index]) is not None:
                self._heard[index] = (earlier[0], log_bytes)
            self._changed.set()

        return heard

    async def wait(
        self, targets: Sequence[ReadTarget], results: Sequence[ReadResult], missing: int
    ) -> None:
        """Return once what was appended can make up for what is missing."""
        is_held_up = [
            target.committed and result.last_stable_offset < result.high_watermark
            for target, result in zip(targets, results, strict=True)
        ]
        while True:
            gained = 0
            for index, heard in self._heard.items():
                if heard is not None and is_held_up[index]:
                    # Until a transaction ends, nothing that is appended can be read.
                    continue
                # An append may come between a read's entries and its count of bytes,
                # which then counts what was not read: so news that the count knows of
                # may be news still, or else most likely of another topic of the name.
                if heard is None or heard[0] <= results[index].log_bytes:
                    return
                gained += heard[1] - results[index].log_bytes
            if gained >= missing:
                return
            self._changed.clear()
            await self._changed.wait()

    @property
    def kind(self) -> str:
        """What was heard, for whoever wants to know why a read went on."""
        is_append = any(heard is not None for heard in self._heard.values())
        return "append" if is_append else "subscription"

    def take(self) -> list[int]:
        """The partitions to read again."""
        indexes = sorted(self._heard)
        self._heard.clear()
        return indexes
