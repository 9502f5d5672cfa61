"""Produce (0), v3-v13: append record batches to partitions.

Versions
    v3  record batches of format v2, the only one accepted; transactional ids, without which
        a transactional batch is TRANSACTIONAL_ID_AUTHORIZATION_FAILED.
    v5  log_start_offset in the answer.
    v7  zstd.
    v8  error messages, and which records were wrong (KIP-467).
    v9  flexible.
    v10 the current leader in the answer (KIP-951), which is never needed here: any gateway
        takes batches for any partition.
    v11 TRANSACTION_ABORTABLE, where a partition is not part of the transaction; in other
        versions that is INVALID_TXN_STATE. Up to here the coordinator is asked why.
    v12 adds partitions to the transaction by itself, and each transaction has an epoch of
        its own, whose first batch has sequence 0 (KIP-890).
    v13 topic ids instead of names.

v0-v2 are advertised, since librdkafka looks for them, but answered with
UNSUPPORTED_VERSION.
"""

from collections.abc import Iterable, Sequence
from typing import Final

from korvet.gateway.handler import (
    Handler,
    Node,
    PartitionBatch,
    RequestContext,
    TopicPartition,
)
from korvet.gateway.transaction_joins import Producer
from korvet.gateway.transactional_batches import explain_refusals, join_batches, producer_of
from korvet.kafka.compression import ZSTD
from korvet.kafka.errors import DecodeError, ErrorCode, KafkaError
from korvet.kafka.frames import RequestHead
from korvet.kafka.messages.produce import ProduceRequest, ProduceResponse
from korvet.kafka.messages.request_header import RequestHeader
from korvet.kafka.primitives import Reader, array_length, int16, int32, int64, write_string
from korvet.kafka.records import HEADER_SIZE, read_header
from korvet.proto.storage.v1 import storage_service_pb2 as pb

_ACKS: Final = {0: pb.ACKS_LEADER, 1: pb.ACKS_LEADER, -1: pb.ACKS_ALL}
_MAX_TIME_LIMIT: Final = 300.0
_TOPIC_IDS_FROM: Final = 13
_ZSTD_FROM: Final = 7
_ABORTABLE_IN: Final = 11
_JOINS_FROM: Final = 12
# What a partition was taken to be part of has ended.
_NOT_JOINED: Final = {ErrorCode.INVALID_TXN_STATE, ErrorCode.INVALID_PRODUCER_EPOCH}


async def handle(
    request: ProduceRequest, context: RequestContext
) -> ProduceResponse | None:
    acks = _ACKS.get(request.acks)
    if acks is None:
        raise KafkaError(ErrorCode.INVALID_REQUIRED_ACKS, f"acks is {request.acks}")
    if not request.acks:
        context.reply.skip()
    by_id = context.api_version >= _TOPIC_IDS_FROM
    own_epoch = bool(request.transactional_id) and context.api_version >= _JOINS_FROM
    batches: list[PartitionBatch] = []
    # In the order of the request; None where storage decides.
    results: list[pb.PartitionAppended | None] = []
    for topic in request.topic_data:
        topic_id = topic.topic_id if by_id else b""
        for data in topic.partition_data:
            refusal = _refusal(data.records, context.api_version)
            results.append(refusal)
            if refusal is None and data.records is not None:
                target = TopicPartition(topic.name, topic_id, data.index)
                batches.append(PartitionBatch(target, data.records, own_epoch))
    producer = producer_of(request.transactional_id, batches)
    time_limit = min(max(request.timeout_ms, 0) / 1000, _MAX_TIME_LIMIT)
    async with context.produce_order:
        refusals = await _join(producer, batches, context)
        joined = [
            batch
            for batch, refusal in zip(batches, refusals, strict=True)
            if refusal is None
        ]
        appending = await context.storage.append(joined, acks=acks, time_limit=time_limit)
    appended = await appending
    if producer is not None:
        appended = await _of_transaction(appended, joined, producer, context)
    taken = iter(appended)
    fates = iter(next(taken) if refusal is None else refusal for refusal in refusals)
    answers = [next(fates) if result is None else result for result in results]
    if request.acks:
        return _response(request, answers)
    for answer in answers:
        if answer.error_code:
            # Hanging up is the only way to tell, and makes clients look for what is wrong.
            raise KafkaError(ErrorCode(answer.error_code), "Produce with acks=0")
    return None


async def _join(
    producer: Producer | None, batches: Sequence[PartitionBatch], context: RequestContext
) -> Sequence[pb.PartitionAppended | None]:
    """Add partitions to the transaction; None for each that may be written to."""
    if producer is None or context.api_version < _JOINS_FROM:
        return [None] * len(batches)
    return await join_batches(producer, batches, context)


async def _of_transaction(
    appended: Sequence[pb.PartitionAppended],
    batches: Sequence[PartitionBatch],
    producer: Producer,
    context: RequestContext,
) -> Sequence[pb.PartitionAppended]:
    """The fates of batches, as this version tells them where a transaction has ended."""
    if any(each.error_code in _NOT_JOINED for each in appended):
        context.joins.forget(producer.transactional_id)
    if context.api_version < _JOINS_FROM:
        appended = await explain_refusals(producer, batches, appended, context)
    if context.api_version != _ABORTABLE_IN:
        return appended
    return [
        pb.PartitionAppended(
            error_code=ErrorCode.TRANSACTION_ABORTABLE, error_message=each.error_message
        )
        if each.error_code == ErrorCode.INVALID_TXN_STATE
        else each
        for each in appended
    ]


def refuse(
    request: ProduceRequest, error: KafkaError, version: int
) -> ProduceResponse | None:
    if not request.acks:
        return None
    refused = pb.PartitionAppended(error_code=error.code, error_message=error.detail)
    count = sum(len(topic.partition_data) for topic in request.topic_data)
    return _response(request, [refused] * count)


def refuse_version(head: RequestHead, frame: bytes, node: Node) -> bytes:
    """Answer v0-v2, whose requests are those of v3 without the transactional id."""
    reader = Reader(frame)
    RequestHeader.read(reader, 1)
    request = ProduceRequest.decode(int16(-1) + frame[reader.position :], 3)
    if not request.acks:
        raise DecodeError(f"Produce v{head.api_version} with acks=0 is not served")
    out = [int32(head.correlation_id), array_length(len(request.topic_data))]
    for topic in request.topic_data:
        write_string(out, topic.name)
        out.append(array_length(len(topic.partition_data)))
        for data in topic.partition_data:
            out += (int32(data.index), int16(ErrorCode.UNSUPPORTED_VERSION), int64(-1))
            if head.api_version >= 2:
                out.append(int64(-1))
    if head.api_version >= 1:
        out.append(int32(0))
    return int32(sum(map(len, out))) + b"".join(out)


def _refusal(records: bytes | None, version: int) -> pb.PartitionAppended | None:
    """What is wrong with a batch as such; the rest is for storage to find."""
    if not records:
        return pb.PartitionAppended(
            error_code=ErrorCode.INVALID_RECORD,
            error_message="a partition must be sent exactly one record batch",
        )
    if (
        version < _ZSTD_FROM
        and len(records) >= HEADER_SIZE
        and read_header(records).codec == ZSTD
    ):
        return pb.PartitionAppended(
            error_code=ErrorCode.UNSUPPORTED_COMPRESSION_TYPE,
            error_message=f"Produce v{version} may not be compressed with zstd",
        )
    return None


def _response(
    request: ProduceRequest, answers: Iterable[pb.PartitionAppended]
) -> ProduceResponse:
    remaining = iter(answers)
    return ProduceResponse(
        responses=[
            ProduceResponse.TopicProduceResponse(
                name=topic.name,
                topic_id=topic.topic_id,
                partition_responses=[
                    _partition(data.index, next(remaining)) for data in topic.partition_data
                ],
            )
            for topic in request.topic_data
        ]
    )


def _partition(
    index: int, appended: pb.PartitionAppended
) -> ProduceResponse.PartitionProduceResponse:
    if not appended.error_code:
        return ProduceResponse.PartitionProduceResponse(
            index=index,
            base_offset=appended.base_offset,
            log_append_time_ms=appended.log_append_time_ms,
            log_start_offset=appended.log_start_offset,
        )
    return ProduceResponse.PartitionProduceResponse(
        index=index,
        error_code=appended.error_code,
        base_offset=-1,
        record_errors=[
            ProduceResponse.BatchIndexAndErrorMessage(
                batch_index=error.index, batch_index_error_message=error.message or None
            )
            for error in appended.record_errors
        ],
        error_message=appended.error_message or None,
    )


HANDLER: Final = Handler(
    ProduceRequest,
    min_version=3,
    max_version=13,
    advertised_from=0,
    handle=handle,
    refuse=refuse,
    refuse_version=refuse_version,
)
