"""Drives a transactional id's rules as the actor does, with a clock that only moves when
told.

Those who take part remember what the real ones do: by producer id the last transaction
that they have heard of, and whether it has ended there.
"""

from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Final, NamedTuple, TypeAlias, TypeVar

from korvet.coordinator import transaction_rules as rules
from korvet.coordinator.owner import Owner
from korvet.coordinator.transaction import (
    NO_PRODUCER,
    Partition,
    Producer,
    State,
    Transaction,
)
from korvet.coordinator.transaction_codec import StoredTransaction, decode, encode
from korvet.coordinator.transaction_rules import Finish, ProducerIdNeeded, Register, Step
from korvet.kafka.errors import ErrorCode, KafkaError

_Result = TypeVar("_Result")
Participant: TypeAlias = Partition | str

TIMEOUT_MS: Final = 60_000
ORDERS: Final = Partition("orders", "id-of-orders", 0)
BILLS: Final = Partition("bills", "id-of-bills", 1)
_OWNER: Final = Owner(address="127.0.0.1:50052", incarnation="first", epoch=1)


class Ended(NamedTuple):
    """What a participant was told."""

    number: int
    is_commit: bool


@dataclass
class TransactionHarness:
    transaction: Transaction = field(
        default_factory=lambda: Transaction(transactional_id="payments")
    )
    now_ms: int = 1_000_000
    # What a coordinator that takes the id over would find.
    saved: Transaction = field(
        default_factory=lambda: Transaction(transactional_id="payments")
    )
    saves: int = 0
    producer_ids: int = 100
    # Whether a decided transaction is completed at once.
    completes: bool = True
    registered: defaultdict[Participant, set[int]] = field(
        default_factory=lambda: defaultdict(set)
    )
    ended: defaultdict[Participant, list[Ended]] = field(
        default_factory=lambda: defaultdict(list)
    )

    @classmethod
    def in_state(cls, state: State) -> "TransactionHarness":
        """Of producer 101; whoever got that far has epoch 0, and added ORDERS."""
        harness = cls()
        producer = harness.init()
        assert producer == Producer(101, 0)
        if state is State.EMPTY:
            return harness
        assert harness.add(producer, ORDERS) is ErrorCode.NONE
        if state is State.ONGOING:
            return harness
        harness.completes = state in (State.COMPLETE_COMMIT, State.COMPLETE_ABORT)
        is_commit = state in (State.PREPARE_COMMIT, State.COMPLETE_COMMIT)
        assert harness.end(producer, is_commit=is_commit) == producer
        assert harness.state is state
        return harness

    @classmethod
    def at_epoch(cls, epoch: int) -> "TransactionHarness":
        """An empty one whose producer has come that far."""
        harness = cls.in_state(State.EMPTY)
        while harness.producer.epoch < epoch:
            harness.init()
        return harness

    # --- what producers do ---

    def init(
        self, expected: Producer | None = None, timeout_ms: int = TIMEOUT_MS
    ) -> Producer | ErrorCode:
        """As the actor does it: what was open is aborted first."""
        answer = self._call(lambda new_id: self._init(expected, timeout_ms, new_id))
        if answer is None and self.completes:
            answer = self._call(lambda new_id: self._init(expected, timeout_ms, new_id))
        return ErrorCode.CONCURRENT_TRANSACTIONS if answer is None else answer

    def _init(
        self, expected: Producer | None, timeout_ms: int, new_id: int | None
    ) -> Step[Producer | None]:
        return rules.init_producer(
            self.transaction,
            timeout_ms=timeout_ms,
            expected=expected,
            now_ms=self.now_ms,
            new_producer_id=new_id,
        )

    def add(self, producer: Producer, *partitions: Partition) -> ErrorCode:
        return self._code(
            lambda: rules.add_partitions(
                self.transaction, producer, partitions, self.now_ms
            )
        )

    def add_group(self, producer: Producer, group_id: str = "group") -> ErrorCode:
        return self._code(
            lambda: rules.add_group(self.transaction, producer, group_id, self.now_ms)
        )

    def verify(
        self, producer: Producer, *partitions: Partition
    ) -> tuple[ErrorCode, ...] | ErrorCode:
        try:
            return rules.verify_partitions(self.transaction, producer, partitions)
        except KafkaError as refusal:
            return refusal.code

    def end(
        self, producer: Producer, *, is_commit: bool, bumps_epoch: bool = False
    ) -> Producer | ErrorCode:
        return self._call(
            lambda new_id: rules.end(
                self.transaction,
                producer,
                is_commit=is_commit,
                bumps_epoch=bumps_epoch,
                now_ms=self.now_ms,
                new_producer_id=new_id,
            )
        )

    # --- what others do ---

    def abort(self) -> ErrorCode:
        return self._code(lambda: rules.abort(self.transaction, self.now_ms))

    def complete(self) -> None:
        """Carry out what was decided."""
        decided = self.transaction
        for each in everybody(decided):
            self.ended[each].append(Ended(decided.number, decided.is_commit))
        self._keep(rules.completed(decided, self.now_ms))

    def advance(self, milliseconds: int) -> None:
        """Move the clock; a timer on the way fires at its own time."""
        end_ms = self.now_ms + milliseconds
        deadline_ms = self.transaction.deadline_ms
        if deadline_ms is not None and deadline_ms <= end_ms:
            self.now_ms = max(self.now_ms, deadline_ms)
            self._apply(rules.expire(self.transaction, self.now_ms))
        self.now_ms = end_ms

    def states_after(self, *milliseconds: int) -> list[State]:
        """The state after each of these, one after the other."""
        states = []
        for each in milliseconds:
            self.advance(each)
            states.append(self.state)
        return states

    def take_over(self) -> None:
        """The owner is gone, and another one goes on with what it had saved."""
        stored = StoredTransaction(transaction=self.saved, owner=_OWNER, version=1)
        self.transaction = decode(stored.name, encode(stored)).transaction
        if self.transaction.is_prepared and self.completes:
            self.complete()

    # --- what tests look at ---

    @property
    def state(self) -> State:
        return self.transaction.state

    @property
    def producer(self) -> Producer:
        return self.transaction.producer

    def watch(self, before: Transaction) -> None:
        """For subclasses that look at each single step."""

    # --- how the actor applies a step ---

    def _call(self, event: Callable[[int | None], Step[_Result]]) -> _Result | ErrorCode:
        try:
            try:
                step = event(None)
            except ProducerIdNeeded:
                self.producer_ids += 1
                step = event(self.producer_ids)
        except KafkaError as refusal:
            return refusal.code
        return self._apply(step)

    def _code(self, event: Callable[[], Step[None]]) -> ErrorCode:
        answer = self._call(lambda _: event())
        return ErrorCode.NONE if answer is None else answer

    def _apply(self, step: Step[_Result]) -> _Result:
        self._keep(step.transaction)
        if isinstance(step.effect, Register):
            for each in everybody(step.effect):
                self.registered[each].add(step.transaction.number)
        elif isinstance(step.effect, Finish) and self.completes:
            self.complete()
        return step.answer

    def _keep(self, transaction: Transaction) -> None:
        before, self.transaction = self.transaction, transaction
        if transaction != before:
            self.saved = transaction
            self.saves += 1
        self.watch(before)


def everybody(these: Transaction | Register) -> Iterator[Participant]:
    yield from these.partitions
    yield from these.groups


def producer_of(answer: Producer | ErrorCode) -> Producer:
    assert isinstance(answer, Producer), answer
    assert answer != NO_PRODUCER
    return answer
