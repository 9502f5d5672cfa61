"""Takes the frames of streams, until the server is told to stop.

A frame is taken whole or not at all, and what was taken is answered. So a stream that ends
in order has answered everything that it has carried out: the other side may be sure that
nothing else of what it sent was.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import TypeVar

Frame = TypeVar("Frame")


class Intake:
    """The streams of one kind."""

    def __init__(self) -> None:
        # Those that wait for a frame, which may be ended where they are.
        self._waiting: set[asyncio.Task[object]] = set()
        self._is_stopped = False

    def stop(self) -> None:
        """Take nothing more, from any stream."""
        self._is_stopped = True
        for task in self._waiting:
            task.cancel()

    async def take_all(
        self, frames: AsyncIterator[Frame], take: Callable[[Frame], Awaitable[None]]
    ) -> None:
        """Take one frame after the other, in a task of its own, which `stop` cancels."""
        task = asyncio.current_task()
        assert task is not None
        while not self._is_stopped:
            self._waiting.add(task)
            try:
                frame = await anext(frames, None)
            finally:
                self._waiting.discard(task)
            if frame is None:
                return
            await take(frame)
