"""DescribeLogDirs (35), v1-v4: how large partitions are, and how much room is left.

Versions
    v2  flexible.
    v3  an error for the whole answer.
    v4  total and usable bytes (KIP-827).

There is one log directory, Redis: its limit of memory is the total, and what is not used of
that is usable; without a limit both are unknown. As in Kafka, a broker describes the
replicas that it has, here the partitions whose leader it is, so that the sum over all
brokers is right; and a partition that it has not is left out.
"""

from collections.abc import Iterable
from typing import Final

from korvet.gateway.cluster import Cluster, TopicView
from korvet.gateway.handler import Handler, RequestContext
from korvet.kafka.errors import KafkaError
from korvet.kafka.messages.describe_log_dirs import (
    DescribeLogDirsRequest,
    DescribeLogDirsResponse,
)
from korvet.proto.storage.v1 import storage_service_pb2 as pb

_Asked = DescribeLogDirsRequest.DescribableLogDirTopic
_Topic = DescribeLogDirsResponse.DescribeLogDirsTopic
_Partition = DescribeLogDirsResponse.DescribeLogDirsPartition
_Result = DescribeLogDirsResponse.DescribeLogDirsResult

LOG_DIR: Final = "redis"

_UNKNOWN_BYTES: Final = -1


async def handle(
    request: DescribeLogDirsRequest, context: RequestContext
) -> DescribeLogDirsResponse:
    selections = [
        pb.DescribeLogsRequest.Selection(
            topic=pb.TopicRef(name=name), partitions=partitions
        )
        for name, partitions in (await _hosted(request, context)).items()
        # Without any, all of them would be meant.
        if partitions
    ]
    described = await context.storage.describe_logs(
        pb.DescribeLogsRequest(topics=selections)
    )
    total, usable = _room(described)
    topics: dict[str, _Topic] = {}
    for log in described.logs:
        if not log.error_code:
            topic = topics.setdefault(log.topic, _Topic(name=log.topic))
            topic.partitions.append(
                _Partition(partition_index=log.partition, partition_size=log.size_bytes)
            )
    result = _Result(
        log_dir=LOG_DIR,
        topics=list(topics.values()),
        total_bytes=total,
        usable_bytes=usable,
    )
    return DescribeLogDirsResponse(results=[result])


def refuse(
    request: DescribeLogDirsRequest, error: KafkaError, version: int
) -> DescribeLogDirsResponse:
    # The directory is away, not the broker; older versions can only say it so, too.
    result = _Result(error_code=error.code, log_dir=LOG_DIR)
    return DescribeLogDirsResponse(results=[result])


async def _hosted(
    request: DescribeLogDirsRequest, context: RequestContext
) -> dict[str, list[int]]:
    """The partitions among those asked for that clients are sent to this gateway for."""
    cluster, node_id = context.cluster, context.node.node_id
    if request.topics is None:
        return {
            topic.name: _led_by(node_id, topic, cluster) for topic in await cluster.topics()
        }
    asked = _partitions_by_topic(request.topics)
    found = await cluster.find_names(asked)
    return {
        name: [index for index in _led_by(node_id, topic, cluster) if index in asked[name]]
        for name, topic in found.items()
        if isinstance(topic, TopicView)
    }


def _partitions_by_topic(topics: Iterable[_Asked]) -> dict[str, set[int]]:
    asked: dict[str, set[int]] = {}
    for topic in topics:
        asked.setdefault(topic.topic, set()).update(topic.partitions)
    return asked


def _led_by(node_id: int, topic: TopicView, cluster: Cluster) -> list[int]:
    leaders = cluster.leaders(topic)
    return [index for index, leader in enumerate(leaders) if leader == node_id]


def _room(described: pb.DescribeLogsResponse) -> tuple[int, int]:
    limit = described.memory_limit_bytes
    if not limit:
        return _UNKNOWN_BYTES, _UNKNOWN_BYTES
    return limit, max(limit - described.memory_used_bytes, 0)


HANDLER: Final = Handler(
    DescribeLogDirsRequest,
    min_version=1,
    max_version=4,
    handle=handle,
    refuse=refuse,
    cancellable=True,
)
