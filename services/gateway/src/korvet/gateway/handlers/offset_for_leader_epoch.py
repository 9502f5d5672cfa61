"""OffsetForLeaderEpoch (23), v2-v4: where a leader epoch ends, to notice a truncated log.

Versions
    v2  current_leader_epoch (KIP-320).
    v3  replica_id; whoever asks is answered as a consumer.
    v4  flexible.
"""

from typing import Final

from korvet.gateway.handler import Handler, RequestContext
from korvet.kafka.errors import KafkaError
from korvet.kafka.messages.offset_for_leader_epoch import (
    OffsetForLeaderEpochRequest,
    OffsetForLeaderEpochResponse,
)
from korvet.proto.storage.v1 import storage_service_pb2 as pb

_EpochEnd = pb.FindEpochEndsResponse.EpochEnd


async def handle(
    request: OffsetForLeaderEpochRequest, context: RequestContext
) -> OffsetForLeaderEpochResponse:
    wanted = pb.FindEpochEndsRequest()
    for topic in request.topics:
        for partition in topic.partitions:
            question = wanted.questions.add()
            question.topic.name = topic.topic
            question.partition = partition.partition
            question.leader_epoch = partition.leader_epoch
            if partition.current_leader_epoch >= 0:
                question.current_leader_epoch = partition.current_leader_epoch
    ends = iter((await context.storage.find_epoch_ends(wanted)).ends)
    return OffsetForLeaderEpochResponse(
        topics=[
            OffsetForLeaderEpochResponse.OffsetForLeaderTopicResult(
                topic=topic.topic,
                partitions=[
                    _answer(partition.partition, next(ends))
                    for partition in topic.partitions
                ],
            )
            for topic in request.topics
        ]
    )


def refuse(
    request: OffsetForLeaderEpochRequest, error: KafkaError, version: int
) -> OffsetForLeaderEpochResponse:
    refused = _EpochEnd(error_code=error.code)
    return OffsetForLeaderEpochResponse(
        topics=[
            OffsetForLeaderEpochResponse.OffsetForLeaderTopicResult(
                topic=topic.topic,
                partitions=[
                    _answer(partition.partition, refused) for partition in topic.partitions
                ],
            )
            for topic in request.topics
        ]
    )


def _answer(index: int, end: _EpochEnd) -> OffsetForLeaderEpochResponse.EpochEndOffset:
    if end.error_code:
        return OffsetForLeaderEpochResponse.EpochEndOffset(
            partition=index, error_code=end.error_code
        )
    return OffsetForLeaderEpochResponse.EpochEndOffset(
        partition=index, leader_epoch=end.leader_epoch, end_offset=end.end_offset
    )


HANDLER: Final = Handler(
    OffsetForLeaderEpochRequest, min_version=2, max_version=4, handle=handle, refuse=refuse
)
