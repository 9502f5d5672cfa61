"""A lane to Redis: order, what became of commands when it breaks, and back-pressure."""

import asyncio
import logging
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import hiredis
import pytest

from korvet.redis.lane import ConnectionLost, Lane, NotSent
from korvet.storage.scripts import ALL
from tests.support.eventually import eventually
from tests.support.fake_redis import NOSCRIPT, OK, FakeRedis, bulk, fake_redis


@pytest.fixture
async def redis(tmp_path: Path) -> AsyncIterator[FakeRedis]:
    async with fake_redis(tmp_path / "redis.sock") as fake:
        yield fake


@asynccontextmanager
async def running(lane: Lane) -> AsyncIterator[Lane]:
    task = asyncio.create_task(lane.run())
    try:
        await eventually(lambda: lane.connected)
        yield lane
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


@pytest.fixture
async def lane(redis: FakeRedis) -> AsyncIterator[Lane]:
    async with running(Lane(redis.url, "test", scripts=ALL)) as lane:
        yield lane


async def outcome(future: "asyncio.Future[Any]") -> object:
    return (await asyncio.gather(future, return_exceptions=True))[0]


def echo(command: Sequence[bytes]) -> bytes:
    return bulk(command[-1])


def silent(command: Sequence[bytes]) -> None:
    return None


async def test_replies_go_to_their_commands_in_order(redis: FakeRedis, lane: Lane) -> None:
    redis.answer = echo

    futures = [lane.send("ECHO", b"%d" % number) for number in range(100)]

    assert await asyncio.gather(*futures) == [b"%d" % number for number in range(100)]
    assert [command[1] for command in redis.received] == [b"%d" % n for n in range(100)]


async def test_an_error_reply_is_its_commands_alone(redis: FakeRedis, lane: Lane) -> None:
    redis.answer = lambda command: b"-ERR no\r\n" if command[0] == b"BAD" else OK

    bad, good = lane.send("BAD"), lane.send("GOOD")

    assert isinstance(await outcome(bad), hiredis.ReplyError)
    assert await good == b"OK"


async def test_before_it_is_connected_nothing_is_sent(redis: FakeRedis) -> None:
    lane = Lane(redis.url, "test", scripts=ALL)

    assert isinstance(await outcome(lane.send("PING")), NotSent)
    assert not lane.connected


async def test_of_what_was_written_the_outcome_is_unknown(
    redis: FakeRedis, lane: Lane
) -> None:
    redis.answer = silent
    written = [lane.send("SET", "a", number) for number in range(3)]
    await eventually(lambda: len(redis.received) == 3)

    redis.drop()

    assert all([isinstance(await outcome(f), ConnectionLost) for f in written])


async def test_what_was_never_written_is_not_sent(redis: FakeRedis, lane: Lane) -> None:
    redis.answer = lambda command: NOSCRIPT if command[0] == b"EVALSHA" else None
    script = lane.send("EVALSHA", "x", 0)
    slow = lane.send("SET", "a", 1)
    await eventually(lambda: len(redis.received) == 2)
    # Until the slow one is answered, the scripts cannot be loaded, and nothing goes on.
    await asyncio.sleep(0.01)
    held_back = lane.send("SET", "a", 2)

    redis.drop()

    assert isinstance(await outcome(script), NotSent)
    assert isinstance(await outcome(slow), ConnectionLost)
    assert isinstance(await outcome(held_back), NotSent)
    assert len(redis.received) == 2


async def test_it_connects_again_and_tells_another_run_of_redis(
    redis: FakeRedis,
) -> None:
    connections: list[None] = []
    own = Lane(redis.url, "test", scripts=ALL, on_connect=lambda: connections.append(None))
    async with running(own):
        first = own.history
        redis.run_id = "second"

        redis.drop()

        await eventually(lambda: own.history == "second")
        assert await own.send("PING") == b"OK"
    assert first == "first"
    assert len(connections) == 2
    assert not own.connected


async def test_scripts_that_redis_has_lost_go_again_in_their_order(
    redis: FakeRedis, lane: Lane
) -> None:
    def answer(command: Sequence[bytes]) -> bytes:
        # Lost in the middle of what is under way, and until they are loaded again.
        if command[0] == b"EVALSHA" and redis.loads == loads and command[-1] >= b"3":
            return NOSCRIPT
        ran.append(command[-1])
        return echo(command)

    ran: list[bytes] = []
    loads = redis.loads
    redis.answer = answer

    futures = [lane.send("EVALSHA", "x", 0, b"%d" % number) for number in range(6)]
    await eventually(lambda: bool(redis.received))
    futures += [lane.send("EVALSHA", "x", 0, b"%d" % number) for number in range(6, 9)]

    assert await asyncio.gather(*futures) == [b"%d" % number for number in range(9)]
    assert ran == [b"%d" % number for number in range(9)]
    assert redis.loads == loads + len(ALL)


async def test_nothing_new_overtakes_scripts_that_go_again(
    redis: FakeRedis, lane: Lane
) -> None:
    redis.answer = silent
    lane.send("EVALSHA", "x", 0, "first")
    lane.send("SET", "slow", 1)
    await eventually(lambda: len(redis.received) == 2)

    redis.send(NOSCRIPT)
    await asyncio.sleep(0.01)
    lane.send("SET", "new", 1)
    await asyncio.sleep(0.01)
    before_the_slow_one = [command[1] for command in redis.received]
    redis.answer = echo
    redis.send(OK)

    await eventually(lambda: len(redis.received) == 4)
    assert before_the_slow_one == [b"x", b"slow"]
    assert [command[-1] for command in redis.received[2:]] == [b"first", b"1"]


async def test_a_silent_redis_is_given_up(redis: FakeRedis) -> None:
    async with running(Lane(redis.url, "test", scripts=ALL, timeout=0.2)) as lane:
        redis.answer = silent
        unanswered = lane.send("GET", "a")

        assert isinstance(await outcome(unanswered), ConnectionLost)
        await eventually(lambda: redis.connections >= 2)


async def test_a_connection_that_died_in_silence_is_noticed_while_idle(
    redis: FakeRedis,
) -> None:
    async with running(Lane(redis.url, "test", scripts=ALL, timeout=0.2)) as lane:
        redis.answer = silent

        await eventually(lambda: redis.connections >= 2)

        redis.answer = lambda command: OK
        await eventually(lambda: lane.connected)


async def test_a_server_that_became_a_replica_is_left(redis: FakeRedis, lane: Lane) -> None:
    redis.answer = lambda command: b"-READONLY You can't write against a replica.\r\n"

    refused = lane.send("SET", "a", 1)

    assert isinstance(await outcome(refused), hiredis.ReplyError)
    await eventually(lambda: redis.connections == 2 and lane.connected)


async def test_a_replica_is_not_connected_to(redis: FakeRedis) -> None:
    redis.role = "slave"
    lane = Lane(redis.url, "test", scripts=ALL)
    task = asyncio.create_task(lane.run())
    await eventually(lambda: redis.connections >= 2)
    assert not lane.connected

    redis.role = "master"

    await eventually(lambda: lane.connected)
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)


async def test_what_is_no_reply_ends_the_connection(redis: FakeRedis, lane: Lane) -> None:
    redis.answer = lambda command: b"HTTP/1.1 400 Bad Request\r\n\r\n"

    assert isinstance(await outcome(lane.send("GET", "a")), ConnectionLost)


async def test_there_is_room_until_too_much_is_under_way(redis: FakeRedis) -> None:
    async with running(
        Lane(redis.url, "test", scripts=ALL, max_pending_bytes=1000)
    ) as lane:
        redis.answer = silent
        first = lane.send("SET", "a", b"v" * 900)
        async with asyncio.timeout(1):
            await lane.room()
        second = lane.send("SET", "b", b"v" * 900)
        waiting = [asyncio.create_task(lane.room()) for _ in range(2)]
        await eventually(lambda: len(redis.received) == 2)
        assert not any(task.done() for task in waiting)

        redis.send(OK)

        await asyncio.gather(first, *waiting)
        redis.send(OK)
        await second


async def test_a_lost_connection_makes_room(redis: FakeRedis) -> None:
    async with running(Lane(redis.url, "test", scripts=ALL, max_pending_bytes=10)) as lane:
        redis.answer = silent
        lane.send("SET", "a", b"v" * 900)
        waiting = asyncio.create_task(lane.room())
        await eventually(lambda: len(redis.received) == 1)
        assert not waiting.done()

        redis.drop()

        await waiting


async def test_who_waits_no_longer_disturbs_nobody(redis: FakeRedis, lane: Lane) -> None:
    redis.answer = silent
    impatient, patient = lane.send("GET", "a"), lane.send("GET", "b")
    await eventually(lambda: len(redis.received) == 2)

    impatient.cancel()
    redis.send(bulk(b"1") + bulk(b"2"))

    assert await patient == b"2"


async def test_failures_that_nobody_asks_for_are_not_logged(
    redis: FakeRedis, lane: Lane, caplog: pytest.LogCaptureFixture
) -> None:
    redis.answer = silent
    lane.send("GET", "a")
    await eventually(lambda: len(redis.received) == 1)

    redis.drop()
    await eventually(lambda: redis.connections == 2)

    errors = [record for record in caplog.records if record.levelno >= logging.ERROR]
    assert errors == []


async def test_messages_are_no_replies(redis: FakeRedis) -> None:
    heard: list[tuple[bytes, bytes]] = []
    lane = Lane(
        redis.url,
        "test",
        scripts=ALL,
        on_message=lambda name, data: heard.append((name, data)),
    )
    message = b"*3\r\n$7\r\nmessage\r\n$1\r\nc\r\n$2\r\n42\r\n"
    redis.answer = lambda command: message + echo(command) + message
    async with running(lane):
        assert await lane.send("SUBSCRIBE", "c") == b"c"
        await eventually(lambda: len(heard) == 2)

    assert heard == [(b"c", b"42")] * 2


async def test_it_logs_in_and_selects_its_database(tmp_path: Path) -> None:
    async with fake_redis(tmp_path / "redis.sock") as redis:
        path = str(tmp_path / "redis.sock")
        async with running(Lane(f"unix://user:secret@{path}?db=3", "test", scripts=ALL)):
            assert redis.received == [[b"AUTH", b"user", b"secret"], [b"SELECT", b"3"]]


async def test_a_refused_login_is_tried_again_and_reported_without_the_password(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async with fake_redis(tmp_path / "redis.sock") as redis:
        redis.answer = lambda command: b"-WRONGPASS invalid\r\n"
        lane = Lane(f"unix://user:secret@{tmp_path / 'redis.sock'}", "test", scripts=ALL)
        task = asyncio.create_task(lane.run())
        await eventually(lambda: redis.connections >= 2)
        assert not lane.connected

        redis.answer = lambda command: OK
        await eventually(lambda: lane.connected)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
    assert "WRONGPASS" in caplog.text
    assert "secret" not in caplog.text
