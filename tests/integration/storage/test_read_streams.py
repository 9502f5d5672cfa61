"""ReadStream: many reads at once over one stream."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any, cast

import pytest

from korvet.proto.storage.v1 import storage_service_pb2 as pb
from korvet.storage import read_calls
from tests.support.call_streams import ReadStream, StalledStream, read_call, running
from tests.support.eventually import eventually, steady
from tests.support.log_replica import LogReplica, batch_of, log_replica_on, records_in
from tests.support.redis_server import RedisServer

pytestmark = pytest.mark.integration


@pytest.fixture
async def replica(redis_server: RedisServer) -> AsyncIterator[LogReplica]:
    async with log_replica_on(redis_server) as replica:
        yield replica


async def test_a_stopping_server_lets_go_of_reads_that_wait(replica: LogReplica) -> None:
    await replica.create()
    stream = ReadStream()
    serving = asyncio.create_task(
        replica.reads.read_stream(stream.frames(), cast(Any, stream))
    )
    stream.send(pb.ReadFrame(calls=[read_call(1), read_call(2, max_wait_ms=0)]))
    await stream.answered(1)

    replica.reads.intake.stop()
    async with asyncio.timeout(10):
        await serving

    assert list(stream.answers) == [2]


async def test_reads_of_one_stream_are_answered_as_they_are_ready(
    replica: LogReplica,
) -> None:
    await replica.create()
    end = await replica.appended(batch_of(1)) + 1
    stream = ReadStream()

    async with running(replica.reads.read_stream, stream):
        stream.send(pb.ReadFrame(calls=[read_call(1, end), read_call(2, 0)]))
        await stream.answered(1)
        assert list(stream.answers) == [2]
        base = await replica.appended(batch_of(1))
        await stream.answered(2)

    data = stream.answers[1].partitions[0]
    assert [r.offset for r in records_in(data.batches)] == [base]


async def test_cancelled_reads_are_not_answered(
    replica: LogReplica, redis_server: RedisServer
) -> None:
    await replica.create()
    stream = ReadStream()

    async with running(replica.reads.read_stream, stream):
        stream.send(pb.ReadFrame(calls=[read_call(1), read_call(2), read_call(3)]))
        with redis_server.client() as client:
            await eventually(lambda: bool(client.pubsub_channels()))
        stream.send(pb.ReadFrame(cancelled=[1, 99]))
        # One that has not even begun.
        stream.send(pb.ReadFrame(calls=[read_call(4)]))
        stream.send(pb.ReadFrame(cancelled=[4]))
        await eventually(lambda: stream.is_taken)
        await replica.appended(batch_of(1))
        await stream.answered(2)

    assert sorted(stream.answers) == [2, 3]


async def test_a_stream_that_ends_leaves_its_parked_reads_unanswered(
    replica: LogReplica,
) -> None:
    await replica.create()
    stream = ReadStream()
    tasks = asyncio.all_tasks()

    async with running(replica.reads.read_stream, stream):
        stream.send(pb.ReadFrame(calls=[read_call(number) for number in range(50)]))

    assert stream.answers == {}
    assert asyncio.all_tasks() == tasks


async def test_a_stream_full_of_parked_reads_still_reads_and_cancels(
    replica: LogReplica, redis_server: RedisServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(read_calls, "_MAX_PARKED", 8)
    await replica.create(partitions=2)
    await replica.appended(batch_of(1), partition=1)
    stream = ReadStream()
    async with running(replica.reads.read_stream, stream):
        stream.send(pb.ReadFrame(calls=[read_call(number) for number in range(8)]))
        stream.send(pb.ReadFrame(calls=[read_call(8, partition=1)]))
        await stream.answered(1)
        assert list(stream.answers) == [8]
        assert stream.answers[8].partitions[0].batches
        # There is no place to wait, so it is answered with what there is.
        stream.send(pb.ReadFrame(calls=[read_call(9)]))
        await stream.answered(2)
        assert not stream.answers[9].partitions[0].batches

        stream.send(pb.ReadFrame(cancelled=[3, 5]))
        await eventually(lambda: stream.is_taken)
        await replica.appended(batch_of(1))
        await stream.answered(8)

    assert sorted(stream.answers) == [0, 1, 2, 4, 6, 7, 8, 9]
    assert all(stream.answers[call].partitions[0].batches for call in (0, 1, 2, 4, 6, 7))


async def test_a_place_that_a_parked_read_leaves_is_another_ones(
    replica: LogReplica, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(read_calls, "_MAX_PARKED", 1)
    await replica.create()
    stream = ReadStream()
    async with running(replica.reads.read_stream, stream):
        stream.send(pb.ReadFrame(calls=[read_call(1)]))
        stream.send(pb.ReadFrame(calls=[read_call(2)]))
        await stream.answered(1)
        assert list(stream.answers) == [2]
        stream.send(pb.ReadFrame(cancelled=[1]))
        await eventually(lambda: not listeners(replica))
        stream.send(pb.ReadFrame(calls=[read_call(3)]))
        await eventually(lambda: listeners(replica) == 1)
        base = await replica.appended(batch_of(1))
        await stream.answered(2)

    data = stream.answers[3].partitions[0]
    assert [r.offset for r in records_in(data.batches)] == [base]


def listeners(replica: LogReplica) -> int:
    """How many wait for an append."""
    channels = replica.logs.wakeups._channels.values()
    return sum(len(channel.listeners) for channel in channels)


async def test_one_append_that_wakes_many_reads_does_not_fill_the_memory(
    replica: LogReplica, redis_server: RedisServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(read_calls, "_MAX_UNSENT_BYTES", 1 << 20)
    await replica.create(configs={"storage.format": "batch"})
    stream = StalledStream()
    async with running(replica.reads.read_stream, stream):
        stream.send(pb.ReadFrame(calls=[read_call(number) for number in range(200)]))
        await eventually(lambda: stream.is_taken)
        with redis_server.client() as client:
            await eventually(lambda: bool(client.pubsub_channels()))
        await replica.redis.config_resetstat()

        await replica.appended(batch_of(1, value=bytes(200_000)))
        # Nobody takes the answers, so only the first of the reads are carried out.
        await eventually(stream.is_stalled.is_set)
        reads = await steady(lambda: looks_at_the_partition(replica))
        stream.go_on.set()
        await stream.answered(200)

    # One megabyte of answers, and those that were under way by then.
    assert reads < 60


async def looks_at_the_partition(replica: LogReplica) -> int:
    """How often its hash was read, which each read does once."""
    stats = await replica.redis.info("commandstats")
    return int(stats.get("cmdstat_hmget", {"calls": 0})["calls"])
