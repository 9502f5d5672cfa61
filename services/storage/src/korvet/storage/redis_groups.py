"""Redis's own consumer groups, as far as they show what Kafka's groups do.

They are made and moved by scripts that know the topic's id, so that nothing is written to a
topic that was made again under the name.
"""

from typing import NamedTuple

from korvet.kafka.errors import ErrorCode, KafkaError
from korvet.redis.keys import Keys
from korvet.redis.lane import Lane
from korvet.redis.script import Script
from korvet.storage.scripts import DELIVER, DESTROY_GROUP, MOVE_GROUP
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

    async def destroy(self, topic: Topic, partition: int, group: str) -> None:
        channel = self._keys.appended(topic.name, partition)
        await self._run(DESTROY_GROUP, topic, partition, group, channel)

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

    async def _run(
        self, script: Script, topic: Topic, partition: int, *arguments: str | int
    ) -> None:
        keys = self._keys
        verdict, *_ = await self._lane.send(
            "EVALSHA",
            script.digest,
            3,
            keys.partition(topic.name, partition),
            keys.stream(topic.name, partition),
            keys.index(topic.name, partition),
            topic.id_text,
            *arguments,
        )
        if verdict != b"OK":
            raise KafkaError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)

    async def _takes_entries_read(self) -> bool:
        """Whether XGROUP takes ENTRIESREAD; asked once of each run of Redis."""
        history = self._lane.history
        if history != self._history:
            lines: list[bytes] = await self._lane.send("XGROUP", "HELP")
            self._takes_counts = any(b"ENTRIESREAD" in line for line in lines)
            self._history = history
        return self._takes_counts
