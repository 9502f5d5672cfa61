"""Idempotent producers: each sequence number is appended once, by Kafka's rules."""

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
from tests.support.redis_server import RedisServer

pytestmark = pytest.mark.integration

LARGEST_SEQUENCE = 0x7FFF_FFFF
PRODUCERS = KEYS.producers("orders", 0)


@pytest.fixture
async def replica(redis_server: RedisServer) -> AsyncIterator[LogReplica]:
    async with log_replica_on(redis_server) as replica:
        yield replica


async def code_of(replica: LogReplica, count: int, producer: Producer) -> ErrorCode:
    answer = await replica.append(batch_of(count, producer=producer))
    return ErrorCode(answer.error_code)


@pytest.mark.parametrize("layout", LAYOUTS)
async def test_a_duplicate_among_the_last_five_batches_gets_the_first_answer(
    replica: LogReplica, layout: str
) -> None:
    await replica.create(
        configs={**LAYOUTS[layout], "message.timestamp.type": "LogAppendTime"}
    )
    sent = []
    for number in range(7):
        batch = batch_of(3, producer=Producer(7, 0, 3 * number))
        sent.append((batch, await replica.append(batch)))
    before = await replica.describe()

    for batch, first_answer in sent[2:]:
        assert await replica.append(batch) == first_answer

    assert await replica.describe() == before
    assert [r.key for r in await replica.read_all(0)] == [b"0", b"1", b"2"] * 7


async def test_a_batch_older_than_the_last_five_is_a_duplicate_without_an_answer(
    replica: LogReplica,
) -> None:
    await replica.create()
    for sequence in range(0, 12, 2):
        await replica.appended(batch_of(2, producer=Producer(7, 0, sequence)))

    code = await code_of(replica, 2, Producer(7, 0, 0))

    assert code is ErrorCode.DUPLICATE_SEQUENCE_NUMBER
    assert len(await replica.read_all(0)) == 12


async def test_a_known_start_with_another_count_is_no_duplicate(
    replica: LogReplica,
) -> None:
    await replica.create()
    await replica.appended(batch_of(3, producer=Producer(7, 0, 0)))

    assert await code_of(replica, 2, Producer(7, 0, 0)) is (
        ErrorCode.DUPLICATE_SEQUENCE_NUMBER
    )
    # One of these was never appended, so they are no duplicates.
    assert await code_of(replica, 4, Producer(7, 0, 0)) is (
        ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
    )


async def test_a_gap_is_out_of_order_and_can_still_be_filled(replica: LogReplica) -> None:
    await replica.create()
    await replica.appended(batch_of(2, producer=Producer(7, 0, 0)))

    late = await code_of(replica, 2, Producer(7, 0, 4))
    await replica.appended(batch_of(2, producer=Producer(7, 0, 2)))
    await replica.appended(batch_of(2, producer=Producer(7, 0, 4)))

    assert late is ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER


async def test_an_old_epoch_is_fenced(replica: LogReplica) -> None:
    await replica.create()
    await replica.appended(batch_of(producer=Producer(7, 3, 0)))

    assert await code_of(replica, 1, Producer(7, 2, 1)) is ErrorCode.INVALID_PRODUCER_EPOCH
    assert await code_of(replica, 1, Producer(7, 2, 0)) is ErrorCode.INVALID_PRODUCER_EPOCH


async def test_a_new_epoch_begins_at_zero_and_forgets_the_old_one(
    replica: LogReplica,
) -> None:
    await replica.create()
    await replica.appended(batch_of(5, producer=Producer(7, 0, 0)))

    early = await code_of(replica, 1, Producer(7, 1, 5))
    first = await replica.appended(batch_of(5, producer=Producer(7, 1, 0)))
    again = await replica.appended(batch_of(5, producer=Producer(7, 1, 0)))
    next_code = await code_of(replica, 1, Producer(7, 1, 5))

    assert early is ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
    assert again == first
    assert next_code is ErrorCode.NONE


async def test_an_unknown_producer_is_taken_at_any_sequence(replica: LogReplica) -> None:
    await replica.create()

    assert await code_of(replica, 1, Producer(7, 4, 1000)) is ErrorCode.NONE
    assert await code_of(replica, 1, Producer(7, 4, 1001)) is ErrorCode.NONE


async def test_what_precedes_an_unknown_producers_first_batch_is_no_duplicate(
    replica: LogReplica,
) -> None:
    """It may have been refused while the next one was under way, and come again."""
    await replica.create()
    for sequence in range(3, 11, 2):
        await replica.appended(batch_of(2, producer=Producer(7, 0, sequence)))

    missing = await code_of(replica, 3, Producer(7, 0, 0))
    half_missing = await code_of(replica, 3, Producer(7, 0, 2))
    duplicate = await code_of(replica, 1, Producer(7, 0, 3))

    # "Duplicate" would make a client believe that its records are there.
    assert missing is ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
    assert half_missing is ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
    assert duplicate is ErrorCode.DUPLICATE_SEQUENCE_NUMBER


async def test_sequences_wrap_around_at_their_largest(replica: LogReplica) -> None:
    await replica.create()
    across = Producer(7, 0, LARGEST_SEQUENCE - 1)
    first = await replica.appended(batch_of(4, producer=across))

    # LARGEST - 1, LARGEST, 0, 1
    following = await replica.appended(batch_of(2, producer=Producer(7, 0, 2)))
    duplicate = await replica.appended(batch_of(4, producer=across))
    gap = await code_of(replica, 1, Producer(7, 0, 5))
    behind = await code_of(replica, 1, Producer(7, 0, LARGEST_SEQUENCE))

    assert following > first
    assert duplicate == first
    assert gap is ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
    assert behind is ErrorCode.DUPLICATE_SEQUENCE_NUMBER


async def test_the_last_sequence_is_followed_by_zero(replica: LogReplica) -> None:
    await replica.create()
    await replica.appended(batch_of(producer=Producer(7, 0, LARGEST_SEQUENCE)))

    assert await code_of(replica, 1, Producer(7, 0, 0)) is ErrorCode.NONE


async def test_producers_do_not_know_of_each_other(replica: LogReplica) -> None:
    await replica.create(partitions=2)
    for sequence in range(20):
        for producer in (7, 8, 9):
            for partition in (0, 1):
                await replica.appended(
                    batch_of(producer=Producer(producer, 0, sequence)),
                    partition=partition,
                )

    assert len(await replica.read_all(0, partition=0)) == 60
    assert len(await replica.read_all(0, partition=1)) == 60


async def test_a_producer_that_was_long_silent_is_unknown(
    redis_server: RedisServer,
) -> None:
    async with log_replica_on(redis_server, producer_expiry=60) as replica:
        await replica.create()
        await replica.appended(batch_of(producer=Producer(7, 5, 0)))
        await replica.appended(batch_of(producer=Producer(8, 5, 0)))
        with redis_server.client() as client:
            state = client.hget(PRODUCERS, "7")
            assert state is not None
            epoch, used, batches = state.split(b" ", 2)
            silent = b"%s %d %s" % (epoch, int(used) - 61_000, batches)
            client.hset(PRODUCERS, "7", silent)

            # Neither its epoch nor its sequence counts any longer.
            assert await code_of(replica, 1, Producer(7, 2, 50)) is ErrorCode.NONE
            assert await code_of(replica, 1, Producer(7, 2, 50)) is ErrorCode.NONE
            assert len(await replica.read_all(0)) == 3

            client.hset(PRODUCERS, "7", silent)
            topic = replica.catalogue.by_name("orders")
            assert topic is not None
            await replica.logs.trimmer.forget_producers(topic, 0, int(used) - 60_000)
            assert client.hkeys(PRODUCERS) == [b"8"]


async def test_batches_without_a_producer_are_never_duplicates(replica: LogReplica) -> None:
    await replica.create()
    offsets = [await replica.appended(batch_of(2)) for _ in range(3)]

    assert len(set(offsets)) == 3


async def test_a_producer_without_an_epoch_is_refused(
    replica: LogReplica, redis_server: RedisServer
) -> None:
    await replica.create()

    code = await code_of(replica, 1, Producer(7, -1, 0))

    assert code is ErrorCode.INVALID_PRODUCER_EPOCH
    with redis_server.client() as client:
        assert not client.exists(PRODUCERS)
