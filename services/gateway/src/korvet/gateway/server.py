"""Accepts clients, limits them, and lets them go.

At the end it first stops accepting, then gives what is under way time to finish; only what
is still not done by then is cut off.
"""

import asyncio
import logging
import socket
from collections.abc import Sequence
from typing import Any, Final

from korvet.gateway.connection import Connection, Limits, Shared
from korvet.gateway.fetch_memory import FetchBudget
from korvet.gateway.handler import Handler, Node
from korvet.gateway.request_memory import RequestBudget
from korvet.runtime import metrics
from korvet.runtime.logs import LimitedLog

log = logging.getLogger(__name__)

_opened: Final = metrics.counter(
    "korvet.gateway.connections.opened",
    unit="{connection}",
    description="Connections that Kafka clients have opened; refused: there were too many.",
    attributes=("korvet.outcome",),
)

# There from the beginning, so that alerts see the first one that is refused.
_accepted, _refused = _opened.of("accepted"), _opened.of("refused")

_BACKLOG: Final = 1024
_SWEEPS_PER_IDLE_TIME: Final = 4


def bind(host: str, port: int) -> list[socket.socket]:
    """Sockets for every address of a host, all with one port, whatever that turns out."""
    sockets: list[socket.socket] = []
    try:
        for family, kind, protocol, _, address in socket.getaddrinfo(
            host, port, type=socket.SOCK_STREAM, flags=socket.AI_PASSIVE
        ):
            bound = socket.socket(family, kind, protocol)
            sockets.append(bound)
            bound.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            if family == socket.AF_INET6:
                bound.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
            bound.bind((address[0], port, *address[2:]))
            port = bound.getsockname()[1]
    except OSError:
        for bound in sockets:
            bound.close()
        raise
    return sockets


class KafkaServer:
    """`start` it, run `close_idle` beside it, `drain` it at the end."""

    def __init__(
        self,
        *,
        node: Node,
        handlers: Sequence[Handler[Any, Any]],
        limits: Limits,
        max_connections: int,
        max_idle: float,
        max_request_bytes: int,
        max_fetch_bytes: int,
    ) -> None:
        """`max_request_bytes` and `max_fetch_bytes` are for all connections together."""
        self._max_connections = max_connections
        self._max_idle = max_idle
        self._max_buffered = max(max_request_bytes, 2 * limits.max_request_bytes)
        self._buffered = 0
        self._connections: set[Connection] = set()
        self._last_closed = asyncio.Event()
        self._complaints = LimitedLog(log)
        self._ends = LimitedLog(log)
        self._listeners: list[asyncio.Server] = []
        self._shared = Shared(
            owner=self,
            node=node,
            handlers={handler.api_key: handler for handler in handlers},
            limits=limits,
            requests=RequestBudget(max_request_bytes),
            fetches=FetchBudget(max_fetch_bytes),
            tasks=set(),
        )

    @property
    def connections(self) -> int:
        return len(self._connections)

    @property
    def requests_under_way(self) -> int:
        return len(self._shared.tasks)

    @property
    def request_bytes(self) -> int:
        """Bytes of the requests under way."""
        return self._shared.requests.used

    @property
    def buffered_bytes(self) -> int:
        """Bytes of requests that have not wholly arrived."""
        return self._buffered

    @property
    def fetch_bytes(self) -> int:
        """Bytes that answers to fetches take, or may take."""
        return self._shared.fetches.reserved

    def new_connection(self) -> Connection:
        return Connection(self._shared)

    async def start(self, sockets: Sequence[socket.socket]) -> None:
        """Accept clients on these sockets."""
        loop = asyncio.get_running_loop()
        for bound in sockets:
            self._listeners.append(
                await loop.create_server(self.new_connection, sock=bound, backlog=_BACKLOG)
            )

    async def close_idle(self) -> None:
        """Close connections on which nothing has happened for too long, until cancelled."""
        loop = asyncio.get_running_loop()
        while True:
            await asyncio.sleep(self._max_idle / _SWEEPS_PER_IDLE_TIME)
            moment = loop.time() - self._max_idle
            for connection in list(self._connections):
                if connection.is_idle_since(moment):
                    connection.abort("nothing has happened on it for too long")

    async def drain(self, deadline: float) -> None:
        """Accept no more, and give requests under way `deadline` seconds."""
        for listener in self._listeners:
            listener.close()
        for connection in list(self._connections):
            connection.drain()
        try:
            async with asyncio.timeout(deadline):
                if self._shared.tasks:
                    await asyncio.wait(self._shared.tasks)
                # The last answers have yet to reach their clients.
                if self._connections:
                    await self._last_closed.wait()
        except TimeoutError:
            log.warning("%d requests were not finished in time", len(self._shared.tasks))
        for connection in list(self._connections):
            connection.abort("the gateway is stopping")
        for task in list(self._shared.tasks):
            task.cancel()
        await asyncio.gather(*self._shared.tasks, return_exceptions=True)

    # ------------------------------------------------------------ connection.Owner

    def opened(self, connection: Connection) -> bool:
        if len(self._connections) >= self._max_connections:
            self.complain(
                "%d connections are open; another is refused", self._max_connections
            )
            _refused.value += 1
            return False
        self._connections.add(connection)
        _accepted.value += 1
        self._last_closed.clear()
        return True

    def closed(self, connection: Connection) -> None:
        self._connections.discard(connection)
        if not self._connections:
            self._last_closed.set()

    def buffered(self, size: int) -> None:
        self._buffered += size
        # Memory for requests that never wholly arrive is given back only by hanging up, and
        # that is done to whoever holds most of it.
        if size > 0 and self._buffered > self._max_buffered:
            worst = max(self._connections, key=lambda connection: connection.bytes_buffered)
            self.complain("unfinished requests take too much memory; closing the largest")
            worst.abort("its unfinished request took too much memory")

    def complain(self, message: str, *args: object) -> None:
        self._complaints.warning(message, *args)

    def note_end(self, level: int, message: str, *args: object) -> None:
        # What is not logged must not count towards the limit.
        if log.isEnabledFor(level):
            self._ends.log(level, message, *args)
