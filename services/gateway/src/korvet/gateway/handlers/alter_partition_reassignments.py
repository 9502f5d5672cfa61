"""AlterPartitionReassignments (45), v0: give partitions other replicas.

A partition's one replica is on the gateway that Metadata names as its leader, and gateways
share partitions out among themselves. So a partition may be assigned to where it is, and
any other assignment is refused; no reassignment is ever under way that could be cancelled.

Not supported: v1, which only adds a flag about changing replication factors.
"""

from collections.abc import Collection
from typing import Final

from korvet.gateway.cluster import TopicView
from korvet.gateway.handler import Handler, RequestContext
from korvet.gateway.replica_assignments import check_replicas
from korvet.kafka.errors import ErrorCode, KafkaError
from korvet.kafka.messages.alter_partition_reassignments import (
    AlterPartitionReassignmentsRequest,
    AlterPartitionReassignmentsResponse,
)

_Asked = AlterPartitionReassignmentsRequest.ReassignablePartition
_Topic = AlterPartitionReassignmentsResponse.ReassignableTopicResponse
_Partition = AlterPartitionReassignmentsResponse.ReassignablePartitionResponse


async def handle(
    request: AlterPartitionReassignmentsRequest, context: RequestContext
) -> AlterPartitionReassignmentsResponse:
    brokers = {broker.node_id for broker in context.cluster.brokers}
    found = await context.cluster.find_names(topic.name for topic in request.topics)

    def answer(name: str, asked: _Asked) -> _Partition:
        topic = found[name]
        try:
            if not isinstance(topic, TopicView):
                raise KafkaError(topic, f"Unable to find a topic named {name}.")
            leaders = context.cluster.leaders(topic)
            if not 0 <= asked.partition_index < len(leaders):
                detail = f"Unable to find partition {name}:{asked.partition_index}."
                raise KafkaError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, detail)
            _check(asked, leaders[asked.partition_index], brokers)
        except KafkaError as error:
            return _Partition(
                partition_index=asked.partition_index,
                error_code=error.code,
                error_message=error.detail or None,
            )
        return _Partition(partition_index=asked.partition_index, error_message=None)

    return AlterPartitionReassignmentsResponse(
        error_message=None,
        responses=[
            _Topic(
                name=topic.name,
                partitions=[answer(topic.name, asked) for asked in topic.partitions],
            )
            for topic in request.topics
        ],
    )


def refuse(
    request: AlterPartitionReassignmentsRequest, error: KafkaError, version: int
) -> AlterPartitionReassignmentsResponse:
    return AlterPartitionReassignmentsResponse(
        error_code=error.code, error_message=error.detail or None
    )


def _check(asked: _Asked, leader: int, brokers: Collection[int]) -> None:
    if asked.replicas is None:
        raise KafkaError(ErrorCode.NO_REASSIGNMENT_IN_PROGRESS)
    check_replicas(asked.replicas, brokers)
    if asked.replicas != [leader]:
        detail = (
            f"The partition has one replica, on broker {leader}: brokers share partitions "
            "out among themselves, and any of them serves any partition."
        )
        raise KafkaError(ErrorCode.INVALID_REPLICA_ASSIGNMENT, detail)


HANDLER: Final = Handler(
    AlterPartitionReassignmentsRequest,
    min_version=0,
    max_version=0,
    handle=handle,
    refuse=refuse,
    cancellable=True,
)
