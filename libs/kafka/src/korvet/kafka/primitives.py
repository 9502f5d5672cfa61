"""The types that Kafka messages are made of: the only struct-level code.

Writing appends chunks to a list, so that a message with megabytes of records is joined
once and nothing is copied twice. Reading never trusts a length: each is compared with the
bytes that are left before anything is allocated, and whatever is wrong is a DecodeError.
"""

import struct
from typing import Final, NoReturn, TypeAlias

from korvet.kafka.errors import DecodeError

Buffer: TypeAlias = bytes | bytearray | memoryview

ZERO_UUID: Final = bytes(16)

int8: Final = struct.Struct(">b").pack
int16: Final = struct.Struct(">h").pack
uint16: Final = struct.Struct(">H").pack
int32: Final = struct.Struct(">i").pack
int64: Final = struct.Struct(">q").pack
float64: Final = struct.Struct(">d").pack

_read_int8: Final = struct.Struct(">b").unpack_from
_read_int16: Final = struct.Struct(">h").unpack_from
_read_uint16: Final = struct.Struct(">H").unpack_from
_read_int32: Final = struct.Struct(">i").unpack_from
_read_int64: Final = struct.Struct(">q").unpack_from
_read_float64: Final = struct.Struct(">d").unpack_from

_NULL_INT16: Final = int16(-1)
_NULL_INT32: Final = int32(-1)
_NULL_COMPACT: Final = b"\x00"
_ONE_BYTE: Final = tuple(bytes([value]) for value in range(0x80))
_MAX_VARINT_SHIFT: Final = 28
# Each is an object, and takes a microsecond: a frame of 100 MiB could have enough of them
# to keep a server busy for a minute. No client names as many partitions as this.
_MAX_ELEMENTS: Final = 250_000
_MAX_UINT32: Final = 0xFFFF_FFFF


def boolean(value: bool) -> bytes:
    return b"\x01" if value else b"\x00"


def uuid(value: bytes) -> bytes:
    if len(value) != len(ZERO_UUID):
        raise ValueError(f"a uuid has 16 bytes, not {len(value)}")
    return value


def unsigned_varint(value: int) -> bytes:
    if 0 <= value < 0x80:
        return _ONE_BYTE[value]
    if not 0 <= value <= _MAX_UINT32:
        raise ValueError(f"{value} is no unsigned varint")
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def write_string(out: list[bytes], value: str) -> None:
    data = value.encode()
    out.append(int16(len(data)))
    out.append(data)


def write_nullable_string(out: list[bytes], value: str | None) -> None:
    if value is None:
        out.append(_NULL_INT16)
    else:
        write_string(out, value)


def write_compact_string(out: list[bytes], value: str) -> None:
    data = value.encode()
    out.append(unsigned_varint(len(data) + 1))
    out.append(data)


def write_compact_nullable_string(out: list[bytes], value: str | None) -> None:
    if value is None:
        out.append(_NULL_COMPACT)
    else:
        write_compact_string(out, value)


def write_data(out: list[bytes], value: bytes) -> None:
    out.append(int32(len(value)))
    out.append(value)


def write_nullable_data(out: list[bytes], value: bytes | None) -> None:
    if value is None:
        out.append(_NULL_INT32)
    else:
        write_data(out, value)


def write_compact_data(out: list[bytes], value: bytes) -> None:
    out.append(unsigned_varint(len(value) + 1))
    out.append(value)


def write_compact_nullable_data(out: list[bytes], value: bytes | None) -> None:
    if value is None:
        out.append(_NULL_COMPACT)
    else:
        write_compact_data(out, value)


def array_length(length: int) -> bytes:
    """The prefix of an array; -1 stands for null, here and below."""
    return int32(length)


def compact_array_length(length: int) -> bytes:
    return unsigned_varint(length + 1)


def write_tagged_fields(out: list[bytes], fields: list[tuple[int, list[bytes]]]) -> None:
    out.append(unsigned_varint(len(fields)))
    for tag, chunks in fields:
        out.append(unsigned_varint(tag))
        out.append(unsigned_varint(sum(map(len, chunks))))
        out += chunks


class Reader:
    """Reads one message from front to back."""

    __slots__ = ("_data", "_elements", "position")

    def __init__(self, data: Buffer, position: int = 0) -> None:
        self._data = data if isinstance(data, bytes) else memoryview(data)
        self._elements = 0
        self.position = position

    @property
    def remaining(self) -> int:
        return len(self._data) - self.position

    def finish(self) -> None:
        """Refuse bytes that no field has claimed."""
        if self.remaining:
            raise DecodeError(f"{self.remaining} bytes after the message's end")

    def int8(self) -> int:
        position = self.position
        try:
            value: int = _read_int8(self._data, position)[0]
        except struct.error:
            self._cut()
        self.position = position + 1
        return value

    def int16(self) -> int:
        position = self.position
        try:
            value: int = _read_int16(self._data, position)[0]
        except struct.error:
            self._cut()
        self.position = position + 2
        return value

    def uint16(self) -> int:
        position = self.position
        try:
            value: int = _read_uint16(self._data, position)[0]
        except struct.error:
            self._cut()
        self.position = position + 2
        return value

    def int32(self) -> int:
        position = self.position
        try:
            value: int = _read_int32(self._data, position)[0]
        except struct.error:
            self._cut()
        self.position = position + 4
        return value

    def int64(self) -> int:
        position = self.position
        try:
            value: int = _read_int64(self._data, position)[0]
        except struct.error:
            self._cut()
        self.position = position + 8
        return value

    def float64(self) -> float:
        position = self.position
        try:
            value: float = _read_float64(self._data, position)[0]
        except struct.error:
            self._cut()
        self.position = position + 8
        return value

    def boolean(self) -> bool:
        return self.int8() != 0

    def uuid(self) -> bytes:
        return self._take(16)

    def unsigned_varint(self) -> int:
        data, position = self._data, self.position
        value = shift = 0
        while shift <= _MAX_VARINT_SHIFT:
            if position >= len(data):
                self._cut()
            byte = data[position]
            position += 1
            value |= (byte & 0x7F) << shift
            if byte < 0x80:
                if value > _MAX_UINT32:
                    break
                self.position = position
                return value
            shift += 7
        raise DecodeError("a varint of more than 32 bits")

    def string(self) -> str:
        return self._text(self._present(self.int16()))

    def nullable_string(self) -> str | None:
        length = self.int16()
        return None if length == -1 else self._text(length)

    def compact_string(self) -> str:
        return self._text(self._present(self.unsigned_varint() - 1))

    def compact_nullable_string(self) -> str | None:
        length = self.unsigned_varint() - 1
        return None if length == -1 else self._text(length)

    def data(self) -> bytes:
        return self._take(self._present(self.int32()))

    def nullable_data(self) -> bytes | None:
        length = self.int32()
        return None if length == -1 else self._take(length)

    def compact_data(self) -> bytes:
        return self._take(self._present(self.unsigned_varint() - 1))

    def compact_nullable_data(self) -> bytes | None:
        length = self.unsigned_varint() - 1
        return None if length == -1 else self._take(length)

    def array_length(self) -> int:
        return self._present(self.nullable_array_length())

    def compact_array_length(self) -> int:
        return self._present(self.compact_nullable_array_length())

    def nullable_array_length(self) -> int:
        return self._count(self.int32())

    def compact_nullable_array_length(self) -> int:
        return self._count(self.unsigned_varint() - 1)

    def tagged_field(self) -> tuple[int, int]:
        """The next tag, and where its value must end."""
        self._count_in(1)
        tag = self.unsigned_varint()
        end = self.unsigned_varint() + self.position
        if end > len(self._data):
            self._cut()
        return tag, end

    def end_tagged_field(self, end: int) -> None:
        if self.position != end:
            raise DecodeError("a tagged field is not as long as it says")

    def skip_tagged_fields(self) -> None:
        for _ in range(self.unsigned_varint()):
            self.position = self.tagged_field()[1]

    def _count(self, count: int) -> int:
        # No element is shorter than a byte (the generator sees to that), so a larger
        # count is a lie, however small the rest of the message.
        if count < -1 or count > self.remaining:
            raise DecodeError(f"{count} elements in {self.remaining} bytes")
        self._count_in(count)
        return count

    def _count_in(self, count: int) -> None:
        self._elements += count
        if self._elements > _MAX_ELEMENTS:
            raise DecodeError(f"more than {_MAX_ELEMENTS} elements")

    @staticmethod
    def _present(length: int) -> int:
        if length == -1:
            raise DecodeError("null in a field that cannot be null")
        return length

    def _take(self, length: int) -> bytes:
        position = self.position
        end = position + length
        if length < 0:
            raise DecodeError(f"length {length}")
        if end > len(self._data):
            self._cut()
        self.position = end
        # No second copy if the slice is bytes already.
        return bytes(self._data[position:end])

    def _text(self, length: int) -> str:
        try:
            return self._take(length).decode()
        except UnicodeDecodeError as error:
            raise DecodeError(f"a string is not UTF-8: {error}") from error

    def _cut(self) -> NoReturn:
        raise DecodeError(f"cut after {len(self._data)} bytes")
