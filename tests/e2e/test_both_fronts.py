"""Kafka clients and gRPC clients share one log: what one writes, the other reads."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from typing import Final

import pytest

from korvet.client import Korvet, Position, Record
from korvet.client import NewRecord as GrpcRecord
from tests.support.client_contract import CODECS, KafkaClient, NewRecord, ReadRecord
from tests.support.korvet_process import KorvetCluster

pytestmark = pytest.mark.e2e

_HEADERS: Final = (("twice", b"1"), ("twice", b""), ("größe", bytes(range(256))))
_RECORDS: Final = (
    NewRecord(b"value", key=b"key", timestamp_ms=1_500_000_000_000),
    NewRecord(b"", key=b"", timestamp_ms=1_400_000_000_000),
    NewRecord(None, key=b"a tombstone", timestamp_ms=1_600_000_000_000),
    NewRecord(bytes(5000), headers=_HEADERS, timestamp_ms=1_700_000_000_000),
)


async def test_grpc_reads_what_a_kafka_client_wrote_in_any_codec(
    korvet: KorvetCluster, log: str, client: KafkaClient
) -> None:
    written = await asyncio.to_thread(_produce, korvet, log, client)

    async with Korvet(korvet.storage) as grpc_client:
        found = [
            record
            for codec_offsets in written
            for record in await grpc_client.read(log, offset=codec_offsets[0])
            if record.offset <= codec_offsets[-1]
        ]

    assert [record.offset for record in found] == [o for each in written for o in each]
    assert [_of_grpc(record) for record in found] == [*_RECORDS] * len(CODECS)


async def test_a_kafka_client_reads_what_grpc_wrote(
    korvet: KorvetCluster, log: str, client: KafkaClient
) -> None:
    async with Korvet(korvet.storage) as grpc_client:
        positions = await grpc_client.append_many(log, map(_to_grpc, _RECORDS))

    found = await asyncio.to_thread(_consume, korvet, log, client, len(_RECORDS))

    assert [Position(r.partition, r.offset) for r in found] == positions
    assert [_of_kafka(record) for record in found] == [*_RECORDS]


async def test_a_tail_follows_a_kafka_client_record_by_record(
    korvet: KorvetCluster, log: str, client: KafkaClient
) -> None:
    async with Korvet(korvet.storage) as grpc_client:
        tail = grpc_client.tail(log, start="earliest")
        seen = asyncio.create_task(_take(tail, len(CODECS) * len(_RECORDS)))
        written = await asyncio.to_thread(_produce, korvet, log, client)

        async with asyncio.timeout(20):
            found = await seen
        await tail.aclose()

    assert [record.offset for record in found] == [o for each in written for o in each]
    assert [_of_grpc(record) for record in found] == [*_RECORDS] * len(CODECS)


def _produce(korvet: KorvetCluster, topic: str, client: KafkaClient) -> list[list[int]]:
    """Write the records once a codec; return their offsets."""
    written: list[list[int]] = []
    for codec in CODECS:
        with client.producer(korvet.bootstrap, codec=codec) as producer:
            answers = producer.send(topic, _RECORDS)
            written.append([each.offset for each in answers if each.offset is not None])
    return written


def _consume(
    korvet: KorvetCluster, topic: str, client: KafkaClient, count: int
) -> Sequence[ReadRecord]:
    with client.consumer(korvet.bootstrap, topic) as consumer:
        return consumer.read(count)


async def _take(tail: AsyncIterator[Record], count: int) -> list[Record]:
    return [await anext(tail) for _ in range(count)]


def _to_grpc(record: NewRecord) -> GrpcRecord:
    return GrpcRecord(
        value=record.value,
        key=record.key,
        headers=record.headers,
        timestamp_ms=record.timestamp_ms,
    )


def _of_grpc(record: Record) -> NewRecord:
    return NewRecord(
        record.value, record.key, record.headers, record.timestamp_ms, record.partition
    )


def _of_kafka(record: ReadRecord) -> NewRecord:
    return NewRecord(
        record.value, record.key, record.headers, record.timestamp_ms, record.partition
    )
