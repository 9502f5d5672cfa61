"""Sequences of transactional producers: what a transaction adds to Kafka's rules."""

from collections.abc import AsyncIterator

import pytest

from korvet.kafka.errors import ErrorCode
from tests.support.log_replica import (
    KEYS,
    LAYOUTS,
    LogReplica,
    Producer,
    batch_of,
    log_replica_on,
)
from tests.support.partition_transaction import TransactionalProducer
from tests.support.redis_server import RedisServer

pytestmark = pytest.mark.integration

EXPIRY_MS = 60_000
PRODUCERS = KEYS.producers("orders", 0)


@pytest.fixture
async def replica(redis_server: RedisServer) -> AsyncIterator[LogReplica]:
    async with log_replica_on(redis_server, producer_expiry=EXPIRY_MS / 1000) as replica:
        yield replica


def keep_silent(server: RedisServer, producer_id: int) -> int:
    """Make a producer's last batch older than what is remembered; when it would expire."""
    with server.client() as client:
        state = client.hget(PRODUCERS, str(producer_id))
        assert state is not None
        epoch, used, batches = state.split(b" ", 2)
        silent_since = int(used) - EXPIRY_MS - 1000
        client.hset(
            PRODUCERS, str(producer_id), b"%s %d %s" % (epoch, silent_since, batches)
        )
    return silent_since + EXPIRY_MS


# --- expiry ---


@pytest.mark.parametrize("layout", LAYOUTS)
async def test_a_sequence_does_not_expire_while_its_transaction_is_open(
    replica: LogReplica, redis_server: RedisServer, layout: str
) -> None:
    await replica.create(configs=LAYOUTS[layout])
    producer = TransactionalProducer(replica, epoch=3)
    await producer.begin()
    first = await producer.written(2)
    keep_silent(redis_server, producer.producer_id)

    producer.sequence = 0
    repeated = await producer.written(2)
    producer.sequence = 5
    gap = await producer.write()

    assert repeated == first
    assert gap.error_code == ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
    assert len(await replica.read_all(0)) == 2
    # Once it has ended there is nothing to protect.
    await producer.commit()
    keep_silent(redis_server, producer.producer_id)
    await producer.begin()
    assert (await producer.write()).error_code == ErrorCode.NONE


async def test_the_sweeper_forgets_no_producer_whose_transaction_is_open(
    replica: LogReplica, redis_server: RedisServer
) -> None:
    topic = await replica.create()
    writing = TransactionalProducer(replica, producer_id=1)
    done = TransactionalProducer(replica, producer_id=11)
    for producer in (writing, done):
        await producer.begin()
        await producer.written()
    await done.commit()
    expired = [keep_silent(redis_server, producer_id) for producer_id in (1, 11)]

    await replica.logs.trimmer.forget_producers(topic, 0, max(expired))

    with redis_server.client() as client:
        assert client.hkeys(PRODUCERS) == [b"1"]


# --- an epoch for each transaction (KIP-890) ---


async def out_of_order(producer: TransactionalProducer, sequence: int) -> bool:
    producer.sequence = sequence
    code = (await producer.write()).error_code
    assert code in (ErrorCode.NONE, ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER)
    return code != ErrorCode.NONE


@pytest.mark.parametrize("layout", LAYOUTS)
async def test_a_batch_behind_one_that_was_refused_waits_for_it(
    replica: LogReplica, layout: str
) -> None:
    """The first one of a transaction may have been refused with the next one under way."""
    await replica.create(configs=LAYOUTS[layout])
    producer = TransactionalProducer(replica, epoch=4, epoch_per_transaction=True)
    await producer.begin()

    early = await out_of_order(producer, 1)
    offsets = [await producer.written() for producer.sequence in (0, 1)]

    assert early
    assert [record.offset for record in await replica.read_all(0)] == offsets


async def test_each_epoch_begins_with_the_first_sequence(
    replica: LogReplica, redis_server: RedisServer
) -> None:
    await replica.create()
    producer = TransactionalProducer(replica, epoch=4, epoch_per_transaction=True)
    await producer.begin()
    await producer.written()
    # Its end brings the next epoch.
    producer.epoch = 5
    await producer.commit()
    await producer.begin()

    assert await out_of_order(producer, 1)
    assert not await out_of_order(producer, 0)

    producer.epoch = 6
    await producer.commit()
    keep_silent(redis_server, producer.producer_id)
    await producer.begin()
    assert await out_of_order(producer, 1)
    assert not await out_of_order(producer, 0)


async def test_an_older_producer_goes_on_with_any_sequence(replica: LogReplica) -> None:
    """One epoch for all its transactions, which the partition may have forgotten."""
    await replica.create()
    producer = TransactionalProducer(replica, epoch=4)
    await producer.begin()

    assert not await out_of_order(producer, 17)


@pytest.mark.parametrize("epoch", [4, 5])
async def test_who_has_ended_a_transaction_without_records_begins_with_the_first_sequence(
    replica: LogReplica, redis_server: RedisServer, epoch: int
) -> None:
    """In Kafka it has left a marker, so that the partition knows its epoch."""
    await replica.create()
    producer = TransactionalProducer(replica, epoch=4)
    await producer.begin()
    await producer.commit()
    producer.epoch = epoch
    await producer.begin()

    assert await out_of_order(producer, 17)
    assert not await out_of_order(producer, 0)
    assert not await out_of_order(producer, 1)
    await producer.commit()

    # Nor does one that leaves none make it forget where the records have come to.
    await producer.begin()
    await producer.commit()
    await producer.begin()
    assert await out_of_order(producer, 7)
    assert not await out_of_order(producer, 2)
    await producer.commit()

    # Once it is forgotten, anything is right again.
    keep_silent(redis_server, producer.producer_id)
    await producer.begin()
    assert not await out_of_order(producer, 17)


async def test_who_has_ended_a_transaction_without_records_is_forgotten_in_time(
    replica: LogReplica, redis_server: RedisServer
) -> None:
    topic = await replica.create()
    producer = TransactionalProducer(replica)
    await producer.begin()
    await producer.commit()
    with redis_server.client() as client:
        assert client.hkeys(PRODUCERS) == [b"7"]
    silent_until = keep_silent(redis_server, producer.producer_id)

    await replica.logs.trimmer.forget_producers(topic, 0, silent_until)

    with redis_server.client() as client:
        assert client.hkeys(PRODUCERS) == []


async def test_a_missing_registration_is_told_before_a_missing_batch(
    replica: LogReplica,
) -> None:
    """The gateway then asks the coordinator once more."""
    await replica.create()
    producer = TransactionalProducer(replica, epoch_per_transaction=True, sequence=1)

    assert (await producer.write()).error_code == ErrorCode.INVALID_TXN_STATE


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("own_epochs", [False, True])
async def test_after_its_end_a_gap_is_a_missing_registration_and_a_repetition_is_none(
    replica: LogReplica, layout: str, own_epochs: bool
) -> None:
    """The partition knows the producer, and has what it repeats."""
    await replica.create(configs=LAYOUTS[layout])
    producer = TransactionalProducer(replica, epoch_per_transaction=own_epochs)
    await producer.begin()
    oldest, *_, last = [await producer.written() for _ in range(6)]
    await producer.commit()

    producer.sequence = 9
    gap = await producer.write()
    producer.sequence = 5
    repeated = await producer.write()
    producer.sequence = 0
    long_ago = await producer.write()
    producer.sequence = 6
    next_one = await producer.write()

    assert gap.error_code == next_one.error_code == ErrorCode.INVALID_TXN_STATE
    assert (repeated.error_code, repeated.base_offset) == (ErrorCode.NONE, last)
    assert long_ago.error_code == ErrorCode.DUPLICATE_SEQUENCE_NUMBER
    assert oldest < last
    # Six records and the marker.
    assert len(await replica.read_all(0)) == 7


async def test_a_new_epochs_missing_registration_is_told_before_a_missing_batch(
    replica: LogReplica,
) -> None:
    await replica.create()
    producer = TransactionalProducer(replica)
    await producer.begin()
    await producer.written()
    await producer.commit()
    producer.epoch += 1

    producer.sequence = 3
    assert (await producer.write()).error_code == ErrorCode.INVALID_TXN_STATE
    await producer.begin()
    assert await out_of_order(producer, 3)
    assert not await out_of_order(producer, 0)


async def test_what_is_outside_of_its_open_transaction_is_first_of_all_out_of_order(
    replica: LogReplica,
) -> None:
    await replica.create()
    producer = TransactionalProducer(replica)
    await producer.begin()
    await producer.written()

    codes = [
        (await replica.append(batch_of(producer=Producer(7, 0, sequence)))).error_code
        for sequence in (5, 1)
    ]

    assert codes == [ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER, ErrorCode.INVALID_TXN_STATE]
