"""Redis's own consumer groups, as far as they show what Kafka's groups and queues do.

They are made and moved by scripts that know the topic's id, so that nothing is written to a
topic that was made again under the name.
"""

from collections.abc import Sequence
from typing import NamedTuple

from korvet.kafka.errors import ErrorCode, KafkaError
from korvet.redis.keys import Keys
from korvet.redis.lane import Lane, Reply
from korvet.redis.script import Script
from korvet.storage.scripts import DELIVER, DESCRIBE_QUEUE, DESTROY_GROUP, MOVE_GROUP
from korvet.storage.topic import Topic


class Delivery(NamedTuple):
    """What a fetch has read, for the Redis consumer that gets it."""

    group: str
    consumer: str
    fetch_offset: int
    # How many entries, and the first and last one's offsets.
    entries: int
    first_offset: int
    last_offset: int


class QueuePosition(NamedTuple):
    """How far a work queue is in a partition, in records."""

    waiting: int
    pending: int
    end_offset: int


class RedisGroups:
    def __init__(self, lane: Lane, keys: Keys) -> None:
        self._lane = lane
        self._keys = keys
        self._history = ""
        self._takes_counts = False

    async def move(self, topic: Topic, partition: int, group: str, offset: int) -> None:
        """Let a group stand before an offset."""
        if topic.config.batch_format:
            # An entry is not a record there: positions and lag would say nothing.
            return
        await self._run(
            MOVE_GROUP,
            topic,
            partition,
            topic.config.encoding.sequences,
            group,
            topic.config.encoding.id_before(offset),
            int(await self._takes_entries_read()),
            int(topic.config.redis_delivery),
        )

    async def destroy(
        self, topic: Topic, partition: int, group: str, *, is_queue: bool
    ) -> None:
        """Destroy a group; a work queue's only where it is said to be one."""
        keys, place = self._keys, (topic.name, partition)
        _check(
            await self._lane.send(
                "EVALSHA",
                DESTROY_GROUP.digest,
                3,
                keys.partition(*place),
                keys.stream(*place),
                keys.queues(*place),
                topic.id_text,
                group,
                int(is_queue),
                keys.appended(*place),
            )
        )

    async def deliver(self, topic: Topic, partition: int, delivery: Delivery) -> None:
        """Make what was read pending for its consumer."""
        encoding = topic.config.encoding
        await self._run(
            DELIVER,
            topic,
            partition,
            encoding.sequences,
            delivery.group,
            delivery.consumer,
            encoding.id_before(delivery.fetch_offset),
            int(await self._takes_entries_read()),
            delivery.entries,
            encoding.entry_id(delivery.first_offset) if delivery.entries else "",
            encoding.entry_id(delivery.last_offset) if delivery.entries else "",
        )

    async def describe_queue(
        self, topic: Topic, partition: int, group: str
    ) -> QueuePosition | None:
        """None where the queue consumes nothing of the partition."""
        keys, place = self._keys, (topic.name, partition)
        encoding = topic.config.encoding
        verdict, *found = await self._lane.send(
            "EVALSHA",
            DESCRIBE_QUEUE.digest,
            4,
            keys.partition(*place),
            keys.stream(*place),
            keys.index(*place),
            keys.queues(*place),
            topic.id_text,
            encoding.sequences,
            "batch" if topic.config.batch_format else "record",
            group,
        )
        if verdict != b"OK":
            return None
        waiting, pending, last = found
        end_offset = encoding.offset(last) + 1 if last else 0
        return QueuePosition(int(waiting), int(pending), end_offset)

    async def _run(
        self, script: Script, topic: Topic, partition: int, *arguments: str | int
    ) -> None:
        keys, place = self._keys, (topic.name, partition)
        _check(
            await self._lane.send(
                "EVALSHA",
                script.digest,
                4,
                keys.partition(*place),
                keys.stream(*place),
                keys.index(*place),
                keys.queues(*place),
                topic.id_text,
                *arguments,
            )
        )

    async def _takes_entries_read(self) -> bool:
        """Whether XGROUP takes ENTRIESREAD; asked once of each run of Redis."""
        history = self._lane.history
        if history != self._history:
            lines: list[bytes] = await self._lane.send("XGROUP", "HELP")
            self._takes_counts = any(b"ENTRIESREAD" in line for line in lines)
            self._history = history
        return self._takes_counts


def _check(answer: Sequence[Reply]) -> None:
    verdict, *_ = answer
    if verdict != b"OK":
        raise KafkaError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
