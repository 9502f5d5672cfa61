"""The gRPC calls that show Kafka's groups as Redis's own, and Redis's own as queues: they
translate, no more."""

from collections.abc import Iterable
from typing import Final

from korvet.kafka.errors import ErrorCode, KafkaError
from korvet.proto.storage.v1 import storage_service_pb2 as pb
from korvet.storage.questions import answer_all, answered_by_redis, answered_for
from korvet.storage.redis_groups import RedisGroups
from korvet.storage.topic import Topic
from korvet.storage.topic_lookup import TopicLookup

_GONE: Final = (ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, ErrorCode.UNKNOWN_TOPIC_ID)


class GroupCalls:
    def __init__(self, groups: RedisGroups, lookup: TopicLookup) -> None:
        self._groups = groups
        self._lookup = lookup

    async def move_redis_groups(
        self, request: pb.MoveRedisGroupsRequest
    ) -> pb.MoveRedisGroupsResponse:
        codes = await answer_all(self._move, request.positions)
        return pb.MoveRedisGroupsResponse(error_codes=codes)

    async def _move(self, position: pb.MoveRedisGroupsRequest.Position) -> ErrorCode:
        try:
            topic = await self._lookup.find(position.topic, position.partition)
            await answered_for(
                self._lookup,
                position.topic,
                topic,
                self._groups.move(
                    topic, position.partition, position.group, position.offset
                ),
            )
        except KafkaError as error:
            return error.code
        return ErrorCode.NONE

    async def describe_queue(
        self, request: pb.DescribeQueueRequest, everything: Iterable[Topic]
    ) -> pb.DescribeQueueResponse:
        async def describe(
            place: tuple[Topic, int],
        ) -> pb.DescribeQueueResponse.Partition | None:
            topic, partition = place
            asked = self._groups.describe_queue(topic, partition, request.group)
            found = await answered_by_redis(asked)
            if found is None:
                return None
            return pb.DescribeQueueResponse.Partition(
                topic=topic.name,
                partition=partition,
                waiting=found.waiting,
                pending=found.pending,
                high_watermark=found.end_offset,
            )

        places = [
            (topic, partition)
            for topic in sorted(everything, key=lambda topic: topic.name)
            for partition in range(topic.partitions)
        ]
        described = await answer_all(describe, places)
        return pb.DescribeQueueResponse(
            partitions=[each for each in described if each is not None]
        )

    async def destroy_redis_group(
        self, request: pb.DestroyRedisGroupRequest
    ) -> pb.DestroyRedisGroupResponse:
        async def destroy(partition: pb.DestroyRedisGroupRequest.Partition) -> None:
            try:
                topic = await self._lookup.find(partition.topic, partition.partition)
                await answered_for(
                    self._lookup,
                    partition.topic,
                    topic,
                    self._groups.destroy(
                        topic, partition.partition, request.group, is_queue=request.queue
                    ),
                )
            except KafkaError as error:
                # What is gone has no groups.
                if error.code not in _GONE:
                    raise

        await answer_all(destroy, request.partitions)
        return pb.DestroyRedisGroupResponse()
