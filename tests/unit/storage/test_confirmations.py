"""Questions to replicas: shared, each append with its own end, and of one history only."""

import asyncio
from collections.abc import AsyncIterator, Sequence
from pathlib import Path

import pytest

from korvet.storage.confirmations import Confirmations, Level
from korvet.storage.replicas import why_no_disk
from tests.support.eventually import eventually
from tests.support.fake_redis import FakeRedis, fake_redis

ENOUGH = b":1\r\n"
TOO_FEW = b":0\r\n"


@pytest.fixture
async def redis(tmp_path: Path) -> AsyncIterator[FakeRedis]:
    async with fake_redis(tmp_path / "redis.sock") as fake:
        fake.answer = lambda command: ENOUGH if command[0] == b"PUBLISH" else None
        yield fake


@pytest.fixture
async def confirmations(redis: FakeRedis) -> AsyncIterator[Confirmations]:
    confirmations = Confirmations(redis.url, "channel", Level(1, on_disk=False))
    running = asyncio.create_task(confirmations.lane.run())
    await eventually(lambda: confirmations.lane.connected)
    yield confirmations
    running.cancel()
    await asyncio.gather(running, return_exceptions=True)


def ask(
    confirmations: Confirmations, *, history: str = "first", seconds: float = 60
) -> "asyncio.Future[bool]":
    loop = asyncio.get_running_loop()
    answer: asyncio.Future[bool] = loop.create_future()
    confirmations.confirm(history, loop.time() + seconds, answer.set_result)
    return answer


def questions(redis: FakeRedis) -> list[Sequence[bytes]]:
    return [command for command in redis.received if command[0] == b"WAIT"]


async def test_what_was_appended_during_a_question_shares_the_next(
    redis: FakeRedis, confirmations: Confirmations
) -> None:
    first = [ask(confirmations) for _ in range(3)]
    await eventually(lambda: len(questions(redis)) == 1)
    later = [ask(confirmations) for _ in range(5)]
    await asyncio.sleep(0)

    redis.send(ENOUGH)

    assert await asyncio.gather(*first) == [True] * 3
    await eventually(lambda: len(questions(redis)) == 2)
    redis.send(ENOUGH)
    assert await asyncio.gather(*later) == [True] * 5
    # Each question is about what its own connection has just written.
    assert [command[0] for command in redis.received] == [b"PUBLISH", b"WAIT"] * 2


async def test_a_question_takes_no_longer_than_the_most_patient_asks_for(
    redis: FakeRedis, confirmations: Confirmations
) -> None:
    answers = [ask(confirmations, seconds=seconds) for seconds in (1.0, 7.0)]
    await eventually(lambda: len(questions(redis)) == 1)

    [(_, replicas, timeout_ms)] = questions(redis)
    assert replicas == b"1"
    assert 1000 < int(timeout_ms) <= 7000

    redis.send(TOO_FEW)
    assert await asyncio.gather(*answers) == [False, False]


async def test_who_has_no_time_left_waits_for_nobody(
    redis: FakeRedis, confirmations: Confirmations
) -> None:
    patient = ask(confirmations)
    await eventually(lambda: len(questions(redis)) == 1)

    assert await ask(confirmations, seconds=0) is False
    assert not patient.done()
    redis.send(ENOUGH)
    assert await patient is True
    # Nobody is left to ask for.
    assert len(questions(redis)) == 1


async def test_of_another_history_nothing_is_confirmed(
    redis: FakeRedis, confirmations: Confirmations
) -> None:
    redis.run_id = "second"

    assert await ask(confirmations, history="second") is False
    assert questions(redis) == []

    # Its own connection was the one out of date.
    await eventually(lambda: confirmations.lane.history == "second")
    later = ask(confirmations, history="second")
    await eventually(lambda: len(questions(redis)) == 1)
    redis.send(ENOUGH)
    assert await later is True


async def test_a_connection_that_goes_confirms_nothing(
    redis: FakeRedis, confirmations: Confirmations
) -> None:
    lost = ask(confirmations)
    await eventually(lambda: len(questions(redis)) == 1)
    waiting = ask(confirmations)

    redis.drop()

    assert await lost is False
    await eventually(lambda: len(questions(redis)) == 2)
    redis.send(ENOUGH)
    assert await waiting is True


@pytest.mark.parametrize(
    ("version", "aof", "why"),
    [
        ("6.2.14", 1, "older than 7.2"),
        ("7.0.15", 1, "older than 7.2"),
        ("7.2.4", 0, "append-only file"),
        ("7.2.4", 1, ""),
        ("10.0.1", 1, ""),
    ],
)
def test_which_servers_can_tell_what_is_on_disk(version: str, aof: int, why: str) -> None:
    server = f"# Server\r\nredis_version:{version}\r\n".encode()
    persistence = f"# Persistence\r\nloading:0\r\naof_enabled:{aof}\r\n".encode()

    found = why_no_disk(server, persistence)

    assert why in found
    assert bool(found) == bool(why)
