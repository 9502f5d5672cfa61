"""Cuts what a client sends into frames, without I/O.

A frame's length is checked before its body is waited for, and bytes are copied once, when
the frame is complete.
"""

from collections import deque
from typing import Final

from korvet.kafka.frames import LENGTH_SIZE, read_length

# A client that sends byte by byte must not cost a list entry for each.
_MERGE_UP_TO: Final = 64 * 1024


class FrameSplitter:
    def __init__(self, max_size: int) -> None:
        self._max_size = max_size
        self._chunks: deque[bytes] = deque()
        # Where the first chunk has not been read yet.
        self._position = 0
        self._buffered = 0

    @property
    def buffered(self) -> int:
        """How many bytes have been fed and are not part of a frame yet."""
        return self._buffered

    def feed(self, data: bytes) -> None:
        self._buffered += len(data)
        chunks = self._chunks
        if chunks and len(chunks[-1]) + len(data) <= _MERGE_UP_TO:
            chunks[-1] += data
        else:
            chunks.append(data)

    def next_frame(self) -> bytes | None:
        """The next complete frame, without its length; None until there is one.

        Raises DecodeError for a length that is negative or too large.
        """
        if self._buffered < LENGTH_SIZE:
            return None
        chunks = self._chunks
        while len(chunks[0]) - self._position < LENGTH_SIZE:
            rest = chunks.popleft()[self._position :]
            chunks[0] = rest + chunks[0]
            self._position = 0
        length = read_length(chunks[0], self._max_size, self._position)
        if self._buffered < LENGTH_SIZE + length:
            return None
        self._position += LENGTH_SIZE
        self._buffered -= LENGTH_SIZE + length
        return self._take(length)

    def _take(self, length: int) -> bytes:
        chunks = self._chunks
        first, start = chunks[0], self._position
        if len(first) - start >= length:
            self._advance(length)
            return first[start : start + length]
        parts: list[memoryview] = []
        while length:
            part = memoryview(chunks[0])[self._position : self._position + length]
            parts.append(part)
            length -= len(part)
            self._advance(len(part))
        return b"".join(parts)

    def _advance(self, length: int) -> None:
        self._position += length
        if self._position == len(self._chunks[0]):
            self._chunks.popleft()
            self._position = 0
