"""A way to Redis on which a storage can be kept from hearing of changes to topics.

Everything else passes at once, so that the storage works as ever, with caches that are out
of date for as long as the test likes.
"""

import contextlib
import socket
import threading
from collections.abc import Iterator
from typing import Final, Self

from tests.support.redis_server import RedisServer

_CHUNK: Final = 1 << 16
_PATIENCE: Final = 30.0


class ChangeFilter:
    """Listens on a port of its own and passes every connection on to a Redis."""

    def __init__(self, redis: RedisServer, channel: str = "korvet:changes") -> None:
        self._target = (redis.host, redis.port)
        self._channel = channel.encode()
        # Set while changes may be heard.
        self._open = threading.Event()
        self._open.set()
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._sockets: list[socket.socket] = [self._listener]
        self._accepting = threading.Thread(target=self._accept, daemon=True)

    @property
    def url(self) -> str:
        host, port = self._listener.getsockname()
        return f"redis://{host}:{port}/0"

    def __enter__(self) -> Self:
        self._accepting.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._open.set()
        for each in self._sockets:
            # Wakes the threads that wait for it; some are closed already.
            with contextlib.suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
            each.close()
        self._accepting.join(_PATIENCE)

    @contextlib.contextmanager
    def deaf(self) -> Iterator[None]:
        """Changes that are announced meanwhile are heard only afterwards."""
        self._open.clear()
        try:
            yield
        finally:
            self._open.set()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                ours, _ = self._listener.accept()
                theirs = socket.create_connection(self._target)
                for each in (ours, theirs):
                    each.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                self._sockets += (ours, theirs)
                listens = threading.Event()
                for pump in (self._commands, self._replies):
                    threading.Thread(
                        target=pump, args=(ours, theirs, listens), daemon=True
                    ).start()

    def _commands(
        self, ours: socket.socket, theirs: socket.socket, listens: threading.Event
    ) -> None:
        with contextlib.suppress(OSError), _closing(ours, theirs):
            while data := ours.recv(_CHUNK):
                if b"SUBSCRIBE" in data and self._channel in data:
                    listens.set()
                theirs.sendall(data)

    def _replies(
        self, ours: socket.socket, theirs: socket.socket, listens: threading.Event
    ) -> None:
        with contextlib.suppress(OSError), _closing(ours, theirs):
            while data := theirs.recv(_CHUNK):
                if listens.is_set():
                    self._open.wait(_PATIENCE)
                ours.sendall(data)


@contextlib.contextmanager
def _closing(*sockets: socket.socket) -> Iterator[None]:
    """What ends on one side ends on the other."""
    try:
        yield
    finally:
        for each in sockets:
            with contextlib.suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
