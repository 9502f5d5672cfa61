"""What the coordinator asks of storage about topics: which there are, and are no more."""

import asyncio
import logging
from collections.abc import Callable, Collection, Iterable
from typing import Final

from korvet.coordinator.committed_offsets import TopicPartition
from korvet.coordinator.storage_client import StorageAwayError, StorageClient
from korvet.kafka.errors import ErrorCode, KafkaError
from korvet.proto.storage.v1 import storage_service_pb2 as pb
from korvet.redis.topic_ids import parse_topic_id

log = logging.getLogger(__name__)

_RETRY_SECONDS: Final = 1.0


class TopicWatch:
    def __init__(self, storage: StorageClient) -> None:
        self._storage = storage

    async def gone(self, topic_ids: Collection[str]) -> set[str]:
        """Those of these topics that are no more; none where storage cannot tell."""
        wanted = list(topic_ids)
        if not wanted:
            return set()
        request = pb.DescribeTopicsRequest(
            topics=[pb.TopicRef(id=parse_topic_id(each)) for each in wanted]
        )
        try:
            response = await self._storage.describe_topics(request)
        except StorageAwayError as error:
            log.debug("storage does not tell of topics: %s", error)
            return set()
        return {
            topic_id
            for topic_id, result in zip(wanted, response.topics, strict=True)
            if result.error_code == ErrorCode.UNKNOWN_TOPIC_ID
        }

    async def all_partitions(self) -> list[TopicPartition]:
        """Of every topic; COORDINATOR_NOT_AVAILABLE where storage cannot tell."""
        return _partitions(await self._all_topics())

    async def delivering_partitions(self) -> list[TopicPartition]:
        """Of topics with group.delivery=redis; else as `all_partitions`."""
        topics = await self._all_topics()
        return _partitions(topic for topic in topics if topic.delivers_through_redis)

    async def _all_topics(self) -> list[pb.Topic]:
        request = pb.DescribeTopicsRequest(all=True)
        try:
            response = await self._storage.describe_topics(request)
        except StorageAwayError as error:
            raise KafkaError(
                ErrorCode.COORDINATOR_NOT_AVAILABLE, f"storage: {error}"
            ) from error
        return [result.topic for result in response.topics]

    async def follow(self, on_deletion: Callable[[], None]) -> None:
        """Tell of deletions, for as long as this runs."""
        while True:
            try:
                async for update in self._storage.watch_cluster():
                    if update.snapshot or update.deletions:
                        on_deletion()
            except StorageAwayError as error:
                log.debug("the cluster cannot be followed: %s", error)
            await asyncio.sleep(_RETRY_SECONDS)


def _partitions(topics: Iterable[pb.Topic]) -> list[TopicPartition]:
    return [
        TopicPartition(topic.name, partition)
        for topic in topics
        for partition in range(len(topic.leader_epochs))
    ]
