"""One consumer of a work queue, in Redis: a consumer group on each partition's stream.

Every change is a script that knows the topic's id, so that nothing is taken from, and
nothing acknowledged on, a topic that was made again under the name.
"""

import asyncio
import logging
from collections.abc import Sequence
from functools import partial
from typing import Final, NamedTuple
from uuid import uuid4

from korvet.kafka.errors import ErrorCode, KafkaError
from korvet.kafka.records import Record
from korvet.redis.greeting import Argument
from korvet.redis.keys import Keys
from korvet.redis.lane import Lane, Reply
from korvet.redis.script import Script
from korvet.runtime.logs import LimitedLog
from korvet.storage.batch_format import UnreadableBatchError, decode_batches, read_batches
from korvet.storage.epochs import parse_epochs
from korvet.storage.queue_holdings import SettledEntry, TakenEntry
from korvet.storage.record_format import Entry, read_entries
from korvet.storage.scripts import CLAIM_QUEUE, JOIN_QUEUE, LEAVE_QUEUE, SETTLE, TAKE
from korvet.storage.topic import Topic

log = LimitedLog(logging.getLogger(__name__))

# What is taken in one go, if there is so much; a single entry may be larger.
_MAX_RECORDS: Final = 256
_MAX_BYTES: Final = 1 << 20
# An entry is acknowledged as a whole, so that it is read as a whole.
_NO_LIMIT: Final = 1 << 62


class Take(NamedTuple):
    """What came of one look at a partition."""

    entries: Sequence[TakenEntry]
    # There was nothing new left.
    is_drained: bool
    # In how many seconds to look again for what is not acknowledged; None: not looked.
    claim_after: float | None


async def claim_queue(lane: Lane, keys: Keys, group: str) -> str:
    """Make the group a queue, and return which one of the name it is, as an id;
    INCONSISTENT_GROUP_PROTOCOL where it is another kind of group."""
    verdict, *found = await lane.send(
        "EVALSHA", CLAIM_QUEUE.digest, 2, keys.group(group), keys.groups, group, uuid4().hex
    )
    if verdict != b"OK":
        raise KafkaError(
            ErrorCode.INCONSISTENT_GROUP_PROTOCOL, f"{group} is a group of Kafka consumers"
        )
    queue_id: bytes = found[0]
    return queue_id.decode()


class WorkQueue:
    def __init__(
        self, lane: Lane, keys: Keys, group: str, consumer: str, *, queue_id: str
    ) -> None:
        self._lane = lane
        self._keys = keys
        self._group = group
        self._consumer = consumer
        self._queue_id = queue_id

    async def join(self, topic: Topic, partition: int, offset: int) -> None:
        """Have the group on a partition; one that is new begins with this offset."""
        first = topic.config.encoding.id_before(offset)
        await self._checked(self._run(JOIN_QUEUE, topic, partition, self._queue_id, first))

    async def take(
        self, topic: Topic, partition: int, room: int, idle_ms: int | None
    ) -> Take:
        """Take what has been idle for so long, if that is given, and what is new."""
        claim = "" if idle_ms is None else "idle"
        return await self._take(topic, partition, room, claim, idle_ms or 0, "-")

    async def take_own(
        self, topic: Topic, partition: int, room: int, after: bytes | None
    ) -> Take:
        """Take what this consumer had when it went, after an entry of that."""
        start = "-" if after is None else f"({after.decode()}"
        return await self._take(topic, partition, room, "own", 0, start)

    async def _take(
        self, topic: Topic, partition: int, room: int, claim: str, idle_ms: int, start: str
    ) -> Take:
        answer = await self._checked(
            self._run(
                TAKE,
                topic,
                partition,
                "batch" if topic.config.batch_format else "record",
                min(room, _MAX_RECORDS),
                _MAX_BYTES,
                claim,
                idle_ms,
                start,
            )
        )
        log_start, due_ms, is_drained, found = answer
        start_offset = topic.config.encoding.offset(log_start) if log_start else 0
        entries = [
            TakenEntry(
                partition,
                entry_id,
                count,
                partial(_records, (entry_id, fields), topic, start_offset),
            )
            for entry_id, count, fields in found
        ]
        claim_after = None if due_ms < 0 else due_ms / 1000
        return Take(entries, bool(is_drained), claim_after)

    async def settle(
        self, topic: Topic, partition: int, entries: Sequence[SettledEntry]
    ) -> None:
        """Acknowledge entries, or give them back."""
        acknowledged = [entry.id for entry in entries if not entry.is_released]
        released = [entry.id for entry in entries if entry.is_released]
        await self._checked(
            self._run(
                SETTLE,
                topic,
                partition,
                self._keys.appended(topic.name, partition),
                len(acknowledged),
                *acknowledged,
                *released,
            )
        )

    def leave(self, topic: Topic, partition: int) -> None:
        """Forget the consumer where it has nothing pending; nobody waits for that."""
        self._run(LEAVE_QUEUE, topic, partition)

    def _run(
        self, script: Script, topic: Topic, partition: int, *arguments: Argument
    ) -> "asyncio.Future[Reply]":
        keys = [
            self._keys.partition(topic.name, partition),
            self._keys.stream(topic.name, partition),
        ]
        if script is TAKE:
            keys.append(self._keys.aborted(topic.name, partition))
        if script is JOIN_QUEUE:
            keys.append(self._keys.queues(topic.name, partition))
        return self._lane.send(
            "EVALSHA",
            script.digest,
            len(keys),
            *keys,
            topic.id_text,
            self._group,
            self._consumer,
            *arguments,
        )

    async def _checked(self, asked: "asyncio.Future[Reply]") -> Sequence[Reply]:
        answer: Sequence[Reply]
        verdict, *answer = await asked
        if verdict == b"UNKNOWN_TOPIC":
            raise KafkaError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
        if verdict == b"NO_GROUP":
            raise KafkaError(ErrorCode.GROUP_ID_NOT_FOUND, f"{self._group} was deleted")
        return answer


def _records(entry: Entry, topic: Topic, start_offset: int) -> Sequence[Record]:
    """An entry's records; none where nobody can read it."""
    encoding = topic.config.encoding
    if not topic.config.batch_format:
        return [
            stored.record._replace(timestamp=stored.timestamp)
            for stored in read_entries([entry], encoding, 0)
        ]
    batches = read_batches([entry], encoding, parse_epochs(None, encoding), 0)
    try:
        # DeleteRecords may have cut through the batch.
        return decode_batches(batches, start_offset, _NO_LIMIT).records
    except UnreadableBatchError as error:
        log.warning("%s: entry %s is left out: %s", topic.name, entry[0].decode(), error)
        return ()
