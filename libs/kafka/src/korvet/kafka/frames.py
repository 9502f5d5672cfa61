"""Frames: a length, a header, a message.

The first eight bytes of every request are the same in all header versions, so that a server
can look at them before it knows whether it understands the rest.
"""

import struct
from typing import Final, NamedTuple, TypeVar

from korvet.kafka.errors import DecodeError
from korvet.kafka.message import Message
from korvet.kafka.messages.request_header import RequestHeader
from korvet.kafka.messages.response_header import ResponseHeader
from korvet.kafka.primitives import Buffer, Reader, int32

LENGTH_SIZE: Final = 4
# A client learns from this response which versions it may use, so it must be able to read
# the header before it knows (KIP-511).
_API_VERSIONS: Final = 18

_LENGTH: Final = struct.Struct(">i")
_HEAD: Final = struct.Struct(">hhi")

_M = TypeVar("_M", bound=Message)


class RequestHead(NamedTuple):
    api_key: int
    api_version: int
    correlation_id: int


def read_length(prefix: Buffer, max_size: int, position: int = 0) -> int:
    """How many bytes follow the length prefix at `position`."""
    length: int = _LENGTH.unpack_from(prefix, position)[0]
    if not 0 <= length <= max_size:
        raise DecodeError(f"a frame of {length} bytes, where {max_size} are allowed")
    return length


def read_request_head(frame: Buffer) -> RequestHead:
    """Which API a request is for. `frame` is without its length prefix, here and below."""
    if len(frame) < _HEAD.size:
        raise DecodeError(f"a request of {len(frame)} bytes")
    return RequestHead._make(_HEAD.unpack_from(frame))


def decode_request(frame: Buffer, request_type: type[_M]) -> tuple[RequestHeader, _M]:
    """Decode a request whose head names this type's API."""
    version = read_request_head(frame).api_version
    if not request_type.MIN_VERSION <= version <= request_type.MAX_VERSION:
        raise DecodeError(f"{request_type.__name__} has no version {version}")
    reader = Reader(frame)
    header = RequestHeader.read(reader, _request_header_version(request_type, version))
    try:
        # Bytes after the request are let pass, as Apache Kafka does: librdkafka 2.16 sends
        # three of them with a Metadata request for all topics.
        return header, request_type.read(reader, version)
    except DecodeError as error:
        raise DecodeError(f"{request_type.__name__} v{version}: {error}") from error


def encode_request(
    correlation_id: int, request: Message, version: int, client_id: str | None = None
) -> bytes:
    """The whole frame of a request, with its length prefix."""
    header = RequestHeader(
        request_api_key=request.API_KEY,
        request_api_version=version,
        correlation_id=correlation_id,
        client_id=client_id,
    )
    chunks = header.chunks(_request_header_version(type(request), version))
    chunks += request.chunks(version)
    return b"".join(_with_length(chunks))


def encode_response(correlation_id: int, response: Message, version: int) -> bytes:
    """The whole frame of a response, with its length prefix."""
    return b"".join(response_chunks(correlation_id, response, version))


def response_chunks(correlation_id: int, response: Message, version: int) -> list[bytes]:
    """The same without joining, for a transport that takes a list of buffers."""
    header = ResponseHeader(correlation_id=correlation_id)
    chunks = header.chunks(_response_header_version(type(response), version))
    chunks += response.chunks(version)
    return _with_length(chunks)


def decode_response(frame: Buffer, response_type: type[_M], version: int) -> tuple[int, _M]:
    """The correlation id and the response."""
    reader = Reader(frame)
    header = ResponseHeader.read(reader, _response_header_version(response_type, version))
    return header.correlation_id, response_type.decode(frame, version, reader.position)


def _with_length(chunks: list[bytes]) -> list[bytes]:
    return [int32(sum(map(len, chunks))), *chunks]


def _request_header_version(request_type: type[Message], version: int) -> int:
    return 2 if version >= request_type.FLEXIBLE_FROM else 1


def _response_header_version(response_type: type[Message], version: int) -> int:
    if response_type.API_KEY == _API_VERSIONS:
        return 0
    return 1 if version >= response_type.FLEXIBLE_FROM else 0
