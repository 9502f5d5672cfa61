"""Work queues: each record to one consumer, until it is acknowledged."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from random import Random
from typing import Any, NamedTuple

import pytest
from crc32c import crc32c

from korvet.proto.storage.v1 import storage_service_pb2 as pb
from tests.support.eventually import eventually, steady
from tests.support.log_replica import (
    KEYS,
    LAYOUTS,
    LogReplica,
    batch_of,
    log_replica_on,
)
from tests.support.queue_consumer import Delivery, QueueConsumer, consumer_of, pending
from tests.support.redis_server import RedisServer

pytestmark = pytest.mark.integration

SOON_MS = 150
STREAM = KEYS.stream("orders", 0)


class Described(NamedTuple):
    waiting: int
    pending: int
    high_watermark: int


@pytest.fixture
async def replica(redis_server: RedisServer) -> AsyncIterator[LogReplica]:
    async with log_replica_on(redis_server) as replica:
        yield replica


@pytest.fixture
async def other(redis_server: RedisServer) -> AsyncIterator[LogReplica]:
    async with log_replica_on(redis_server) as replica:
        yield replica


def offsets(deliveries: list[Delivery]) -> list[int]:
    return [each.record.offset for each in deliveries]


@pytest.mark.parametrize("layout", LAYOUTS)
async def test_a_record_is_delivered_once_and_gone_when_it_is_acknowledged(
    replica: LogReplica, layout: str
) -> None:
    await replica.create(configs=LAYOUTS[layout])
    base = await replica.appended(batch_of(3, value=b"work"))
    async with consumer_of(replica.consumes) as consumer:
        taken = await consumer.take(3)
        held = await pending(replica)
        await consumer.acknowledge(*taken)

        later = await replica.appended(batch_of(1))
        following = await consumer.next()

    assert offsets(taken) == [base, base + 1, base + 2]
    assert [each.record.value for each in taken] == [b"work"] * 3
    assert [each.delivery_count for each in taken] == [1, 1, 1]
    assert held == {"worker-1": 1 if layout.startswith("batch") else 3}
    assert following.record.offset == later
    assert await pending(replica) == {"worker-1": 1}


@pytest.mark.parametrize("layout", LAYOUTS)
async def test_a_waiting_consumer_is_woken_by_another_replicas_append(
    replica: LogReplica, other: LogReplica, layout: str
) -> None:
    await replica.create(configs=LAYOUTS[layout])
    async with consumer_of(replica.consumes) as consumer:
        await eventually(lambda: has_group(replica))

        base = await other.appended(batch_of(2))

        assert offsets(await consumer.take(2)) == [base, base + 1]


async def has_group(replica: LogReplica) -> bool:
    if not await replica.redis.exists(STREAM):
        return False
    return bool(await replica.redis.xinfo_groups(STREAM))


async def test_a_waiting_consumer_asks_nothing_of_redis(
    replica: LogReplica, redis_server: RedisServer
) -> None:
    await replica.create()
    await replica.appended(batch_of(1))

    async def scripts_run() -> int:
        with redis_server.client() as client:
            stats: Any = client.info("commandstats")
        return int(stats["cmdstat_evalsha"]["calls"])

    async with consumer_of(replica.consumes) as consumer:
        await consumer.acknowledge(await consumer.next())
        before = await steady(scripts_run)

        assert await steady(scripts_run, for_=0.5) == before


@pytest.mark.parametrize("layout", LAYOUTS)
async def test_what_a_dead_consumer_held_goes_to_another_in_time(
    replica: LogReplica, other: LogReplica, layout: str
) -> None:
    await replica.create(configs=LAYOUTS[layout])
    for _ in range(4):
        await replica.appended(batch_of(1))
    async with consumer_of(replica.consumes, redeliver_after_ms=SOON_MS) as doomed:
        first = await doomed.take(4)
        await doomed.acknowledge(first[1])
        await doomed.die()
        async with consumer_of(
            other.consumes, name="worker-2", redeliver_after_ms=SOON_MS
        ) as heir:
            again = await heir.take(3)
            await heir.acknowledge(*again)

            assert await pending(replica) == {}

    assert offsets(again) == offsets([first[0], first[2], first[3]])
    assert {each.delivery_count for each in again} == {2}


async def test_what_a_live_consumer_leaves_lying_goes_to_another(
    replica: LogReplica,
) -> None:
    await replica.create()
    await replica.appended(batch_of(1))
    async with consumer_of(replica.consumes, redeliver_after_ms=60_000) as slow:
        delivery = await slow.next()
        async with consumer_of(
            replica.consumes, name="worker-2", redeliver_after_ms=SOON_MS
        ) as quick:
            again = await quick.next()

    assert again.record.offset == delivery.record.offset
    assert again.delivery_count == 2


async def test_a_consumer_gets_its_own_again_when_it_does_not_acknowledge(
    replica: LogReplica,
) -> None:
    await replica.create()
    await replica.appended(batch_of(2))
    async with consumer_of(
        replica.consumes, max_in_flight=2, redeliver_after_ms=SOON_MS
    ) as consumer:
        first = await consumer.take(2)
        again = await consumer.take(2)
        await consumer.acknowledge(*again)
        await replica.appended(batch_of(1))
        following = await consumer.next()

    assert offsets(again) == offsets(first)
    assert {each.delivery_count for each in again} == {2}
    assert following.delivery_count == 1


@pytest.mark.parametrize("layout", LAYOUTS)
async def test_a_consumer_that_comes_back_gets_at_once_what_it_had(
    replica: LogReplica, layout: str
) -> None:
    await replica.create(configs=LAYOUTS[layout])
    for _ in range(3):
        await replica.appended(batch_of(1))
    async with consumer_of(replica.consumes) as consumer:
        first = await consumer.take(3)
        await consumer.acknowledge(first[0])
    async with consumer_of(replica.consumes) as consumer:
        again = await consumer.take(2)
        await consumer.acknowledge(*again)

        assert await pending(replica) == {}

    assert offsets(again) == offsets(first[1:])
    assert {each.delivery_count for each in again} == {2}


@pytest.mark.parametrize("layout", LAYOUTS)
async def test_no_more_is_in_flight_than_was_asked_for(
    replica: LogReplica, layout: str
) -> None:
    await replica.create(configs=LAYOUTS[layout])
    base = await replica.appended(batch_of(10))
    async with consumer_of(replica.consumes, max_in_flight=3) as consumer:
        taken = await consumer.take(3)

        async def delivered() -> int:
            return consumer.waiting

        assert await steady(delivered) == 0
        await consumer.acknowledge(taken[0], taken[2])
        taken += await consumer.take(2)
        assert await steady(delivered) == 0

    if layout.endswith("dense"):
        assert offsets(taken) == [base, base + 1, base + 2, base + 3, base + 4]
    assert len({each.record.offset for each in taken}) == 5


@pytest.mark.parametrize("layout", LAYOUTS)
async def test_what_is_released_goes_to_whoever_waits_at_once(
    replica: LogReplica, other: LogReplica, layout: str
) -> None:
    await replica.create(configs=LAYOUTS[layout])
    await replica.appended(batch_of(1))
    async with consumer_of(replica.consumes) as consumer:
        delivery = await consumer.next()
        async with consumer_of(other.consumes, name="worker-2") as waiting:
            await eventually(lambda: is_waiting(replica, "worker-2"))

            await consumer.release(delivery)
            got = await waiting.next()

    assert got.record.offset == delivery.record.offset
    assert got.delivery_count == 2


async def test_what_is_released_and_nobody_else_wants_comes_again(
    replica: LogReplica,
) -> None:
    await replica.create()
    await replica.appended(batch_of(1))
    async with consumer_of(replica.consumes, max_in_flight=1) as consumer:
        counts: list[int] = []
        for _ in range(3):
            delivery = await consumer.next()
            counts.append(delivery.delivery_count)
            await consumer.release(delivery)

    assert counts == [1, 2, 3]


async def is_waiting(replica: LogReplica, name: str) -> bool:
    consumers: Any = await replica.redis.xinfo_consumers(STREAM, "workers")
    return name in [each["name"] for each in consumers]


@pytest.mark.parametrize("encoding", ["time", "dense"])
async def test_a_batch_is_acknowledged_when_all_its_records_are(
    replica: LogReplica, encoding: str
) -> None:
    await replica.create(configs=LAYOUTS[f"batch-{encoding}"])
    await replica.appended(batch_of(3, codec=1))
    async with consumer_of(replica.consumes) as consumer:
        taken = await consumer.take(3)
        await consumer.acknowledge(taken[2], taken[0])
        held = await pending(replica)
        await consumer.acknowledge(taken[1])

        assert await pending(replica) == {}

    assert held == {"worker-1": 1}


async def test_a_batch_goes_back_when_all_its_records_are_settled(
    replica: LogReplica,
) -> None:
    await replica.create(configs=LAYOUTS["batch-dense"])
    await replica.appended(batch_of(3))
    async with consumer_of(replica.consumes) as consumer:
        taken = await consumer.take(3)
        await consumer.release(taken[0])
        await consumer.acknowledge(*taken[1:])

        again = await consumer.take(3)

    assert offsets(again) == offsets(taken)
    assert {each.delivery_count for each in again} == {2}


@pytest.mark.parametrize("layout", LAYOUTS)
async def test_trimmed_entries_are_acknowledged_by_the_service(
    replica: LogReplica, layout: str
) -> None:
    await replica.create(configs=LAYOUTS[layout])
    for _ in range(3):
        await replica.appended(batch_of(1))
    async with consumer_of(replica.consumes) as consumer:
        taken = await consumer.take(3)
    await replica.cut(taken[2].record.offset)

    async with consumer_of(
        replica.consumes, name="worker-2", redeliver_after_ms=SOON_MS
    ) as heir:
        last = await heir.next()

        assert await pending(replica) == {"worker-2": 1}
    assert last.record.offset == taken[2].record.offset


@pytest.mark.parametrize("layout", LAYOUTS)
async def test_how_far_a_queue_is_can_be_seen_in_records(
    replica: LogReplica, layout: str
) -> None:
    await replica.create(configs=LAYOUTS[layout], partitions=2)
    await replica.create("another")
    await replica.appended(batch_of(1), topic="another")
    for _ in range(3):
        end = await replica.appended(batch_of(4)) + 4
    assert await described(replica) == {}

    async with consumer_of(replica.consumes, max_in_flight=4) as consumer:
        taken = await consumer.take(4)
        held = await described(replica)
        await consumer.acknowledge(*taken)
        await consumer.take(4)
        later = await described(replica)

    # What is taken ahead of a consumer's room is on its way, too.
    assert sum(held["orders", 0][:2]) == 12
    assert sum(later["orders", 0][:2]) == 8
    assert later["orders", 0].pending in (4, 8)
    assert later["orders", 0].high_watermark == end
    assert later.keys() == {("orders", 0), ("orders", 1)}


async def described(replica: LogReplica) -> dict[tuple[str, int], Described]:
    request = pb.DescribeQueueRequest(group="workers")
    everything = replica.catalogue.topics()
    response = await replica.groups.describe_queue(request, everything)
    return {
        (each.topic, each.partition): Described(
            each.waiting, each.pending, each.high_watermark
        )
        for each in response.partitions
    }


async def test_what_nobody_can_read_is_passed_over(replica: LogReplica) -> None:
    await replica.create(configs=LAYOUTS["batch-dense"])
    await replica.appended(batch_of(1))
    batch = bytearray(batch_of(1, value=b"zipped" * 9, codec=1))
    # Intact as far as a broker looks, but its records are no gzip any more.
    batch[61:] = bytes(len(batch) - 61)
    batch[17:21] = crc32c(bytes(batch[21:])).to_bytes(4, "big")
    await replica.appended(bytes(batch))
    last = await replica.appended(batch_of(1))

    async with consumer_of(replica.consumes) as consumer:
        taken = await consumer.take(2)
        await consumer.acknowledge(*taken)

        assert await pending(replica) == {}
    assert offsets(taken) == [0, last]


async def test_records_that_were_cut_off_a_batch_are_not_delivered(
    replica: LogReplica,
) -> None:
    await replica.create(configs=LAYOUTS["batch-dense"])
    await replica.appended(batch_of(5))
    await replica.cut(3)

    async with consumer_of(replica.consumes) as consumer:
        taken = await consumer.take(2)
        await consumer.acknowledge(*taken)

        assert await pending(replica) == {}
    assert offsets(taken) == [3, 4]


@pytest.mark.parametrize("layout", LAYOUTS)
async def test_many_consumers_lose_nothing_and_repeat_only_what_was_not_acknowledged(
    replica: LogReplica, other: LogReplica, layout: str
) -> None:
    random = Random(layout)
    await replica.create(configs=LAYOUTS[layout], partitions=3)
    written: set[tuple[int, int]] = set()
    acknowledged: Counter[tuple[int, int]] = Counter()
    highest: Counter[tuple[int, int]] = Counter()
    done = asyncio.Event()
    is_batch = layout.startswith("batch")

    async def write() -> None:
        for number in range(120):
            partition, count = number % 3, random.choice((1, 1, 3))
            base = await replica.appended(batch_of(count), partition=partition)
            written.update((partition, base + index) for index in range(count))

    async def work(number: int) -> None:
        calls = (replica if number % 2 else other).consumes
        while not done.is_set():
            async with consumer_of(
                calls,
                name=f"worker-{number}",
                max_in_flight=random.choice((1, 4, 10)),
                redeliver_after_ms=400,
            ) as consumer:
                await work_until_death(consumer)

    async def work_until_death(consumer: QueueConsumer) -> None:
        while not done.is_set():
            delivery = await consumer.next()
            place = delivery.partition, delivery.record.offset
            highest[place] = max(highest[place], delivery.delivery_count)
            # Each acknowledged one is gone: on a batch topic with all of its batch.
            assert is_batch or acknowledged[place] == 0
            fate = random.random()
            if fate < 0.03:
                return
            if fate < 0.1:
                await consumer.release(delivery)
                continue
            await consumer.acknowledge(delivery)
            acknowledged[place] += 1

    async def all_done() -> bool:
        if len(acknowledged) < len(written):
            return False
        return not any([await pending(replica, partition) for partition in range(3)])

    await write()
    workers = [asyncio.create_task(work(number)) for number in range(5)]
    try:
        await eventually(all_done, within=40)
    finally:
        done.set()
        for worker in workers:
            worker.cancel()
        outcomes = await asyncio.gather(*workers, return_exceptions=True)
    assert [each for each in outcomes if isinstance(each, AssertionError)] == []
    assert set(acknowledged) == written
    assert max(highest.values()) > 1
