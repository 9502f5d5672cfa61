"""Coordinators that sleep between two steps of a transaction, are overtaken, and wake while
the producer is at the next one: they change nothing."""

import asyncio

import pytest
from redis.asyncio import Redis

from korvet.kafka.errors import ErrorCode
from tests.support.coordinator_replica import CoordinatorReplica
from tests.support.eventually import eventually
from tests.support.transaction_storage import TransactionStorage, When
from tests.support.transactional_producer import (
    StartTransactional,
    TransactionalProducer,
    retried,
)

pytestmark = pytest.mark.integration

NONE = ErrorCode.NONE


class Overtaken:
    """A coordinator whose registration has lapsed while it slept, and it does not know."""

    def __init__(
        self, stale: CoordinatorReplica, other: CoordinatorReplica, redis: "Redis"
    ) -> None:
        self.stale = stale
        self.other = other
        self.redis = redis
        self.producer = TransactionalProducer(stale, timeout_ms=600_000)

    async def now(self) -> None:
        await self.redis.hdel("korvet:coordinators", self.stale.address)
        self.producer.coordinator = self.other


@pytest.fixture
async def overtaken(start_transactional: StartTransactional, redis: "Redis") -> Overtaken:
    stale = await start_transactional("stale", lease_ms=300_000)
    other = await start_transactional("other", lease_ms=1000)
    return Overtaken(stale, other, redis)


@pytest.mark.parametrize("when", ["before", "between", "after"])
async def test_one_that_slept_while_it_ended_a_transaction_does_not_end_the_next(
    overtaken: Overtaken, storage: TransactionStorage, when: When
) -> None:
    producer = overtaken.producer
    places = [("bills", 0), ("orders", 0)]
    await producer.init()
    await producer.add(*places)
    held = storage.hold("EndTransaction", when)
    ending = asyncio.ensure_future(producer.commit())
    await held.arrived.wait()
    await overtaken.now()
    await producer.ends_as("CompleteCommit")
    assert await retried(lambda: producer.add(*places)) == [NONE, NONE]
    saved = await overtaken.redis.get("korvet:transaction:payments")

    # Now it wakes: its end reaches the partitions, and it would save that it is complete.
    held.release()
    assert await ending is NONE
    sleeper = TransactionalProducer(overtaken.stale)
    not_here = ErrorCode.NOT_COORDINATOR

    async def has_noticed() -> bool:
        return await sleeper.init() is not_here

    await eventually(has_noticed)
    assert await overtaken.redis.get("korvet:transaction:payments") == saved
    for place in places:
        assert storage.outcomes(*place) == [(1, True)]
        assert storage.is_open(*place)
    assert await producer.commit() is NONE
    for place in places:
        assert storage.outcomes(*place) == [(1, True), (2, True)]


async def test_one_that_slept_while_it_added_a_partition_opens_nothing(
    overtaken: Overtaken, storage: TransactionStorage
) -> None:
    producer = overtaken.producer
    await producer.init()
    await producer.add(("bills", 0))
    held = storage.hold("BeginTransaction")
    adding = asyncio.ensure_future(producer.add())
    await held.arrived.wait()
    await overtaken.now()
    assert await retried(producer.abort) is NONE

    held.release()

    assert await adding == [ErrorCode.NOT_COORDINATOR]
    assert not storage.is_open()
    assert storage.outcomes() == []
    assert storage.outcomes("bills") == [(1, False)]


async def test_one_that_slept_before_it_decided_decides_nothing(
    overtaken: Overtaken, storage: TransactionStorage
) -> None:
    producer = overtaken.producer
    await producer.init()
    await producer.add()
    await producer.add_group()
    await producer.commit_offset(5)
    late = TransactionalProducer(overtaken.stale)
    late.producer_id, late.epoch = producer.producer_id, producer.epoch
    await overtaken.now()
    assert await retried(producer.abort) is NONE

    answers = [await late.commit(), await late.add_group()]

    assert answers == [ErrorCode.NOT_COORDINATOR] * 2
    assert storage.outcomes() == [(1, False)]
    assert await overtaken.other.committed("group") == {}


async def test_a_time_out_of_one_that_slept_aborts_nothing(
    overtaken: Overtaken, storage: TransactionStorage, caplog: pytest.LogCaptureFixture
) -> None:
    producer = overtaken.producer
    producer.timeout_ms = 3000
    await producer.init()
    await producer.add()
    await overtaken.now()
    assert await retried(producer.commit) is NONE
    producer.timeout_ms = 600_000
    assert await producer.init() is NONE
    assert await producer.add() == [NONE]

    # Its timer still runs, and it would save that the transaction is aborted.
    await eventually(lambda: "payments could not be saved" in caplog.text)

    assert storage.is_open()
    assert storage.outcomes() == [(1, True)]
    assert await producer.commit() is NONE
    assert storage.outcomes() == [(1, True), (2, True)]
