"""Deletes old records: DeleteRecords, and retention on partitions that nobody writes to.

Appends trim their own partition; the sweeper is for the rest, and for producers that have
not been heard of for so long that their sequences are forgotten.
"""

import asyncio
import logging
import time
from collections.abc import Callable, Iterable
from typing import Final

import hiredis

from korvet.kafka.errors import ErrorCode, KafkaError
from korvet.redis.keys import Keys
from korvet.redis.lane import ConnectionLost, Lane, NotSent, Reply
from korvet.storage.partition_state import open_producers
from korvet.storage.scripts import FORGET, TRIM
from korvet.storage.topic import Topic

log = logging.getLogger(__name__)

# DeleteRecords' offset that stands for the high watermark.
EVERYTHING: Final = -1
_PARTITIONS_AT_ONCE: Final = 64
_PRODUCERS_AT_ONCE: Final = 500


class Trimmer:
    def __init__(self, lane: Lane, keys: Keys) -> None:
        self._lane = lane
        self._keys = keys

    async def delete_records(self, topic: Topic, partition: int, offset: int) -> int:
        """Delete the records before an offset; return where the log starts now."""
        if offset < EVERYTHING:
            raise KafkaError(ErrorCode.OFFSET_OUT_OF_RANGE, f"{offset}")
        encoding = topic.config.encoding
        cut = "end" if offset == EVERYTHING else encoding.entry_id(offset)
        verdict, *answer = await self._trim(topic, partition, -1, -1, cut)
        if verdict == b"UNKNOWN_TOPIC":
            raise KafkaError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
        if verdict != b"OK":
            raise KafkaError(ErrorCode[verdict.decode()], f"{offset}")
        start = answer[0]
        return encoding.offset(start) if start else 0

    def apply_retention(self, topic: Topic, partition: int) -> "asyncio.Future[Reply]":
        config = topic.config
        return self._trim(topic, partition, config.retention_ms, config.retention_bytes, "")

    def _trim(
        self,
        topic: Topic,
        partition: int,
        retention_ms: int,
        retention_bytes: int,
        cut: str,
    ) -> "asyncio.Future[Reply]":
        keys = self._keys
        return self._lane.send(
            "EVALSHA",
            TRIM.digest,
            4,
            keys.partition(topic.name, partition),
            keys.stream(topic.name, partition),
            keys.index(topic.name, partition),
            keys.aborted(topic.name, partition),
            topic.id_text,
            topic.config.encoding.sequences,
            "batch" if topic.config.batch_format else "record",
            retention_ms,
            retention_bytes,
            "~" if topic.config.approximate_trimming else "=",
            cut,
        )

    async def forget_producers(self, topic: Topic, partition: int, before_ms: int) -> None:
        """Forget producers whose last batch is older than that, and transactions that
        ended before it. One that has come back in between is not forgotten, nor is one
        whose transaction is open here: what it repeats would be appended twice."""
        state_key = self._keys.partition(topic.name, partition)
        writing = open_producers(await self._lane.send("HGET", state_key, "open") or b"")
        await self._forget(
            self._keys.producers(topic.name, partition),
            lambda producer, state: (
                _last_used(state) < before_ms and producer not in writing
            ),
        )
        await self._forget(
            self._keys.transactions(topic.name, partition),
            lambda _, state: 0 < _ended_at(state) < before_ms,
        )

    async def _forget(self, key: str, is_expired: Callable[[bytes, bytes], bool]) -> None:
        cursor = b"0"
        while True:
            cursor, found = await self._lane.send(
                "HSCAN", key, cursor, "COUNT", _PRODUCERS_AT_ONCE
            )
            expired = [
                word
                for field, state in zip(found[::2], found[1::2], strict=True)
                if is_expired(field, state)
                for word in (field, state)
            ]
            if expired:
                await self._lane.send("EVALSHA", FORGET.digest, 1, key, *expired)
            if cursor == b"0":
                return


def _last_used(state: bytes) -> int:
    """When a producer's state was written (batches.lua); 0 for what is none."""
    words = state.split(b" ", 2)
    return int(words[1]) if len(words) == 3 and words[1].isdigit() else 0


def _ended_at(state: bytes) -> int:
    """When a transaction ended (transactions.lua); 0 where it has not."""
    words = state.split(b" ")
    return int(words[4]) if len(words) == 5 and words[2] == b"ended" else 0


class Sweeper:
    """Goes over all partitions every so often. Any number of replicas may do so at once."""

    def __init__(
        self,
        trimmer: Trimmer,
        topics: Callable[[], Iterable[Topic]],
        *,
        interval: float,
        producer_expiry: float,
    ) -> None:
        self._trimmer = trimmer
        self._topics = topics
        self._interval = interval
        self._producer_expiry = producer_expiry

    async def run(self) -> None:
        while True:
            await asyncio.sleep(self._interval)
            await self.sweep()

    async def sweep(self) -> None:
        for topic in list(self._topics()):
            try:
                await self._sweep_topic(topic)
            except (NotSent, ConnectionLost) as error:
                log.warning("retention was not applied: %s", error)
                return

    async def _sweep_topic(self, topic: Topic) -> None:
        before_ms = int((time.time() - self._producer_expiry) * 1000)
        for first in range(0, topic.partitions, _PARTITIONS_AT_ONCE):
            some = range(first, min(first + _PARTITIONS_AT_ONCE, topic.partitions))
            if topic.config.deletes:
                trims = [self._trimmer.apply_retention(topic, index) for index in some]
                _report(topic, await asyncio.gather(*trims, return_exceptions=True))
            forgets = [
                self._trimmer.forget_producers(topic, index, before_ms) for index in some
            ]
            _report(topic, await asyncio.gather(*forgets, return_exceptions=True))


def _report(topic: Topic, outcomes: Iterable[object]) -> None:
    """What Redis refuses concerns one partition; anything else concerns all."""
    for outcome in outcomes:
        if isinstance(outcome, hiredis.ReplyError):
            log.warning("a partition of %s was not swept: %s", topic.name, outcome)
        elif isinstance(outcome, BaseException):
            raise outcome
