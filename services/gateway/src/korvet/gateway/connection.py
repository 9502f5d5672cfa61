"""One client: frames in, answers out, back-pressure both ways.

Requests are started as they are read and run at the same time. No more is read while too
much is under way or while the client does not take its answers, so that what a connection
holds in memory is bounded whatever the client does.
"""

import asyncio
import logging
from collections.abc import Mapping
from functools import partial
from typing import Any, Final, NamedTuple, Protocol, TypeAlias, cast

from korvet.gateway.answers import TRANSFERRED, Answers, Slot
from korvet.gateway.dispatch import UnanswerableError, dispatch
from korvet.gateway.fetch_memory import ConnectionFetches, FetchBudget
from korvet.gateway.frame_splitter import FrameSplitter
from korvet.gateway.group_readers import ConnectionReaders
from korvet.gateway.handler import Handler, Node, RequestContext
from korvet.gateway.request_memory import RequestBudget
from korvet.kafka.errors import DecodeError
from korvet.kafka.frames import decode_request, read_request_head, response_chunks
from korvet.kafka.message import Message

log = logging.getLogger(__name__)

Handlers: TypeAlias = Mapping[int, Handler[Any, Any]]

_received: Final = TRANSFERRED.of("receive")

# Until clients authenticate, they are all the same to us; the name is Kafka's.
_ANONYMOUS: Final = "User:ANONYMOUS"


class Limits(NamedTuple):
    """What one connection may have under way."""

    max_request_bytes: int
    max_requests_in_flight: int
    max_request_bytes_in_flight: int
    fetch_max_bytes: int


class Owner(Protocol):
    """The server, as its connections see it."""

    def opened(self, connection: "Connection") -> bool:
        """Take a connection in; False where there are too many."""
        ...

    def closed(self, connection: "Connection") -> None: ...

    def buffered(self, size: int) -> None:
        """Count bytes of requests that have not wholly arrived, up or down."""
        ...

    def complain(self, message: str, *args: object) -> None:
        """Log something that a client did, unless there is too much of it."""
        ...

    def note_end(self, level: int, message: str, *args: object) -> None:
        """Log that a connection ended, unless there are too many of them."""
        ...


class Shared(NamedTuple):
    """What the connections of one server have in common."""

    owner: Owner
    node: Node
    handlers: Handlers
    limits: Limits
    requests: RequestBudget
    fetches: FetchBudget
    # Every request under way; some outlive their connections.
    tasks: set[asyncio.Task[None]]


class Connection(asyncio.Protocol):
    # From connection_made on, before which asyncio calls nothing else.
    _transport: asyncio.Transport
    _answers: Answers
    _fetch_readers: ConnectionReaders

    def __init__(self, shared: Shared) -> None:
        self._shared = shared
        self._splitter = FrameSplitter(shared.limits.max_request_bytes)
        self._reported_bytes = 0
        self._host = "unknown"
        # Those that may be dropped when the client has gone.
        self._cancellable: set[asyncio.Task[None]] = set()
        self._bytes_in_flight = 0
        self._produce_order = asyncio.Lock()
        self._fetch_memory = ConnectionFetches(
            shared.fetches, max_bytes=shared.limits.fetch_max_bytes
        )
        self._is_reading = True
        self._waits_for_budget = False
        self._is_draining = False
        self._last_active = 0.0
        self._opened_at = 0.0
        # Why we have ended it, if we have; and whether that is in the log already.
        self._why = ""
        self._is_told = False

    @property
    def bytes_buffered(self) -> int:
        """How much of a request that has not wholly arrived is held."""
        return self._splitter.buffered

    def is_idle_since(self, moment: float) -> bool:
        """Whether the client has neither asked for anything nor taken any answer."""
        is_stuck = not self._answers.requests or not self._answers.is_writable
        return is_stuck and self._last_active < moment

    def drain(self) -> None:
        """Start nothing more, and close when what is under way has been answered."""
        self._is_draining = True
        self._why = "the gateway is stopping"
        self._read_on()
        self._answers.close_after_last()

    def abort(self, why: str) -> None:
        """Close at once, whatever is under way."""
        self._why = self._why or why
        self._transport.abort()

    # ------------------------------------------------------------ asyncio.Protocol

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport = cast(asyncio.Transport, transport)
        self._answers = Answers(self._transport)
        self._host = _host(transport.get_extra_info("peername"))
        self._fetch_readers = ConnectionReaders(
            self._shared.node.coordinator, client_host=self._host, principal=_ANONYMOUS
        )
        self._touch()
        self._opened_at = self._last_active
        if not self._shared.owner.opened(self):
            self._is_told = True
            self._transport.abort()

    def data_received(self, data: bytes) -> None:
        self._touch()
        _received.value += len(data)
        self._splitter.feed(data)
        self._read_on()

    def pause_writing(self) -> None:
        self._answers.pause()
        self._read_on()

    def resume_writing(self) -> None:
        self._touch()
        self._answers.resume()
        self._read_on()

    def connection_lost(self, exc: Exception | None) -> None:
        self._tell_end(exc)
        for task in self._cancellable:
            task.cancel()
        self._answers.drop()
        self._shared.owner.buffered(-self._reported_bytes)
        self._reported_bytes = 0
        self._shared.owner.closed(self)

    # ------------------------------------------------------------ requests

    def _read_on(self) -> None:
        """Start what has arrived, as far as that is allowed now."""
        try:
            while self._may_start() and (frame := self._splitter.next_frame()) is not None:
                self._start(frame)
        except DecodeError as error:
            self._hang_up(f"malformed request: {error}")
        if self._transport.is_closing():
            return
        buffered = self._splitter.buffered
        self._shared.owner.buffered(buffered - self._reported_bytes)
        self._reported_bytes = buffered
        may_start = self._may_start()
        if may_start != self._is_reading:
            self._is_reading = may_start
            if may_start:
                self._transport.resume_reading()
            else:
                self._transport.pause_reading()

    def _may_start(self) -> bool:
        limits = self._shared.limits
        if (
            self._is_draining
            or self._transport.is_closing()
            or not self._answers.is_writable
            or self._answers.requests >= limits.max_requests_in_flight
            or self._bytes_in_flight >= limits.max_request_bytes_in_flight
        ):
            return False
        if self._shared.requests.is_full:
            if not self._waits_for_budget:
                self._waits_for_budget = True
                self._shared.requests.call_when_free(self._budget_is_free)
            return False
        return True

    def _budget_is_free(self) -> None:
        self._waits_for_budget = False
        self._read_on()

    def _start(self, frame: bytes) -> None:
        head = read_request_head(frame)
        handler = self._shared.handlers.get(head.api_key)
        if handler is None:
            self._hang_up(f"API {head.api_key} is not served")
            return
        if not handler.serves(head.api_version):
            if handler.refuse_version is None:
                name = handler.request_type.__name__
                self._hang_up(f"{name} v{head.api_version} is not served")
                return
            answer = handler.refuse_version(head, frame, self._shared.node)
            slot = self._answers.new_slot()
            slot.finish()
            slot.answer([answer])
            return
        header, request = decode_request(frame, handler.request_type)
        slot = self._answers.new_slot()
        context = RequestContext(
            node=self._shared.node,
            api_version=head.api_version,
            client_id=header.client_id,
            client_host=self._host,
            principal=_ANONYMOUS,
            produce_order=self._produce_order,
            fetch_memory=self._fetch_memory,
            fetch_readers=self._fetch_readers,
            reply=slot,
        )
        size = len(frame)
        self._bytes_in_flight += size
        self._shared.requests.take(size)
        run = self._run(slot, handler, request, context, head.correlation_id)
        task = asyncio.get_running_loop().create_task(run)
        self._shared.tasks.add(task)
        if handler.cancellable:
            self._cancellable.add(task)
        # Not in the task itself: one that is cancelled before it begins never runs.
        task.add_done_callback(partial(self._done, slot, size))

    async def _run(
        self,
        slot: Slot,
        handler: Handler[Any, Any],
        request: Message,
        context: RequestContext,
        correlation_id: int,
    ) -> None:
        version = context.api_version
        try:
            answer = await dispatch(handler, request, context)
            if answer is None:
                slot.skip()
            else:
                slot.answer(await _encoded(correlation_id, answer, version))
        except UnanswerableError as error:
            self._hang_up(str(error))
        except Exception:
            log.exception("%s v%d has no answer", type(request).__name__, version)
            self._hang_up("its answer could not be sent")

    def _done(self, slot: Slot, size: int, task: "asyncio.Task[None]") -> None:
        self._shared.tasks.discard(task)
        self._cancellable.discard(task)
        if task.cancelled():
            # Answers behind this one would wait for ever.
            self._why = self._why or "a request on it was dropped"
            self._transport.close()
        slot.finish()
        self._bytes_in_flight -= size
        self._shared.requests.give_back(size)
        self._read_on()

    def _hang_up(self, reason: str) -> None:
        if not self._transport.is_closing():
            self._shared.owner.complain("%s: %s; connection closed", self._host, reason)
            self._is_told = True
            self._transport.close()

    def _tell_end(self, exc: Exception | None) -> None:
        """One line, unless there was one when it was hung up."""
        owner = self._shared.owner
        if self._is_told:
            return
        if exc is not None and not isinstance(exc, ConnectionError | TimeoutError):
            owner.complain("%s: %r; connection lost", self._host, exc)
            return
        # That a client hangs up, or vanishes, is of interest to few.
        level = logging.INFO if self._why else logging.DEBUG
        why = self._why or exc or "the client closed it"
        seconds = asyncio.get_running_loop().time() - self._opened_at
        message = "%s: connection ended after %.1f s: %s"
        owner.note_end(level, message, self._host, seconds, why)

    def _touch(self) -> None:
        self._last_active = asyncio.get_running_loop().time()


async def _encoded(correlation_id: int, answer: Message, version: int) -> list[bytes]:
    if answer.is_long:
        # All other connections would have to wait for it.
        return await asyncio.to_thread(response_chunks, correlation_id, answer, version)
    return response_chunks(correlation_id, answer, version)


def _host(peer: object) -> str:
    return str(peer[0]) if isinstance(peer, tuple) else str(peer or "unknown")
