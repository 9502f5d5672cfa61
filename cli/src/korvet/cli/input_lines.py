"""Standard input, line by line, without blocking the loop, nor its end.

A thread of our own reads, since nothing interrupts a read at a terminal: the loop's own
threads are waited for at its end, so that Ctrl-C would not end anything before Enter.
"""

import asyncio
import os
import threading
from collections.abc import AsyncIterator
from typing import Final

from korvet.cli.failure import Failure
from korvet.cli.terminal import readable_bytes

_CHUNK: Final = 1 << 20


async def input_lines(descriptor: int, longest: int) -> AsyncIterator[bytes]:
    """Each line without its newline; a line longer than `longest` is a Failure."""
    begun: list[bytes] = []
    length = 0
    async for chunk in _chunks(descriptor):
        begun.append(chunk)
        length += len(chunk)
        if b"\n" in chunk:
            *lines, rest = b"".join(begun).split(b"\n")
            for line in lines:
                yield line
            begun, length = [rest], len(rest)
        if length > longest:
            raise Failure(
                f"A line is longer than {readable_bytes(longest)}, the largest that a"
                " record can be.",
                "The lines before it are written.",
            )
    if length:
        yield b"".join(begun)


async def _chunks(descriptor: int) -> AsyncIterator[bytes]:
    loop = asyncio.get_running_loop()
    chunks: asyncio.Queue[bytes | OSError] = asyncio.Queue()
    # One chunk is read ahead, and no more.
    wanted = threading.Semaphore(2)

    def read() -> None:
        chunk: bytes | OSError = b" "
        while chunk and not isinstance(chunk, OSError):
            wanted.acquire()
            try:
                chunk = os.read(descriptor, _CHUNK)
            except OSError as error:
                chunk = error
            try:
                loop.call_soon_threadsafe(chunks.put_nowait, chunk)
            except RuntimeError:
                # The loop is closed, and nobody waits for it.
                return

    threading.Thread(target=read, daemon=True).start()
    while chunk := await chunks.get():
        if isinstance(chunk, OSError):
            raise Failure(f"Standard input cannot be read: {chunk.strerror}.")
        wanted.release()
        yield chunk
