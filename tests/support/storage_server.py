"""A StorageService that does what a test tells it, on a unix socket, over real gRPC."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any, TypeAlias, cast

import grpc
from google.protobuf.message import Message
from google.protobuf.message_factory import GetMessageClass

from korvet.proto.storage.v1 import storage_service_pb2 as pb
from korvet.proto.storage.v1 import storage_service_pb2_grpc as pb_grpc
from korvet.runtime.grpc_server import GrpcServer

_Context: TypeAlias = "grpc.aio.ServicerContext[Any, Any]"
_SERVICE = pb.DESCRIPTOR.services_by_name["StorageService"]


class StorageServer:
    """Answers appends and reads unless told to hold them, and other calls with nothing.

    With `fails_with` the other calls are refused with that status.
    """

    def __init__(self, folder: Path, name: str) -> None:
        self.name = name
        self.address = f"unix:{folder / name}.sock"
        self.appended: list[pb.AppendRequest] = []
        self.read: list[pb.ReadRequest] = []
        self.cancelled: list[int] = []
        self.unary: list[str] = []
        self.holds = False
        self.fails_with: grpc.StatusCode | None = None
        self.ends_streams_with: grpc.StatusCode | None = None
        self.updates: asyncio.Queue[pb.ClusterUpdate] = asyncio.Queue(10)
        self._server: GrpcServer | None = None

    async def start(self) -> None:
        self._server = GrpcServer(
            addresses=[self.address], service_names=[_SERVICE.full_name]
        )
        # The other methods are added below, out of a type checker's sight.
        servicer = cast(pb_grpc.StorageServiceServicer, self)
        pb_grpc.add_StorageServiceServicer_to_server(servicer, self._server.grpc)
        await self._server.start()

    async def kill(self) -> None:
        assert self._server is not None
        await self._server.grpc.stop(None)

    async def AppendStream(
        self, request_iterator: AsyncIterator[pb.AppendFrame], context: _Context
    ) -> AsyncIterator[pb.AppendedFrame]:
        async for frame in request_iterator:
            if self.ends_streams_with is grpc.StatusCode.OK:
                return
            if self.ends_streams_with is not None:
                await context.abort(self.ends_streams_with, "as the test wants it")
            answer = pb.AppendedFrame()
            for call in frame.calls:
                self.appended.append(call.request)
                answer.calls.add(call=call.call).response.partitions.extend(
                    pb.PartitionAppended(base_offset=partition.partition)
                    for partition in call.request.partitions
                )
            if not self.holds:
                yield answer

    async def ReadStream(
        self, request_iterator: AsyncIterator[pb.ReadFrame], context: object
    ) -> AsyncIterator[pb.ReadResultFrame]:
        async for frame in request_iterator:
            self.cancelled += frame.cancelled
            answer = pb.ReadResultFrame()
            for call in frame.calls:
                self.read.append(call.request)
                answer.calls.add(call=call.call).response.partitions.extend(
                    pb.PartitionData(batches=self.name.encode())
                    for _ in call.request.partitions
                )
            if not self.holds:
                yield answer

    async def WatchCluster(
        self, request: pb.WatchClusterRequest, context: object
    ) -> AsyncIterator[pb.ClusterUpdate]:
        while True:
            yield await self.updates.get()


def _unary(name: str, answer: type[Message]) -> Callable[..., Awaitable[Message]]:
    async def method(self: StorageServer, request: Message, context: _Context) -> Message:
        self.unary.append(name)
        if self.fails_with is not None:
            await context.abort(self.fails_with, "as the test wants it")
        return answer()

    return method


for _method in _SERVICE.methods:
    if not hasattr(StorageServer, _method.name):
        _answer = GetMessageClass(_method.output_type)
        setattr(StorageServer, _method.name, _unary(_method.name, _answer))
