"""OffsetCommit (8), v2-v10: keep how far a group has read.

Versions
    v2  retention_time_ms, until v4. Ignored: how long offsets are kept is the server's.
    v6  leader epochs (KIP-320).
    v7  group_instance_id (KIP-345).
    v8  flexible.
    v9  a group that is not there is GROUP_ID_NOT_FOUND, and ILLEGAL_GENERATION before.
        A member's epoch instead of the generation, and STALE_MEMBER_EPOCH as an error
        (KIP-848): for the consumer protocol, which is not served.
    v10 topic ids instead of names.

A commit is for the topic that has the name now, and is not inherited by one that is made
again under it. Any offset is taken, as Kafka takes it. A topic or partition that does not
exist is refused by itself. A group id may be empty.
"""

from collections.abc import Iterable, Sequence
from typing import Final

from korvet.gateway import committed_topics
from korvet.gateway.committed_topics import Found, partition_error
from korvet.gateway.handler import Handler, RequestContext
from korvet.kafka.errors import ErrorCode, KafkaError
from korvet.kafka.messages.offset_commit import OffsetCommitRequest, OffsetCommitResponse
from korvet.proto.coordinator.v1 import coordinator_service_pb2 as pb

_NOT_FOUND_FROM: Final = 9
_TOPIC_IDS_FROM: Final = 10
# Every client waits and asks again; other codes make some of them look for a coordinator.
_UNKNOWN_NOW: Final = ErrorCode.COORDINATOR_LOAD_IN_PROGRESS


async def handle(
    request: OffsetCommitRequest, context: RequestContext
) -> OffsetCommitResponse:
    commit = pb.CommitOffsetsRequest(
        group_id=request.group_id,
        member_id=request.member_id,
        group_instance_id=request.group_instance_id,
        generation_id=request.generation_id_or_member_epoch,
    )
    # In the order of the request; None where the coordinator decides.
    codes: list[int | None] = []
    topics = await _find_topics(request, context)
    for topic, found in zip(request.topics, topics, strict=True):
        for partition in topic.partitions:
            code = partition_error(found, partition.partition_index)
            if isinstance(found, ErrorCode) or code:
                codes.append(code)
                continue
            codes.append(None)
            commit.offsets.add(
                topic=found.name,
                topic_id=found.topic_id,
                partition=partition.partition_index,
                offset=partition.committed_offset,
                leader_epoch=partition.committed_leader_epoch,
                metadata=partition.committed_metadata,
            )
    decided = iter(await _commit(commit, context))
    return _response(request, [next(decided) if code is None else code for code in codes])


async def _find_topics(
    request: OffsetCommitRequest, context: RequestContext
) -> Sequence[Found]:
    if context.api_version >= _TOPIC_IDS_FROM:
        by_id = await committed_topics.find_ids(
            (topic.topic_id for topic in request.topics),
            context.cluster,
            failure=_UNKNOWN_NOW,
        )
        return [by_id[topic.topic_id] for topic in request.topics]
    by_name = await committed_topics.find_names(
        (topic.name for topic in request.topics), context.cluster, failure=_UNKNOWN_NOW
    )
    return [by_name[topic.name] for topic in request.topics]


async def _commit(
    commit: pb.CommitOffsetsRequest, context: RequestContext
) -> Sequence[int]:
    if not commit.offsets:
        return ()
    try:
        answer = await context.coordinator.commit_offsets(commit)
    except KafkaError as error:
        # Not the whole request: a topic that is not there is told in any case.
        return [error.code] * len(commit.offsets)
    if answer.error_code:
        code = _refusal(answer.error_code, context.api_version)
        return [code] * len(commit.offsets)
    return answer.offset_error_codes


def _refusal(error_code: int, version: int) -> int:
    if error_code == ErrorCode.GROUP_ID_NOT_FOUND and version < _NOT_FOUND_FROM:
        return ErrorCode.ILLEGAL_GENERATION
    return error_code


def refuse(
    request: OffsetCommitRequest, error: KafkaError, version: int
) -> OffsetCommitResponse:
    return _response(
        request, (error.code for topic in request.topics for _ in topic.partitions)
    )


def _response(request: OffsetCommitRequest, codes: Iterable[int]) -> OffsetCommitResponse:
    """Give each partition of the request the next code."""
    remaining = iter(codes)
    return OffsetCommitResponse(
        topics=[
            OffsetCommitResponse.OffsetCommitResponseTopic(
                name=topic.name,
                topic_id=topic.topic_id,
                partitions=[
                    OffsetCommitResponse.OffsetCommitResponsePartition(
                        partition_index=partition.partition_index,
                        error_code=next(remaining),
                    )
                    for partition in topic.partitions
                ],
            )
            for topic in request.topics
        ]
    )


HANDLER: Final = Handler(
    OffsetCommitRequest, min_version=2, max_version=10, handle=handle, refuse=refuse
)
