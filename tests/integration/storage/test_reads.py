"""Reads: where they may begin."""

import asyncio
import time
from collections.abc import AsyncIterator
from typing import Any

import pytest
from crc32c import crc32c

from korvet.kafka.errors import ErrorCode
from korvet.kafka.records import HEADER_SIZE
from korvet.proto.storage.v1 import storage_service_pb2 as pb
from korvet.storage.find_offsets import Special
from tests.support.eventually import eventually
from tests.support.log_replica import (
    LAYOUTS,
    LogReplica,
    batch_of,
    batch_of_records,
    log_replica_on,
    records_in,
    ref,
)
from tests.support.redis_server import RedisServer

pytestmark = pytest.mark.integration

NOW = 1_700_000_000_000
PATIENCE_MS = 20_000


@pytest.fixture
async def replica(redis_server: RedisServer) -> AsyncIterator[LogReplica]:
    async with log_replica_on(redis_server) as replica:
        yield replica


@pytest.mark.parametrize("layout", LAYOUTS)
async def test_a_log_never_written_begins_and_ends_at_zero(
    replica: LogReplica, layout: str
) -> None:
    await replica.create(configs=LAYOUTS[layout])

    assert (await replica.find(Special.EARLIEST)).offset == 0
    assert (await replica.find(Special.LATEST)).offset == 0
    assert (await replica.find(Special.MAX_TIMESTAMP)).offset == -1
    data = await replica.read(0)
    assert (data.error_code, data.high_watermark, data.log_start_offset) == (0, 0, 0)
    assert (await replica.cut(0)).low_watermark == 0
    assert (await replica.cut(-1)).low_watermark == 0
    assert (await replica.cut(1)).error_code == ErrorCode.OFFSET_OUT_OF_RANGE
    assert (await replica.cut(-2)).error_code == ErrorCode.OFFSET_OUT_OF_RANGE


@pytest.mark.parametrize("layout", LAYOUTS)
async def test_who_waits_at_zero_of_an_empty_log_gets_its_first_record(
    replica: LogReplica, layout: str
) -> None:
    await replica.create(configs=LAYOUTS[layout])
    waiting = asyncio.create_task(replica.read(0, max_wait_ms=PATIENCE_MS))

    base = await replica.appended(batch_of(2))

    assert [r.offset for r in records_in((await waiting).batches)] == [base, base + 1]


@pytest.mark.parametrize("layout", LAYOUTS)
async def test_an_emptied_log_begins_at_its_high_watermark(
    replica: LogReplica, layout: str
) -> None:
    await replica.create(configs=LAYOUTS[layout])
    end = await replica.appended(batch_of(700)) + 700

    assert (await replica.cut(-1)).low_watermark == end

    assert (await replica.find(Special.EARLIEST)).offset == end
    assert (await replica.find(Special.LATEST)).offset == end
    assert (await replica.find(NOW)).offset == -1
    data = await replica.read(end)
    assert (data.error_code, data.batches, data.high_watermark) == (0, b"", end)
    assert data.log_start_offset == end
    below = await replica.read(end - 1)
    assert below.error_code == ErrorCode.OFFSET_OUT_OF_RANGE
    base = await replica.appended(batch_of(1))
    assert [r.offset for r in await replica.read_all(end)] == [base]


@pytest.mark.parametrize("layout", LAYOUTS)
async def test_a_read_is_out_of_range_below_what_was_deleted_only(
    replica: LogReplica, layout: str
) -> None:
    await replica.create(configs=LAYOUTS[layout])
    first = await replica.appended(batch_of(10))
    await replica.cut(first + 4)

    refused = await replica.read(first + 3)

    assert refused.error_code == ErrorCode.OFFSET_OUT_OF_RANGE
    assert (refused.high_watermark, refused.log_start_offset) == (first + 10, first + 4)
    assert (await replica.read(-1)).error_code == ErrorCode.OFFSET_OUT_OF_RANGE
    assert (await replica.read(first + 4)).error_code == ErrorCode.NONE
    assert (await replica.read(first + 10)).error_code == ErrorCode.NONE


@pytest.mark.parametrize("storage_format", ["record", "batch"])
async def test_above_the_end_a_dense_read_is_out_of_range(
    replica: LogReplica, storage_format: str
) -> None:
    await replica.create(
        configs={"storage.format": storage_format, "offset.encoding": "dense"}
    )
    await replica.appended(batch_of(3))

    assert (await replica.read(3)).error_code == ErrorCode.NONE
    assert (await replica.read(4)).error_code == ErrorCode.OFFSET_OUT_OF_RANGE
    largest = await replica.read((1 << 63) - 1)
    assert largest.error_code == ErrorCode.OFFSET_OUT_OF_RANGE


@pytest.mark.parametrize("storage_format", ["record", "batch"])
async def test_above_the_end_a_read_by_time_waits(
    replica: LogReplica, storage_format: str
) -> None:
    await replica.create(configs={"storage.format": storage_format})
    end = await replica.appended(batch_of(3)) + 3

    waiting = asyncio.create_task(replica.read(end + 1, max_wait_ms=PATIENCE_MS))
    later = await replica.appended(batch_of(1))
    while later <= end:
        later = await replica.appended(batch_of(1))

    assert (await waiting).error_code == ErrorCode.NONE
    far = await replica.read((1 << 63) - 1)
    assert (far.error_code, far.batches) == (ErrorCode.NONE, b"")


@pytest.mark.parametrize("layout", LAYOUTS)
async def test_a_consumer_in_a_gap_is_not_out_of_range_when_the_log_is_trimmed(
    replica: LogReplica, redis_server: RedisServer, layout: str
) -> None:
    """It has read all that was deleted, so it has missed nothing."""
    await replica.create(configs={**LAYOUTS[layout], "retention.bytes": "100"})
    read_up_to = await replica.appended(batch_of(1, value=b"v" * 200)) + 1
    with redis_server.client() as client:
        server_time: Any = client.time()
    await eventually(lambda: time.time() > server_time[0] + server_time[1] / 1e6 + 0.005)

    # Trims what was read, in the same script.
    base = await replica.appended(batch_of(1, value=b"v" * 200))

    data = await replica.read(read_up_to)
    assert data.error_code == ErrorCode.NONE
    assert data.log_start_offset == read_up_to
    assert [r.offset for r in records_in(data.batches)] == [base]
    assert (await replica.read(read_up_to - 1)).error_code == (
        ErrorCode.OFFSET_OUT_OF_RANGE
    )


@pytest.mark.parametrize("encoding", ["time", "dense"])
async def test_a_read_from_the_middle_of_a_batch_returns_the_whole_batch(
    replica: LogReplica, encoding: str
) -> None:
    await replica.create(configs={"storage.format": "batch", "offset.encoding": encoding})
    base = await replica.appended(batch_of(10))

    data = await replica.read(base + 7)
    decoded = await replica.read(base + 7, decoded=True)

    assert [r.offset for r in records_in(data.batches)] == [*range(base, base + 10)]
    assert [r.offset for r in decoded.records] == [base + 7, base + 8, base + 9]
    assert data.next_offset == decoded.next_offset == base + 10


async def test_records_that_cannot_be_decoded_fail_their_own_partition_only(
    replica: LogReplica,
) -> None:
    await replica.create(configs={"storage.format": "batch"}, partitions=2)
    await replica.appended(unreadable_batch(), partition=0)
    await replica.appended(batch_of(1), partition=1)
    reads = [
        pb.PartitionRead(topic=ref("orders"), partition=partition) for partition in (0, 1)
    ]

    response = await replica.reads.read(pb.ReadRequest(partitions=reads, decoded=True))

    assert [data.error_code for data in response.partitions] == [
        ErrorCode.INVALID_RECORD,
        ErrorCode.NONE,
    ]
    assert len(response.partitions[1].records) == 1
    # As it is, it can still be had.
    assert (await replica.read(0)).batches


async def test_reading_goes_on_behind_records_that_cannot_be_decoded(
    replica: LogReplica,
) -> None:
    await replica.create(configs={"storage.format": "batch"})
    first = await replica.appended(batch_of(2))
    unreadable = await replica.appended(unreadable_batch())
    last = await replica.appended(batch_of(1, timestamp=1_700_000_009_000))

    before = await replica.read(0, decoded=True)
    at = await replica.read(before.next_offset, decoded=True)
    behind = await replica.read(at.next_offset, decoded=True)

    assert [record.offset for record in before.records] == [first, first + 1]
    assert before.next_offset <= unreadable
    assert (at.error_code, at.next_offset) == (ErrorCode.INVALID_RECORD, unreadable + 1)
    assert [record.offset for record in behind.records] == [last]
    # Nor does it keep others from being found.
    assert (await replica.find(1_700_000_009_000)).offset == last


def unreadable_batch() -> bytes:
    """A batch with a right header and CRC around nonsense."""
    batch = bytearray(batch_of(1, value=b"v" * 100))
    batch[HEADER_SIZE:] = b"\xff" * (len(batch) - HEADER_SIZE)
    batch[17:21] = crc32c(bytes(batch[21:])).to_bytes(4, "big")
    return bytes(batch)


async def test_reads_go_on_after_redis_has_forgotten_the_scripts(
    replica: LogReplica, redis_server: RedisServer
) -> None:
    await replica.create()
    await replica.appended(batch_of(1))
    with redis_server.client() as client:
        client.script_flush()

    appends = [
        replica.appended(batch_of_records([(n, b"k", b"%d" % n)])) for n in range(20)
    ]
    await asyncio.gather(*appends)

    assert [r.timestamp for r in await replica.read_all(0)] == [NOW, *range(20)]
    assert (await replica.find(15)).timestamp_ms == NOW
