"""How much a read returns, and how much it asks of Redis for that."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest

from korvet.kafka.errors import ErrorCode
from korvet.kafka.records import split_batches
from korvet.proto.storage.v1 import storage_service_pb2 as pb
from tests.support.eventually import eventually
from tests.support.log_replica import (
    LAYOUTS,
    LogReplica,
    batch_of,
    log_replica_on,
    records_in,
    ref,
)
from tests.support.redis_server import RedisServer

pytestmark = pytest.mark.integration

PATIENCE_MS = 20_000


@pytest.fixture
async def replica(redis_server: RedisServer) -> AsyncIterator[LogReplica]:
    async with log_replica_on(redis_server) as replica:
        yield replica


@pytest.mark.parametrize("layout", LAYOUTS)
async def test_the_first_batch_is_returned_however_large_it_is(
    replica: LogReplica, layout: str
) -> None:
    await replica.create(configs=LAYOUTS[layout])
    base = await replica.appended(batch_of(1, value=b"v" * 500_000))
    await replica.appended(batch_of(1, value=b"v" * 500_000))

    data = await replica.read(0, max_bytes=1)

    assert [r.offset for r in records_in(data.batches)] == [base]


@pytest.mark.parametrize("layout", LAYOUTS)
async def test_a_partitions_limit_is_kept_and_all_of_it_is_read_in_turns(
    replica: LogReplica, layout: str
) -> None:
    await replica.create(configs=LAYOUTS[layout])
    for _ in range(20):
        await replica.appended(batch_of(60, value=b"v" * 100))
    offset, turns, records = 0, 0, 0

    while True:
        data = await replica.read(offset, max_bytes=20_000)
        if not data.batches:
            break
        assert len(data.batches) <= 22_000
        offset, turns, records = (
            data.next_offset,
            turns + 1,
            records + sum(h.record_count for h, _ in split_batches(data.batches)),
        )

    assert records == 1200
    assert turns >= 6


@pytest.mark.parametrize("storage_format", ["record", "batch"])
async def test_a_requests_limit_goes_over_all_its_partitions(
    replica: LogReplica, storage_format: str
) -> None:
    await replica.create(configs={"storage.format": storage_format}, partitions=20)
    for partition in range(20):
        await replica.appended(batch_of(1, value=b"v" * 10_000), partition=partition)
    reads = [
        pb.PartitionRead(topic=ref("orders"), partition=partition, max_bytes=1 << 20)
        for partition in range(20)
    ]

    response = await replica.reads.read(pb.ReadRequest(partitions=reads, max_bytes=45_000))

    sizes = [len(data.batches) for data in response.partitions]
    assert all(data.error_code == ErrorCode.NONE for data in response.partitions)
    assert all(data.high_watermark > 0 for data in response.partitions)
    assert [bool(size) for size in sizes] == [True] * 4 + [False] * 16


@pytest.mark.parametrize("decoded", [False, True])
@pytest.mark.parametrize("storage_format", ["record", "batch"])
async def test_only_the_first_partition_with_records_may_break_a_limit(
    replica: LogReplica, storage_format: str, decoded: bool
) -> None:
    """KIP-74; and what does not fit is not waited for, so that its turn comes."""
    await replica.create(configs={"storage.format": storage_format}, partitions=4)
    for partition, size in ((1, 50_000), (2, 40_000), (3, 100)):
        await replica.appended(batch_of(1, value=b"v" * size), partition=partition)

    async def found(order: list[int], max_bytes: int, partition_bytes: int) -> list[int]:
        reads = [
            pb.PartitionRead(
                topic=ref("orders"), partition=partition, max_bytes=partition_bytes
            )
            for partition in order
        ]
        request = pb.ReadRequest(
            partitions=reads,
            max_bytes=max_bytes,
            min_bytes=max_bytes,
            max_wait_ms=PATIENCE_MS,
            decoded=decoded,
        )
        async with asyncio.timeout(PATIENCE_MS / 4000):
            response = await replica.reads.read(request)
        return [
            partition
            for partition, data in zip(order, response.partitions, strict=True)
            if data.batches or data.records
        ]

    # Whichever comes first, empty partitions aside.
    assert await found([0, 1, 2, 3], 1, 1 << 20) == [1]
    assert await found([0, 2, 3, 1], 1, 1 << 20) == [2]
    assert await found([0, 1, 2, 3], 1 << 20, 1) == [1]
    assert await found([0, 2, 1, 3], 1 << 20, 1) == [2]
    # One that does not fit leaves its room to those behind it.
    assert await found([0, 1, 2, 3], 80_000, 1 << 20) == [1, 3]
    assert await found([0, 1, 2, 3], 1 << 20, 10_000) == [1, 3]


async def test_what_a_parked_read_has_kept_counts_when_it_reads_more(
    replica: LogReplica, redis_server: RedisServer
) -> None:
    await replica.create(partitions=2)
    await replica.appended(batch_of(1, value=b"v" * 1000), partition=0)
    reads = [
        pb.PartitionRead(topic=ref("orders"), partition=partition, max_bytes=5000)
        for partition in (0, 1)
    ]
    request = pb.ReadRequest(
        partitions=reads, max_bytes=1 << 20, min_bytes=3000, max_wait_ms=PATIENCE_MS
    )
    waiting = asyncio.create_task(replica.reads.read(request))
    with redis_server.client() as client:
        await eventually(lambda: len(client.pubsub_channels()) == 2)

    await replica.appended(batch_of(1, value=b"v" * 20_000), partition=1)
    async with asyncio.timeout(PATIENCE_MS / 4000):
        response = await waiting

    assert [bool(data.batches) for data in response.partitions] == [True, False]


async def test_no_more_is_asked_of_redis_than_may_be_returned(
    replica: LogReplica, redis_server: RedisServer
) -> None:
    await replica.create(configs={"storage.format": "batch"}, partitions=16)
    for partition in range(16):
        for _ in range(3):
            await replica.appended(batch_of(1, value=b"v" * 300_000), partition=partition)
    reads = [
        pb.PartitionRead(topic=ref("orders"), partition=partition, max_bytes=1 << 20)
        for partition in range(16)
    ]
    request = pb.ReadRequest(
        partitions=reads, max_bytes=1 << 20, min_bytes=1 << 20, max_wait_ms=PATIENCE_MS
    )
    sent = bytes_sent(redis_server)

    async with asyncio.timeout(5):
        response = await replica.reads.read(request)

    assert [bool(data.batches) for data in response.partitions] == (
        [True] * 1 + [False] * 15
    )
    assert bytes_sent(redis_server) - sent < (1 << 20) + 400_000


async def test_small_records_followed_by_large_ones_are_read_within_bounds(
    replica: LogReplica, redis_server: RedisServer
) -> None:
    await replica.create(configs={"storage.compression": "none"})
    await replica.appended(batch_of(2000, value=b"v"))
    for _ in range(40):
        await replica.appended(batch_of(1, value=b"v" * 500_000))
    offset, largest, count = 0, 0, 0

    while True:
        sent = bytes_sent(redis_server)
        data = await replica.read(offset, max_bytes=1 << 20)
        largest = max(largest, bytes_sent(redis_server) - sent)
        if not data.batches:
            break
        offset = data.next_offset
        count += len(records_in(data.batches))

    assert count == 2040
    # What Redis had to send: the limit, a block, and the index.
    assert largest < (1 << 20) + 600_000


def bytes_sent(redis_server: RedisServer) -> int:
    with redis_server.client() as client:
        info: Any = client.info("stats")
    return int(info["total_net_output_bytes"])
