"""Offsets by timestamp: what it costs to find them, and who has to wait for that."""

import asyncio
import tracemalloc
from collections.abc import AsyncIterator
from typing import Any

import pytest
from crc32c import crc32c

from korvet.kafka.compression import ZSTD
from korvet.kafka.records import Record, read_records
from korvet.storage import find_offsets, log_arguments
from korvet.storage.find_offsets import Special
from tests.support.log_replica import (
    KEYS,
    LAYOUTS,
    LogReplica,
    batch_of,
    batch_of_records,
    log_replica_on,
)
from tests.support.redis_server import RedisServer

pytestmark = pytest.mark.integration

NOW = 1_700_000_000_000
# More than are looked at in one go.
POINTS = 1500


@pytest.fixture
async def replica(
    redis_server: RedisServer, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[LogReplica]:
    # A point for every append.
    monkeypatch.setattr(log_arguments, "BLOCK_RECORDS", 1)
    async with log_replica_on(redis_server) as replica:
        yield replica


async def append_all(replica: LogReplica, timestamps: list[int]) -> list[int]:
    """Append a record with each of these; their offsets."""
    appends = [replica.appended(batch_of(1, timestamp=each)) for each in timestamps]
    return await asyncio.gather(*appends)


def bytes_sent(redis_server: RedisServer) -> int:
    with redis_server.client() as client:
        info: Any = client.info("stats")
    return int(info["total_net_output_bytes"])


@pytest.mark.parametrize("layout", LAYOUTS)
async def test_the_largest_timestamp_is_found_without_a_walk(
    replica: LogReplica, redis_server: RedisServer, layout: str
) -> None:
    await replica.create(configs=LAYOUTS[layout])
    offsets = await append_all(replica, [NOW + n for n in range(POINTS)])
    before = bytes_sent(redis_server)

    found = await replica.find(Special.MAX_TIMESTAMP)

    sent = bytes_sent(redis_server) - before
    with redis_server.client() as client:
        assert client.xlen(KEYS.index("orders", 0)) == POINTS
    assert (found.offset, found.timestamp_ms) == (offsets[-1], NOW + POINTS - 1)
    # INFO itself is most of it.
    assert sent < 20_000


@pytest.mark.parametrize("layout", LAYOUTS)
async def test_the_largest_timestamp_is_found_when_the_one_above_it_was_trimmed(
    replica: LogReplica, layout: str
) -> None:
    await replica.create(configs=LAYOUTS[layout])
    largest = POINTS // 2
    timestamps = [NOW + 9000, *(NOW - abs(largest - n) for n in range(1, POINTS))]
    offsets = await append_all(replica, timestamps)
    assert (await replica.find(Special.MAX_TIMESTAMP)).offset == offsets[0]

    await replica.cut(offsets[1])

    found = await replica.find(Special.MAX_TIMESTAMP)
    assert (found.offset, found.timestamp_ms) == (offsets[largest], NOW)
    # The peak that was trimmed is in every block's word, and in none.
    assert (await replica.find(NOW)).offset == offsets[largest]
    assert (await replica.find(NOW + 1)).offset == -1
    await replica.cut(offsets[-2])
    assert (await replica.find(Special.MAX_TIMESTAMP)).offset == offsets[-2]


@pytest.mark.parametrize("layout", LAYOUTS)
async def test_records_without_timestamps_have_a_largest_one_too(
    replica: LogReplica, layout: str
) -> None:
    await replica.create(configs=LAYOUTS[layout])
    offsets = await append_all(replica, [-1] * 5)
    await replica.cut(offsets[1])

    found = await replica.find(Special.MAX_TIMESTAMP)

    assert (found.offset, found.timestamp_ms) == (offsets[1], -1)


@pytest.mark.parametrize(
    ("timestamp", "found_timestamp", "decoded"),
    [(NOW + 1, -1, 20), (Special.MAX_TIMESTAMP, NOW, 40)],
)
async def test_between_batches_that_have_to_be_decoded_others_get_their_turn(
    redis_server: RedisServer,
    monkeypatch: pytest.MonkeyPatch,
    timestamp: int,
    found_timestamp: int,
    decoded: int,
) -> None:
    ticks = 0
    decoded_at: list[int] = []

    async def tick() -> None:
        nonlocal ticks
        while True:
            ticks += 1
            await asyncio.sleep(0)

    def reads(batch: bytes, limit: int) -> list[Record]:
        decoded_at.append(ticks)
        return read_records(batch, limit)

    async with log_replica_on(redis_server) as replica:
        await replica.create(configs={"storage.format": "batch"})
        for number in range(20):
            await replica.appended(batch_that_claims(NOW + 1000, NOW - number))
        monkeypatch.setattr(find_offsets, "read_records", reads)
        ticking = asyncio.create_task(tick())

        found = await replica.find(timestamp)

        ticking.cancel()
    assert found.timestamp_ms == found_timestamp
    assert len(decoded_at) == len(set(decoded_at)) == decoded


def batch_that_claims(max_timestamp: int, timestamp: int) -> bytes:
    """A batch whose header tells of a larger timestamp than its record has."""
    batch = bytearray(batch_of(1, timestamp=timestamp))
    batch[35:43] = max_timestamp.to_bytes(8, "big")
    batch[17:21] = crc32c(bytes(batch[21:])).to_bytes(4, "big")
    return bytes(batch)


async def test_only_batches_that_may_have_it_are_decoded(
    redis_server: RedisServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    decoded: list[int] = []

    def reads(batch: bytes, limit: int) -> list[Record]:
        records = read_records(batch, limit)
        decoded.append(records[0].timestamp)
        return records

    async with log_replica_on(redis_server) as replica:
        await replica.create(configs={"storage.format": "batch"})
        for number in range(20):
            await replica.appended(batch_of(1, timestamp=NOW + number))
        monkeypatch.setattr(find_offsets, "read_records", reads)

        assert (await replica.find(NOW + 12)).timestamp_ms == NOW + 12
        assert (await replica.find(Special.MAX_TIMESTAMP)).timestamp_ms == NOW + 19

    assert decoded == [NOW + 12, NOW + 19]


async def test_values_are_not_decompressed_to_find_a_timestamp(
    redis_server: RedisServer,
) -> None:
    async with log_replica_on(redis_server) as replica:
        await replica.create()
        records = [(NOW + number, None, bytes(1 << 20)) for number in range(20)]
        await replica.appended(batch_of_records(records, codec=ZSTD))

        tracemalloc.start()
        found = await replica.find(NOW + 19)
        _, peak = tracemalloc.get_traced_memory()
        tracemalloc.stop()

    assert found.timestamp_ms == NOW + 19
    assert peak < 1 << 20
