"""One transactional id that this coordinator owns: events one at a time, and one timer.

It decides nothing: it applies a rule, saves what comes of it by compare-and-set, and only
then tells those who take part, and answers. When a save fails, nobody knows what Redis has:
the actor closes, everybody who waits is told, and the id is read again when it is next
wanted. What is decided is carried out in the background, for as long as that takes.
"""

import asyncio
import contextlib
import logging
from collections.abc import Callable, Collection, Sequence
from typing import Any, Final, TypeAlias, TypeVar

from korvet.coordinator import transaction_rules as rules
from korvet.coordinator.background import Background
from korvet.coordinator.owned_store import NotOwnerError, now_ms
from korvet.coordinator.participants import Participants
from korvet.coordinator.pending_offsets import TransactionRef
from korvet.coordinator.refusals import REDIS_IS_AWAY
from korvet.coordinator.transaction import Partition, Producer, Transaction
from korvet.coordinator.transaction_codec import StoredTransaction
from korvet.coordinator.transaction_rules import Finish, ProducerIdNeeded, Register, Step
from korvet.coordinator.transaction_store import TransactionStore
from korvet.kafka.errors import ErrorCode
from korvet.runtime import metrics

log = logging.getLogger(__name__)

# Clients come back by themselves, but not at once: it is quicker to wait for them.
_PATIENCE: Final = 5.0
_END_SECONDS: Final = 1.0
# Of a timer: a transaction's time may be longer than a loop can wait.
_LONGEST_SLEEP: Final = 3600.0

_ended: Final = metrics.counter(
    "korvet.transaction.ended",
    unit="{transaction}",
    description="Transactions that have ended in all partitions and groups.",
    attributes=("korvet.outcome",),
)

_Answer = TypeVar("_Answer")
# With a producer id that nobody has had, where it needs one.
_Event: TypeAlias = Callable[[Transaction, int | None], Step[_Answer]]


class TransactionActor:
    def __init__(
        self,
        stored: StoredTransaction,
        store: TransactionStore,
        participants: Participants,
        *,
        background: Background,
        on_close: Callable[["TransactionActor"], None],
    ) -> None:
        self._loop = asyncio.get_running_loop()
        self._stored = stored
        self._store = store
        self._participants = participants
        self._background = background
        self._on_close = on_close
        # Events change the transaction one at a time, saving and registering included.
        self._turn = asyncio.Lock()
        # Who has heard of the open transaction from here.
        self._registered = Register()
        self._timer: asyncio.TimerHandle | None = None
        # The carrying out of what was decided.
        self._completion: asyncio.Task[None] | None = None
        self._closed: asyncio.Future[Exception] = self._loop.create_future()

    def start(self) -> None:
        """Go on where the owner before has ended."""
        if self.transaction.is_prepared:
            self._complete_soon()
        self._set_timer()

    @property
    def transaction(self) -> Transaction:
        return self._stored.transaction

    @property
    def is_idle(self) -> bool:
        """Whether nothing is under way."""
        return not self._turn.locked() and not self.transaction.is_open

    # --- events ---

    async def init_producer(
        self, *, timeout_ms: int, expected: Producer | None
    ) -> Producer:
        until = self._loop.time() + _PATIENCE
        while True:
            answer = await self._apply(
                lambda transaction, new_id: rules.init_producer(
                    transaction,
                    timeout_ms=timeout_ms,
                    expected=expected,
                    now_ms=now_ms(),
                    new_producer_id=new_id,
                ),
                until,
            )
            if answer is not None:
                return answer

    async def add_partitions(
        self, producer: Producer, partitions: Sequence[Partition]
    ) -> list[ErrorCode]:
        codes: dict[Partition, ErrorCode] = {}
        await self._apply(
            lambda transaction, _: rules.add_partitions(
                transaction, producer, partitions, now_ms()
            ),
            codes=codes,
        )
        return [codes.get(partition, ErrorCode.NONE) for partition in partitions]

    async def add_group(self, producer: Producer, group_id: str) -> None:
        await self._apply(
            lambda transaction, _: rules.add_group(
                transaction, producer, group_id, now_ms()
            )
        )

    async def verify_partitions(
        self, producer: Producer, partitions: Collection[Partition]
    ) -> tuple[ErrorCode, ...]:
        return await self._apply(
            lambda transaction, _: Step(
                transaction, rules.verify_partitions(transaction, producer, partitions)
            )
        )

    async def end(
        self, producer: Producer, *, is_commit: bool, bumps_epoch: bool
    ) -> Producer:
        """Answers when it is decided, and mostly when it is carried out as well."""
        answer = await self._apply(
            lambda transaction, new_id: rules.end(
                transaction,
                producer,
                is_commit=is_commit,
                bumps_epoch=bumps_epoch,
                now_ms=now_ms(),
                new_producer_id=new_id,
            )
        )
        if self._completion is not None:
            await asyncio.wait({self._completion}, timeout=_END_SECONDS)
        return answer

    async def abort(self) -> None:
        await self._apply(lambda transaction, _: rules.abort(transaction, now_ms()))

    async def delete_if_done_with(self, retention_ms: int) -> None:
        """Forget the id, if nobody has wanted it for too long."""
        async with self._turn:
            self._check_open()
            if rules.is_done_with(
                self.transaction, retention_ms=retention_ms, now_ms=now_ms()
            ):
                try:
                    await self._store.delete(self._stored)
                finally:
                    self.close(NotOwnerError())

    def close(self, reason: Exception) -> None:
        """Stop being the one who decides; tell everybody who waits."""
        if self._closed.done():
            return
        self._closed.set_result(reason)
        if self._timer is not None:
            self._timer.cancel()
        if self._completion is not None and self._completion is not asyncio.current_task():
            self._completion.cancel()
        self._on_close(self)

    # --- how an event is applied ---

    async def _apply(
        self,
        event: _Event[_Answer],
        until: float | None = None,
        codes: dict[Partition, ErrorCode] | None = None,
    ) -> _Answer:
        if until is None:
            until = self._loop.time() + _PATIENCE
        # A caller that goes away does not interrupt what has begun.
        task = self._background.spawn(self._apply_in_turn(event, until, codes))
        either: set[asyncio.Future[Any]] = {task, self._closed}
        await asyncio.wait(either, return_when=asyncio.FIRST_COMPLETED)
        if task.done():
            return task.result()
        raise self._closed.result()

    async def _apply_in_turn(
        self,
        event: _Event[_Answer],
        until: float,
        codes: dict[Partition, ErrorCode] | None = None,
    ) -> _Answer:
        await self._take_turn(until)
        try:
            self._check_open()
            step = await self._step(event)
            await self._keep(step.transaction)
            if isinstance(step.effect, Finish):
                self._complete_soon()
            self._set_timer()
            if isinstance(step.effect, Register):
                told = await self._register(step.effect)
                if codes is not None:
                    codes.update(told)
            return step.answer
        finally:
            self._turn.release()

    async def _take_turn(self, until: float) -> None:
        """The turn, with nothing left to carry out, unless that takes too long."""
        while True:
            await self._turn.acquire()
            completion, left = self._completion, until - self._loop.time()
            if completion is None or left <= 0 or self._closed.done():
                return
            self._turn.release()
            await asyncio.wait({completion}, timeout=left)

    async def _step(self, event: _Event[_Answer]) -> Step[_Answer]:
        try:
            return event(self.transaction, None)
        except ProducerIdNeeded:
            new_id = await self._participants.new_producer_id()
            self._check_open()
            return event(self.transaction, new_id)

    async def _keep(self, transaction: Transaction) -> None:
        if transaction == self.transaction:
            return
        if transaction.number != self.transaction.number:
            self._registered = Register()
        try:
            self._stored = await self._store.save(self._stored, transaction)
        except (NotOwnerError, *REDIS_IS_AWAY) as error:
            log.warning("%s could not be saved: %r", transaction.transactional_id, error)
            self.close(error)
            raise
        # It may have lost its lease meanwhile, and everybody may have been told so.
        self._check_open()

    # --- those who take part ---

    @property
    def _ref(self) -> TransactionRef:
        transaction = self.transaction
        return TransactionRef(
            transaction.producer, transaction.number, self._stored.owner.epoch
        )

    async def _register(self, wanted: Register) -> dict[Partition, ErrorCode]:
        partitions = wanted.partitions - self._registered.partitions
        groups = wanted.groups - self._registered.groups
        try:
            codes = await self._participants.begin(self._ref, partitions, groups)
        except NotOwnerError as error:
            self.close(error)
            raise
        taken = {each for each, code in codes.items() if code is ErrorCode.NONE}
        self._registered = Register(
            self._registered.partitions | taken, self._registered.groups | groups
        )
        self._check_open()
        return dict(codes)

    def _complete_soon(self) -> None:
        self._completion = self._background.spawn(self._complete())

    async def _complete(self) -> None:
        decided = self.transaction
        try:
            await self._participants.end(
                self._ref,
                decided.partitions,
                decided.groups,
                is_commit=decided.is_commit,
            )
            async with self._turn:
                self._check_open()
                await self._keep(rules.completed(decided, now_ms()))
                self._completion = None
            _ended.of("commit" if decided.is_commit else "abort").value += 1
        except (NotOwnerError, *REDIS_IS_AWAY) as error:
            self.close(error)
        except Exception as error:
            # It is tried again when somebody, or the upkeep, claims it.
            log.exception("%s cannot be ended", decided.transactional_id)
            self.close(error)

    # --- time ---

    def _set_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
        deadline_ms = self.transaction.deadline_ms
        if deadline_ms is not None and not self._closed.done():
            left = max(0.0, (deadline_ms - now_ms()) / 1000)
            self._timer = self._loop.call_later(min(left, _LONGEST_SLEEP), self._on_timer)

    def _on_timer(self) -> None:
        self._timer = None
        self._background.spawn(self._expire())

    async def _expire(self) -> None:
        before = self.transaction
        # Where it fails, the actor is closed; `_keep` has logged it.
        with contextlib.suppress(NotOwnerError, *REDIS_IS_AWAY):
            await self._apply_in_turn(
                lambda transaction, _: rules.expire(transaction, now_ms()), 0.0
            )
            if self.transaction.is_prepared and self.transaction.number == before.number:
                log.info("%s has timed out", before.transactional_id)

    def _check_open(self) -> None:
        if self._closed.done():
            raise self._closed.result()
