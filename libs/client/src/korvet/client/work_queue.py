"""Takes records from a work queue as long as the caller iterates, over lost connections.

A consumer that comes back under its name gets at once what it had not acknowledged. What
the caller still works on is then not yielded a second time, and an acknowledgement that
had no answer is sent again: so a break goes unnoticed, if it is shorter than the time in
which records have to be acknowledged.
"""

import asyncio
import contextlib
from collections.abc import AsyncGenerator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, NamedTuple

import grpc

from korvet.client.connection import Connection, heed_cancellation
from korvet.client.errors import (
    RETRIABLE,
    ErrorCode,
    KorvetError,
    UnavailableError,
    refusal,
)
from korvet.client.model import Position, Record
from korvet.client.persistence import Persistence
from korvet.client.tailing import BROKEN
from korvet.proto.storage.v1 import storage_service_pb2 as pb

if TYPE_CHECKING:
    _Call = grpc.aio.StreamStreamCall[pb.ConsumeRequest, pb.ConsumeResponse]

_PAUSE: Final = 0.2
# How long a consumer that ends tries to give back what nobody has looked at.
_FAREWELL: Final = 2.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Delivery:
    """A record that is yours until you acknowledge or release it, or take too long.

    `delivery_count` is 1 the first time.
    """

    record: Record
    delivery_count: int
    _queue: "WorkQueue" = field(repr=False, compare=False)

    async def ack(self) -> None:
        """The record is done with. When this returns, nobody will get it again."""
        await self._queue.settle(self._position, is_released=False)

    async def release(self) -> None:
        """Let another consumer, or this one again, have the record at once."""
        await self._queue.settle(self._position, is_released=True)

    @property
    def _position(self) -> Position:
        return Position(self.record.partition, self.record.offset)


class _Waiting(NamedTuple):
    """A delivery that the caller has not come to yet."""

    delivery: Delivery
    since: float


class _Settlement(NamedTuple):
    is_released: bool
    done: "asyncio.Future[None]"


class WorkQueue:
    def __init__(
        self,
        connection: Connection,
        topic: str,
        start: pb.ConsumeRequest.Start,
        retry_for: float,
    ) -> None:
        self._connection = connection
        self._topic = topic
        self._start = start
        self._patience = start.redeliver_after_ms / 1000
        self._waiting: dict[Position, _Waiting] = {}
        # What the caller works on, and since when.
        self._held: dict[Position, float] = {}
        # What it had, or was done with, when the connection broke.
        self._out_of_sight: set[Position] = set()
        self._settlements: dict[Position, _Settlement] = {}
        self._unsent: list[Position] = []
        self._has_unsent = asyncio.Event()
        self._changed = asyncio.Event()
        self._failure: Exception | None = None
        self._persistence = Persistence(retry_for)
        self._is_connected = self._is_closing = False
        self._loop = asyncio.get_running_loop()

    async def deliveries(self) -> AsyncGenerator[Delivery, None]:
        running = asyncio.create_task(self._run())
        try:
            while True:
                yield await self._next()
        finally:
            await self._give_back(running)
            running.cancel()
            await asyncio.gather(running, return_exceptions=True)
            address = self._connection.address
            self._fail(UnavailableError(address, "CANCELLED", "no longer consuming"))

    async def settle(self, position: Position, *, is_released: bool) -> None:
        """Return once storage has carried it out."""
        if self._failure:
            raise self._failure
        self._held.pop(position, None)
        known = self._settlements.get(position)
        if known is None:
            known = _Settlement(is_released, self._loop.create_future())
            self._settlements[position] = known
            self._unsent.append(position)
            self._has_unsent.set()
        # Who waits for it may be cancelled; the settlement itself goes on.
        await asyncio.shield(known.done)

    async def _next(self) -> Delivery:
        while not self._waiting:
            if self._failure:
                raise self._failure
            self._changed.clear()
            await self._changed.wait()
        position = next(iter(self._waiting))
        self._held[position] = self._loop.time()
        return self._waiting.pop(position).delivery

    # --- the connection ---

    async def _run(self) -> None:
        """Keep connected until cancelled, or until there is no point in it."""
        while True:
            error: Exception
            self._persistence.opened(self._loop.time())
            try:
                await self._converse()
                if self._is_closing:
                    return
                error = self._connection.unavailable()
            except KorvetError as refusal:
                if refusal.code not in RETRIABLE:
                    self._fail(refusal)
                    return
                error = refusal
            except grpc.aio.AioRpcError as status:
                heed_cancellation()
                error = self._connection.unavailable(status)
                if status.code() not in BROKEN:
                    self._fail(error)
                    return
                self._connection.avoid_unreachable()
            except asyncio.CancelledError:
                heed_cancellation()
                error = self._connection.unavailable()
            except Exception as unexpected:  # noqa: BLE001
                # The channel was closed, say. Whoever waits for records must hear of it.
                self._fail(unexpected)
                return
            self._lost_sight()
            if self._persistence.is_over(self._loop.time()):
                self._fail(error)
                return
            await asyncio.sleep(_PAUSE)

    async def _converse(self) -> None:
        """One stream to its end."""
        call = self._connection.stub.Consume()
        await call.write(pb.ConsumeRequest(start=self._start))
        self._unsent = list(self._settlements)
        self._has_unsent.set()
        sending = asyncio.create_task(self._send(call))
        self._is_connected = True
        try:
            while isinstance(response := await call.read(), pb.ConsumeResponse):
                self._received(response)
        finally:
            self._is_connected = False
            sending.cancel()
            await asyncio.gather(sending, return_exceptions=True)
            call.cancel()

    async def _send(self, call: "_Call") -> None:
        # A failure to write ends the reading, too, which tells why.
        with contextlib.suppress(grpc.aio.AioRpcError, asyncio.InvalidStateError):
            while not self._is_closing:
                await self._has_unsent.wait()
                self._has_unsent.clear()
                request = pb.ConsumeRequest()
                for position in self._unsent:
                    if settlement := self._settlements.get(position):
                        released = settlement.is_released
                        group = request.released if released else request.acknowledged
                        group.add(partition=position.partition, offset=position.offset)
                self._unsent.clear()
                if request.acknowledged or request.released:
                    await call.write(request)
            await call.done_writing()

    def _lost_sight(self) -> None:
        """What nobody has looked at comes again; what the caller has, it has."""
        self._waiting.clear()
        self._out_of_sight = {*self._held, *self._settlements}

    # --- what comes in ---

    def _received(self, response: pb.ConsumeResponse) -> None:
        if response.error_code != ErrorCode.NONE:
            raise refusal(self._topic, response.error_code, response.error_message)
        self._persistence.heard()
        for each in response.settled:
            settlement = self._settlements.pop(Position(each.partition, each.offset), None)
            if settlement and not settlement.done.done():
                settlement.done.set_result(None)
        now = self._loop.time()
        for delivery in response.deliveries:
            self._take(delivery, now)
        self._forget(now - self._patience)
        self._changed.set()

    def _take(self, delivery: pb.ConsumeResponse.Delivery, now: float) -> None:
        record = Record.from_proto(self._topic, delivery.partition, delivery.record)
        position = Position(record.partition, record.offset)
        if delivery.delivery_count > 1 and self._is_known(position):
            self._out_of_sight.discard(position)
            if position in self._held:
                # The time to acknowledge it begins anew.
                self._held[position] = now
            return
        taken = Delivery(record=record, delivery_count=delivery.delivery_count, _queue=self)
        self._waiting[position] = _Waiting(taken, now)

    def _is_known(self, position: Position) -> bool:
        """Whether the caller has it, or has said that it is done with it."""
        settlement = self._settlements.get(position)
        is_done = settlement is not None and not settlement.is_released
        return is_done or position in self._out_of_sight

    def _forget(self, before: float) -> None:
        """Drop what has been here for so long that it is somebody else's by now."""
        for position in [p for p, each in self._waiting.items() if each.since <= before]:
            del self._waiting[position]
        for position in [p for p, since in self._held.items() if since <= before]:
            del self._held[position]
            self._out_of_sight.discard(position)

    # --- the end ---

    async def _give_back(self, running: "asyncio.Task[None]") -> None:
        """Let others have at once what the caller has not come to, and end the stream."""
        self._is_closing = True
        if not self._is_connected:
            return
        for position in self._waiting:
            self._settlements[position] = _Settlement(True, self._loop.create_future())
            self._unsent.append(position)
        self._has_unsent.set()
        await asyncio.wait([running], timeout=_FAREWELL)

    def _fail(self, error: Exception) -> None:
        self._failure = self._failure or error
        for settlement in self._settlements.values():
            if not settlement.done.done():
                settlement.done.set_exception(self._failure)
                # Its caller may be gone; then nobody minds.
                settlement.done.exception()
        self._settlements.clear()
        self._changed.set()
