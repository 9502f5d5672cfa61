"""What is measured of the connections to a real Redis."""

import asyncio

from korvet.redis.client import connect
from korvet.redis.lane import Lane
from korvet.redis.script import make_script
from korvet.runtime.metrics import REGISTRY, Histogram, Number
from tests.support.eventually import eventually
from tests.support.redis_server import RedisServer

_SCRIPT = make_script("told", "return redis.call('INCR', KEYS[1])")


def observed(name: str, *attributes: str) -> int:
    (instrument,) = (each for each in REGISTRY.instruments if each.name == name)
    assert isinstance(instrument, Histogram)
    return sum(instrument.of(*attributes).counts)


def counted(name: str, *attributes: str) -> float:
    (instrument,) = (each for each in REGISTRY.instruments if each.name == name)
    series = instrument.of(*attributes)
    assert isinstance(series, Number)
    return series.value


async def test_a_lane_measures_commands_by_name_and_scripts_by_theirs(
    redis_server: RedisServer,
) -> None:
    lane = Lane(redis_server.url, "measured-1", scripts=[_SCRIPT])
    running = asyncio.create_task(lane.run())
    await eventually(lambda: lane.connected)
    duration = "db.client.operation.duration"
    gets = observed(duration, "redis", "GET", "")
    scripts = observed(duration, "redis", "EVALSHA", "told")
    trips = counted("korvet.redis.round_trips", "measured")

    await asyncio.gather(*(lane.send("GET", "key") for _ in range(3)))
    await lane.send("EVALSHA", _SCRIPT.digest, 1, "key")

    assert observed(duration, "redis", "GET", "") - gets == 3
    assert observed(duration, "redis", "EVALSHA", "told") - scripts == 1
    # What is sent together leaves together.
    assert counted("korvet.redis.round_trips", "measured") - trips == 2
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)


async def test_those_who_find_no_free_connection_are_measured(
    redis_server: RedisServer,
) -> None:
    redis = connect(redis_server.url)
    before = observed("db.client.connection.wait_time", "pool")

    # The pool has 16 connections, and each is busy for as long as nothing is pushed.
    await asyncio.gather(*(redis.blpop(["nothing"], 0.2) for _ in range(19)))

    assert observed("db.client.connection.wait_time", "pool") - before == 3
    await redis.aclose()
