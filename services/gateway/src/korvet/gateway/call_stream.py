"""Many calls over one bidirectional gRPC stream: numbered, coalesced, and bounded.

Whatever is waiting goes into the next frame, so that under load a call costs a fraction of
a unary RPC. A call ends exactly once: with its result, or with what became of it when the
stream or the caller's patience ended (`Lost`). Nothing is ever sent twice from here.
"""

import asyncio
import enum
import logging
from collections import deque
from collections.abc import Awaitable, Callable, Iterable, Sequence
from typing import Final, Generic, Protocol, TypeVar, cast

from korvet.runtime.rpc_spans import OK, begin_call, end_call
from korvet.runtime.stream_connection import StreamLost
from korvet.runtime.tracing import Work, current

log = logging.getLogger(__name__)

Payload = TypeVar("Payload")
Result = TypeVar("Result")
Frame = TypeVar("Frame")
Answers = TypeVar("Answers")
_Frame_contra = TypeVar("_Frame_contra", contravariant=True)

# A single call may be larger, and then has a frame to itself.
MAX_FRAME_BYTES: Final = 4 * 1024 * 1024


class Lost(enum.Enum):
    """What is known of a call that got no result."""

    # It never left this process, or was not taken by the other one.
    NOT_SENT = enum.auto()
    # It was handed to gRPC, and may or may not have been carried out.
    UNKNOWN = enum.auto()


class Duplex(Protocol[_Frame_contra]):
    """A gRPC stream under way, as far as it is used here (`GrpcStream`)."""

    def write(self, request: _Frame_contra) -> Awaitable[None]: ...

    def read(self) -> Awaitable[object]:
        """The next frame of answers; None where the stream has ended in order."""
        ...

    def cancel(self) -> bool: ...


class Call(Generic[Payload, Result]):
    """One call: its number on the stream, and futures for its start and its end."""

    __slots__ = (
        "admitted",
        "has_room",
        "number",
        "payload",
        "result",
        "sent",
        "size",
        "span",
        "timer",
    )

    def __init__(self, number: int, payload: Payload, size: int) -> None:
        loop = asyncio.get_running_loop()
        self.number = number
        self.payload = payload
        self.size = size
        self.result: asyncio.Future[Result | Lost] = loop.create_future()
        # Set while the call waits for room on the stream.
        self.admitted: asyncio.Future[None] | None = None
        self.has_room = False
        self.sent = False
        self.timer: asyncio.TimerHandle | None = None
        # Where the request that it is for is recorded.
        self.span: Work | None = None


class CallStream(Generic[Payload, Result, Frame, Answers]):
    """The calls of one stream. `run` serves one gRPC stream after the other."""

    def __init__(
        self,
        *,
        build: Callable[[Sequence[Call[Payload, Result]], Sequence[int]], Frame],
        unpack: Callable[[Answers], Iterable[tuple[int, Result]]],
        max_calls: int,
        max_bytes: int,
        method: Callable[[Payload], str],
        address: str,
    ) -> None:
        """`build` makes a frame of calls and of the numbers of cancelled ones.

        `method` and `address` are what traces tell of a call.
        """
        self._build = build
        self._unpack = unpack
        self._max_calls = max_calls
        self._max_bytes = max_bytes
        self._method = method
        self._address = address
        self._last_number = 0
        # Every call that has not ended, and those of them that have room on the stream.
        self._open: dict[int, Call[Payload, Result]] = {}
        self._calls_with_room = 0
        self._bytes_with_room = 0
        # Calls that wait for room, and then for the next frame; both in order.
        self._line: deque[Call[Payload, Result]] = deque()
        self._unsent: deque[Call[Payload, Result]] = deque()
        self._cancelled: list[int] = []
        self._something_to_write = asyncio.Event()
        self._live = asyncio.Event()

    @property
    def is_live(self) -> bool:
        return self._live.is_set()

    @property
    def open_calls(self) -> int:
        return len(self._open)

    async def wait_until_live(self) -> None:
        await self._live.wait()

    async def start(
        self, payload: Payload, size: int, deadline: float
    ) -> Call[Payload, Result]:
        """Give a call its place in the stream's order, once there is room for it.

        A call whose `deadline` (the loop's time) passes ends as lost.
        """
        self._last_number += 1
        call: Call[Payload, Result] = Call(self._last_number, payload, size)
        if (caller := current.get()) is not None:
            call.span = begin_call(caller, self._method(payload), self._address)
        if not self._live.is_set():
            if call.span is not None:
                _end_span(call.span, Lost.NOT_SENT)
            call.result.set_result(Lost.NOT_SENT)
            return call
        loop = asyncio.get_running_loop()
        call.timer = loop.call_at(deadline, self._lose, call)
        self._open[call.number] = call
        self._line.append(call)
        self._admit()
        if not call.has_room:
            call.admitted = loop.create_future()
            try:
                await call.admitted
            except asyncio.CancelledError:
                self.cancel(call)
                raise
        return call

    async def finish(self, call: Call[Payload, Result]) -> Result | Lost:
        """Wait for the end of a call; where the caller is cancelled, so is the call."""
        try:
            return await call.result
        except asyncio.CancelledError:
            self.cancel(call)
            raise

    def cancel(self, call: Call[Payload, Result]) -> None:
        """Forget a call that nobody waits for any more, and tell the other side."""
        if call.number in self._open:
            if call.sent:
                self._cancelled.append(call.number)
                self._something_to_write.set()
            self._lose(call)

    async def run(self, duplex: Duplex[Frame]) -> None:
        """Carry calls over this gRPC stream until it ends; raise what ended it, if any."""
        self._live.set()
        writer = asyncio.create_task(self._write(duplex))
        try:
            while (answers := await duplex.read()) is not None:
                for number, result in self._unpack(cast(Answers, answers)):
                    if (call := self._open.get(number)) is not None:
                        self._end(call, result)
            # It ended in order: whatever the other side took, it has answered.
            for call in list(self._open.values()):
                self._end(call, Lost.NOT_SENT)
        finally:
            self._live.clear()
            writer.cancel()
            duplex.cancel()
            for call in list(self._open.values()):
                self._lose(call)
            self._unsent.clear()
            self._cancelled.clear()
            self._something_to_write.clear()
            await asyncio.wait([writer])

    async def _write(self, duplex: Duplex[Frame]) -> None:
        try:
            while True:
                await self._something_to_write.wait()
                calls = self._next_calls()
                cancelled, self._cancelled = self._cancelled, []
                if not self._unsent:
                    self._something_to_write.clear()
                if calls or cancelled:
                    await duplex.write(self._build(calls, cancelled))
        except StreamLost:
            # The stream is over. The reader gets to know why once it has read what is left,
            # so it must not be cancelled.
            return
        except Exception:
            log.exception("a frame could not be written")
            duplex.cancel()

    def _next_calls(self) -> list[Call[Payload, Result]]:
        calls: list[Call[Payload, Result]] = []
        size = 0
        while self._unsent and (
            not calls or size + self._unsent[0].size <= MAX_FRAME_BYTES
        ):
            call = self._unsent.popleft()
            if call.number in self._open:
                # From here on nobody can say that it was not carried out.
                call.sent = True
                calls.append(call)
                size += call.size
        return calls

    def _admit(self) -> None:
        while self._line:
            call = self._line[0]
            if call.number in self._open:
                if not self._has_room(call.size):
                    return
                call.has_room = True
                self._calls_with_room += 1
                self._bytes_with_room += call.size
                self._unsent.append(call)
                self._something_to_write.set()
            self._line.popleft()
            if call.admitted is not None and not call.admitted.done():
                call.admitted.set_result(None)

    def _has_room(self, size: int) -> bool:
        # However large, a call gets through when it is alone.
        return self._calls_with_room == 0 or (
            self._calls_with_room < self._max_calls
            and self._bytes_with_room + size <= self._max_bytes
        )

    def _lose(self, call: Call[Payload, Result]) -> None:
        self._end(call, Lost.UNKNOWN if call.sent else Lost.NOT_SENT)

    def _end(self, call: Call[Payload, Result], result: Result | Lost) -> None:
        del self._open[call.number]
        if call.span is not None:
            _end_span(call.span, result)
        if call.timer is not None:
            call.timer.cancel()
        if call.has_room:
            self._calls_with_room -= 1
            self._bytes_with_room -= call.size
        if not call.result.done():
            call.result.set_result(result)
        if call.admitted is not None and not call.admitted.done():
            call.admitted.set_result(None)
        self._admit()


def _end_span(span: Work, result: object) -> None:
    if isinstance(result, Lost):
        end_call(span, "UNAVAILABLE" if result is Lost.NOT_SENT else "UNKNOWN", result.name)
    else:
        end_call(span, OK)
