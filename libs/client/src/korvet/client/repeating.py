"""Repeats what can be asked twice without harm, for as long as that may help."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Final, TypeVar

from korvet.client.errors import RETRIABLE, KorvetError, UnavailableError

Answer = TypeVar("Answer")

_FIRST_PAUSE: Final = 0.05
_LONGEST_PAUSE: Final = 1.0


async def until_answered(
    attempt: Callable[[], Awaitable[Answer]], retry_for: float
) -> Answer:
    """The first answer; after so many seconds, the failure."""
    loop = asyncio.get_running_loop()
    give_up_at = loop.time() + retry_for
    pause = _FIRST_PAUSE
    while True:
        try:
            return await attempt()
        except UnavailableError:
            if loop.time() + pause > give_up_at:
                raise
        except KorvetError as error:
            if error.code not in RETRIABLE or loop.time() + pause > give_up_at:
                raise
        await asyncio.sleep(pause)
        pause = min(pause * 2, _LONGEST_PAUSE)
