"""ListOffsets (2), v1-v11: find an offset by timestamp.

Versions
    v2  isolation_level.
    v4  leader epochs (KIP-320).
    v6  flexible.
    v7  timestamp -3, the record with the largest timestamp (KIP-734).
    v8  timestamp -4, the earliest record that is not only in tiered storage (KIP-405).
    v9  timestamp -5, the last one in tiered storage (KIP-1005).
    v10 timeout_ms, for tiered storage; an answer here is never waited for.
    v11 timestamp -6, the earliest not yet in tiered storage (KIP-1023). There is none.

A special timestamp in an older version than its own is UNSUPPORTED_VERSION, as in Kafka.
"""

from typing import Final

from korvet.gateway.handler import Handler, RequestContext
from korvet.kafka.errors import ErrorCode, KafkaError
from korvet.kafka.messages.list_offsets import ListOffsetsRequest, ListOffsetsResponse
from korvet.proto.storage.v1 import storage_service_pb2 as pb

_EARLIEST_PENDING_UPLOAD: Final = -6
# Special timestamp -> the first version that has it.
_KNOWN_FROM: Final = {-1: 1, -2: 1, -3: 7, -4: 8, -5: 9, _EARLIEST_PENDING_UPLOAD: 11}
_READ_COMMITTED: Final = 1
_LEADER_EPOCH_FROM: Final = 4


async def handle(
    request: ListOffsetsRequest, context: RequestContext
) -> ListOffsetsResponse:
    wanted = pb.FindOffsetsRequest()
    if request.isolation_level == _READ_COMMITTED:
        wanted.isolation_level = pb.ISOLATION_LEVEL_READ_COMMITTED
    # In the order of the request; None where storage decides.
    results: list[pb.FindOffsetsResponse.Found | None] = []
    for topic in request.topics:
        for partition in topic.partitions:
            result = _without_asking(partition.timestamp, context.api_version)
            results.append(result)
            if result is None:
                position = wanted.positions.add()
                position.topic.name = topic.name
                position.partition = partition.partition_index
                position.timestamp_ms = partition.timestamp
                if partition.current_leader_epoch >= 0:
                    position.current_leader_epoch = partition.current_leader_epoch
    found = iter((await context.storage.find_offsets(wanted)).found)
    answers = iter([next(found) if result is None else result for result in results])
    return ListOffsetsResponse(
        topics=[
            ListOffsetsResponse.ListOffsetsTopicResponse(
                name=topic.name,
                partitions=[
                    _answer(partition.partition_index, next(answers), context.api_version)
                    for partition in topic.partitions
                ],
            )
            for topic in request.topics
        ]
    )


def refuse(
    request: ListOffsetsRequest, error: KafkaError, version: int
) -> ListOffsetsResponse:
    refused = pb.FindOffsetsResponse.Found(error_code=error.code)
    return ListOffsetsResponse(
        topics=[
            ListOffsetsResponse.ListOffsetsTopicResponse(
                name=topic.name,
                partitions=[
                    _answer(partition.partition_index, refused, version)
                    for partition in topic.partitions
                ],
            )
            for topic in request.topics
        ]
    )


def _without_asking(timestamp: int, version: int) -> pb.FindOffsetsResponse.Found | None:
    if timestamp >= 0:
        return None
    known_from = _KNOWN_FROM.get(timestamp)
    if known_from is None or version < known_from:
        return pb.FindOffsetsResponse.Found(error_code=ErrorCode.UNSUPPORTED_VERSION)
    if timestamp == _EARLIEST_PENDING_UPLOAD:
        return pb.FindOffsetsResponse.Found(offset=-1, timestamp_ms=-1, leader_epoch=-1)
    return None


def _answer(
    index: int, found: pb.FindOffsetsResponse.Found, version: int
) -> ListOffsetsResponse.ListOffsetsPartitionResponse:
    if found.error_code:
        return ListOffsetsResponse.ListOffsetsPartitionResponse(
            partition_index=index, error_code=found.error_code
        )
    return ListOffsetsResponse.ListOffsetsPartitionResponse(
        partition_index=index,
        offset=found.offset,
        timestamp=found.timestamp_ms,
        # Older versions have no place for it, and -1 is its default.
        leader_epoch=found.leader_epoch if version >= _LEADER_EPOCH_FROM else -1,
    )


HANDLER: Final = Handler(
    ListOffsetsRequest, min_version=1, max_version=11, handle=handle, refuse=refuse
)
