import asyncio
import contextlib
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from contextlib import asynccontextmanager
from typing import TypeAlias

import pytest

from korvet.gateway.call_stream import MAX_FRAME_BYTES, Call, CallStream, Lost
from korvet.runtime.stream_connection import StreamLost
from tests.support.fake_duplex import FakeDuplex
from tests.support.kafka_client import settle

# A frame of calls: (number, payload) each, and the numbers of those cancelled.
Frame: TypeAlias = tuple[list[tuple[int, str]], list[int]]
Answers: TypeAlias = Sequence[tuple[int, str]]
Stream: TypeAlias = CallStream[str, str, Frame, Answers]


def build(calls: Sequence[Call[str, str]], cancelled: Sequence[int]) -> Frame:
    return [(call.number, call.payload) for call in calls], list(cancelled)


def unpack(answers: Answers) -> Iterable[tuple[int, str]]:
    return answers


def new_stream(
    *,
    max_calls: int = 100,
    max_bytes: int = 1 << 30,
    build: Callable[[Sequence[Call[str, str]], Sequence[int]], Frame] = build,
) -> Stream:
    return CallStream(
        build=build,
        unpack=unpack,
        max_calls=max_calls,
        max_bytes=max_bytes,
        method=lambda _: "test.Service/Call",
        address="127.0.0.1:1",
    )


@asynccontextmanager
async def running(stream: Stream) -> AsyncIterator[FakeDuplex[Frame]]:
    duplex: FakeDuplex[Frame] = FakeDuplex()
    task = asyncio.create_task(stream.run(duplex))
    await settle()
    yield duplex
    duplex.end()
    with contextlib.suppress(StreamLost):
        await task


async def start(
    stream: Stream, payload: str, size: int = 1, *, seconds: float = 60.0
) -> Call[str, str]:
    deadline = asyncio.get_running_loop().time() + seconds
    return await stream.start(payload, size, deadline)


async def test_what_waits_goes_into_the_next_frame() -> None:
    stream = new_stream()
    async with running(stream) as duplex:
        duplex.may_write.clear()
        await start(stream, "a")
        await settle()
        await start(stream, "b")
        await start(stream, "c")
        duplex.may_write.set()
        await settle()

        assert duplex.frames == [([(1, "a")], []), ([(2, "b"), (3, "c")], [])]


async def test_results_are_matched_by_number_in_any_order() -> None:
    stream = new_stream()
    async with running(stream) as duplex:
        calls = [await start(stream, payload) for payload in "abc"]
        await settle()

        duplex.answer([(3, "C"), (1, "A")])
        duplex.answer([(2, "B")])

        assert [await call.result for call in calls] == ["A", "B", "C"]
        assert stream.open_calls == 0


async def test_a_frame_is_bounded_unless_one_call_is_larger() -> None:
    stream = new_stream()
    async with running(stream) as duplex:
        duplex.may_write.clear()
        await start(stream, "first")
        await settle()
        for size in (MAX_FRAME_BYTES // 2, MAX_FRAME_BYTES // 2, 1, 2 * MAX_FRAME_BYTES):
            await start(stream, str(size), size)
        duplex.may_write.set()
        await settle()

        assert [[number for number, _ in calls] for calls, _ in duplex.frames] == [
            [1],
            [2, 3],
            [4],
            [5],
        ]


async def test_callers_wait_in_line_when_there_are_too_many_calls() -> None:
    stream = new_stream(max_calls=2)
    async with running(stream) as duplex:
        await start(stream, "a")
        await start(stream, "b")
        waiting = [asyncio.create_task(start(stream, payload)) for payload in "cd"]
        await settle()
        assert not any(task.done() for task in waiting)

        duplex.answer([(2, "B")])
        await settle()
        assert [task.done() for task in waiting] == [True, False]
        duplex.answer([(1, "A")])
        await settle()

        assert [payload for calls, _ in duplex.frames for _, payload in calls] == list(
            "abcd"
        )


async def test_callers_wait_in_line_when_there_are_too_many_bytes() -> None:
    stream = new_stream(max_bytes=100)
    async with running(stream) as duplex:
        await start(stream, "a", 60)
        large = asyncio.create_task(start(stream, "large", 500))
        # Small enough to fit, but it came later.
        small = asyncio.create_task(start(stream, "small", 1))
        await settle()
        assert not large.done()
        assert not small.done()

        duplex.answer([(1, "A")])
        await settle()
        assert large.done()
        assert not small.done()
        duplex.answer([(2, "L")])
        await settle()

        assert small.done()


async def test_a_broken_stream_tells_what_was_sent_from_what_was_not() -> None:
    stream = new_stream(max_calls=2)
    async with running(stream) as duplex:
        duplex.may_write.clear()
        sent = await start(stream, "sent")
        await settle()
        queued = await start(stream, "queued")
        in_line = asyncio.create_task(start(stream, "in line"))
        await settle()

        duplex.cancel()
        await settle()

        assert await sent.result is Lost.UNKNOWN
        assert await queued.result is Lost.NOT_SENT
        assert await (await in_line).result is Lost.NOT_SENT
        assert not stream.is_live
        assert stream.open_calls == 0


async def test_a_stream_that_ends_in_order_has_not_taken_what_it_did_not_answer() -> None:
    stream = new_stream()
    async with running(stream) as duplex:
        sent = await start(stream, "sent")
        await settle()

        duplex.end()
        await settle()

        assert len(duplex.frames) == 1
        assert await sent.result is Lost.NOT_SENT
        assert stream.open_calls == 0


async def test_what_ended_a_stream_is_raised() -> None:
    stream = new_stream()
    duplex: FakeDuplex[Frame] = FakeDuplex()
    duplex.fail(ConnectionResetError("gone"))

    with pytest.raises(ConnectionResetError):
        await stream.run(duplex)

    assert duplex.is_cancelled


async def test_a_task_that_is_cancelled_does_not_go_on() -> None:
    stream = new_stream()
    task = asyncio.create_task(stream.run(FakeDuplex()))
    await settle()

    task.cancel()

    with pytest.raises(asyncio.CancelledError):
        await task


async def test_without_a_stream_nothing_is_sent() -> None:
    stream = new_stream()

    call = await start(stream, "a")

    assert await call.result is Lost.NOT_SENT


async def test_a_stream_is_used_again_and_numbers_go_on() -> None:
    stream = new_stream()
    async with running(stream):
        await start(stream, "a")
    async with running(stream) as second:
        call = await start(stream, "b")
        await settle()
        second.answer([(1, "late"), (2, "B")])

        assert second.frames == [([(2, "b")], [])]
        assert await call.result == "B"


async def test_a_call_whose_deadline_passes_is_lost_as_far_as_it_got() -> None:
    stream = new_stream(max_calls=2)
    async with running(stream) as duplex:
        duplex.may_write.clear()
        sent = await start(stream, "sent", seconds=0.01)
        await settle()
        queued = await start(stream, "queued", seconds=0.01)
        in_line = await start(stream, "in line", seconds=0.01)

        assert await sent.result is Lost.UNKNOWN
        assert await queued.result is Lost.NOT_SENT
        assert await in_line.result is Lost.NOT_SENT
        duplex.may_write.set()
        await settle()
        assert duplex.frames == [([(1, "sent")], [])]


async def test_an_answer_after_the_deadline_is_ignored() -> None:
    stream = new_stream()
    async with running(stream) as duplex:
        call = await start(stream, "a", seconds=0)
        assert await call.result is not None

        duplex.answer([(1, "late")])
        await settle()

        assert isinstance(await call.result, Lost)


async def test_a_cancelled_caller_is_told_to_the_other_side() -> None:
    stream = new_stream()
    async with running(stream) as duplex:
        caller = asyncio.create_task(stream.finish(await start(stream, "a")))
        await settle()

        caller.cancel()
        await settle()

        assert duplex.frames == [([(1, "a")], []), ([], [1])]
        assert stream.open_calls == 0


async def test_a_call_cancelled_before_it_was_sent_is_never_sent() -> None:
    stream = new_stream(max_calls=2)
    async with running(stream) as duplex:
        duplex.may_write.clear()
        await start(stream, "a")
        await settle()
        queued = asyncio.create_task(stream.finish(await start(stream, "b")))
        in_line = asyncio.create_task(start(stream, "c"))
        await settle()

        queued.cancel()
        in_line.cancel()
        duplex.may_write.set()
        await settle()

        assert duplex.frames == [([(1, "a")], [])]
        assert stream.open_calls == 1


async def test_a_frame_that_cannot_be_built_ends_the_stream_instead_of_hanging(
    caplog: pytest.LogCaptureFixture,
) -> None:
    def broken(calls: Sequence[Call[str, str]], cancelled: Sequence[int]) -> Frame:
        raise ZeroDivisionError

    stream = new_stream(build=broken)
    async with running(stream):
        call = await start(stream, "a")

        assert await call.result is Lost.UNKNOWN
    assert "ZeroDivisionError" in caplog.text
