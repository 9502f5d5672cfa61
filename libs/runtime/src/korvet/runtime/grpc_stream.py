"""The client's end of a bidirectional gRPC stream, on a connection of its own.

It speaks to any gRPC server, and costs a small part of what grpc.aio's streams do: those
need a second thread, and pass every message between the two by a system call, which is most
of what a small request costs (docs/decisions/0011). Everything else goes through grpc.aio.
"""

import asyncio
from collections.abc import Mapping
from typing import Final, Generic, Self, TypeVar, cast

from google.protobuf.descriptor import MethodDescriptor
from google.protobuf.message import Message

from korvet.runtime.http2_frames import (
    PREFACE,
    Flag,
    Frame,
    Kind,
    Setting,
    frame,
    header_block,
)
from korvet.runtime.stream_connection import StreamConnection, StreamLost, settings

Sent = TypeVar("Sent", bound=Message)
Received = TypeVar("Received", bound=Message)

_STREAM: Final = 1
_OK: Final = "0"


class GrpcStream(StreamConnection, Generic[Sent, Received]):
    """`connect` it, `write` and `read`, `cancel` it at the end."""

    def __init__(self, method: MethodDescriptor, response_type: type[Received]) -> None:
        super().__init__(_STREAM)
        self._path = f"/{method.containing_service.full_name}/{method.name}"
        self._response_type = response_type
        self._accepted: asyncio.Future[None] = self._loop.create_future()

    async def connect(self, address: str) -> Self:
        """Connect to "host:port" or "unix:/path.sock", until the server has answered."""
        try:
            if address.startswith("unix:"):
                path = address.removeprefix("unix:")
                await self._loop.create_unix_connection(lambda: self, path)
            else:
                host, _, port = address.rpartition(":")
                host = host.strip("[]")
                await self._loop.create_connection(lambda: self, host, int(port))
        except OSError as error:
            raise StreamLost(f"it cannot be reached: {error.strerror or error}") from error
        try:
            await self._accepted
        except BaseException:
            self.cancel()
            raise
        return self

    async def write(self, message: Sent) -> None:
        """Hand a message over; waits where the server takes no more."""
        await self._write_message(message.SerializeToString())

    async def read(self) -> Received | None:
        """The next message; None where the server has ended the stream in order."""
        message = await self._read_message()
        return (
            None
            if message is None
            else self._response_type.FromString(cast(bytes, message))
        )

    def cancel(self) -> bool:
        """Let go of the stream, whatever is under way on it."""
        self._end(StreamLost("it was cancelled"))
        return True

    # ------------------------------------------------------------ StreamConnection

    def _greeting(self) -> bytes:
        headers = header_block(
            (b":method", b"POST"),
            (b":scheme", b"http"),
            (b":path", self._path.encode()),
            (b":authority", b"localhost"),
            (b"te", b"trailers"),
            (b"content-type", b"application/grpc"),
        )
        call = frame(Kind.HEADERS, Flag.END_HEADERS, _STREAM, headers)
        return PREFACE + settings((Setting.ENABLE_PUSH, 0)) + call

    def _settled(self) -> None:
        if not self._accepted.done():
            self._accepted.set_result(None)

    def _take_headers(self, headers: Mapping[str, str], frame_: Frame) -> None:
        if headers.get(":status", "200") != "200":
            self._end(StreamLost(f"it answered with HTTP status {headers[':status']}"))
        elif (status := headers.get("grpc-status")) is None:
            return
        elif status == _OK and self._messages.is_between_messages:
            self._end(None)
        else:
            said = headers.get("grpc-message", "")
            self._end(StreamLost(f"status {status}: {said}".rstrip(": ")))

    def _end(self, lost: StreamLost | None) -> None:
        super()._end(lost)
        if not self._accepted.done():
            self._accepted.set_exception(lost or StreamLost("it ended the stream"))
            # Whoever connected may have given up by now.
            self._accepted.exception()
