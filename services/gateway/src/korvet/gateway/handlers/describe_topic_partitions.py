"""DescribeTopicPartitions (75), v0: topics and partitions, a page at a time (KIP-966).

Topics come in the order of their names, and `next_cursor` says where the next page begins.
There are no eligible leader replicas: a partition has one replica.
"""

from collections.abc import Mapping
from typing import Final

from korvet.gateway.authorized_operations import ON_TOPIC
from korvet.gateway.cluster import Cluster, TopicView
from korvet.gateway.handler import Handler, RequestContext
from korvet.gateway.topic_names import is_legal
from korvet.kafka.errors import ErrorCode, KafkaError
from korvet.kafka.messages.describe_topic_partitions import (
    DescribeTopicPartitionsRequest,
    DescribeTopicPartitionsResponse,
)

# Kafka's max.request.partition.size.limit.
_MAX_PAGE: Final = 2000

_Topic = DescribeTopicPartitionsResponse.DescribeTopicPartitionsResponseTopic
_Partition = DescribeTopicPartitionsResponse.DescribeTopicPartitionsResponsePartition


async def handle(
    request: DescribeTopicPartitionsRequest, context: RequestContext
) -> DescribeTopicPartitionsResponse:
    first_topic, first_partition = "", 0
    if request.cursor is not None:
        first_topic = request.cursor.topic_name
        first_partition = request.cursor.partition_index
    if first_partition < 0:
        raise KafkaError(ErrorCode.INVALID_REQUEST, "the cursor's partition is negative")
    found = await _find(request, context)
    response = DescribeTopicPartitionsResponse()
    room = min(max(request.response_partition_limit, 1), _MAX_PAGE)
    for name in sorted(name for name in found if name >= first_topic):
        if not room:
            response.next_cursor = _cursor(name, 0)
            break
        topic = found[name]
        if isinstance(topic, ErrorCode):
            response.topics.append(_Topic(error_code=topic, name=name))
            continue
        start = first_partition if name == first_topic else 0
        described = _described(topic, context.cluster, start, start + room)
        response.topics.append(described)
        room -= len(described.partitions)
        end = start + len(described.partitions)
        if end < len(topic.leader_epochs):
            response.next_cursor = _cursor(name, end)
            break
    return response


def refuse(
    request: DescribeTopicPartitionsRequest, error: KafkaError, version: int
) -> DescribeTopicPartitionsResponse:
    return DescribeTopicPartitionsResponse(
        topics=[_Topic(error_code=error.code, name=topic.name) for topic in request.topics]
    )


async def _find(
    request: DescribeTopicPartitionsRequest, context: RequestContext
) -> Mapping[str, TopicView | ErrorCode]:
    names = [topic.name for topic in request.topics]
    if not names:
        return {topic.name: topic for topic in await context.cluster.topics()}
    found = await context.cluster.find_names(name for name in names if is_legal(name))
    return {name: found.get(name, ErrorCode.INVALID_TOPIC_EXCEPTION) for name in names}


def _described(topic: TopicView, cluster: Cluster, start: int, end: int) -> _Topic:
    leaders = cluster.leaders(topic)
    return _Topic(
        name=topic.name,
        topic_id=topic.topic_id,
        partitions=[
            _Partition(
                partition_index=index,
                leader_id=leaders[index],
                leader_epoch=topic.leader_epochs[index],
                replica_nodes=[leaders[index]],
                isr_nodes=[leaders[index]],
                eligible_leader_replicas=[],
                last_known_elr=[],
            )
            for index in range(start, min(end, len(leaders)))
        ],
        topic_authorized_operations=ON_TOPIC,
    )


def _cursor(topic: str, partition: int) -> DescribeTopicPartitionsResponse.Cursor:
    return DescribeTopicPartitionsResponse.Cursor(
        topic_name=topic, partition_index=partition
    )


HANDLER: Final = Handler(
    DescribeTopicPartitionsRequest,
    min_version=0,
    max_version=0,
    handle=handle,
    refuse=refuse,
)
