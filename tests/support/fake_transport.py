"""A transport without a socket: what was written, and a client that may stop reading."""

import asyncio
from collections.abc import Iterable
from typing import Any

from korvet.kafka.frames import LENGTH_SIZE, read_length


class FakeTransport(asyncio.Transport):
    def __init__(self, protocol: asyncio.Protocol, *, peer: str = "192.0.2.1") -> None:
        super().__init__({"peername": (peer, 50000)})
        self.protocol = protocol
        self.written = bytearray()
        self.writes = 0
        # Of one call: real transports close where there are too many.
        self.most_pieces = 0
        self.is_reading_paused = False
        self.is_aborted = False
        # While the client does not read, what is written stays in the buffer.
        self.client_reads = True
        self.lost = asyncio.Event()
        self._unsent = 0
        self._high = 64 * 1024
        self._low = 16 * 1024
        self._is_paused = False
        self._is_closing = False

    # ------------------------------------------------------------ asyncio.Transport

    def set_write_buffer_limits(
        self, high: int | None = None, low: int | None = None
    ) -> None:
        self._high = high or 0
        self._low = low or 0

    def get_write_buffer_size(self) -> int:
        return self._unsent

    def write(self, data: Any) -> None:
        if self._is_closing:
            raise RuntimeError("as uvloop does")
        self.written += data
        self.writes += 1
        if not self.client_reads:
            self._unsent += len(data)
            if self._unsent > self._high and not self._is_paused:
                self._is_paused = True
                self.protocol.pause_writing()

    def writelines(self, list_of_data: Iterable[Any]) -> None:
        pieces = list(list_of_data)
        self.most_pieces = max(self.most_pieces, len(pieces))
        self.write(b"".join(pieces))

    def pause_reading(self) -> None:
        assert not self.is_reading_paused
        self.is_reading_paused = True

    def resume_reading(self) -> None:
        assert self.is_reading_paused
        self.is_reading_paused = False

    def is_reading(self) -> bool:
        return not self.is_reading_paused

    def is_closing(self) -> bool:
        return self._is_closing

    def close(self) -> None:
        if not self._is_closing:
            self._is_closing = True
            if not self._unsent:
                asyncio.get_running_loop().call_soon(self._lose)

    def abort(self) -> None:
        self.is_aborted = True
        self._is_closing = True
        asyncio.get_running_loop().call_soon(self._lose)

    # ------------------------------------------------------------ the client

    def take(self) -> None:
        """The client reads again, all that there is."""
        self.client_reads = True
        self._unsent = 0
        if self._is_paused:
            self._is_paused = False
            self.protocol.resume_writing()

    def disconnect(self) -> None:
        """The client goes away."""
        self._is_closing = True
        self._lose()

    def frames(self) -> list[bytes]:
        """Every whole frame that was written so far."""
        frames = []
        position = 0
        while position + LENGTH_SIZE <= len(self.written):
            length = read_length(self.written, 1 << 31, position)
            position += LENGTH_SIZE
            frames.append(bytes(self.written[position : position + length]))
            position += length
        return frames

    def _lose(self) -> None:
        if not self.lost.is_set():
            self.lost.set()
            self.protocol.connection_lost(None)
