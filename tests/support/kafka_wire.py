"""A connection to a gateway on which a test sends what it likes and sees each answer."""

import socket
import struct
from typing import Self, TypeVar

from korvet.kafka.frames import decode_response, encode_request
from korvet.kafka.message import Message

_R = TypeVar("_R", bound=Message)


class KafkaWire:
    """One connection. Every wait ends after `patience` seconds with a TimeoutError."""

    def __init__(self, address: str, *, patience: float = 20.0) -> None:
        host, _, port = address.rpartition(":")
        self._use(socket.create_connection((host, int(port)), timeout=patience))
        self._socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    @classmethod
    def over(cls, connection: socket.socket) -> Self:
        """On a connection that the test has made itself, and closes itself."""
        wire = cls.__new__(cls)
        wire._use(connection)
        return wire

    def _use(self, connection: socket.socket) -> None:
        self._socket = connection
        self._answers = connection.makefile("rb")
        self._last_number = 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        self._answers.close()
        self._socket.close()

    def send(self, request: Message, version: int) -> None:
        self._last_number += 1
        self.send_bytes(encode_request(self._last_number, request, version, "wire"))

    def send_bytes(self, data: bytes) -> None:
        self._socket.sendall(data)

    def receive(self, response_type: type[_R], version: int) -> _R:
        """The next answer; it is for the test to know what it answers."""
        return self.receive_numbered(response_type, version)[1]

    def receive_numbered(self, response_type: type[_R], version: int) -> tuple[int, _R]:
        """Also which of the requests it answers, the first one being 1."""
        (length,) = struct.unpack(">i", self._read(4))
        return decode_response(self._read(length), response_type, version)

    def is_hung_up(self) -> bool:
        """Wait until the gateway closes the connection; False if it answers instead."""
        try:
            return not self._answers.read(1)
        except ConnectionResetError:
            return True

    def call(self, request: Message, response_type: type[_R], version: int) -> _R:
        self.send(request, version)
        return self.receive(response_type, version)

    def _read(self, size: int) -> bytes:
        data = self._answers.read(size)
        if len(data) < size:
            raise ConnectionError("the gateway hung up")
        return data
