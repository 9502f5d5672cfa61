"""Long work in the event loop, with turns in between for everybody else.

A request may name as much as a frame holds, and all connections share one loop.
"""

import asyncio
from collections.abc import AsyncIterator, Iterable
from typing import Final, TypeVar

Item = TypeVar("Item")

_TURN_SECONDS: Final = 0.002


async def in_turns(items: Iterable[Item]) -> AsyncIterator[Item]:
    """The items one by one, after a pause whenever those before took their time."""
    loop = asyncio.get_running_loop()
    until = loop.time() + _TURN_SECONDS
    for item in items:
        if loop.time() >= until:
            await asyncio.sleep(0)
            until = loop.time() + _TURN_SECONDS
        yield item
