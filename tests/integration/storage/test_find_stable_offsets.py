"""Offsets for readers of committed records: none is found from the last stable one on."""

from collections.abc import AsyncIterator

import pytest

from tests.support.log_replica import LAYOUTS, LogReplica, batch_of, log_replica_on
from tests.support.partition_transaction import TransactionalProducer
from tests.support.redis_server import RedisServer

pytestmark = pytest.mark.integration

LATEST, EARLIEST, MAX_TIMESTAMP, EARLIEST_LOCAL = -1, -2, -3, -4
NOT_FOUND = -1


@pytest.fixture
async def replica(redis_server: RedisServer) -> AsyncIterator[LogReplica]:
    async with log_replica_on(redis_server) as replica:
        yield replica


async def find(replica: LogReplica, timestamp: int, *, committed: bool = True) -> int:
    return (await replica.find(timestamp, committed=committed)).offset


@pytest.mark.parametrize("layout", LAYOUTS)
async def test_offsets_are_found_up_to_the_last_stable_one(
    replica: LogReplica, layout: str
) -> None:
    await replica.create(configs=LAYOUTS[layout])
    before = await replica.appended(batch_of(timestamp=1000))
    producer = TransactionalProducer(replica)
    await producer.begin()
    first = await producer.written(2, timestamp=2000)

    end = (await replica.describe()).high_watermark
    assert await find(replica, LATEST) == first
    assert await find(replica, LATEST, committed=False) == end
    assert await find(replica, 2000) == NOT_FOUND
    assert await find(replica, 2000, committed=False) == first
    assert await find(replica, 1000) == before
    await producer.commit()
    assert await find(replica, 2000) == first
    # No marker is found by its time, which is today's.
    assert await find(replica, 1_750_000_000_000) == NOT_FOUND


@pytest.mark.parametrize("commit", [True, False])
@pytest.mark.parametrize("layout", LAYOUTS)
async def test_the_largest_timestamp_is_not_told_before_it_is_decided(
    replica: LogReplica, layout: str, commit: bool
) -> None:
    await replica.create(configs=LAYOUTS[layout])
    await replica.appended(batch_of(timestamp=1000))
    producer = TransactionalProducer(replica)
    await producer.begin()
    first = await producer.written(2, timestamp=3000)
    await replica.appended(batch_of(timestamp=2000))

    # As in Kafka, the next largest one does not stand in for it.
    found = await replica.find(MAX_TIMESTAMP, committed=True)
    assert (found.offset, found.timestamp_ms) == (NOT_FOUND, NOT_FOUND)
    assert await find(replica, MAX_TIMESTAMP, committed=False) == first
    await (producer.commit() if commit else producer.abort())
    # Aborted records have their offsets and times, too.
    assert await find(replica, MAX_TIMESTAMP) == first


@pytest.mark.parametrize("layout", LAYOUTS)
async def test_what_is_older_than_every_open_transaction_is_found(
    replica: LogReplica, layout: str
) -> None:
    await replica.create(configs=LAYOUTS[layout])
    largest = await replica.appended(batch_of(timestamp=3000))
    producer = TransactionalProducer(replica)
    await producer.begin()
    await producer.written(timestamp=2000)

    assert await find(replica, MAX_TIMESTAMP) == largest
    assert await find(replica, 2500) == largest


@pytest.mark.parametrize("layout", LAYOUTS)
async def test_the_logs_beginning_is_told_though_nothing_of_it_is_decided(
    replica: LogReplica, layout: str
) -> None:
    await replica.create(configs=LAYOUTS[layout])
    producer = TransactionalProducer(replica)
    await producer.begin()
    first = await producer.written()

    assert [await find(replica, each) for each in (EARLIEST, EARLIEST_LOCAL)] == [first] * 2
    assert await find(replica, LATEST) == first
    assert await find(replica, MAX_TIMESTAMP) == NOT_FOUND
