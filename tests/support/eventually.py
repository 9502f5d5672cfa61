"""Waits for what other processes do, which no event here can tell."""

import asyncio
import time
from collections.abc import Awaitable, Callable


async def eventually(
    is_true: Callable[[], bool | Awaitable[bool]], within: float = 10.0
) -> None:
    """Return once it is true; TimeoutError if it is not in time."""
    async with asyncio.timeout(within):
        while True:
            answer = is_true()
            if answer if isinstance(answer, bool) else await answer:
                return
            await asyncio.sleep(0.02)


def eventually_true(is_true: Callable[[], bool], within: float = 10.0) -> None:
    """The same for tests that block."""
    deadline = time.monotonic() + within
    while not is_true():
        if time.monotonic() > deadline:
            raise TimeoutError
        time.sleep(0.02)


async def steady(count: Callable[[], Awaitable[int]], for_: float = 0.3) -> int:
    """A number that others may still be changing, once it stays the same for a while."""
    loop = asyncio.get_running_loop()
    last, since = await count(), loop.time()
    while loop.time() - since < for_:
        await asyncio.sleep(0.02)
        now = await count()
        if now != last:
            last, since = now, loop.time()
    return last
