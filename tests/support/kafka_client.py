"""The client's side of a gateway connection, over a fake transport."""

import asyncio
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

from korvet.gateway.connection import Connection, Limits
from korvet.gateway.handler import Handler, Node
from korvet.gateway.handlers import HANDLERS
from korvet.gateway.server import KafkaServer
from korvet.kafka.frames import decode_response, encode_request
from korvet.kafka.message import Message
from tests.support.fake_storage import FakeStorage
from tests.support.fake_transport import FakeTransport
from tests.support.gateway_context import request_context

_Response = TypeVar("_Response", bound=Message)

LIMITS = Limits(
    max_request_bytes=100_000,
    max_requests_in_flight=10,
    max_request_bytes_in_flight=1_000_000,
    fetch_max_bytes=16 * 1024 * 1024,
)


def kafka_server(
    storage: FakeStorage | None = None,
    *,
    handlers: Sequence[Handler[Any, Any]] = HANDLERS,
    limits: Limits = LIMITS,
    max_connections: int = 100,
    max_idle: float = 600.0,
    max_request_bytes: int = 10_000_000,
    max_fetch_bytes: int = 64 * 1024 * 1024,
) -> KafkaServer:
    node: Node = request_context(
        storage or FakeStorage(), 0, apis=[handler.advertised for handler in handlers]
    ).node
    return KafkaServer(
        node=node,
        handlers=handlers,
        limits=limits,
        max_connections=max_connections,
        max_idle=max_idle,
        max_request_bytes=max_request_bytes,
        max_fetch_bytes=max_fetch_bytes,
    )


class KafkaClient:
    """One connection to a server; requests get correlation ids 1, 2, 3 …"""

    def __init__(self, server: KafkaServer, *, peer: str = "192.0.2.1") -> None:
        self.connection: Connection = server.new_connection()
        self.transport = FakeTransport(self.connection, peer=peer)
        self.connection.connection_made(self.transport)
        self._correlation_id = 0

    def send(self, request: Message, version: int) -> int:
        """Send a request; return its correlation id."""
        self._correlation_id += 1
        self.send_bytes(encode_request(self._correlation_id, request, version, "test"))
        return self._correlation_id

    def send_bytes(self, data: bytes) -> None:
        self.connection.data_received(data)

    def answered(self) -> list[int]:
        """The correlation ids of the answers so far, in the order in which they came."""
        return [int.from_bytes(frame[:4], "big") for frame in self.transport.frames()]

    def answer(self, response_type: type[_Response], version: int) -> _Response:
        """The last answer."""
        return decode_response(self.transport.frames()[-1], response_type, version)[1]

    async def ask(
        self, request: Message, version: int, response_type: type[_Response]
    ) -> _Response:
        before = len(self.transport.frames())
        self.send(request, version)
        await until(lambda: len(self.transport.frames()) > before)
        return self.answer(response_type, version)


async def until(condition: Callable[[], bool]) -> None:
    """Let the loop run until something is so; fail where that does not come soon."""
    for _ in range(200):
        if condition():
            return
        await asyncio.sleep(0)
    raise AssertionError("it did not come about")


async def settle() -> None:
    """Let everything run that can run now."""
    for _ in range(50):
        await asyncio.sleep(0)
