"""Whether acks=all can be confirmed: never taken for granted before it is known."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from korvet.kafka.errors import ErrorCode
from korvet.redis.lane import Lane
from korvet.storage.confirmations import Level
from korvet.storage.replicas import Replicas
from tests.support.eventually import eventually
from tests.support.fake_redis import FakeRedis, fake_redis

ONE_REPLICA = Level(1, on_disk=False)
ON_DISK = Level(0, on_disk=True)


@pytest.fixture
async def redis(tmp_path: Path) -> AsyncIterator[FakeRedis]:
    async with fake_redis(tmp_path / "redis.sock") as fake:
        yield fake


@pytest.fixture
async def lane(redis: FakeRedis) -> AsyncIterator[Lane]:
    lane = Lane(redis.url, "lookup", scripts=())
    running = asyncio.create_task(lane.run())
    await eventually(lambda: lane.connected)
    yield lane
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)


def replicas_over(redis: FakeRedis, lane: Lane) -> Replicas:
    """Not running: so nothing is counted but what is asked for."""
    return Replicas(redis.url, "channel", lane, needed=lambda: True)


async def refusal(
    replicas: Replicas, level: Level = ONE_REPLICA, seconds: float = 60
) -> ErrorCode | None:
    await replicas.counted(asyncio.get_running_loop().time() + seconds)
    refused = replicas.refusal(level)
    return refused.code if refused else None


async def test_the_first_append_waits_for_the_count(redis: FakeRedis, lane: Lane) -> None:
    assert await refusal(replicas_over(redis, lane)) is ErrorCode.NOT_ENOUGH_REPLICAS

    redis.replicas = 1
    assert await refusal(replicas_over(redis, lane)) is None


async def test_the_first_append_hears_that_the_disk_cannot_be_asked(
    redis: FakeRedis, lane: Lane
) -> None:
    refused = await refusal(replicas_over(redis, lane), ON_DISK)

    assert refused is ErrorCode.INVALID_CONFIG


async def test_what_was_not_counted_is_refused_as_not_written(
    redis: FakeRedis, lane: Lane
) -> None:
    replicas = replicas_over(redis, lane)
    redis.replicas = 1
    redis.instead_of_info = b"-ERR not now\r\n"

    assert await refusal(replicas) is ErrorCode.KAFKA_STORAGE_ERROR

    redis.instead_of_info = None
    assert await refusal(replicas) is None


async def test_a_count_that_hangs_takes_no_longer_than_the_append_may(
    redis: FakeRedis, lane: Lane
) -> None:
    replicas = replicas_over(redis, lane)
    redis.instead_of_info = b""

    async with asyncio.timeout(5):
        assert await refusal(replicas, seconds=0.01) is ErrorCode.KAFKA_STORAGE_ERROR


async def test_another_server_is_counted_anew(redis: FakeRedis, lane: Lane) -> None:
    replicas = replicas_over(redis, lane)
    redis.replicas = 1
    assert await refusal(replicas) is None

    # The one that was promoted has lost its replica.
    redis.replicas, redis.run_id = 0, "second"
    redis.drop()
    await eventually(lambda: lane.history == "second")

    assert await refusal(replicas) is ErrorCode.NOT_ENOUGH_REPLICAS


async def test_the_number_is_forgotten_while_no_topic_needs_it(
    redis: FakeRedis, lane: Lane
) -> None:
    replicas = Replicas(redis.url, "channel", lane, needed=lambda: False)
    redis.replicas = 1
    assert await refusal(replicas) is None
    redis.replicas = 0

    running = asyncio.create_task(replicas.run())
    await asyncio.sleep(0)
    await asyncio.sleep(0)

    assert await refusal(replicas) is ErrorCode.NOT_ENOUGH_REPLICAS
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)
