"""Decoded reads are bounded by what they return, not by what is stored of it."""

import asyncio
import tracemalloc
from collections.abc import AsyncIterator

import pytest

from korvet.kafka.compression import ZSTD
from korvet.proto.storage.v1 import storage_service_pb2 as pb
from tests.support.log_replica import LogReplica, batch_of, log_replica_on, ref
from tests.support.redis_server import RedisServer

pytestmark = pytest.mark.integration

PATIENCE = 30.0
BATCHES = 24
RECORDS = 200
VALUE = bytes(10_000)
MIB = 1 << 20


@pytest.fixture
async def replica(redis_server: RedisServer) -> AsyncIterator[LogReplica]:
    """A topic whose records take some kilobytes in Redis, and 48 MB once decoded."""
    async with log_replica_on(redis_server) as replica:
        await replica.create(configs={"storage.format": "batch"})
        batch = batch_of(RECORDS, value=VALUE, codec=ZSTD)
        assert len(batch) < 10_000
        for _ in range(BATCHES):
            await replica.appended(batch)
        yield replica


async def test_a_read_returns_no_more_than_its_limit(replica: LogReplica) -> None:
    offset, count, turns = 0, 0, 0

    while count < BATCHES * RECORDS:
        data = await replica.read(offset, max_bytes=3 * MIB, decoded=True)
        assert 0 < data.ByteSize() < 3.2 * MIB
        assert data.next_offset == data.records[-1].offset + 1
        offset, count, turns = data.next_offset, count + len(data.records), turns + 1

    assert count == BATCHES * RECORDS
    assert turns <= 20


async def test_no_more_is_decoded_than_is_returned(replica: LogReplica) -> None:
    tracemalloc.start()
    await replica.read(0, max_bytes=MIB, decoded=True)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()

    # One batch in several shapes.
    assert peak < 16 * MIB


async def test_a_tail_comes_in_answers_of_limited_size(replica: LogReplica) -> None:
    answers = aiter(replica.tails.tail(pb.TailRequest(topic=ref("orders"), offset=0)))
    count = 0

    async with asyncio.timeout(PATIENCE):
        while count < BATCHES * RECORDS:
            answer = await anext(answers)
            assert answer.ByteSize() < 1.2 * MIB
            count += len(answer.records)

    assert count == BATCHES * RECORDS
