"""Resolves the topics and partitions that callers name.

Answers from the catalogue's cache; asks Redis where the cache has nothing, or is known to
be wrong. A topic named by its id is that one or none.
"""

from collections.abc import Collection, Mapping, Sequence
from typing import Protocol

from redis.exceptions import RedisError

from korvet.kafka.errors import ErrorCode, KafkaError
from korvet.proto.storage.v1 import storage_service_pb2 as pb
from korvet.storage.topic import Topic


class Topics(Protocol):
    """What is needed of the catalogue."""

    def by_name(self, name: str) -> Topic | None: ...

    def by_id(self, topic_id: bytes) -> Topic | None: ...

    async def describe(self, names: Collection[str]) -> Mapping[str, Topic | None]: ...

    async def describe_ids(
        self, topic_ids: Collection[bytes]
    ) -> Mapping[bytes, Topic | None]: ...


class TopicLookup:
    def __init__(self, topics: Topics) -> None:
        self._topics = topics
        self._stale: set[bytes] = set()

    def cached(self, ref: pb.TopicRef, partition: int) -> Topic | None:
        """The topic, if it can be told without asking Redis."""
        topic = self._topics.by_id(ref.id) if ref.id else self._topics.by_name(ref.name)
        if topic is None or topic.id in self._stale:
            return None
        return topic if 0 <= partition < topic.partitions else None

    async def find(self, ref: pb.TopicRef, partition: int) -> Topic:
        [found] = await self.find_all([(ref, partition)])
        if isinstance(found, KafkaError):
            raise found
        return found

    async def find_all(
        self, places: Sequence[tuple[pb.TopicRef, int]]
    ) -> list[Topic | KafkaError]:
        """The topic of each partition, or why there is none. Redis is asked but once."""
        cached = [self.cached(ref, partition) for ref, partition in places]
        unknown = [ref for (ref, _), topic in zip(places, cached, strict=True) if not topic]
        if not unknown:
            return [topic for topic in cached if topic]
        try:
            names = await self._topics.describe({ref.name for ref in unknown if not ref.id})
            ids = await self._topics.describe_ids({ref.id for ref in unknown if ref.id})
        except RedisError as error:
            # Whatever they were wanted for has certainly not been done.
            failed = KafkaError(ErrorCode.KAFKA_STORAGE_ERROR, str(error))
            return [topic or failed for topic in cached]
        return [
            topic or self._judge(ids[ref.id] if ref.id else names[ref.name], ref, partition)
            for (ref, partition), topic in zip(places, cached, strict=True)
        ]

    def _judge(
        self, topic: Topic | None, ref: pb.TopicRef, partition: int
    ) -> Topic | KafkaError:
        """What Redis has, as an answer to somebody who asked for a partition."""
        if topic is None:
            return KafkaError(unknown_topic(ref), ref.name)
        self._stale.discard(topic.id)
        if not 0 <= partition < topic.partitions:
            return KafkaError(
                ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
                f"{topic.name} has no partition {partition}",
            )
        return topic

    def is_stale(self, topic: Topic) -> None:
        """Redis said that this topic is no more: do not believe the cache again."""
        if len(self._stale) > 10_000:
            self._stale.clear()
        self._stale.add(topic.id)


def unknown_topic(ref: pb.TopicRef) -> ErrorCode:
    return ErrorCode.UNKNOWN_TOPIC_ID if ref.id else ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
