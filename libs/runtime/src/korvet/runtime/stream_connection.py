"""One HTTP/2 connection that carries one gRPC stream: what both of its ends do alike.

Messages go over in order, each end told by the other how much it may send: no more, once
much has arrived and was not read.
"""

import asyncio
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Mapping
from typing import Final, cast

import hpack

from korvet.runtime.grpc_channel import MAX_MESSAGE_BYTES
from korvet.runtime.http2_frames import (
    DEFAULT_MAX_FRAME,
    DEFAULT_WINDOW,
    MESSAGE_HEAD,
    Bytes,
    Flag,
    Frame,
    FrameSplitter,
    Kind,
    MessageSplitter,
    ProtocolError,
    Setting,
    content,
    frame,
    frame_head,
    message_head,
    read_number,
    read_settings,
    settings_frame,
    window_update,
)

# The peer may send so much beyond what is unread.
_WINDOW: Final = 16 << 20
_MAX_UNREAD_BYTES: Final = 8 << 20
_MAX_FRAME: Final = 1 << 20
_MAX_HEADER_BYTES: Final = 16 << 10
_WRITE_HIGH: Final = 1 << 20
# To a peer that asks, and does not read.
_MAX_UNREAD_REPLIES: Final = 1000
# A peer that vanished without closing is noticed on a stream that is idle, too.
_PING_EVERY: Final = 20.0
_PING_DEADLINE: Final = 10.0
_PING: Final = b"korvet??"


# These change what the next ones mean, whatever stream they are of.
_OF_HEADERS: Final = (Kind.HEADERS, Kind.CONTINUATION)


class StreamLost(Exception):
    """The stream ended, and not in order."""


class StreamConnection(asyncio.Protocol, ABC):
    """Written to by one task, read by one task."""

    # From connection_made on, before which asyncio calls nothing else.
    _transport: asyncio.Transport

    def __init__(self, stream: int) -> None:
        """`stream` is the number of the one stream, or 0 where the peer chooses it."""
        self._stream = stream
        self._loop = asyncio.get_running_loop()
        self._frames = FrameSplitter(_MAX_FRAME)
        self._messages = MessageSplitter(MAX_MESSAGE_BYTES)
        self._headers = hpack.Decoder()
        self._header_block = b""
        # What the peer lets us send.
        self._connection_window = DEFAULT_WINDOW
        self._stream_window = DEFAULT_WINDOW
        self._initial_window = DEFAULT_WINDOW
        self._max_frame = DEFAULT_MAX_FRAME
        # What the peer has used of what we let it send.
        self._used = 0
        self._is_paused = False
        self._unread_replies = 0
        self._may_send: asyncio.Future[None] | None = None
        self._unread: deque[Bytes] = deque()
        self._unread_bytes = 0
        self._arrival: asyncio.Future[None] | None = None
        # No more messages come: the peer has said so, or the stream is over.
        self._is_complete = False
        self._is_over = False
        # Why, where that was not in order.
        self._lost: StreamLost | None = None
        self._was_heard = False
        self._keepalive: asyncio.TimerHandle | None = None

    async def _read_message(self) -> Bytes | None:
        """The next message; None where the peer sends no more, in order."""
        while not self._unread:
            if self._lost is not None:
                raise self._lost
            if self._is_complete:
                return None
            self._arrival = self._loop.create_future()
            try:
                await self._arrival
            finally:
                self._arrival = None
        message = self._unread.popleft()
        self._unread_bytes -= len(message)
        self._let_send()
        return message

    async def _write_message(self, body: bytes) -> None:
        """Hand a message over; waits where the peer takes no more."""
        head = message_head(len(body))
        size = MESSAGE_HEAD + len(body)
        if (
            size <= DEFAULT_MAX_FRAME
            and size <= self._connection_window
            and size <= self._stream_window
            and not self._is_paused
            and not self._transport.is_closing()
        ):
            self._connection_window -= size
            self._stream_window -= size
            data_head = frame_head(Kind.DATA, Flag.NONE, self._stream, size)
            self._transport.write(b"%b%b%b" % (data_head, head, body))
        else:
            await self._write_in_parts([memoryview(head), memoryview(body)])

    async def _write_in_parts(self, unsent: list[memoryview]) -> None:
        while unsent:
            room = min(self._connection_window, self._stream_window)
            if self._transport.is_closing():
                raise self._lost or StreamLost("the stream has ended")
            if room <= 0 or self._is_paused:
                self._may_send = self._loop.create_future()
                try:
                    await self._may_send
                finally:
                    self._may_send = None
                continue
            taken, unsent = _cut(unsent, room)
            size = sum(map(len, taken))
            self._connection_window -= size
            self._stream_window -= size
            out: list[Bytes] = []
            while taken:
                part, taken = _cut(taken, self._max_frame)
                length = sum(map(len, part))
                out.append(frame_head(Kind.DATA, Flag.NONE, self._stream, length))
                out += part
            self._transport.writelines(out)

    # ------------------------------------------------------------ for either end

    @abstractmethod
    def _greeting(self) -> bytes:
        """What this end sends before its settings, and after them."""

    @abstractmethod
    def _take_headers(self, headers: Mapping[str, str], frame_: Frame) -> None:
        """The peer's headers or trailers have arrived."""

    def _settled(self) -> None:
        """The peer has sent its settings."""

    # ------------------------------------------------------------ asyncio.Protocol

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)
        self._transport.set_write_buffer_limits(high=_WRITE_HIGH)
        self._transport.write(self._greeting())
        self._keepalive = self._loop.call_later(_PING_EVERY, self._ping)

    def data_received(self, data: bytes) -> None:
        self._was_heard = True
        try:
            for each in self._frames.feed(data):
                if self._is_over:
                    return
                self._take(each)
        except (ProtocolError, hpack.HPACKError) as error:
            self._end(StreamLost(f"it does not speak gRPC: {error}"))

    def pause_writing(self) -> None:
        self._is_paused = True

    def resume_writing(self) -> None:
        self._is_paused = False
        self._unread_replies = 0
        _wake(self._may_send)

    def eof_received(self) -> None:
        self._end(StreamLost("it closed the connection"))

    def connection_lost(self, exc: Exception | None) -> None:
        self._end(StreamLost(f"the connection broke: {exc or 'it was closed'}"))

    # ------------------------------------------------------------ frames

    def _take(self, frame_: Frame) -> None:
        if frame_.stream not in (0, self._stream) and frame_.kind not in _OF_HEADERS:
            # Of a stream that was refused, as its headers were or will be.
            return
        match frame_.kind:
            case Kind.DATA:
                self._take_data(frame_)
            case Kind.WINDOW_UPDATE:
                self._take_window(frame_)
            case Kind.PING:
                if not frame_.flags & Flag.ACK:
                    self._reply(Kind.PING, bytes(frame_.payload))
            case Kind.SETTINGS:
                if not frame_.flags & Flag.ACK:
                    self._take_settings(frame_)
            case Kind.HEADERS:
                self._header_block = bytes(content(frame_))
                self._take_header_block(frame_)
            case Kind.CONTINUATION:
                self._header_block += frame_.payload
                self._take_header_block(frame_)
            case Kind.RST_STREAM:
                code = read_number(frame_.payload)
                self._end(StreamLost(f"it reset the stream with code {code}"))
            case Kind.GOAWAY:
                # It ends the streams that it has taken by itself, and takes no others.
                if read_number(frame_.payload) < self._stream:
                    self._end(StreamLost("it does not take the stream"))

    def _take_data(self, frame_: Frame) -> None:
        for message in self._messages.feed(content(frame_)):
            self._unread.append(message)
            self._unread_bytes += len(message)
        self._used += len(frame_.payload)
        self._let_send()
        if self._unread:
            _wake(self._arrival)
        if frame_.flags & Flag.END_STREAM:
            self._take_end()

    def _take_end(self) -> None:
        """The peer sends no more messages."""
        if not self._messages.is_between_messages:
            raise ProtocolError("it ended in the middle of a message")
        self._is_complete = True
        _wake(self._arrival)

    def _let_send(self) -> None:
        if self._used >= _WINDOW // 2 and self._unread_bytes < _MAX_UNREAD_BYTES:
            used, self._used = self._used, 0
            self._put(window_update(0, used) + window_update(self._stream, used))

    def _take_window(self, frame_: Frame) -> None:
        if frame_.stream:
            self._stream_window += read_number(frame_.payload)
        else:
            self._connection_window += read_number(frame_.payload)
        _wake(self._may_send)

    def _take_settings(self, frame_: Frame) -> None:
        for name, value in read_settings(frame_.payload):
            if name == Setting.INITIAL_WINDOW_SIZE:
                self._stream_window += value - self._initial_window
                self._initial_window = value
            elif name == Setting.MAX_FRAME_SIZE:
                self._max_frame = value
        self._reply(Kind.SETTINGS)
        self._settled()
        _wake(self._may_send)

    def _take_header_block(self, frame_: Frame) -> None:
        if len(self._header_block) > _MAX_HEADER_BYTES:
            raise ProtocolError("headers that are too long")
        if frame_.flags & Flag.END_HEADERS:
            headers = {
                str(name): str(value)
                for name, value in self._headers.decode(self._header_block)
            }
            self._take_headers(headers, frame_)

    def _reply(self, kind: Kind, payload: bytes = b"") -> None:
        self._unread_replies += self._is_paused
        if self._unread_replies > _MAX_UNREAD_REPLIES:
            raise ProtocolError("it does not read what it asks for")
        self._put(frame(kind, Flag.ACK, 0, payload))

    def _put(self, data: bytes) -> None:
        # uvloop's transports raise where the connection has just broken.
        if not self._transport.is_closing():
            self._transport.write(data)

    # ------------------------------------------------------------ the end

    def _ping(self) -> None:
        if self._was_heard:
            self._was_heard = False
            self._keepalive = self._loop.call_later(_PING_EVERY, self._ping)
        else:
            self._put(frame(Kind.PING, Flag.NONE, 0, _PING))
            self._keepalive = self._loop.call_later(_PING_DEADLINE, self._give_up)

    def _give_up(self) -> None:
        if self._was_heard:
            self._ping()
        else:
            self._end(StreamLost("it does not answer any more"))

    def _end(self, lost: StreamLost | None) -> None:
        """Note that the stream is over, in order or not, and close the connection."""
        if self._is_over:
            return
        self._is_over = self._is_complete = True
        self._lost = lost
        if self._keepalive is not None:
            self._keepalive.cancel()
        _wake(self._arrival)
        _wake(self._may_send)
        if lost is None:
            self._transport.close()
        else:
            # What the peer does not take would keep the connection open.
            self._transport.abort()


def settings(*more: tuple[Setting, int]) -> bytes:
    """The settings of this end, and the room on the connection that goes with them."""
    ours = [(Setting.INITIAL_WINDOW_SIZE, _WINDOW), (Setting.MAX_FRAME_SIZE, _MAX_FRAME)]
    return settings_frame([*ours, *more]) + window_update(0, _WINDOW - DEFAULT_WINDOW)


def _wake(waiting: "asyncio.Future[None] | None") -> None:
    if waiting is not None and not waiting.done():
        waiting.set_result(None)


def _cut(parts: list[memoryview], size: int) -> tuple[list[memoryview], list[memoryview]]:
    """The first `size` bytes of these parts, and the rest."""
    taken: list[memoryview] = []
    for place, part in enumerate(parts):
        if len(part) > size:
            rest = [part[size:], *parts[place + 1 :]]
            return ([*taken, part[:size]] if size else taken), rest
        taken.append(part)
        size -= len(part)
    return taken, []
