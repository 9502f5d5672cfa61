"""One socket to Redis: bytes in, replies out, in order; what they mean, the lane knows."""

import asyncio
import logging
import ssl
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final, TypeAlias, cast

import hiredis

log = logging.getLogger(__name__)

Reply: TypeAlias = Any

_BUFFERED_BYTES: Final = 1 << 20


class RedisConnection(asyncio.Protocol):
    def __init__(
        self, on_reply: Callable[[Reply], None], on_writable: Callable[[], None]
    ) -> None:
        self._on_reply = on_reply
        self._on_writable = on_writable
        self._reader = hiredis.Reader(replyError=hiredis.ReplyError)
        self._transport: asyncio.Transport | None = None
        self._is_paused = False
        self.lost = asyncio.Event()

    @property
    def writable(self) -> bool:
        """Whether to write now: not too much is waiting, and the other side is there."""
        return not (
            self._is_paused or self._transport is None or self._transport.is_closing()
        )

    def write(self, data: Sequence[bytes]) -> None:
        assert self._transport is not None
        self._transport.writelines(data)

    def abort(self) -> None:
        if self._transport is not None:
            self._transport.abort()

    # --- called by the loop ---

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        # uvloop's transports are not asyncio's classes.
        self._transport = cast(asyncio.Transport, transport)
        self._transport.set_write_buffer_limits(high=_BUFFERED_BYTES)

    def data_received(self, data: bytes) -> None:
        self._reader.feed(data)
        try:
            while (reply := self._reader.gets()) is not False:
                self._on_reply(reply)
        except hiredis.ProtocolError as error:
            log.warning("redis sent what is no reply: %s", error)
            self.abort()

    def pause_writing(self) -> None:
        self._is_paused = True

    def resume_writing(self) -> None:
        self._is_paused = False
        self._on_writable()

    def connection_lost(self, exc: Exception | None) -> None:
        self.lost.set()


async def open_connection(
    options: Mapping[str, Any],
    on_reply: Callable[[Reply], None],
    on_writable: Callable[[], None],
) -> RedisConnection:
    """Connect to what `redis.asyncio.connection.parse_url` made of a URL."""
    loop = asyncio.get_running_loop()
    connection = RedisConnection(on_reply, on_writable)
    if "path" in options:
        await loop.create_unix_connection(lambda: connection, options["path"])
        return connection
    is_secure = "connection_class" in options
    await loop.create_connection(
        lambda: connection,
        options.get("host", "localhost"),
        options.get("port", 6379),
        ssl=ssl.create_default_context() if is_secure else None,
    )
    return connection


def address_of(options: Mapping[str, Any]) -> str:
    """For people, and without the secrets that a URL may hold."""
    if "path" in options:
        return str(options["path"])
    return f"{options.get('host', 'localhost')}:{options.get('port', 6379)}"
