"""What readers see of transactions: committed, aborted, and those that are still open."""

import asyncio
from collections.abc import AsyncIterator
from functools import partial
from random import Random
from typing import Any

import pytest

from korvet.kafka.errors import ErrorCode
from korvet.proto.storage.v1 import storage_service_pb2 as pb
from tests.support.committed_reader import read_committed
from tests.support.eventually import steady
from tests.support.log_replica import (
    KEYS,
    LAYOUTS,
    LogReplica,
    batch_of,
    log_replica_on,
    ref,
)
from tests.support.partition_transaction import TransactionalProducer
from tests.support.queue_consumer import QueueConsumer, consumer_of, pending
from tests.support.redis_server import RedisServer

pytestmark = pytest.mark.integration


@pytest.fixture
async def replica(redis_server: RedisServer) -> AsyncIterator[LogReplica]:
    async with log_replica_on(redis_server) as replica:
        yield replica


async def stays_parked(task: "asyncio.Future[Any]") -> bool:
    async def is_parked() -> int:
        return not task.done()

    return bool(await steady(is_parked))


async def deliveries_to(consumer: QueueConsumer) -> int:
    return consumer.waiting


@pytest.mark.parametrize("layout", LAYOUTS)
async def test_a_reader_of_committed_records_stops_where_the_oldest_open_one_begins(
    replica: LogReplica, layout: str
) -> None:
    await replica.create(configs=LAYOUTS[layout])
    await replica.appended(batch_of(2, value=b"before"))
    producer = TransactionalProducer(replica)
    await producer.begin()
    first = await producer.written(2, value=b"open")
    await replica.appended(batch_of(2, value=b"behind"))

    seen = await read_committed(replica)
    everything = await replica.read_all(0)
    data = await replica.read(0, committed=True)

    assert [record.value for record in seen] == [b"before"] * 2
    assert len(everything) == 6
    assert data.last_stable_offset == first
    assert data.high_watermark > first
    await producer.commit()
    seen = await read_committed(replica)
    data = await replica.read(0, committed=True)
    assert [record.value for record in seen] == (
        [b"before"] * 2 + [b"open"] * 2 + [b"behind"] * 2
    )
    assert data.last_stable_offset == data.high_watermark
    assert not data.aborted_transactions


@pytest.mark.parametrize("layout", LAYOUTS)
async def test_aborted_records_are_named_and_decoded_ones_left_out(
    replica: LogReplica, layout: str
) -> None:
    await replica.create(configs=LAYOUTS[layout])
    producer = TransactionalProducer(replica)
    other = TransactionalProducer(replica, producer_id=8)
    await producer.begin()
    await other.begin()
    first = await producer.written(2, value=b"aborted")
    await other.written(2, value=b"kept")
    await producer.written(1, value=b"aborted")
    await producer.abort()
    await other.commit()

    data = await replica.read(0, committed=True)
    decoded = await replica.read(0, committed=True, decoded=True)
    uncommitted = await replica.read(0, decoded=True)

    assert list(data.aborted_transactions) == [
        pb.AbortedTransaction(producer_id=7, first_offset=first)
    ]
    assert [record.value for record in await read_committed(replica)] == [b"kept"] * 2
    assert [record.value for record in decoded.records] == [b"kept"] * 2
    assert decoded.next_offset == data.high_watermark
    # Markers are nobody's records.
    assert len(uncommitted.records) == 5
    # Whoever begins behind it need not hear of it.
    late = await replica.read(data.high_watermark - 1, committed=True)
    assert not late.aborted_transactions


@pytest.mark.parametrize("layout", LAYOUTS)
async def test_a_decoded_read_goes_on_behind_what_it_leaves_out(
    replica: LogReplica, layout: str
) -> None:
    await replica.create(configs=LAYOUTS[layout])
    producer = TransactionalProducer(replica)
    for _ in range(3):
        await producer.begin()
        await producer.written(600, value=b"aborted")
        await producer.abort()

    nothing = await replica.read(0, committed=True, decoded=True)
    last = await replica.appended(batch_of(1, value=b"kept"))
    found = await replica.read(nothing.next_offset, committed=True, decoded=True)
    whole = await replica.read(0, committed=True, decoded=True)

    assert not nothing.records
    assert nothing.next_offset == nothing.high_watermark
    assert [record.offset for record in found.records] == [last]
    assert [record.offset for record in whole.records] == [last]
    # One who wants everything is not led past it.
    assert len(await replica.read_all(0)) == 3 * 601 + 1


@pytest.mark.parametrize("layout", LAYOUTS)
async def test_a_parked_read_is_woken_by_the_end_and_by_nothing_before_it(
    replica: LogReplica, layout: str
) -> None:
    await replica.create(configs=LAYOUTS[layout])
    producer = TransactionalProducer(replica)
    await producer.begin()
    first = await producer.written(3)
    # More than the marker alone makes up for.
    reading = asyncio.create_task(
        replica.read(0, committed=True, max_wait_ms=60_000, min_bytes=100)
    )
    await producer.written(3)
    await replica.appended(batch_of(30))
    assert await stays_parked(reading)

    await producer.commit()

    async with asyncio.timeout(20):
        data = await reading
    assert data.batches
    assert data.last_stable_offset == data.high_watermark > first


@pytest.mark.parametrize("layout", LAYOUTS)
async def test_a_tail_of_committed_records_waits_and_leaves_out(
    replica: LogReplica, layout: str
) -> None:
    await replica.create(configs=LAYOUTS[layout])
    producer = TransactionalProducer(replica)
    tail = replica.tails.tail(
        pb.TailRequest(
            topic=ref("orders"),
            timestamp_ms=-2,
            isolation_level=pb.ISOLATION_LEVEL_READ_COMMITTED,
        )
    )
    await producer.begin()
    await producer.written(2, value=b"aborted")
    await producer.abort()
    await producer.begin()
    await producer.written(2, value=b"committed")
    reading = asyncio.ensure_future(anext(tail))
    assert await stays_parked(reading)

    await producer.commit()

    async with asyncio.timeout(20):
        answer = await reading
    assert [record.value for record in answer.records] == [b"committed"] * 2


@pytest.mark.parametrize("layout", LAYOUTS)
async def test_a_work_queue_hands_out_what_is_committed_and_acknowledges_the_rest(
    replica: LogReplica, layout: str
) -> None:
    await replica.create(configs=LAYOUTS[layout])
    producer = TransactionalProducer(replica)
    await replica.appended(batch_of(1, value=b"plain"))
    await producer.begin()
    await producer.written(2, value=b"aborted")
    await producer.abort()
    await producer.begin()
    await producer.written(2, value=b"committed")
    await replica.appended(batch_of(1, value=b"behind"))
    async with consumer_of(replica.consumes) as consumer:
        plain = await consumer.next()
        assert await steady(partial(deliveries_to, consumer)) == 0
        await producer.commit()
        rest = await consumer.take(3)
        await consumer.acknowledge(plain, *rest)
        # Behind everything, so that all before it was looked at.
        await replica.appended(batch_of(1, value=b"last"))
        last = await consumer.next()
        held = await pending(replica)

    assert plain.record.value == b"plain"
    assert [each.record.value for each in rest] == [b"committed"] * 2 + [b"behind"]
    assert last.record.value == b"last"
    assert held == {"worker-1": 1}


@pytest.mark.parametrize("layout", LAYOUTS)
async def test_a_queue_gets_past_a_large_aborted_transaction(
    replica: LogReplica, layout: str
) -> None:
    await replica.create(configs=LAYOUTS[layout])
    producer = TransactionalProducer(replica)
    await producer.begin()
    for _ in range(6):
        await producer.written(500, value=b"aborted")
    await producer.abort()
    await replica.appended(batch_of(1, value=b"behind"))

    async with consumer_of(replica.consumes) as consumer:
        delivery = await consumer.next()
        held = await pending(replica)

    assert delivery.record.value == b"behind"
    assert held == {"worker-1": 1}


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("seed", range(3))
async def test_readers_see_what_a_model_says(
    replica: LogReplica, redis_server: RedisServer, layout: str, seed: int
) -> None:
    """Random transactions of several producers, mixed with plain records and trims."""
    seeded = Random(seed)
    await replica.create(configs=LAYOUTS[layout])
    producers = [TransactionalProducer(replica, producer_id=n) for n in (3, 33, 4)]
    open_: dict[int, list[bytes]] = {}
    # In order of their offsets: value, offset, and the producer that may still abort it.
    log: list[tuple[bytes, int, int | None]] = []
    aborted: set[bytes] = set()
    start = 0
    for step in range(120):
        producer = seeded.choice(producers)
        value = b"%d" % step
        match seeded.randrange(5):
            case 0:
                offset = await replica.appended(batch_of(1, value=value))
                log.append((value, offset, None))
            case 1 | 2:
                if producer.producer_id not in open_:
                    assert await producer.begin() is ErrorCode.NONE
                    open_[producer.producer_id] = []
                offset = await producer.written(1, value=value)
                open_[producer.producer_id].append(value)
                log.append((value, offset, producer.producer_id))
            case 3 if producer.producer_id in open_:
                values = open_.pop(producer.producer_id)
                if seeded.random() < 0.5:
                    aborted |= set(values)
                    assert await producer.abort() is ErrorCode.NONE
                else:
                    assert await producer.commit() is ErrorCode.NONE
            case 4 if log and seeded.random() < 0.1:
                start = max(start, seeded.choice(log)[1])
                await replica.cut(start)
        if step % 10 == 9:
            undecided = {value for values in open_.values() for value in values}
            expected = []
            for value, offset, _ in log:
                if value in undecided and offset >= start:
                    break
                if value not in aborted and value not in undecided and offset >= start:
                    expected.append(value)
            if any(offset < start for value, offset, _ in log if value in undecided):
                # It begins before the log does now, so nothing is decided.
                expected = []
            some = seeded.choice([200, 1000, 1 << 20])
            found = await read_committed(replica, start, max_bytes=some)
            decoded = await replica.read(start, committed=True, decoded=True)
            assert [record.value for record in found] == expected
            assert [record.value for record in decoded.records] == expected
    with redis_server.client() as client:
        kept = [value for value, offset, _ in log if offset >= start]
        assert client.xlen(KEYS.stream("orders", 0)) >= len(kept)
