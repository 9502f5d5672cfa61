"""Streams of many calls, from the caller's side and without the network."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any, Generic, TypeVar, cast

from korvet.proto.storage.v1 import storage_service_pb2 as pb
from tests.support.eventually import eventually
from tests.support.log_replica import ref

Frame = TypeVar("Frame")
Answer = TypeVar("Answer")


class Stream(Generic[Frame, Answer]):
    """The caller's side of a stream, which is also the context that answers go to."""

    def __init__(self) -> None:
        self._frames: asyncio.Queue[Frame | None] = asyncio.Queue()
        self.answers: dict[int, Answer] = {}

    def send(self, frame: Frame | None) -> None:
        """Send a frame; None: that was the last."""
        self._frames.put_nowait(frame)

    @property
    def is_taken(self) -> bool:
        """Whether nothing that was sent waits to be taken."""
        return self._frames.empty()

    async def frames(self) -> AsyncIterator[Frame]:
        while (frame := await self._frames.get()) is not None:
            yield frame

    async def write(self, frame: Any) -> None:
        for call in frame.calls:
            assert call.call not in self.answers
            self.answers[call.call] = call.response

    async def answered(self, calls: int) -> None:
        await eventually(lambda: len(self.answers) >= calls)


AppendStream = Stream[pb.AppendFrame, pb.AppendResponse]
ReadStream = Stream[pb.ReadFrame, pb.ReadResponse]


class StalledStream(Stream[Any, Any]):
    """A caller who takes no answer until he is told to."""

    def __init__(self) -> None:
        super().__init__()
        self.is_stalled = asyncio.Event()
        self.go_on = asyncio.Event()

    async def write(self, frame: Any) -> None:
        self.is_stalled.set()
        await self.go_on.wait()
        await super().write(frame)


@asynccontextmanager
async def running(
    serve: Callable[[AsyncIterator[Any], Any], Awaitable[None]], stream: Stream[Any, Any]
) -> AsyncIterator[None]:
    """Serve a stream; on leaving, end it and wait until it is served to its end."""
    task = asyncio.ensure_future(serve(stream.frames(), cast(Any, stream)))
    yield
    stream.send(None)
    async with asyncio.timeout(10):
        await task


def append_call(number: int, *partitions: pb.PartitionAppend) -> pb.AppendCall:
    return pb.AppendCall(call=number, request=pb.AppendRequest(partitions=partitions))


def read_call(
    number: int, offset: int = 0, max_wait_ms: int = 20_000, partition: int = 0
) -> pb.ReadCall:
    read = pb.PartitionRead(topic=ref("orders"), partition=partition, offset=offset)
    return pb.ReadCall(
        call=number,
        request=pb.ReadRequest(partitions=[read], max_wait_ms=max_wait_ms, min_bytes=1),
    )
