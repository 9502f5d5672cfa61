"""A StorageService whose work queue says what a test tells it, for tests of clients."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any, TypeAlias

import grpc

from korvet.proto.storage.v1 import storage_service_pb2 as pb
from tests.support.scripted_storage import ScriptedStorage

_Context: TypeAlias = "grpc.aio.ServicerContext[Any, Any]"

PATIENCE = 10.0


class QueueStream:
    """One stream of a consumer: what it has sent, and what it is sent."""

    def __init__(self, start: pb.ConsumeRequest.Start) -> None:
        self.start = start
        self.requests: asyncio.Queue[pb.ConsumeRequest] = asyncio.Queue()
        self.ended = asyncio.Event()
        self.answers: asyncio.Queue[pb.ConsumeResponse | None] = asyncio.Queue()

    def deliver(self, *offsets: int, count: int = 1) -> None:
        response = pb.ConsumeResponse()
        for offset in offsets:
            record = pb.Record(offset=offset, value=b"%d" % offset)
            response.deliveries.add(record=record, delivery_count=count)
        self.answers.put_nowait(response)

    def settle(self, *offsets: int) -> None:
        response = pb.ConsumeResponse()
        for offset in offsets:
            response.settled.add(offset=offset)
        self.answers.put_nowait(response)

    def refuse(self, code: int) -> None:
        self.answers.put_nowait(pb.ConsumeResponse(error_code=code))

    def break_off(self) -> None:
        self.answers.put_nowait(None)

    async def request(self) -> tuple[list[int], list[int]]:
        """What the consumer says next: the offsets acknowledged and released."""
        async with asyncio.timeout(PATIENCE):
            said = await self.requests.get()
        return [each.offset for each in said.acknowledged], [
            each.offset for each in said.released
        ]


class ScriptedQueue(ScriptedStorage):
    def __init__(self) -> None:
        super().__init__()
        self._streams: asyncio.Queue[QueueStream] = asyncio.Queue()

    async def stream(self) -> QueueStream:
        """The next stream that a consumer opens."""
        async with asyncio.timeout(PATIENCE):
            return await self._streams.get()

    async def Consume(  # type: ignore[override]
        self, request_iterator: AsyncIterator[pb.ConsumeRequest], context: _Context
    ) -> None:
        first = await anext(request_iterator)
        stream = QueueStream(first.start)
        self._streams.put_nowait(stream)

        async def listen() -> None:
            async for request in request_iterator:
                stream.requests.put_nowait(request)
            stream.ended.set()

        listening = asyncio.create_task(listen())
        ended = asyncio.create_task(stream.ended.wait())
        try:
            while True:
                answer = asyncio.create_task(stream.answers.get())
                await asyncio.wait({answer, ended}, return_when=asyncio.FIRST_COMPLETED)
                if not answer.done():
                    answer.cancel()
                    return
                if (response := answer.result()) is None:
                    await context.abort(grpc.StatusCode.UNAVAILABLE, "broken off")
                await context.write(response)
        finally:
            listening.cancel()
            ended.cancel()
            await asyncio.gather(listening, ended, return_exceptions=True)
