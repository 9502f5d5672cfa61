"""Serves a process's metrics over HTTP, for Prometheus to scrape: GET /metrics.

It is no web server: it answers one small request a connection, and hangs up on anything
that is slow, large or strange. What is exposed tells names of topics and groups, so it
listens only where it is told to.
"""

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from typing import Final

from korvet.runtime import prometheus
from korvet.runtime.grpc_server import ListenError
from korvet.runtime.metrics import REGISTRY
from korvet.runtime.process import Main

log = logging.getLogger(__name__)

PATH: Final = "/metrics"
_MAX_HEAD_BYTES: Final = 8192
_REQUEST_SECONDS: Final = 5.0
_ANSWER_SECONDS: Final = 30.0
_MAX_CONNECTIONS: Final = 16

Page = Callable[[], Awaitable[tuple[str, str]]]


async def metrics_page() -> tuple[str, str]:
    """The content type and the text of this process's metrics."""
    # With many series it takes a while, and nobody who serves clients waits for it.
    return prometheus.CONTENT_TYPE, await asyncio.to_thread(_text)


@contextlib.asynccontextmanager
async def serving_metrics(address: str | None) -> AsyncIterator[None]:
    """Serve at "host:port" or "unix:/path.sock" meanwhile; nowhere where it is None."""
    if not address:
        yield
        return
    async with serving_pages(address, {PATH: metrics_page}):
        log.info("metrics at %s", address)
        yield


def with_metrics(address: str | None, main: Main) -> Main:
    """`main`, with metrics served while it runs."""

    async def run(stop: asyncio.Event) -> None:
        async with serving_metrics(address):
            await main(stop)

    return run


@contextlib.asynccontextmanager
async def serving_pages(address: str, pages: Mapping[str, Page]) -> AsyncIterator[str]:
    """Answer GET requests for these paths meanwhile; yields where, as "host:port"."""
    server = _PageServer(pages)
    try:
        if address.startswith("unix:"):
            listener = await asyncio.start_unix_server(
                server.answer, address.removeprefix("unix:"), limit=_MAX_HEAD_BYTES
            )
        else:
            host, _, port = address.rpartition(":")
            listener = await asyncio.start_server(
                server.answer, host.strip("[]"), int(port), limit=_MAX_HEAD_BYTES
            )
            address = f"{host}:{listener.sockets[0].getsockname()[1]}"
    except OSError as error:
        reason = error.strerror or error
        raise ListenError(f"cannot listen on {address} for metrics: {reason}") from error
    try:
        yield address
    finally:
        listener.close()
        server.hang_up()


def _text() -> str:
    REGISTRY.look()
    return prometheus.exposition(REGISTRY.instruments)


class _PageServer:
    def __init__(self, pages: Mapping[str, Page]) -> None:
        self._pages = pages
        self._writers: set[asyncio.StreamWriter] = set()

    def hang_up(self) -> None:
        for writer in self._writers:
            writer.transport.abort()

    async def answer(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        if len(self._writers) >= _MAX_CONNECTIONS:
            writer.transport.abort()
            return
        self._writers.add(writer)
        try:
            async with asyncio.timeout(_REQUEST_SECONDS):
                head = await reader.readuntil(b"\r\n\r\n")
            async with asyncio.timeout(_ANSWER_SECONDS):
                writer.write(await self._response(head))
                await writer.drain()
                writer.close()
                await writer.wait_closed()
        except (
            OSError,
            TimeoutError,
            asyncio.IncompleteReadError,
            asyncio.LimitOverrunError,
        ):
            # It asks again, if it is a Prometheus.
            writer.transport.abort()
        finally:
            self._writers.discard(writer)

    async def _response(self, head: bytes) -> bytes:
        method, path = _request_line(head)
        page = self._pages.get(path)
        if page is None:
            return _http("404 Not Found", "text/plain", f"There is only {PATH} here.\n")
        if method not in ("GET", "HEAD"):
            return _http("405 Method Not Allowed", "text/plain", "")
        content_type, text = await page()
        response = _http("200 OK", content_type, text)
        return (
            response
            if method == "GET"
            else response.partition(b"\r\n\r\n")[0] + b"\r\n\r\n"
        )


def _request_line(head: bytes) -> tuple[str, str]:
    words = head.split(b"\r\n", 1)[0].decode("latin-1").split(" ")
    if len(words) != 3:
        return "", ""
    return words[0], words[1].partition("?")[0]


def _http(status: str, content_type: str, text: str) -> bytes:
    body = text.encode()
    head = (
        f"HTTP/1.1 {status}\r\nContent-Type: {content_type}\r\n"
        f"Content-Length: {len(body)}\r\nConnection: close\r\n\r\n"
    )
    return head.encode() + body
