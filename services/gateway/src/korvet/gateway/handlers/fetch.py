"""Fetch (1), v4-v18: read record batches from partitions, waiting for them if need be.

Versions
    v4  isolation_level, max_bytes, record batches of format v2.
    v5  log_start_offset.
    v7  sessions (KIP-227). Refused with session id 0: every fetch names all its partitions.
    v9  current_leader_epoch (KIP-320).
    v10 zstd; a batch compressed with it is UNSUPPORTED_COMPRESSION_TYPE before that.
    v11 rack_id and preferred_read_replica, always -1: any gateway serves any partition.
    v12 flexible; last_fetched_epoch, which consumers do not need for noticing a truncated
        log: a wrong current_leader_epoch sends them to OffsetForLeaderEpoch.
    v13 topic ids instead of names (KIP-516).
    v15 replica_state, v17 replica directories, v18 high watermarks: for brokers that
        replicate, not for clients. Whoever fetches is served as a consumer.
    v16 node_endpoints (KIP-951), never needed here.

Where a topic has group.delivery=redis, storage is told which member of which group reads
(`group_readers`).

An answer may be smaller than the client allows: the gateway bounds what it holds. And what
cannot be read is answered after a pause, within the client's max_wait_ms: there are clients
that ask again at once, again and again, for as long as Redis is away.
"""

import asyncio
from collections.abc import Sequence
from typing import Final

from korvet.gateway.handler import Handler, RequestContext
from korvet.kafka.compression import ZSTD
from korvet.kafka.errors import ErrorCode, KafkaError
from korvet.kafka.messages.fetch import FetchRequest, FetchResponse
from korvet.kafka.records import split_batches
from korvet.proto.storage.v1 import storage_service_pb2 as pb

_TOPIC_IDS_FROM: Final = 13
_ZSTD_FROM: Final = 10
_READ_COMMITTED: Final = 1
_MAX_WAIT_MS: Final = 300_000
_PAUSE_MS: Final = 200


async def handle(request: FetchRequest, context: RequestContext) -> FetchResponse:
    # 0 opens a session, which is then not given, and -1 closes it: both name everything.
    if request.session_epoch > 0:
        raise KafkaError(ErrorCode.FETCH_SESSION_ID_NOT_FOUND)
    if not request.topics:
        return FetchResponse()
    wanted = sum(
        max(partition.partition_max_bytes, 0)
        for topic in request.topics
        for partition in topic.partitions
    )
    grant = await context.fetch_memory.take(
        min(wanted, max(request.max_bytes, 0)), context.reply
    )
    read = _read_request(request, context.api_version, grant.size)
    if context.cluster.redis_delivery:
        await _deliver(read, context)
    found = await _read(read, context)
    remaining = iter(found)
    response = FetchResponse(
        responses=[
            FetchResponse.FetchableTopicResponse(
                topic=topic.topic,
                topic_id=topic.topic_id,
                partitions=[
                    _partition(partition.partition, next(remaining), read.isolation_level)
                    for partition in topic.partitions
                ],
            )
            for topic in request.topics
        ]
    )
    if context.api_version < _ZSTD_FROM:
        _withhold_zstd(response)
    grant.answered(_size(response))
    return response


async def _deliver(read: pb.ReadRequest, context: RequestContext) -> None:
    """Say for which groups it is, where topics have group.delivery=redis."""
    cluster = context.cluster
    delivered: list[tuple[str, pb.PartitionRead]] = []
    for item in read.partitions:
        topic = cluster.cached_id(item.topic.id) if item.topic.id else None
        name = item.topic.name if topic is None else topic.name
        if name in cluster.redis_delivery:
            delivered.append((name, item))
    if delivered:
        places = [(name, item.partition) for name, item in delivered]
        readers = await context.fetch_readers.find(context.client_id or "", places)
        for name, item in delivered:
            if consumer := readers.get((name, item.partition)):
                item.deliver_to.CopyFrom(consumer)


async def _read(
    request: pb.ReadRequest, context: RequestContext
) -> Sequence[pb.PartitionData]:
    pause = min(request.max_wait_ms, _PAUSE_MS) / 1000
    try:
        found = await context.storage.read(request)
    except KafkaError:
        await asyncio.sleep(pause)
        raise
    if any(data.error_code == ErrorCode.KAFKA_STORAGE_ERROR for data in found):
        await asyncio.sleep(pause)
    return found


def refuse(request: FetchRequest, error: KafkaError, version: int) -> FetchResponse:
    if error.code is ErrorCode.FETCH_SESSION_ID_NOT_FOUND:
        return FetchResponse(error_code=error.code)
    return FetchResponse(
        responses=[
            FetchResponse.FetchableTopicResponse(
                topic=topic.topic,
                topic_id=topic.topic_id,
                partitions=[
                    _refused(partition.partition, error.code)
                    for partition in topic.partitions
                ],
            )
            for topic in request.topics
        ]
    )


def _read_request(request: FetchRequest, version: int, max_bytes: int) -> pb.ReadRequest:
    read = pb.ReadRequest(
        max_wait_ms=min(max(request.max_wait_ms, 0), _MAX_WAIT_MS),
        # More than an answer may have would never come.
        min_bytes=min(max(request.min_bytes, 0), max(max_bytes, 1)),
        # To storage 0 is no limit at all; to Kafka it is a limit that one batch may break.
        max_bytes=max(max_bytes, 1),
    )
    if request.isolation_level == _READ_COMMITTED:
        read.isolation_level = pb.ISOLATION_LEVEL_READ_COMMITTED
    by_id = version >= _TOPIC_IDS_FROM
    for topic in request.topics:
        for partition in topic.partitions:
            item = read.partitions.add()
            if by_id:
                item.topic.id = topic.topic_id
            else:
                item.topic.name = topic.topic
            item.partition = partition.partition
            item.offset = partition.fetch_offset
            item.max_bytes = max(partition.partition_max_bytes, 1)
            if partition.current_leader_epoch >= 0:
                item.current_leader_epoch = partition.current_leader_epoch
    return read


def _partition(
    index: int, data: pb.PartitionData, isolation_level: "pb.IsolationLevel.ValueType"
) -> FetchResponse.PartitionData:
    if data.error_code:
        return _refused(index, data.error_code)
    aborted: list[FetchResponse.AbortedTransaction] | None = None
    if isolation_level == pb.ISOLATION_LEVEL_READ_COMMITTED:
        aborted = [
            FetchResponse.AbortedTransaction(
                producer_id=transaction.producer_id, first_offset=transaction.first_offset
            )
            for transaction in data.aborted_transactions
        ]
    return FetchResponse.PartitionData(
        partition_index=index,
        high_watermark=data.high_watermark,
        last_stable_offset=data.last_stable_offset,
        log_start_offset=data.log_start_offset,
        aborted_transactions=aborted,
        records=data.batches,
    )


def _refused(index: int, error_code: int) -> FetchResponse.PartitionData:
    # Empty, not null: librdkafka takes null records for a malformed answer.
    return FetchResponse.PartitionData(
        partition_index=index,
        error_code=error_code,
        high_watermark=-1,
        aborted_transactions=None,
        records=b"",
    )


def _withhold_zstd(response: FetchResponse) -> None:
    for topic in response.responses:
        for place, data in enumerate(topic.partitions):
            batches = split_batches(data.records or b"")
            if any(header.codec == ZSTD for header, _ in batches):
                topic.partitions[place] = _refused(
                    data.partition_index, ErrorCode.UNSUPPORTED_COMPRESSION_TYPE
                )


def _size(response: FetchResponse) -> int:
    return sum(
        len(data.records or b"")
        for topic in response.responses
        for data in topic.partitions
    )


HANDLER: Final = Handler(
    FetchRequest,
    min_version=4,
    max_version=18,
    handle=handle,
    refuse=refuse,
    cancellable=True,
)
