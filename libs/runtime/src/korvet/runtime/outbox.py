"""Answers on their way into a stream: whatever is ready goes into the next frame."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Final, Generic, TypeVar

from korvet.runtime.stream_connection import StreamLost

Answer = TypeVar("Answer")

_FRAME_BYTES: Final = 4 << 20
# What gRPC raises, from a module of its own, where the connection has just gone.
_CALLER_GONE: Final = "ExecuteBatchError"


class Outbox(Generic[Answer]):
    """Bounded by those who put: they await `room` before they take on more work."""

    def __init__(self, max_open: int, max_bytes: int) -> None:
        self._max_open = max_open
        self._max_bytes = max_bytes
        self._open = 0
        self._bytes = 0
        self._ready: list[tuple[int, Answer]] = []
        self._changed = asyncio.Event()
        self._room = asyncio.Event()
        self._byte_room = asyncio.Event()
        self._update_room()
        self._closing = False

    async def room(self) -> None:
        """Wait until little enough is under way."""
        while not self._room.is_set():
            await self._room.wait()

    async def byte_room(self) -> None:
        """Wait until little enough is ready and not taken, however many are open."""
        while not self._byte_room.is_set():
            await self._byte_room.wait()

    @property
    def has_place(self) -> bool:
        """Whether fewer answers are open than may be."""
        return self._open < self._max_open

    def opened(self) -> None:
        """One more answer will come."""
        self._open += 1
        self._update_room()

    def dropped(self) -> None:
        """One of those will not come after all."""
        self._open -= 1
        self._update_room()
        self._changed.set()

    def put(self, answer: Answer, size: int) -> None:
        self._ready.append((size, answer))
        self._bytes += size
        self._update_room()
        self._changed.set()

    def close(self) -> None:
        """No more answers are opened; `write_all` ends with the last open one."""
        self._closing = True
        self._changed.set()

    def _update_room(self) -> None:
        has_bytes = self._bytes < self._max_bytes
        _set(self._byte_room, has_bytes)
        _set(self._room, has_bytes and self.has_place)

    async def write_all(self, write: Callable[[list[Answer]], Awaitable[None]]) -> None:
        """Write frames of answers, until closed and empty."""
        while self._open or not self._closing:
            if not self._ready:
                self._changed.clear()
                await self._changed.wait()
                continue
            frame, size = self._take_frame()
            try:
                await write(frame)
            except StreamLost:
                return
            except Exception as error:
                if type(error).__name__ != _CALLER_GONE:
                    raise
                # The stream is about to be cancelled: nobody is there to be answered.
                return
            self._open -= len(frame)
            self._bytes -= size
            self._update_room()

    def _take_frame(self) -> tuple[list[Answer], int]:
        size = count = 0
        for answer_size, _ in self._ready:
            if count and size + answer_size > _FRAME_BYTES:
                break
            size += answer_size
            count += 1
        taken, self._ready = self._ready[:count], self._ready[count:]
        return [answer for _, answer in taken], size


def _set(event: asyncio.Event, is_true: bool) -> None:
    if is_true:
        event.set()
    else:
        event.clear()
