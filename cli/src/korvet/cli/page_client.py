"""Reads pages from Korvet's own small HTTP servers (`korvet.runtime.metrics_server`)."""

import asyncio
from typing import Final

# Beside metrics, where `korvet up --trace` keeps the last traces.
TRACES_PATH: Final = "/traces"
_DEADLINE: Final = 5.0
# A process has some thousand series.
_MOST_BYTES: Final = 64 << 20


class PageError(Exception):
    """Nobody answers there, or not with the page."""


class MissingPageError(PageError):
    """Somebody answers who has no such page."""


async def read_page(address: str, path: str) -> str:
    """Of "host:port" or "unix:/path.sock"."""
    try:
        async with asyncio.timeout(_DEADLINE):
            return await _read(address, path)
    except (OSError, TimeoutError, asyncio.IncompleteReadError) as error:
        raise PageError(str(error) or type(error).__name__) from error


async def _read(address: str, path: str) -> str:
    if address.startswith("unix:"):
        reader, writer = await asyncio.open_unix_connection(address.removeprefix("unix:"))
    else:
        host, _, port = address.rpartition(":")
        reader, writer = await asyncio.open_connection(host.strip("[]"), int(port))
    try:
        writer.write(f"GET {path} HTTP/1.1\r\nHost: {address}\r\n\r\n".encode())
        answer = bytearray()
        # It ends with the connection.
        while chunk := await reader.read(1 << 16):
            answer += chunk
            if len(answer) > _MOST_BYTES:
                raise PageError("it does not end")
    finally:
        writer.close()
    head, _, body = bytes(answer).partition(b"\r\n\r\n")
    words = head.split(b" ", 2)
    if words[:2] == [b"HTTP/1.1", b"404"]:
        raise MissingPageError(f"it has no {path}")
    if words[:2] != [b"HTTP/1.1", b"200"]:
        raise PageError("it is no server of Korvet's")
    return body.decode(errors="replace")
