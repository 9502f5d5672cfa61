"""ElectLeaders (43), v0-v2: elect partitions' preferred leaders.

Versions
    v1  unclean elections (KIP-460), and an error for the whole answer.
    v2  flexible.

A partition has one replica, so its leader is the preferred one, and no election is ever
needed. A request for all partitions is answered with those elected: none.
"""

from typing import Final

from korvet.gateway.cluster import TopicView
from korvet.gateway.handler import Handler, RequestContext
from korvet.kafka.errors import ErrorCode, KafkaError
from korvet.kafka.messages.elect_leaders import ElectLeadersRequest, ElectLeadersResponse

_Topic = ElectLeadersResponse.ReplicaElectionResult
_Partition = ElectLeadersResponse.PartitionResult

# Preferred, unclean.
_ELECTION_TYPES: Final = frozenset({0, 1})
_ERROR_FROM: Final = 1


async def handle(
    request: ElectLeadersRequest, context: RequestContext
) -> ElectLeadersResponse:
    if request.election_type not in _ELECTION_TYPES:
        detail = f"Unknown election type {request.election_type}"
        raise KafkaError(ErrorCode.INVALID_REQUEST, detail)
    if request.topic_partitions is None:
        topics = await context.cluster.topics()
        return ElectLeadersResponse(
            replica_election_results=[_Topic(topic=topic.name) for topic in topics]
        )
    found = await context.cluster.find_names(
        each.topic for each in request.topic_partitions
    )
    return ElectLeadersResponse(
        replica_election_results=[
            _Topic(
                topic=asked.topic,
                partition_result=[
                    _answer(asked.topic, index, found[asked.topic])
                    for index in asked.partitions
                ],
            )
            for asked in request.topic_partitions
        ]
    )


def refuse(
    request: ElectLeadersRequest, error: KafkaError, version: int
) -> ElectLeadersResponse | None:
    if version < _ERROR_FROM and request.topic_partitions is None:
        # Without partitions and errors, it would read as done.
        return None
    return ElectLeadersResponse(
        error_code=error.code if version >= _ERROR_FROM else ErrorCode.NONE,
        replica_election_results=[
            _Topic(
                topic=asked.topic,
                partition_result=[
                    _Partition(
                        partition_id=index,
                        error_code=error.code,
                        error_message=error.detail or None,
                    )
                    for index in asked.partitions
                ],
            )
            for asked in request.topic_partitions or ()
        ],
    )


def _answer(name: str, index: int, topic: TopicView | ErrorCode) -> _Partition:
    if not isinstance(topic, TopicView):
        code, message = topic, f"No such topic as {name}"
    elif not 0 <= index < len(topic.leader_epochs):
        code = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        message = f"No such partition as {name}-{index}"
    else:
        code = ErrorCode.ELECTION_NOT_NEEDED
        message = "Leader election not needed for topic partition."
    return _Partition(partition_id=index, error_code=code, error_message=message)


HANDLER: Final = Handler(
    ElectLeadersRequest,
    min_version=0,
    max_version=2,
    handle=handle,
    refuse=refuse,
    cancellable=True,
)
