"""Bare Kafka requests on a connection, where a client library would be what is measured."""

import asyncio
import struct
from typing import Final, Self, TypeVar

from korvet.kafka.frames import decode_response, encode_request
from korvet.kafka.message import Message

R = TypeVar("R", bound=Message)

_CALL_DEADLINE: Final = 90.0


class Wire:
    """One connection, one request at a time."""

    def __init__(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._reader = reader
        self._writer = writer
        self._last_number = 0

    @classmethod
    async def open(cls, bootstrap: str) -> Self:
        host, _, port = bootstrap.rpartition(":")
        return cls(*await asyncio.open_connection(host, int(port)))

    async def call(self, request: Message, response_type: type[R], version: int) -> R:
        frame = await self.exchange(request, version)
        number, response = decode_response(frame, response_type, version)
        assert number == self._last_number
        return response

    async def exchange(self, request: Message, version: int) -> bytes:
        """The answer as it came, undecoded."""
        self._last_number += 1
        self._writer.write(encode_request(self._last_number, request, version, "bench"))
        async with asyncio.timeout(_CALL_DEADLINE):
            (length,) = struct.unpack(">i", await self._reader.readexactly(4))
            return await self._reader.readexactly(length)

    def close(self) -> None:
        self._writer.close()
