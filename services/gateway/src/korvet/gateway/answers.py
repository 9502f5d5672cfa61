"""One connection's answers, sent in the order of their requests.

An answer that is ready waits for those before it. Whoever holds memory for an answer is
told when the client has taken it, or never will.
"""

import asyncio
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from typing import Final

from korvet.runtime import metrics

TRANSFERRED: Final = metrics.counter(
    "korvet.gateway.io",
    unit="By",
    description="Bytes that Kafka clients have sent (receive), and were sent (transmit).",
    attributes=("network.io.direction",),
)
_sent: Final = TRANSFERRED.of("transmit")

# Larger answers are handed to the socket in pieces, as they are; smaller ones as one.
_JOIN_UP_TO: Final = 128 * 1024
# What is worth a place of its own among those pieces.
_PIECE: Final = 16 * 1024
_WRITE_HIGH: Final = 256 * 1024
_WRITE_LOW: Final = 64 * 1024


class Slot:
    """A request's place in the order of answers (`handler.Reply`)."""

    __slots__ = ("_answers", "callbacks", "chunks", "is_ready", "is_running", "is_waiting")

    def __init__(self, answers: "Answers") -> None:
        self._answers = answers
        self.chunks: list[bytes] = []
        self.callbacks: list[Callable[[], None]] = []
        self.is_ready = False
        self.is_running = True
        # Still in the order of answers.
        self.is_waiting = True

    def answer(self, chunks: list[bytes]) -> None:
        """Have this sent when those before it have been; nothing, where it is empty."""
        if not self.is_ready:
            self.is_ready = True
            self.chunks = chunks
            self._answers.flush()

    def skip(self) -> None:
        self.answer([])

    def when_written(self, callback: Callable[[], None]) -> None:
        if self.is_waiting:
            self.callbacks.append(callback)
        else:
            callback()

    def finish(self) -> None:
        """Note that nothing runs for this request any more."""
        self.is_running = False
        self._answers.count_down(self)


class Answers:
    def __init__(self, transport: asyncio.Transport) -> None:
        transport.set_write_buffer_limits(high=_WRITE_HIGH, low=_WRITE_LOW)
        self._transport = transport
        self._slots: deque[Slot] = deque()
        self._requests = 0
        self._is_writable = True
        self._is_last = False
        self._unwritten: list[bytes] = []
        self._is_scheduled = False
        self._when_taken: list[Callable[[], None]] = []

    @property
    def requests(self) -> int:
        """How many requests are not both done and answered."""
        return self._requests

    @property
    def is_writable(self) -> bool:
        """False while the client does not take what was written."""
        return self._is_writable

    def new_slot(self) -> Slot:
        slot = Slot(self)
        self._slots.append(slot)
        self._requests += 1
        return slot

    def pause(self) -> None:
        self._is_writable = False

    def resume(self) -> None:
        self._is_writable = True
        self._taken()

    def close_after_last(self) -> None:
        """Close the connection when every answer that is owed has been sent."""
        self._is_last = True
        self.flush()
        self._write()

    def drop(self) -> None:
        """Give up all answers: the client has gone."""
        while self._slots:
            self._leave(self._slots.popleft())
        self._unwritten.clear()
        self._taken()

    def flush(self) -> None:
        """Have every answer written whose turn it is.

        Requests that storage answered in one frame are done one right after the other, so
        they are written together: a system call costs as much as all the rest of them.
        """
        while self._slots and self._slots[0].is_ready:
            slot = self._slots.popleft()
            self._unwritten += slot.chunks
            self._leave(slot)
            if not self._is_scheduled:
                self._is_scheduled = True
                asyncio.get_running_loop().call_soon(self._write)

    def count_down(self, slot: Slot) -> None:
        if not slot.is_running and not slot.is_waiting:
            self._requests -= 1

    def _leave(self, slot: Slot) -> None:
        slot.is_waiting = False
        slot.chunks = []
        # What the client does not take stays in memory, and counts.
        self._when_taken += slot.callbacks
        self.count_down(slot)

    def _write(self) -> None:
        self._is_scheduled = False
        chunks, self._unwritten = self._unwritten, []
        # A transport that is closing takes no more; uvloop's even raises.
        if not self._transport.is_closing():
            size = sum(map(len, chunks))
            _sent.value += size
            if size > _JOIN_UP_TO:
                self._transport.writelines(list(_pieces(chunks)))
            elif chunks:
                self._transport.write(b"".join(chunks))
            if self._is_last and not self._slots:
                self._transport.close()
        if self._is_writable:
            self._taken()

    def _taken(self) -> None:
        callbacks, self._when_taken = self._when_taken, []
        for callback in callbacks:
            callback()


def _pieces(chunks: Iterable[bytes]) -> Iterator[bytes]:
    """The large chunks as they are, and those between them joined.

    A transport takes no more than some number of pieces at once, and closes at more.
    """
    small: list[bytes] = []
    for chunk in chunks:
        if len(chunk) < _PIECE:
            small.append(chunk)
            continue
        if small:
            yield b"".join(small)
            small.clear()
        yield chunk
    if small:
        yield b"".join(small)
