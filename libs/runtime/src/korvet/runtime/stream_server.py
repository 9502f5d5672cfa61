"""The server's end of bidirectional gRPC streams, on connections of their own.

It takes streams from any gRPC client, one a connection, and runs for each the coroutine
that grpc.aio's server would run; see `grpc_stream` for why. It is for our own services:
everybody else finds the same methods at grpc.aio's server.
"""

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from typing import Any, Final, NamedTuple, NoReturn, Self, TypeAlias, cast
from urllib.parse import quote

import grpc
from google.protobuf.message import Message

from korvet.runtime.http2_frames import (
    PREFACE,
    Flag,
    Frame,
    Kind,
    ProtocolError,
    Setting,
    frame,
    header_block,
)
from korvet.runtime.stream_connection import StreamConnection, StreamLost, settings

log = logging.getLogger(__name__)

_REFUSED: Final = 7
# A connection that is closed over what it has not read is reset, and takes along what it
# has just sent: the client is given time to close it.
_LINGER: Final = 2.0

Handle: TypeAlias = Callable[[AsyncIterator[Any], Any], Awaitable[None]]


class Method(NamedTuple):
    """The coroutine that serves a method, and the type of what it reads."""

    handle: Handle
    request_type: type[Message]


Methods: TypeAlias = Mapping[str, Method]


class StreamRefusedError(Exception):
    """A status to end the stream with."""

    def __init__(self, code: grpc.StatusCode, details: str) -> None:
        super().__init__(details)
        self.code = code


class ServedStream(StreamConnection, AsyncIterator[Any]):
    """One client's stream: what it sends as an iterator, and what its handler writes to."""

    def __init__(self, methods: Methods, connections: "set[ServedStream]") -> None:
        super().__init__(0)
        self._methods = methods
        self._connections = connections
        self._preface = b""
        self._request_type: type[Message] = Message
        self._task: asyncio.Task[None] | None = None
        # Set when the connection is gone.
        self.ended: Final = asyncio.Event()

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Any:
        try:
            message = await self._read_message()
        except StreamLost:
            # The whole handler is cancelled, as grpc.aio does it.
            raise asyncio.CancelledError from None
        if message is None:
            raise StopAsyncIteration
        return self._request_type.FromString(cast(bytes, message))

    async def write(self, message: Message) -> None:
        await self._write_message(message.SerializeToString())

    async def abort(self, code: grpc.StatusCode, details: str = "") -> NoReturn:
        """End the stream with a status, as grpc.aio's context does."""
        raise StreamRefusedError(code, details)

    def cancel(self) -> None:
        self._end(StreamLost("the server has stopped"))

    # ------------------------------------------------------------ StreamConnection

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._connections.add(self)
        super().connection_made(transport)

    def connection_lost(self, exc: Exception | None) -> None:
        super().connection_lost(exc)
        self._connections.discard(self)
        self.ended.set()

    def data_received(self, data: bytes) -> None:
        if len(self._preface) < len(PREFACE):
            data = self._preface + data
            self._preface, data = data[: len(PREFACE)], data[len(PREFACE) :]
            if not PREFACE.startswith(self._preface):
                self._end(StreamLost("it does not speak HTTP/2"))
                return
        if data:
            super().data_received(data)

    def _greeting(self) -> bytes:
        return settings((Setting.MAX_CONCURRENT_STREAMS, 1))

    def _take_headers(self, headers: Mapping[str, str], frame_: Frame) -> None:
        if frame_.stream == self._stream:
            self._take_end()
            return
        if self._stream:
            refused = _REFUSED.to_bytes(4)
            self._put(frame(Kind.RST_STREAM, Flag.NONE, frame_.stream, refused))
            return
        if not frame_.stream % 2:
            raise ProtocolError("a stream that no client opens")
        self._stream = frame_.stream
        found = self._methods.get(headers.get(":path", ""))
        if found is None:
            trailers = _trailers(grpc.StatusCode.UNIMPLEMENTED, "no such method")
            self._finish(_HEADERS + trailers)
            return
        if frame_.flags & Flag.END_STREAM:
            self._take_end()
        handle, self._request_type = found
        self._put(frame(Kind.HEADERS, Flag.END_HEADERS, self._stream, _HEADERS))
        self._task = self._loop.create_task(self._serve(handle))

    def _end(self, lost: StreamLost | None) -> None:
        super()._end(lost)
        if self._task is not None and lost is not None:
            self._task.cancel()

    # ------------------------------------------------------------ serving

    async def _serve(self, handle: Handle) -> None:
        code, details = grpc.StatusCode.OK, ""
        try:
            await handle(self, self)
        except StreamRefusedError as refusal:
            code, details = refusal.code, str(refusal)
        except StreamLost:
            return
        except Exception as error:
            log.exception("a stream failed")
            code, details = grpc.StatusCode.UNKNOWN, repr(error)
        self._finish(_trailers(code, details))

    def _finish(self, trailers: bytes) -> None:
        if not self._is_over:
            flags = Flag.END_HEADERS | Flag.END_STREAM
            self._put(frame(Kind.HEADERS, flags, self._stream, trailers))
            self._loop.call_later(_LINGER, self._end, None)


class StreamServer:
    """Listens on all addresses from `start` until `stop`."""

    def __init__(self, addresses: Sequence[str], methods: Methods) -> None:
        self._addresses = addresses
        self._methods = methods
        self._listeners: list[asyncio.Server] = []
        self._connections: set[ServedStream] = set()

    @property
    def connections(self) -> int:
        return len(self._connections)

    async def start(self) -> tuple[str, ...]:
        """Listen; return where, each port as it turned out to be."""
        return tuple([await self._listen(address) for address in self._addresses])

    async def stop(self, grace: float) -> None:
        """Take no more streams, and cut off those that have not ended after `grace`."""
        for listener in self._listeners:
            listener.close()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(grace):
                while self._connections:
                    await next(iter(self._connections)).ended.wait()
        for connection in tuple(self._connections):
            connection.cancel()

    async def _listen(self, address: str) -> str:
        loop = asyncio.get_running_loop()

        def connection() -> ServedStream:
            return ServedStream(self._methods, self._connections)

        if address.startswith("unix:"):
            path = address.removeprefix("unix:")
            self._listeners.append(await loop.create_unix_server(connection, path))
            return address
        host, _, port = address.rpartition(":")
        listener = await loop.create_server(connection, host.strip("[]"), int(port))
        self._listeners.append(listener)
        return f"{host}:{listener.sockets[0].getsockname()[1]}"


_HEADERS: Final = header_block((b":status", b"200"), (b"content-type", b"application/grpc"))


def _trailers(code: grpc.StatusCode, details: str) -> bytes:
    number: int = code.value[0]
    status = (b"grpc-status", str(number).encode())
    return header_block(status, (b"grpc-message", quote(details, safe=" ").encode()))
