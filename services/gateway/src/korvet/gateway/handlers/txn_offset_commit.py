"""TxnOffsetCommit (28), v0-v5: commit a group's offsets as a part of a transaction.

Versions
    v2  leader epochs (KIP-320), and COORDINATOR_LOAD_IN_PROGRESS; before that it is
        COORDINATOR_NOT_AVAILABLE.
    v3  flexible; the member that commits, so that one that has lost its partitions is
        refused (KIP-447).
    v4  TRANSACTION_ABORTABLE, where the group is not part of the transaction (KIP-890);
        in other versions that is INVALID_TXN_STATE. Up to here the coordinator is asked
        why.
    v5  adds the group to the transaction by itself.

A commit is for the topic that has the name now, as with OffsetCommit. A topic or partition
that does not exist is refused by itself.
"""

from collections.abc import Iterable, Sequence
from typing import Final

from korvet.gateway import committed_topics
from korvet.gateway.committed_topics import partition_error
from korvet.gateway.group_ids import require_group_id
from korvet.gateway.handler import Handler, RequestContext
from korvet.gateway.transaction_joins import Producer
from korvet.gateway.transactional_ids import require_transactional_id
from korvet.kafka.errors import ErrorCode, KafkaError
from korvet.kafka.messages.txn_offset_commit import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitResponse,
)
from korvet.proto.coordinator.v1 import coordinator_service_pb2 as pb

_LOADING_FROM: Final = 2
_ABORTABLE_IN: Final = 4
_JOINS_FROM: Final = 5
# Every client waits and asks again; other codes make some of them look for a coordinator.
_UNKNOWN_NOW: Final = ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
# What the group was taken to be part of has ended.
_NOT_JOINED: Final = {ErrorCode.INVALID_TXN_STATE, ErrorCode.INVALID_PRODUCER_EPOCH}


async def handle(
    request: TxnOffsetCommitRequest, context: RequestContext
) -> TxnOffsetCommitResponse:
    require_transactional_id(request.transactional_id)
    require_group_id(request.group_id)
    commit = pb.CommitTransactionOffsetsRequest(
        transactional_id=request.transactional_id,
        producer_id=request.producer_id,
        producer_epoch=request.producer_epoch,
        commit=pb.CommitOffsetsRequest(
            group_id=request.group_id,
            member_id=request.member_id,
            group_instance_id=request.group_instance_id,
            generation_id=request.generation_id,
        ),
    )
    # In the order of the request; None where the coordinator decides.
    codes: list[int | None] = []
    topics = await committed_topics.find_names(
        (topic.name for topic in request.topics), context.cluster, failure=_UNKNOWN_NOW
    )
    for topic in request.topics:
        found = topics[topic.name]
        for partition in topic.partitions:
            code = partition_error(found, partition.partition_index)
            if isinstance(found, ErrorCode) or code:
                codes.append(code)
                continue
            codes.append(None)
            commit.commit.offsets.add(
                topic=found.name,
                topic_id=found.topic_id,
                partition=partition.partition_index,
                offset=partition.committed_offset,
                leader_epoch=partition.committed_leader_epoch,
                metadata=partition.committed_metadata,
            )
    decided = iter(await _commit(commit, context))
    answers = [next(decided) if code is None else code for code in codes]
    return _response(request, answers, context.api_version)


async def _commit(
    request: pb.CommitTransactionOffsetsRequest, context: RequestContext
) -> Sequence[int]:
    count = len(request.commit.offsets)
    if not count:
        return ()
    if context.api_version >= _JOINS_FROM and (code := await _join(request, context)):
        return [code] * count
    try:
        answer = await context.coordinator.commit_transaction_offsets(request)
    except KafkaError as error:
        # Not the whole request: a topic that is not there is told in any case.
        return [error.code] * count
    codes: Sequence[int] = answer.offset_error_codes
    if answer.error_code:
        codes = [answer.error_code] * count
    if any(code in _NOT_JOINED for code in codes):
        context.joins.forget(request.transactional_id)
    if context.api_version < _JOINS_FROM and ErrorCode.INVALID_TXN_STATE in codes:
        reason = await _reason(request, context)
        codes = [reason if code == ErrorCode.INVALID_TXN_STATE else code for code in codes]
    return codes


async def _join(
    request: pb.CommitTransactionOffsetsRequest, context: RequestContext
) -> int:
    group_id = request.commit.group_id
    return _from_the_group(await context.joins.join_group(_producer(request), group_id))


async def _reason(
    request: pb.CommitTransactionOffsetsRequest, context: RequestContext
) -> int:
    """Why the group knows no open transaction: it cannot tell who the producer is."""
    code = await context.joins.verify_producer(_producer(request))
    if code == ErrorCode.CONCURRENT_TRANSACTIONS:
        return _UNKNOWN_NOW
    return _from_the_group(code) or ErrorCode.INVALID_TXN_STATE


def _producer(request: pb.CommitTransactionOffsetsRequest) -> Producer:
    return Producer(request.transactional_id, request.producer_id, request.producer_epoch)


def _from_the_group(code: int) -> int:
    """The coordinator's code as brokers tell it, whose clients know it from the group."""
    return ErrorCode.INVALID_PRODUCER_EPOCH if code == ErrorCode.PRODUCER_FENCED else code


def refuse(
    request: TxnOffsetCommitRequest, error: KafkaError, version: int
) -> TxnOffsetCommitResponse:
    count = sum(len(topic.partitions) for topic in request.topics)
    return _response(request, [error.code] * count, version)


def _response(
    request: TxnOffsetCommitRequest, codes: Iterable[int], version: int
) -> TxnOffsetCommitResponse:
    """Give each partition of the request the next code."""
    remaining = iter(codes)
    return TxnOffsetCommitResponse(
        topics=[
            TxnOffsetCommitResponse.TxnOffsetCommitResponseTopic(
                name=topic.name,
                partitions=[
                    TxnOffsetCommitResponse.TxnOffsetCommitResponsePartition(
                        partition_index=partition.partition_index,
                        error_code=_understood(next(remaining), version),
                    )
                    for partition in topic.partitions
                ],
            )
            for topic in request.topics
        ]
    )


def _understood(code: int, version: int) -> int:
    if code == ErrorCode.COORDINATOR_LOAD_IN_PROGRESS and version < _LOADING_FROM:
        return ErrorCode.COORDINATOR_NOT_AVAILABLE
    if code == ErrorCode.INVALID_TXN_STATE and version == _ABORTABLE_IN:
        return ErrorCode.TRANSACTION_ABORTABLE
    return code


HANDLER: Final = Handler(
    TxnOffsetCommitRequest, min_version=0, max_version=5, handle=handle, refuse=refuse
)
