"""Answers on their way into a stream."""

import asyncio

from korvet.runtime.outbox import Outbox

MEGABYTE = 1 << 20


class Frames:
    """Takes frames, one at a time where `gate` is closed."""

    def __init__(self) -> None:
        self.written: list[list[str]] = []
        self.gate = asyncio.Event()
        self.gate.set()

    async def write(self, frame: list[str]) -> None:
        await self.gate.wait()
        self.written.append(frame)


async def test_whatever_is_ready_goes_into_the_next_frame() -> None:
    outbox, frames = Outbox[str](100, MEGABYTE), Frames()
    for name in ("a", "b", "c"):
        outbox.opened()
        outbox.put(name, 10)
    outbox.close()

    await outbox.write_all(frames.write)

    assert frames.written == [["a", "b", "c"]]


async def test_what_becomes_ready_during_a_write_goes_into_the_one_after() -> None:
    outbox, frames = Outbox[str](100, MEGABYTE), Frames()
    frames.gate.clear()
    for _ in range(3):
        outbox.opened()
    writing = asyncio.create_task(outbox.write_all(frames.write))
    outbox.put("a", 10)
    await asyncio.sleep(0)

    outbox.put("b", 10)
    outbox.put("c", 10)
    outbox.close()
    frames.gate.set()
    await writing

    assert frames.written == [["a"], ["b", "c"]]


async def test_frames_are_not_too_large_but_hold_one_answer_at_least() -> None:
    outbox, frames = Outbox[str](100, 100 * MEGABYTE), Frames()
    for name, size in (("a", 3), ("b", 2), ("c", 9), ("d", 1), ("e", 3)):
        outbox.opened()
        outbox.put(name, size * MEGABYTE)
    outbox.close()

    await outbox.write_all(frames.write)

    assert frames.written == [["a"], ["b"], ["c"], ["d", "e"]]


async def test_there_is_room_for_so_many_open_answers() -> None:
    outbox, frames = Outbox[str](2, MEGABYTE), Frames()
    writing = asyncio.create_task(outbox.write_all(frames.write))
    for _ in range(2):
        await asyncio.wait_for(outbox.room(), 1)
        outbox.opened()
    waiting = [asyncio.create_task(outbox.room()) for _ in range(3)]
    await asyncio.sleep(0)
    assert not any(task.done() for task in waiting)

    outbox.put("a", 10)

    await asyncio.wait_for(asyncio.gather(*waiting), 1)
    outbox.dropped()
    outbox.close()
    await asyncio.wait_for(writing, 1)


async def test_there_is_room_for_so_many_bytes_that_nobody_takes() -> None:
    outbox, frames = Outbox[str](100, MEGABYTE), Frames()
    frames.gate.clear()
    writing = asyncio.create_task(outbox.write_all(frames.write))
    outbox.opened()
    outbox.put("a", MEGABYTE)
    waiting = asyncio.create_task(outbox.room())
    await asyncio.sleep(0.01)
    assert not waiting.done()

    frames.gate.set()

    await asyncio.wait_for(waiting, 1)
    outbox.close()
    await asyncio.wait_for(writing, 1)


async def test_who_waits_for_bytes_does_not_wait_for_a_place() -> None:
    outbox, frames = Outbox[str](1, MEGABYTE), Frames()
    frames.gate.clear()
    writing = asyncio.create_task(outbox.write_all(frames.write))
    places = []
    for _ in range(2):
        places.append(outbox.has_place)
        outbox.opened()
    assert places == [True, False]
    await asyncio.wait_for(outbox.byte_room(), 1)

    outbox.put("a", MEGABYTE)
    waiting = asyncio.create_task(outbox.byte_room())
    await asyncio.sleep(0.01)
    assert not waiting.done()
    frames.gate.set()

    await asyncio.wait_for(waiting, 1)
    outbox.dropped()
    assert outbox.has_place
    outbox.close()
    await asyncio.wait_for(writing, 1)


async def test_it_ends_with_the_last_open_answer() -> None:
    outbox, frames = Outbox[str](100, MEGABYTE), Frames()
    for _ in range(3):
        outbox.opened()
    writing = asyncio.create_task(outbox.write_all(frames.write))
    outbox.close()
    outbox.put("a", 1)
    outbox.dropped()
    await asyncio.sleep(0.01)
    assert not writing.done()

    outbox.put("b", 1)

    await asyncio.wait_for(writing, 1)
    assert frames.written == [["a"], ["b"]]


async def test_without_answers_it_ends_at_once() -> None:
    outbox, frames = Outbox[str](100, MEGABYTE), Frames()
    writing = asyncio.create_task(outbox.write_all(frames.write))
    await asyncio.sleep(0)

    outbox.close()

    await asyncio.wait_for(writing, 1)
    assert frames.written == []


async def test_a_caller_that_has_just_gone_ends_the_writing() -> None:
    class ExecuteBatchError(Exception):
        """As gRPC names it."""

    async def write(_: list[str]) -> None:
        raise ExecuteBatchError

    outbox: Outbox[str] = Outbox(8, 100)
    outbox.opened()
    outbox.put("answer", 6)

    async with asyncio.timeout(5):
        await outbox.write_all(write)
