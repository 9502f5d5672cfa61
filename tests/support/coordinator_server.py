"""A CoordinatorService that does what a test tells it, on a unix socket, over real gRPC."""

from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any, TypeAlias, cast

import grpc
from google.protobuf.message import Message
from google.protobuf.message_factory import GetMessageClass

from korvet.kafka.errors import ErrorCode
from korvet.proto.coordinator.v1 import coordinator_service_pb2 as pb
from korvet.proto.coordinator.v1 import coordinator_service_pb2_grpc as pb_grpc
from korvet.runtime.grpc_server import GrpcServer

_Context: TypeAlias = "grpc.aio.ServicerContext[Any, Any]"
_SERVICE = pb.DESCRIPTOR.services_by_name["CoordinatorService"]


class CoordinatorServer:
    """Answers as the owner of every group, with nothing, unless told otherwise."""

    def __init__(self, folder: Path, name: str) -> None:
        self.address = f"unix:{folder / name}.sock"
        # The kinds of call that came over streams, and the others, in order.
        self.calls: list[str] = []
        self.unary: list[str] = []
        self.cancelled: list[int] = []
        # Calls on streams are not answered.
        self.holds = False
        # They are answered without a response.
        self.cannot_answer = False
        # Whom to name as the owner of all groups; empty: nobody.
        self.owner: str | None = None
        self.fails_with: grpc.StatusCode | None = None
        self.ends_streams_with: grpc.StatusCode | None = None
        self.readers: list[pb.FindReadersResponse.Reader] = []
        self._server: GrpcServer | None = None

    async def start(self) -> None:
        self._server = GrpcServer(
            addresses=[self.address], service_names=[_SERVICE.full_name]
        )
        # The other methods are added below, out of a type checker's sight.
        servicer = cast(pb_grpc.CoordinatorServiceServicer, self)
        pb_grpc.add_CoordinatorServiceServicer_to_server(servicer, self._server.grpc)
        await self._server.start()

    async def kill(self) -> None:
        assert self._server is not None
        await self._server.grpc.stop(None)

    def names(self, owner: "CoordinatorServer | None") -> None:
        """Own no group any more, and say who does."""
        self.owner = "" if owner is None else owner.address

    async def GroupStream(
        self, request_iterator: AsyncIterator[pb.GroupFrame], context: _Context
    ) -> AsyncIterator[pb.GroupResultFrame]:
        async for frame in request_iterator:
            self.cancelled += frame.cancelled
            if self.ends_streams_with is grpc.StatusCode.OK:
                return
            if self.ends_streams_with is not None:
                await context.abort(self.ends_streams_with, "as the test wants it")
            answer = pb.GroupResultFrame()
            for call in frame.calls:
                kind = call.WhichOneof("request")
                assert kind is not None
                self.calls.append(kind)
                result = answer.calls.add(call=call.call)
                if not self.cannot_answer:
                    self._say_owner(getattr(result, kind))
            if not self.holds:
                yield answer

    async def FindReaders(
        self, request: pb.FindReadersRequest, context: object
    ) -> pb.FindReadersResponse:
        return pb.FindReadersResponse(readers=self.readers)

    def _say_owner(self, response: Any) -> None:
        response.SetInParent()
        if self.owner is not None and hasattr(response, "coordinator_address"):
            response.error_code = ErrorCode.NOT_COORDINATOR
            response.coordinator_address = self.owner


def _unary(name: str, answer: type[Message]) -> Callable[..., Awaitable[Message]]:
    async def method(
        self: CoordinatorServer, request: Message, context: _Context
    ) -> Message:
        self.unary.append(name)
        if self.fails_with is not None:
            await context.abort(self.fails_with, "as the test wants it")
        response = answer()
        self._say_owner(response)
        return response

    return method


for _method in _SERVICE.methods:
    if not hasattr(CoordinatorServer, _method.name):
        _answer = GetMessageClass(_method.output_type)
        setattr(CoordinatorServer, _method.name, _unary(_method.name, _answer))
