"""PURE: the frames of HTTP/2 (RFC 9113), as far as one long gRPC stream needs them.

A connection here carries one stream, whose messages are cut into DATA frames; what those
look like is nobody's business but the two ends'.
"""

import struct
from collections.abc import Iterable, Iterator
from enum import IntEnum, IntFlag
from typing import Final, NamedTuple, TypeAlias

PREFACE: Final = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
FRAME_HEAD: Final = 9
# Before any message: whether it is compressed, and its length.
MESSAGE_HEAD: Final = 5
# What both ends may count on until they are told otherwise.
DEFAULT_WINDOW: Final = 65_535
DEFAULT_MAX_FRAME: Final = 16_384
LARGEST_WINDOW: Final = (1 << 31) - 1

_HEAD: Final = struct.Struct(">HBBBI")
_SETTING: Final = struct.Struct(">HI")
_MESSAGE_HEAD: Final = struct.Struct(">BI")

Bytes: TypeAlias = bytes | memoryview


class ProtocolError(Exception):
    """The other end does not speak HTTP/2, or not as it may be spoken here."""


class Kind(IntEnum):
    DATA = 0
    HEADERS = 1
    PRIORITY = 2
    RST_STREAM = 3
    SETTINGS = 4
    PUSH_PROMISE = 5
    PING = 6
    GOAWAY = 7
    WINDOW_UPDATE = 8
    CONTINUATION = 9


class Flag(IntFlag):
    NONE = 0
    ACK = 0x1
    END_STREAM = 0x1
    END_HEADERS = 0x4
    PADDED = 0x8
    PRIORITY = 0x20


class Setting(IntEnum):
    ENABLE_PUSH = 2
    MAX_CONCURRENT_STREAMS = 3
    INITIAL_WINDOW_SIZE = 4
    MAX_FRAME_SIZE = 5


class Frame(NamedTuple):
    kind: int
    flags: int
    stream: int
    payload: Bytes


def frame_head(kind: int, flags: int, stream: int, length: int) -> bytes:
    return _HEAD.pack(length >> 8, length & 0xFF, kind, flags, stream)


def frame(kind: int, flags: int, stream: int, payload: bytes = b"") -> bytes:
    return frame_head(kind, flags, stream, len(payload)) + payload


def settings_frame(settings: Iterable[tuple[Setting, int]]) -> bytes:
    payload = b"".join(_SETTING.pack(name, value) for name, value in settings)
    return frame(Kind.SETTINGS, Flag.NONE, 0, payload)


def read_settings(payload: Bytes) -> Iterator[tuple[int, int]]:
    if len(payload) % _SETTING.size:
        raise ProtocolError(f"settings of {len(payload)} bytes")
    yield from _SETTING.iter_unpack(payload)


def window_update(stream: int, increment: int) -> bytes:
    return frame(Kind.WINDOW_UPDATE, Flag.NONE, stream, increment.to_bytes(4))


def read_number(payload: Bytes, position: int = 0) -> int:
    """The 31-bit number that a WINDOW_UPDATE, a RST_STREAM or a GOAWAY has."""
    if len(payload) < position + 4:
        raise ProtocolError("a frame that is too short")
    return int.from_bytes(payload[position : position + 4]) & LARGEST_WINDOW


def message_head(length: int) -> bytes:
    return _MESSAGE_HEAD.pack(0, length)


def content(frame: Frame) -> Bytes:
    """The payload of a DATA or HEADERS frame without what may stand around it."""
    start, end = 0, len(frame.payload)
    if frame.flags & Flag.PADDED:
        if not frame.payload:
            raise ProtocolError("padding that is not there")
        start, end = 1, end - frame.payload[0]
    if frame.kind == Kind.HEADERS and frame.flags & Flag.PRIORITY:
        start += 5
    if start > end:
        raise ProtocolError("more padding than payload")
    return frame.payload[start:end] if start or end < len(frame.payload) else frame.payload


class _Parts:
    """Bytes that arrive in parts, joined once there are enough of them."""

    __slots__ = ("_parts", "size")

    def __init__(self) -> None:
        self._parts: list[Bytes] = []
        self.size = 0

    def add(self, part: Bytes) -> None:
        self._parts.append(part)
        self.size += len(part)

    def take(self) -> Bytes:
        parts, self._parts = self._parts, []
        self.size = 0
        return parts[0] if len(parts) == 1 else b"".join(parts)


class FrameSplitter:
    """Cuts what arrives into frames."""

    def __init__(self, max_frame: int) -> None:
        self._max_frame = max_frame
        self._parts = _Parts()
        self._needed = FRAME_HEAD

    def feed(self, data: bytes) -> Iterator[Frame]:
        self._parts.add(data)
        if self._parts.size < self._needed:
            return
        buffer = memoryview(self._parts.take())
        position, end = 0, len(buffer)
        self._needed = FRAME_HEAD
        while end - position >= FRAME_HEAD:
            high, low, kind, flags, stream = _HEAD.unpack_from(buffer, position)
            length = high << 8 | low
            if length > self._max_frame:
                raise ProtocolError(f"a frame of {length} bytes")
            after = position + FRAME_HEAD + length
            if after > end:
                self._needed = FRAME_HEAD + length
                break
            payload = buffer[position + FRAME_HEAD : after]
            yield Frame(kind, flags, stream & LARGEST_WINDOW, payload)
            position = after
        if position < end:
            self._parts.add(buffer[position:])


class MessageSplitter:
    """Cuts the content of DATA frames into messages."""

    def __init__(self, max_message: int) -> None:
        self._max_message = max_message
        self._parts = _Parts()
        self._needed = MESSAGE_HEAD

    @property
    def is_between_messages(self) -> bool:
        return not self._parts.size

    def feed(self, data: Bytes) -> Iterator[Bytes]:
        self._parts.add(data)
        if self._parts.size < self._needed:
            return
        buffer = memoryview(self._parts.take())
        position, end = 0, len(buffer)
        self._needed = MESSAGE_HEAD
        while end - position >= MESSAGE_HEAD:
            is_compressed, length = _MESSAGE_HEAD.unpack_from(buffer, position)
            if is_compressed:
                raise ProtocolError("a compressed message")
            if length > self._max_message:
                raise ProtocolError(f"a message of {length} bytes")
            after = position + MESSAGE_HEAD + length
            if after > end:
                self._needed = MESSAGE_HEAD + length
                break
            yield buffer[position + MESSAGE_HEAD : after]
            position = after
        if position < end:
            self._parts.add(buffer[position:])


# ---------------------------------------------------------------- headers (RFC 7541)

# What the static table has whole, and the names in it.
_INDEXED: Final = {
    (b":method", b"POST"): b"\x83",
    (b":scheme", b"http"): b"\x86",
    (b":status", b"200"): b"\x88",
}
_NAMES: Final = {b":authority": 1, b":path": 4, b"content-type": 31}


def header_block(*fields: tuple[bytes, bytes]) -> bytes:
    """Headers, encoded so that nobody has to remember any: a stream has them once."""
    return b"".join(_INDEXED.get(each) or _literal(*each) for each in fields)


def _literal(name: bytes, value: bytes) -> bytes:
    index = _NAMES.get(name)
    start = b"\x00" + _text(name) if index is None else _number(index, 4)
    return start + _text(value)


def _text(text: bytes) -> bytes:
    return _number(len(text), 7) + text


def _number(value: int, prefix_bits: int) -> bytes:
    """An integer behind a prefix whose other bits are 0."""
    limit = (1 << prefix_bits) - 1
    if value < limit:
        return bytes([value])
    out = [limit]
    value -= limit
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*out, value])
