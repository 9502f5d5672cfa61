"""AddPartitionsToTxn (24), v0-v5: have a transaction write to partitions.

Versions
    v2  PRODUCER_FENCED; before that it is INVALID_PRODUCER_EPOCH.
    v3  flexible.
    v4  several transactions, and verify_only, to ask whether partitions are part of one
        (KIP-890): for brokers, which here need neither. Clients use v3 at most.
    v5  TRANSACTION_ABORTABLE as an error.

All partitions are added or none: where a topic or partition does not exist, it is told so,
and the others are OPERATION_NOT_ATTEMPTED. From Produce v12 on clients need this no more.
"""

import asyncio
from collections.abc import Iterable, Sequence
from typing import Final

from korvet.gateway import committed_topics
from korvet.gateway.committed_topics import partition_error
from korvet.gateway.handler import Handler, RequestContext
from korvet.gateway.transactional_ids import require_transactional_id, understood
from korvet.kafka.errors import ErrorCode, KafkaError
from korvet.kafka.messages.add_partitions_to_txn import (
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnResponse,
)
from korvet.proto.coordinator.v1 import coordinator_service_pb2 as pb

_Transaction = AddPartitionsToTxnRequest.AddPartitionsToTxnTransaction
_TopicResult = AddPartitionsToTxnResponse.AddPartitionsToTxnTopicResult
_PartitionResult = AddPartitionsToTxnResponse.AddPartitionsToTxnPartitionResult
_Result = AddPartitionsToTxnResponse.AddPartitionsToTxnResult

_FENCED_FROM: Final = 2
_SEVERAL_FROM: Final = 4
_AT_ONCE: Final = 32
# Every client waits and asks again; not so with the codes of storage.
_UNKNOWN_NOW: Final = ErrorCode.COORDINATOR_LOAD_IN_PROGRESS


async def handle(
    request: AddPartitionsToTxnRequest, context: RequestContext
) -> AddPartitionsToTxnResponse:
    turns = asyncio.Semaphore(_AT_ONCE)

    async def add(transaction: _Transaction) -> _Result:
        async with turns:
            try:
                codes = await _add(transaction, context)
            except KafkaError as error:
                codes = [error.code] * _count(transaction)
        return _result(
            transaction,
            (
                understood(code, context.api_version, fenced_from=_FENCED_FROM)
                for code in codes
            ),
        )

    transactions = _transactions(request, context.api_version)
    return _response(
        await asyncio.gather(*map(add, transactions)), version=context.api_version
    )


def refuse(
    request: AddPartitionsToTxnRequest, error: KafkaError, version: int
) -> AddPartitionsToTxnResponse:
    if version >= _SEVERAL_FROM:
        return AddPartitionsToTxnResponse(error_code=error.code)
    (only,) = _transactions(request, version)
    return _response([_result(only, [error.code] * _count(only))], version=version)


def _transactions(
    request: AddPartitionsToTxnRequest, version: int
) -> Sequence[_Transaction]:
    if version >= _SEVERAL_FROM:
        return request.transactions
    return [
        _Transaction(
            transactional_id=request.v3_and_below_transactional_id,
            producer_id=request.v3_and_below_producer_id,
            producer_epoch=request.v3_and_below_producer_epoch,
            topics=request.v3_and_below_topics,
        )
    ]


async def _add(transaction: _Transaction, context: RequestContext) -> Sequence[int]:
    """The code of each partition, in the order of the request."""
    require_transactional_id(transaction.transactional_id)
    found = await committed_topics.find_names(
        (topic.name for topic in transaction.topics), context.cluster, failure=_UNKNOWN_NOW
    )
    wanted = pb.AddPartitionsRequest(
        transactional_id=transaction.transactional_id,
        producer_id=transaction.producer_id,
        producer_epoch=transaction.producer_epoch,
        verify_only=transaction.verify_only,
    )
    codes: list[ErrorCode] = []
    for topic in transaction.topics:
        view = found[topic.name]
        for partition in topic.partitions:
            codes.append(partition_error(view, partition))
            if not isinstance(view, ErrorCode):
                wanted.partitions.add(
                    topic=view.name, topic_id=view.topic_id, partition=partition
                )
    # For all of them: clients that see another code first would give up.
    if _UNKNOWN_NOW in codes:
        raise KafkaError(_UNKNOWN_NOW)
    if any(codes):
        return [code or ErrorCode.OPERATION_NOT_ATTEMPTED for code in codes]
    added = await context.transactions.add_partitions(wanted)
    if added.error_code:
        return [added.error_code] * len(codes)
    return [
        _UNKNOWN_NOW if code == ErrorCode.KAFKA_STORAGE_ERROR else code
        for code in added.partition_error_codes
    ]


def _count(transaction: _Transaction) -> int:
    return sum(len(topic.partitions) for topic in transaction.topics)


def _result(transaction: _Transaction, codes: Iterable[int]) -> _Result:
    """Give each partition of the transaction the next code."""
    remaining = iter(codes)
    return _Result(
        transactional_id=transaction.transactional_id,
        topic_results=[
            _TopicResult(
                name=topic.name,
                results_by_partition=[
                    _PartitionResult(
                        partition_index=partition, partition_error_code=next(remaining)
                    )
                    for partition in topic.partitions
                ],
            )
            for topic in transaction.topics
        ],
    )


def _response(results: list[_Result], *, version: int) -> AddPartitionsToTxnResponse:
    if version >= _SEVERAL_FROM:
        return AddPartitionsToTxnResponse(results_by_transaction=results)
    (only,) = results
    return AddPartitionsToTxnResponse(results_by_topic_v3_and_below=only.topic_results)


HANDLER: Final = Handler(
    AddPartitionsToTxnRequest, min_version=0, max_version=5, handle=handle, refuse=refuse
)
