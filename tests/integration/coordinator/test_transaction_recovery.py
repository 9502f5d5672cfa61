"""Coordinators that die between any two steps of a transaction: it ends the way it was
decided, once."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Final

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
SHORT_LEASE: Final = 1000


async def parked(
    producer: TransactionalProducer, *calls: Callable[[], Awaitable[Any]]
) -> "Sequence[asyncio.Future[Any]]":
    """Calls that wait in the coordinator for what is being ended."""
    waiting = [asyncio.ensure_future(call()) for call in calls]
    # They have left when this one is answered, and have arrived when the next one is.
    await producer.describe()
    await producer.describe()
    return waiting


class Crash:
    """A first coordinator that dies while a call of its to storage hangs, and a second."""

    def __init__(
        self,
        first: CoordinatorReplica,
        second: CoordinatorReplica,
        storage: TransactionStorage,
    ) -> None:
        self.first = first
        self.second = second
        self.storage = storage
        self.producer = TransactionalProducer(first)

    async def in_call(
        self, call: Callable[[], Awaitable[Any]], method: str, when: When
    ) -> None:
        """Make a call, and die where it is: the call to storage was carried out or not."""
        held = self.storage.hold(method, when)
        calling = asyncio.ensure_future(call())
        await asyncio.wait_for(held.arrived.wait(), 10)
        await self.first.crash()
        await asyncio.gather(calling, return_exceptions=True)
        self.producer.coordinator = self.second


@pytest.fixture
async def crash(
    start_transactional: StartTransactional, storage: TransactionStorage
) -> Crash:
    first = await start_transactional("first", lease_ms=SHORT_LEASE)
    second = await start_transactional("second", lease_ms=SHORT_LEASE)
    return Crash(first, second, storage)


@pytest.mark.parametrize("when", ["before", "after"])
async def test_dead_while_a_producer_gets_its_id(crash: Crash, when: When) -> None:
    producer = crash.producer

    await crash.in_call(producer.init, "AllocateProducerId", when)

    assert await retried(producer.init) is NONE
    assert producer.epoch == 0
    assert await producer.add() == [NONE]
    assert await producer.commit() is NONE
    assert crash.storage.outcomes() == [(1, True)]


@pytest.mark.parametrize("when", ["before", "between", "after"])
async def test_dead_while_partitions_are_added(crash: Crash, when: When) -> None:
    producer = crash.producer
    await producer.init()

    def add() -> Awaitable[list[ErrorCode]]:
        return producer.add(("bills", 0), ("orders", 0))

    await crash.in_call(add, "BeginTransaction", when)

    # It was saved before anybody was told.
    assert await producer.state() == "Ongoing"
    assert await retried(add) == [NONE, NONE]
    assert await producer.commit() is NONE
    assert crash.storage.outcomes("bills") == crash.storage.outcomes() == [(1, True)]


@pytest.mark.parametrize("when", ["before", "between", "after"])
async def test_a_transaction_without_coordinator_and_producer_times_out(
    crash: Crash, when: When
) -> None:
    producer = crash.producer
    producer.timeout_ms = 1500
    await producer.init()

    await crash.in_call(
        lambda: producer.add(("bills", 0), ("orders", 0)), "BeginTransaction", when
    )

    await producer.ends_as("CompleteAbort")
    # A partition that has never heard of it has nothing to mark, but knows that it is over.
    aborted = [(1, False)]
    assert crash.storage.outcomes("bills") == ([] if when == "before" else aborted)
    assert crash.storage.outcomes("orders") == (aborted if when == "after" else [])
    assert not crash.storage.is_open("bills")
    assert not crash.storage.is_open("orders")
    assert await producer.commit() is ErrorCode.PRODUCER_FENCED


@pytest.mark.parametrize("when", ["before", "between", "after"])
@pytest.mark.parametrize("is_commit", [True, False])
@pytest.mark.parametrize("bumps_epoch", [True, False])
async def test_dead_while_it_is_ended(
    crash: Crash, when: When, is_commit: bool, bumps_epoch: bool
) -> None:
    producer = crash.producer
    producer.bumps_epoch = bumps_epoch
    await producer.init()
    await producer.add(("orders", 0), ("bills", 0))
    await producer.add_group()
    await producer.commit_offset(5)
    await producer.add(("orders", 1))

    await crash.in_call(lambda: producer.end(is_commit=is_commit), "EndTransaction", when)

    # The second one ends it by itself.
    await producer.ends_as("CompleteCommit" if is_commit else "CompleteAbort")
    for topic, partition in (("orders", 0), ("bills", 0), ("orders", 1)):
        assert crash.storage.outcomes(topic, partition) == [(1, is_commit)]
    expected = {("orders", 0): 5} if is_commit else {}
    assert await crash.second.committed("group") == expected
    # Had the answer been lost, the producer would ask once more.
    producer.epoch = 0
    assert await retried(lambda: producer.end(is_commit=is_commit)) is NONE
    assert producer.epoch == (1 if bumps_epoch else 0)
    producer.epoch = 0
    other = await producer.end(is_commit=not is_commit)
    assert other is ErrorCode.INVALID_TXN_STATE


@pytest.mark.parametrize("when", ["before", "after"])
async def test_dead_while_one_is_aborted_for_the_next_producer(
    crash: Crash, when: When
) -> None:
    producer = crash.producer
    await producer.init()
    await producer.add()
    heir = TransactionalProducer(crash.first)

    await crash.in_call(heir.init, "EndTransaction", when)

    heir.coordinator = crash.second
    assert await retried(heir.init) is NONE
    assert crash.storage.outcomes() == [(1, False)]
    assert await producer.commit() is ErrorCode.PRODUCER_FENCED
    assert await heir.add() == [NONE]


async def test_a_restarted_coordinator_goes_on(
    start_transactional: StartTransactional, storage: TransactionStorage
) -> None:
    coordinator = await start_transactional(lease_ms=300_000)
    producer = TransactionalProducer(coordinator)
    await producer.init()
    await producer.add()
    held = storage.hold("EndTransaction")
    ending = asyncio.ensure_future(producer.commit())
    await held.arrived.wait()
    await coordinator.crash()
    await asyncio.gather(ending, return_exceptions=True)

    await coordinator.start()

    await producer.ends_as("CompleteCommit")
    assert storage.outcomes() == [(1, True)]


async def test_a_coordinator_that_stops_hands_its_transactions_over_at_once(
    start_transactional: StartTransactional, storage: TransactionStorage
) -> None:
    first = await start_transactional("first", lease_ms=300_000)
    second = await start_transactional("second", lease_ms=SHORT_LEASE)
    producer = TransactionalProducer(first)
    await producer.init()
    await producer.add()
    held = storage.hold("EndTransaction")
    ending = asyncio.ensure_future(producer.commit())
    await held.arrived.wait()
    (waiting,) = await parked(producer, TransactionalProducer(first).init)

    await first.stop()

    # It is decided, whoever carries it out.
    assert await ending is NONE
    assert await waiting is ErrorCode.NOT_COORDINATOR
    producer.coordinator = second
    await producer.ends_as("CompleteCommit")
    assert storage.outcomes() == [(1, True)]


async def test_a_lost_lease_answers_everybody_who_waits(
    start_transactional: StartTransactional, storage: TransactionStorage, redis: "Redis"
) -> None:
    coordinator = await start_transactional(lease_ms=2000)
    producer = TransactionalProducer(coordinator)
    await producer.init()
    await producer.add()
    held = storage.hold("EndTransaction")
    assert await producer.commit() is NONE
    waiting = await parked(producer, producer.add, TransactionalProducer(coordinator).init)

    await redis.client_pause(4500)

    not_here = ErrorCode.NOT_COORDINATOR
    assert await asyncio.gather(*waiting) == [[not_here], not_here]
    held.release()
    await eventually(coordinator.is_ready)
    await producer.ends_as("CompleteCommit")
    assert storage.outcomes() == [(1, True)]
