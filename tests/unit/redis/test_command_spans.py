"""What traces tell of commands to Redis: names and keys, and nothing that is kept there."""

import asyncio
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import hiredis
import pytest
from opentelemetry.sdk.trace import ReadableSpan
from opentelemetry.trace import StatusCode

from korvet.redis.command_spans import CommandSpans, end_command, name_script
from korvet.runtime import tracing
from korvet.runtime.tracing import Work
from tests.support.recorded_spans import RecordedSpans

SECRET = b"a secret"


@pytest.fixture
def recorded() -> Iterator[RecordedSpans]:
    spans = RecordedSpans()
    with spans.recording():
        yield spans


@pytest.fixture
def asking(recorded: RecordedSpans) -> Work:
    work = tracing.begin("request")
    assert work is not None
    return work


def record(
    recorded: RecordedSpans,
    asking: Work,
    *arguments: bytes | str | int,
    options: Mapping[str, Any] | None = None,
    error: BaseException | None = None,
) -> ReadableSpan:
    work = CommandSpans(options or {}).begin(asking, arguments)
    assert work is not None
    end_command(work, error)
    (span,) = recorded.all
    assert SECRET.decode() not in span.to_json()
    return span


@pytest.mark.parametrize(
    ("arguments", "name", "keys"),
    [
        (("XADD", "stream", "*", "k", SECRET), "XADD", ["stream"]),
        (("HSET", b"hash", "f", SECRET), "HSET", ["hash"]),
        (("XINFO", "STREAM", "stream"), "XINFO", ["stream"]),
        (("GET", "key"), "GET", ["key"]),
        (("PUBLISH", "channel", SECRET), "PUBLISH", []),
        (("AUTH", SECRET), "AUTH", []),
        (("SOMETHING", SECRET), "SOMETHING", []),
        (("EVALSHA", b"a1b2", 2, "one", "two", SECRET), "EVALSHA appends", ["one", "two"]),
        (("EVALSHA", "a1b2", 0, SECRET), "EVALSHA appends", []),
        (("EVALSHA", "unnamed", "1", "one", SECRET), "EVALSHA unnamed", ["one"]),
        (("GET",), "GET", []),
    ],
)
def test_a_command_tells_its_name_and_its_keys(
    recorded: RecordedSpans,
    asking: Work,
    arguments: Sequence[bytes | str | int],
    name: str,
    keys: list[str],
) -> None:
    name_script("a1b2", "appends")

    span = record(recorded, asking, *arguments)

    assert span.name == name
    assert list((span.attributes or {})["korvet.redis.keys"]) == keys  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("options", "place"),
    [
        (
            {"host": "redis", "port": 6380, "db": 2, "password": SECRET.decode()},
            {"server.address": "redis", "server.port": 6380, "db.namespace": "2"},
        ),
        ({"path": "/run/redis"}, {"server.address": "/run/redis", "db.namespace": "0"}),
    ],
)
def test_a_command_tells_where_it_went(
    recorded: RecordedSpans,
    asking: Work,
    options: Mapping[str, Any],
    place: Mapping[str, Any],
) -> None:
    span = record(recorded, asking, "PING", options=options)

    told = span.attributes or {}
    assert place.items() <= told.items()
    assert told["db.system.name"] == "redis"


def test_an_error_tells_rediss_word_for_it_and_not_what_it_quotes(
    recorded: RecordedSpans, asking: Work
) -> None:
    refused = hiredis.ReplyError(f"WRONGTYPE against {SECRET.decode()}")

    span = record(recorded, asking, "GET", "key", error=refused)

    assert (span.attributes or {})["db.response.status_code"] == "WRONGTYPE"
    assert (span.attributes or {})["error.type"] == "WRONGTYPE"
    assert span.status.status_code is StatusCode.ERROR


def test_a_script_that_has_to_be_sent_first_is_no_failure(
    recorded: RecordedSpans, asking: Work
) -> None:
    missing = hiredis.ReplyError("NOSCRIPT No matching script.")

    span = record(recorded, asking, "EVALSHA", "a1b2", 0, error=missing)

    assert span.status.status_code is StatusCode.UNSET


@pytest.mark.parametrize("end", ["answered", "failed", "cancelled"])
async def test_a_command_is_followed_until_its_reply(
    recorded: RecordedSpans, asking: Work, end: str
) -> None:
    reply: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
    CommandSpans({}).follow(asking, ("GET", "key"), reply)
    assert recorded.all == []

    match end:
        case "answered":
            reply.set_result(b"value")
        case "failed":
            reply.set_exception(ConnectionError())
            reply.exception()
        case "cancelled":
            reply.cancel()
    await asyncio.sleep(0)

    (span,) = recorded.all
    told = (span.attributes or {}).get("error.type")
    assert (
        told
        == {"answered": None, "failed": "ConnectionError", "cancelled": "cancelled"}[end]
    )
