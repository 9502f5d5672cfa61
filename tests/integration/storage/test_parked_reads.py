"""Reads that wait: woken by appends, whichever replica makes them, and never polling."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import replace
from typing import Any, cast

import pytest

from korvet.kafka.errors import ErrorCode
from korvet.proto.storage.v1 import storage_service_pb2 as pb
from korvet.storage import wakeups
from korvet.storage.parked_reads import ParkedReads
from korvet.storage.partition_read import ReadTarget
from korvet.storage.reader import Reader
from tests.support.eventually import eventually
from tests.support.log_replica import (
    KEYS,
    LAYOUTS,
    LogReplica,
    batch_of,
    log_replica_on,
    records_in,
    ref,
)
from tests.support.redis_server import RedisServer

pytestmark = pytest.mark.integration

NOW = 1_700_000_000_000
PATIENCE_MS = 20_000


@pytest.fixture
async def replica(redis_server: RedisServer) -> AsyncIterator[LogReplica]:
    async with log_replica_on(redis_server) as replica:
        yield replica


@pytest.fixture
async def other(redis_server: RedisServer) -> AsyncIterator[LogReplica]:
    async with log_replica_on(redis_server) as replica:
        yield replica


async def waits(redis_server: RedisServer, task: "asyncio.Task[Any]") -> None:
    """Return once a read is parked: it has subscribed, and nothing more is asked."""
    with redis_server.client() as client:
        await eventually(lambda: bool(client.pubsub_channels()))
        counts = [-1, -2]
        while counts[-1] != counts[-2]:
            await asyncio.sleep(0.02)
            counts.append(commands(client))
    assert not task.done()


def channels(redis_server: RedisServer) -> list[bytes]:
    with redis_server.client() as client:
        found: Any = client.pubsub_channels()
    return list(found)


def commands(client: Any) -> int:
    """Commands that anybody but the test has sent."""
    stats = client.info("commandstats")
    return sum(
        stats.get(f"cmdstat_{name}", {"calls": 0})["calls"]
        for name in ("xrange", "hmget", "evalsha", "subscribe")
    )


@pytest.mark.parametrize("layout", LAYOUTS)
async def test_a_parked_read_is_woken_by_another_replicas_append(
    replica: LogReplica, other: LogReplica, redis_server: RedisServer, layout: str
) -> None:
    await replica.create(configs=LAYOUTS[layout])
    end = await replica.appended(batch_of(1)) + 1
    waiting = asyncio.create_task(replica.read(end, max_wait_ms=PATIENCE_MS))
    await waits(redis_server, waiting)

    base = await other.appended(batch_of(1))

    assert [r.offset for r in records_in((await waiting).batches)] == [base]


async def test_a_parked_read_asks_nothing_of_redis(
    replica: LogReplica, redis_server: RedisServer
) -> None:
    await replica.create()
    waiting = [
        asyncio.create_task(replica.read(0, max_wait_ms=PATIENCE_MS)) for _ in range(3)
    ]
    await waits(redis_server, waiting[0])

    with redis_server.client() as client:
        before = commands(client)
        await asyncio.sleep(0.3)
        assert commands(client) == before

    await replica.appended(batch_of(1))
    assert all(data.batches for data in await asyncio.gather(*waiting))


async def test_a_parked_read_waits_for_enough_bytes(
    replica: LogReplica, redis_server: RedisServer
) -> None:
    await replica.create()
    waiting = asyncio.create_task(replica.read(0, max_wait_ms=PATIENCE_MS, min_bytes=3000))
    await waits(redis_server, waiting)

    await replica.appended(batch_of(1, value=b"v" * 1000))
    await replica.appended(batch_of(1, value=b"v" * 1000))
    await waits(redis_server, waiting)
    await replica.appended(batch_of(1, value=b"v" * 1000))

    assert len(records_in((await waiting).batches)) == 3


async def test_when_time_is_up_a_read_returns_what_there_is(
    replica: LogReplica, redis_server: RedisServer
) -> None:
    await replica.create()
    waiting = asyncio.create_task(replica.read(0, max_wait_ms=400, min_bytes=10_000))
    await waits(redis_server, waiting)

    await replica.appended(batch_of(1))

    assert len(records_in((await waiting).batches)) == 1


async def test_a_read_does_not_wait_for_more_than_it_may_return(
    replica: LogReplica,
) -> None:
    await replica.create()
    await replica.appended(batch_of(1, value=b"v" * 1000))
    read = pb.PartitionRead(topic=ref("orders"), max_bytes=1 << 20)
    request = pb.ReadRequest(
        partitions=[read], max_wait_ms=PATIENCE_MS, min_bytes=5000, max_bytes=1000
    )

    async with asyncio.timeout(5):
        response = await replica.reads.read(request)

    assert response.partitions[0].batches


async def test_a_read_with_an_error_in_it_does_not_wait(replica: LogReplica) -> None:
    await replica.create()
    reads = [
        pb.PartitionRead(topic=ref("orders"), max_bytes=1000),
        pb.PartitionRead(topic=ref("orders"), partition=7, max_bytes=1000),
        pb.PartitionRead(topic=ref("nothing"), max_bytes=1000),
        pb.PartitionRead(topic=ref(b"x" * 16), max_bytes=1000),
    ]
    request = pb.ReadRequest(partitions=reads, max_wait_ms=PATIENCE_MS, min_bytes=1)

    async with asyncio.timeout(5):
        response = await replica.reads.read(request)

    assert [data.error_code for data in response.partitions] == [
        ErrorCode.NONE,
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        ErrorCode.UNKNOWN_TOPIC_ID,
    ]


@pytest.mark.parametrize(
    ("by_id", "code"),
    [
        (False, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
        (True, ErrorCode.UNKNOWN_TOPIC_ID),
    ],
)
async def test_a_parked_read_ends_when_another_replica_deletes_its_topic(
    replica: LogReplica,
    other: LogReplica,
    redis_server: RedisServer,
    by_id: bool,
    code: ErrorCode,
) -> None:
    topic = await replica.create()
    named = topic.id if by_id else topic.name
    waiting = asyncio.create_task(replica.read(0, named, max_wait_ms=PATIENCE_MS))
    await waits(redis_server, waiting)

    await other.catalogue.delete(name=topic.name)

    async with asyncio.timeout(PATIENCE_MS / 4000):
        assert (await waiting).error_code == code


async def test_a_word_of_another_program_on_the_channel_disturbs_nobody(
    replica: LogReplica, redis_server: RedisServer
) -> None:
    await replica.create()
    waiting = asyncio.create_task(replica.read(0, max_wait_ms=PATIENCE_MS))
    await waits(redis_server, waiting)

    with redis_server.client() as client:
        client.publish(KEYS.appended("orders", 0), "hello")
    await waits(redis_server, waiting)
    base = await replica.appended(batch_of(1))

    assert [r.offset for r in records_in((await waiting).batches)] == [base]


async def test_a_parked_read_survives_the_loss_of_its_subscription(
    replica: LogReplica, redis_server: RedisServer
) -> None:
    await replica.create()
    waiting = asyncio.create_task(replica.read(0, max_wait_ms=PATIENCE_MS))
    await waits(redis_server, waiting)

    with redis_server.client() as client:
        client.client_kill_filter(_type="pubsub")
        # Published to nobody, or to those who are back already.
        await replica.appended(batch_of(1))

    assert len(records_in((await waiting).batches)) == 1


async def test_a_subscription_that_nobody_needs_is_given_up_and_made_again(
    redis_server: RedisServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(wakeups, "_IDLE_SECONDS", 0.1)
    async with log_replica_on(redis_server) as replica:
        await replica.create()
        for _ in range(2):
            end = (await replica.describe()).high_watermark
            waiting = asyncio.create_task(replica.read(end, max_wait_ms=PATIENCE_MS))
            await waits(redis_server, waiting)
            await replica.appended(batch_of(1))
            assert (await waiting).batches

            await eventually(lambda: not channels(redis_server))


async def test_a_cancelled_read_leaves_nothing_behind(
    replica: LogReplica, redis_server: RedisServer
) -> None:
    await replica.create()
    tasks = asyncio.all_tasks()
    waiting = asyncio.create_task(replica.read(0, max_wait_ms=PATIENCE_MS))
    await waits(redis_server, waiting)

    waiting.cancel()
    await asyncio.gather(waiting, return_exceptions=True)

    channels = replica.logs.wakeups._channels.values()
    assert not any(channel.listeners for channel in channels)
    assert asyncio.all_tasks() == tasks


async def test_what_is_appended_between_a_reads_entries_and_its_count_of_bytes_wakes_it(
    replica: LogReplica, other: LogReplica
) -> None:
    topic = await replica.create()
    end = await replica.appended(batch_of(1)) + 1
    reader = replica.logs.reads._reader
    bases: list[int] = []

    class ReaderInBetween:
        """Its first read gets its count of bytes after another replica's append."""

        async def read(self, targets: Any, max_bytes: int, **options: Any) -> Any:
            found = await reader.read(targets, max_bytes, **options)
            if not bases:
                bases.append(await other.appended(batch_of(1)))
                (later,) = await reader.read(targets, max_bytes, **options)
                found = [replace(found[0], log_bytes=later.log_bytes)]
            return found

    parked = ParkedReads(cast(Reader, ReaderInBetween()), replica.logs.reads._wakeups, KEYS)
    # The subscription is there already: its confirmation alone would wake the read.
    await replica.read(end, max_wait_ms=50)

    async with asyncio.timeout(PATIENCE_MS / 4000):
        (data,) = await parked.read(
            [ReadTarget(topic, 0, end, 1 << 20, None)],
            max_wait=PATIENCE_MS / 1000,
            min_bytes=1,
            max_bytes=1 << 20,
        )

    assert [r.offset for r in records_in(data.batches)] == bases
