"""Gives back the memory of deleted topics, a little at a time.

It touches only keys that `delete_topic.lua` has retired, which nobody else reads or
writes. Each step may be repeated, and the entry in the list of deletions goes last: so it
does not matter where a process is stopped, nor how many replicas clean up at once.
"""

import asyncio
import logging
from collections.abc import Awaitable, Sequence
from typing import Final, cast

from redis.asyncio import Redis
from redis.exceptions import RedisError

from korvet.redis.cancellation import stop_if_cancelled
from korvet.redis.keys import Keys
from korvet.storage.topic import Deletion
from korvet.storage.topic_cache import Change

log = logging.getLogger(__name__)

_PARTITIONS_AT_ONCE: Final = 20
# How soon what another replica left behind is noticed.
_INTERVAL_SECONDS: Final = 30.0


class DeletionCleaner:
    def __init__(
        self, redis: "Redis", keys: Keys, *, interval: float = _INTERVAL_SECONDS
    ) -> None:
        self._redis = redis
        self._keys = keys
        self._interval = interval
        self._wanted = asyncio.Event()

    def topics_changed(self, changes: Sequence[Change] | None) -> None:
        """Clean up at once where a topic was deleted."""
        if changes is None or any(isinstance(change, Deletion) for change in changes):
            self._wanted.set()

    async def run(self) -> None:
        while True:
            self._wanted.clear()
            try:
                await self.clean()
            except RedisError as error:
                log.warning("cleaning up after deleted topics goes on later: %s", error)
            stop_if_cancelled()
            try:
                async with asyncio.timeout(self._interval):
                    await self._wanted.wait()
            except TimeoutError:
                continue

    async def clean(self) -> None:
        """Clean up after every deleted topic there is."""
        pending = self._redis.hgetall(self._keys.deletions)
        entries = cast(dict[str, str], await cast(Awaitable[object], pending))
        for topic_id, entry in entries.items():
            count, _, name = entry.partition(":")
            await self._clean_topic(topic_id, int(count))
            log.info("cleaned up after deleted topic %s (%s)", name, topic_id)

    async def _clean_topic(self, topic_id: str, partitions: int) -> None:
        for first in range(0, partitions, _PARTITIONS_AT_ONCE):
            some = range(first, min(first + _PARTITIONS_AT_ONCE, partitions))
            # UNLINK takes a stream's consumer groups along, and frees both in Redis's
            # background; XGROUP DESTROY would free what is pending in the foreground.
            await self._redis.unlink(
                *(key for p in some for key in self._keys.retired(topic_id, p).values())
            )
        done = self._redis.hdel(self._keys.deletions, topic_id)
        await cast(Awaitable[object], done)
