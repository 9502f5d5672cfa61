"""Timestamps of any kind: kept as they are, or refused, in every layout alike."""

from collections.abc import AsyncIterator

import pytest

from korvet.kafka.errors import ErrorCode
from korvet.proto.storage.v1 import storage_service_pb2 as pb
from korvet.storage.find_offsets import Special
from korvet.storage.record_format import MAX_TIMESTAMP
from tests.support.log_replica import (
    LAYOUTS,
    LogReplica,
    batch_of,
    batch_of_records,
    log_replica_on,
    ref,
)
from tests.support.redis_server import RedisServer

pytestmark = pytest.mark.integration

NOW = 1_700_000_000_000


@pytest.fixture
async def replica(redis_server: RedisServer) -> AsyncIterator[LogReplica]:
    async with log_replica_on(redis_server) as replica:
        yield replica


@pytest.mark.parametrize("layout", LAYOUTS)
async def test_records_without_a_time_and_from_the_end_of_time_are_read_together(
    replica: LogReplica, layout: str
) -> None:
    configs = {**LAYOUTS[layout], "message.timestamp.after.max.ms": str((1 << 63) - 1)}
    await replica.create(configs=configs)
    times = [-1, MAX_TIMESTAMP, 0]
    for time in times:
        await replica.appended(batch_of(1, timestamp=time))

    found = await replica.read_all(0)

    assert [record.timestamp for record in found] == times


@pytest.mark.parametrize("layout", LAYOUTS)
async def test_timestamps_before_1970_are_kept_as_in_kafka(
    replica: LogReplica, layout: str
) -> None:
    configs = {**LAYOUTS[layout], "message.timestamp.after.max.ms": str((1 << 63) - 1)}
    await replica.create(configs=configs)
    # Some so far apart that their difference is no int64.
    times = [-5, -1, NOW, -2, 4 - (1 << 62), MAX_TIMESTAMP, -(1 << 62), -1]
    for time in times:
        await replica.appended(batch_of(1, timestamp=time))
    together = batch_of_records([(-7, None, b"v"), (-1, None, b"v"), (-9, None, b"v")])
    await replica.appended(together)

    found = await replica.read_all(0)
    decoded = await replica.read(0, decoded=True)

    expected = [*times, -7, -1, -9]
    assert [record.timestamp for record in found] == expected
    assert [record.timestamp_ms for record in decoded.records] == expected
    largest = await replica.find(Special.MAX_TIMESTAMP)
    assert (largest.offset, largest.timestamp_ms) == (found[5].offset, MAX_TIMESTAMP)


@pytest.mark.parametrize("layout", LAYOUTS)
async def test_the_largest_of_timestamps_before_1970_is_found(
    replica: LogReplica, layout: str
) -> None:
    await replica.create(configs=LAYOUTS[layout])
    for time in (-9, -4, -7):
        await replica.appended(batch_of(1, timestamp=time))

    assert (await replica.find(Special.MAX_TIMESTAMP)).timestamp_ms == -4


@pytest.mark.parametrize("timestamp", [-(1 << 63), MAX_TIMESTAMP + 1])
@pytest.mark.parametrize("layout", LAYOUTS)
async def test_timestamps_further_away_than_can_be_told_are_refused(
    replica: LogReplica, layout: str, timestamp: int
) -> None:
    configs = {**LAYOUTS[layout], "message.timestamp.after.max.ms": str((1 << 63) - 1)}
    await replica.create(configs=configs)
    # Through either front; the first record has none.
    batch = batch_of(1, timestamp=timestamp)
    records = [pb.Record(timestamp_ms=-1), pb.Record(timestamp_ms=timestamp)]
    append = pb.PartitionAppend(topic=ref("orders"), records=pb.RecordSet(records=records))

    by_batch = await replica.append(batch)
    response = await replica.appends.append(pb.AppendRequest(partitions=[append]))

    assert by_batch.error_code == ErrorCode.INVALID_TIMESTAMP
    assert response.partitions[0].error_code == ErrorCode.INVALID_TIMESTAMP
