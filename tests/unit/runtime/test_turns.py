import asyncio
import time
from collections.abc import Iterator

from korvet.runtime.turns import in_turns


def slow_items() -> Iterator[int]:
    for number in range(3):
        until = time.perf_counter() + 0.005
        while time.perf_counter() < until:
            pass
        yield number


async def test_others_have_turns_between_items_that_take_long() -> None:
    turns = 0

    async def take_turns() -> None:
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0)

    other = asyncio.create_task(take_turns())
    assert [number async for number in in_turns(slow_items())] == [0, 1, 2]
    other.cancel()

    assert turns >= 2


async def test_what_is_quick_is_not_interrupted() -> None:
    other = asyncio.create_task(asyncio.sleep(0))

    assert [number async for number in in_turns(range(3))] == [0, 1, 2]

    assert not other.done()
