"""DescribeQuorum (55), v0-v2: who keeps the cluster's metadata.

Versions
    v1  when replicas fetched last (KIP-836): unknown here.
    v2  error messages, directory ids and the voters' addresses (KIP-853).

Metadata is kept in Redis, not in a log of its own, and the controller is the live gateway
with the lowest id. So that one is leader and the only voter, the other gateways are
observers, and the catalogue's version stands for the offset that all have reached.
"""

from typing import Final

from korvet.gateway.cluster import Cluster
from korvet.gateway.handler import Handler, RequestContext
from korvet.kafka.errors import ErrorCode, KafkaError
from korvet.kafka.messages.describe_quorum import (
    DescribeQuorumRequest,
    DescribeQuorumResponse,
)

_Topic = DescribeQuorumResponse.TopicData
_Partition = DescribeQuorumResponse.PartitionData
_Replica = DescribeQuorumResponse.ReplicaState

_METADATA_TOPIC: Final = "__cluster_metadata"
_LISTENER: Final = "CONTROLLER"
_NODES_FROM: Final = 2


async def handle(
    request: DescribeQuorumRequest, context: RequestContext
) -> DescribeQuorumResponse:
    asked = [
        (topic.topic_name, partition.partition_index)
        for topic in request.topics
        for partition in topic.partitions
    ]
    if asked != [(_METADATA_TOPIC, 0)]:
        return _unknown(request)
    cluster = context.cluster
    version = max((topic.version for topic in await cluster.topics()), default=0)
    return DescribeQuorumResponse(
        topics=[_Topic(topic_name=_METADATA_TOPIC, partitions=[_quorum(cluster, version)])],
        nodes=_voters(cluster) if context.api_version >= _NODES_FROM else [],
    )


def refuse(
    request: DescribeQuorumRequest, error: KafkaError, version: int
) -> DescribeQuorumResponse:
    return DescribeQuorumResponse(error_code=error.code, error_message=error.detail)


def _quorum(cluster: Cluster, version: int) -> _Partition:
    replicas = {
        broker.node_id: _Replica(replica_id=broker.node_id, log_end_offset=version)
        for broker in cluster.brokers
    }
    leader = replicas.pop(cluster.controller_id)
    return _Partition(
        leader_id=leader.replica_id,
        high_watermark=version,
        current_voters=[leader],
        observers=list(replicas.values()),
    )


def _voters(cluster: Cluster) -> list[DescribeQuorumResponse.Node]:
    return [
        DescribeQuorumResponse.Node(
            node_id=broker.node_id,
            listeners=[
                DescribeQuorumResponse.Listener(
                    name=_LISTENER, host=broker.host, port=broker.port
                )
            ],
        )
        for broker in cluster.brokers
        if broker.node_id == cluster.controller_id
    ]


def _unknown(request: DescribeQuorumRequest) -> DescribeQuorumResponse:
    return DescribeQuorumResponse(
        topics=[
            _Topic(
                topic_name=topic.topic_name,
                partitions=[
                    _Partition(
                        partition_index=partition.partition_index,
                        error_code=ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
                        error_message="This server does not host this topic-partition.",
                    )
                    for partition in topic.partitions
                ],
            )
            for topic in request.topics
        ]
    )


HANDLER: Final = Handler(
    DescribeQuorumRequest,
    min_version=0,
    max_version=2,
    handle=handle,
    refuse=refuse,
    cancellable=True,
)
