"""Transactional ids on a real Redis: what producers are told, and what partitions are."""

import asyncio
from copy import copy

import pytest
from redis.asyncio import Redis

from korvet.kafka.errors import ErrorCode
from korvet.proto.coordinator.v1 import coordinator_service_pb2 as pb
from tests.support.coordinator_replica import TOPIC_ID
from tests.support.eventually import eventually
from tests.support.transaction_storage import Mishap, TransactionStorage
from tests.support.transactional_producer import StartTransactional, TransactionalProducer

pytestmark = pytest.mark.integration

NONE = ErrorCode.NONE
FENCED = ErrorCode.PRODUCER_FENCED


@pytest.mark.parametrize("bumps_epoch", [False, True])
@pytest.mark.parametrize("is_commit", [True, False])
async def test_a_transaction_ends_in_all_its_partitions(
    producer: TransactionalProducer,
    storage: TransactionStorage,
    is_commit: bool,
    bumps_epoch: bool,
) -> None:
    producer.bumps_epoch = bumps_epoch
    assert await producer.add(("orders", 0), ("bills", 1)) == [NONE, NONE]
    assert storage.is_open("orders", 0)
    assert storage.is_open("bills", 1)
    assert await producer.state() == "Ongoing"

    assert await producer.end(is_commit=is_commit) is NONE

    assert storage.outcomes("orders", 0) == storage.outcomes("bills", 1) == [(1, is_commit)]
    # Answered when it was carried out, so that the next one can begin at once.
    assert await producer.state() == ("CompleteCommit" if is_commit else "CompleteAbort")
    assert producer.epoch == (1 if bumps_epoch else 0)
    assert storage.markers["orders", 0][0].epoch == producer.epoch
    assert await producer.add() == [NONE]
    assert await producer.commit() is NONE
    assert storage.outcomes()[1:] == [(2, True)]


async def test_a_second_producer_fences_the_first(
    producer: TransactionalProducer, storage: TransactionStorage
) -> None:
    await producer.add()
    second = TransactionalProducer(producer.coordinator)

    assert await second.init() is NONE

    assert storage.outcomes() == [(1, False)]
    assert (second.producer_id, second.epoch) == (producer.producer_id, 2)
    assert await producer.add() == [FENCED]
    assert await producer.commit() is FENCED
    assert await producer.init(goes_on=True) is FENCED
    assert await second.add() == [NONE]


async def test_bad_calls_are_refused_as_kafka_refuses_them(
    producer: TransactionalProducer,
) -> None:
    unknown = TransactionalProducer(producer.coordinator, "unknown")
    nameless = TransactionalProducer(producer.coordinator, "")
    mapping = ErrorCode.INVALID_PRODUCER_ID_MAPPING
    for stranger, refusal in ((unknown, mapping), (nameless, ErrorCode.INVALID_REQUEST)):
        assert await stranger.add() == [refusal]
        assert await stranger.add_group() is refusal
        assert await stranger.commit() is refusal
    not_found = ErrorCode.TRANSACTIONAL_ID_NOT_FOUND
    assert await unknown.abort_from_outside() is not_found
    assert (await unknown.describe()).error_code == not_found
    assert (await nameless.describe()).error_code == ErrorCode.INVALID_REQUEST
    assert await nameless.init() is ErrorCode.INVALID_REQUEST
    for timeout_ms in (0, -1, 900_001):
        late = TransactionalProducer(producer.coordinator, "late", timeout_ms=timeout_ms)
        assert await late.init() is ErrorCode.INVALID_TRANSACTION_TIMEOUT
    assert (await late.describe()).error_code == not_found
    assert await producer.commit() is ErrorCode.INVALID_TXN_STATE
    assert await producer.abort_from_outside() is ErrorCode.INVALID_TXN_STATE
    producer.epoch = -1
    assert await producer.init(goes_on=True) is ErrorCode.INVALID_REQUEST


async def test_an_end_may_be_repeated_but_not_changed(
    producer: TransactionalProducer, storage: TransactionStorage
) -> None:
    await producer.add()

    assert [await producer.commit(), await producer.commit()] == [NONE, NONE]
    assert await producer.abort() is ErrorCode.INVALID_TXN_STATE
    assert storage.outcomes() == [(1, True)]


async def test_partitions_can_be_verified(producer: TransactionalProducer) -> None:
    await producer.add(("orders", 0))
    request = pb.AddPartitionsRequest(
        transactional_id="payments",
        producer_id=producer.producer_id,
        producer_epoch=producer.epoch,
        verify_only=True,
    )
    for partition in (0, 1):
        request.partitions.add(topic="orders", topic_id=TOPIC_ID, partition=partition)

    response = await producer.coordinator.stub.AddPartitions(request)

    assert list(response.partition_error_codes) == [NONE, ErrorCode.TRANSACTION_ABORTABLE]


# ---------------------------------------------------------------- storage's troubles


async def test_what_could_not_be_registered_is_registered_when_it_is_asked_again(
    producer: TransactionalProducer, storage: TransactionStorage
) -> None:
    held = storage.hold("BeginTransaction")
    lost: list[Mishap] = ["lost"] * 100
    storage.fails("BeginTransaction", *lost)

    assert await producer.add() == [ErrorCode.COORDINATOR_NOT_AVAILABLE]
    assert not storage.is_open()

    held.release()
    storage.heals()
    assert await producer.add() == [NONE]
    assert storage.is_open()
    assert await producer.commit() is NONE
    assert storage.outcomes() == [(1, True)]


async def test_what_was_registered_without_an_answer_is_ended_all_the_same(
    producer: TransactionalProducer, storage: TransactionStorage
) -> None:
    lost: list[Mishap] = ["answer lost"] * 100
    storage.fails("BeginTransaction", *lost)
    assert await producer.add() == [ErrorCode.COORDINATOR_NOT_AVAILABLE]
    assert storage.is_open()

    assert await producer.abort() is NONE

    assert storage.outcomes() == [(1, False)]
    assert not storage.is_open()


async def test_partitions_of_topics_that_are_gone_hold_nobody_up(
    producer: TransactionalProducer, storage: TransactionStorage
) -> None:
    assert await producer.add(("orders", 0), ("bills", 0)) == [NONE, NONE]
    storage.gone.add("bills")
    gone = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert await producer.add(("bills", 1), ("orders", 1)) == [gone, NONE]

    assert await producer.commit() is NONE

    assert await producer.state() == "CompleteCommit"
    assert storage.outcomes("orders", 0) == storage.outcomes("orders", 1) == [(1, True)]


async def test_ends_are_told_until_they_are_heard(
    producer: TransactionalProducer, storage: TransactionStorage
) -> None:
    await producer.add()
    storage.fails(
        "EndTransaction",
        "lost",
        ErrorCode.KAFKA_STORAGE_ERROR,
        "answer lost",
        ErrorCode.KAFKA_STORAGE_ERROR,
    )

    assert await producer.commit() is NONE

    await producer.ends_as("CompleteCommit")
    assert storage.outcomes() == [(1, True)]


async def test_events_wait_for_what_is_being_ended(
    producer: TransactionalProducer, storage: TransactionStorage
) -> None:
    await producer.add()
    held = storage.hold("EndTransaction")
    # It is decided, which is what counts, and storage takes its time.
    assert await producer.commit() is NONE
    assert await producer.state() == "PrepareCommit"
    adding = asyncio.create_task(producer.add())
    repeating = asyncio.create_task(producer.commit())

    held.release()

    assert await adding == [NONE]
    # Before or after the other.
    assert await repeating in (NONE, ErrorCode.CONCURRENT_TRANSACTIONS)


async def test_nobody_waits_for_ever_for_what_is_being_ended(
    producer: TransactionalProducer, storage: TransactionStorage
) -> None:
    await producer.add()
    held = storage.hold("EndTransaction")
    await producer.commit()

    stranger, fenced = copy(producer), copy(producer)
    stranger.producer_id += 1
    fenced.epoch -= 1
    added, initialised, repeated, *refused = await asyncio.gather(
        producer.add(),
        producer.init(),
        producer.commit(),
        stranger.commit(),
        fenced.abort(),
    )
    busy = ErrorCode.CONCURRENT_TRANSACTIONS
    assert (added, initialised, repeated) == ([busy], busy, busy)
    # Who has no right to ask need not ask again.
    assert refused == [ErrorCode.INVALID_PRODUCER_ID_MAPPING, FENCED]

    held.release()
    await producer.ends_as("CompleteCommit")
    assert await producer.init() is NONE


async def test_without_storage_nobody_gets_an_id(
    producer: TransactionalProducer, storage: TransactionStorage
) -> None:
    storage.fails("AllocateProducerId", "lost")
    new = TransactionalProducer(producer.coordinator, "new")

    assert await new.init() is ErrorCode.COORDINATOR_NOT_AVAILABLE
    assert (await new.describe()).error_code == ErrorCode.TRANSACTIONAL_ID_NOT_FOUND
    assert await new.init() is NONE


# ---------------------------------------------------------------- time


async def test_a_transaction_that_takes_too_long_is_aborted(
    start_transactional: StartTransactional, storage: TransactionStorage
) -> None:
    producer = TransactionalProducer(await start_transactional(), timeout_ms=300)
    await producer.init()
    await producer.add()

    await producer.ends_as("CompleteAbort")

    assert storage.outcomes() == [(1, False)]
    assert await producer.commit() is FENCED
    assert await producer.add() == [FENCED]
    assert await producer.init() is NONE


async def test_an_abort_from_outside_fences_the_producer(
    producer: TransactionalProducer, storage: TransactionStorage
) -> None:
    await producer.add()

    assert await producer.abort_from_outside() is NONE

    await producer.ends_as("CompleteAbort")
    assert storage.outcomes() == [(1, False)]
    assert await producer.commit() is FENCED


async def test_idle_ids_expire_and_open_ones_do_not(
    start_transactional: StartTransactional, redis: "Redis"
) -> None:
    first = await start_transactional("first", lease_ms=1000)
    idle, used = (TransactionalProducer(first, name) for name in ("idle", "used"))
    for each in (idle, used):
        assert await each.init() is NONE
    await used.add()

    second = await start_transactional(
        "second", lease_ms=1000, transactional_id_expiration_ms=1
    )
    await first.crash()

    async def is_gone() -> bool:
        return not await redis.exists("korvet:transaction:idle")

    await eventually(is_gone)
    assert await redis.smembers("korvet:transactional-ids") == {b"used"}
    idle.coordinator = used.coordinator = second
    assert await idle.add() == [ErrorCode.INVALID_PRODUCER_ID_MAPPING]
    assert await used.state() == "Ongoing"
    assert await idle.init() is NONE


async def test_what_redis_did_not_take_is_done_when_it_takes_it(
    start_transactional: StartTransactional, storage: TransactionStorage, redis: "Redis"
) -> None:
    producer = TransactionalProducer(await start_transactional(lease_ms=300_000))
    await producer.init()
    await producer.add()
    held = storage.hold("EndTransaction", "after")
    ending = asyncio.ensure_future(producer.commit())
    await held.arrived.wait()

    # The markers are written, and that cannot be saved.
    await redis.config_set("maxmemory", "1")
    try:
        held.release()
        assert await ending is NONE
        assert await producer.state() == "PrepareCommit"
        assert await producer.abort() is ErrorCode.COORDINATOR_NOT_AVAILABLE
    finally:
        await redis.config_set("maxmemory", "0")

    # By itself.
    await producer.ends_as("CompleteCommit")
    assert storage.outcomes() == [(1, True)]
    assert await producer.add() == [NONE]
    assert storage.is_open()


async def test_a_state_that_nobody_can_read_holds_up_no_other(
    producer: TransactionalProducer, start_transactional: StartTransactional, redis: "Redis"
) -> None:
    await producer.coordinator.stop()
    await redis.set("korvet:transaction:broken", "what is this")
    await redis.sadd("korvet:transactional-ids", "broken")

    second = await start_transactional("second", transactional_id_expiration_ms=1)

    async def is_looked_after() -> bool:
        return not await redis.exists("korvet:transaction:payments")

    await eventually(is_looked_after)
    broken = TransactionalProducer(second, "broken")
    assert await broken.init() is ErrorCode.COORDINATOR_NOT_AVAILABLE
    assert await redis.exists("korvet:transaction:broken")
