"""A bidirectional stream without gRPC: the test is the other side."""

import asyncio
from typing import Generic, TypeVar

from korvet.runtime.stream_connection import StreamLost

_Frame = TypeVar("_Frame")


class FakeDuplex(Generic[_Frame]):
    """Keeps what was written, and gives answers as a test sends them (`Duplex`)."""

    def __init__(self) -> None:
        self.frames: list[_Frame] = []
        # Writes are taken only while this is set.
        self.may_write = asyncio.Event()
        self.may_write.set()
        self.is_cancelled = False
        self._answers: asyncio.Queue[object] = asyncio.Queue(100)

    async def write(self, request: _Frame) -> None:
        self.frames.append(request)
        await self.may_write.wait()

    async def read(self) -> object:
        answer = await self._answers.get()
        if isinstance(answer, BaseException):
            raise answer
        return answer

    def cancel(self) -> bool:
        self.is_cancelled = True
        self._answers.put_nowait(StreamLost("it was cancelled"))
        return True

    def answer(self, frame: object) -> None:
        self._answers.put_nowait(frame)

    def end(self) -> None:
        self._answers.put_nowait(None)

    def fail(self, error: Exception) -> None:
        self._answers.put_nowait(error)
