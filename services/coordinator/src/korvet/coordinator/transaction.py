"""PURE: a transactional id's state: whose it is, its transaction, and what may follow what.

A transaction is a value: the rules (`transaction_rules`) make the next one out of it. Times
are those of the wall clock, in milliseconds, since they outlive the process.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from typing import Final, NamedTuple


class State(StrEnum):
    """Kafka's names, as DescribeTransactions and ListTransactions show them."""

    EMPTY = "Empty"
    ONGOING = "Ongoing"
    # Decided, and written down: nothing but its completion follows.
    PREPARE_COMMIT = "PrepareCommit"
    PREPARE_ABORT = "PrepareAbort"
    # Ended in every partition and group.
    COMPLETE_COMMIT = "CompleteCommit"
    COMPLETE_ABORT = "CompleteAbort"


# A producer is given its id and epoch, a transaction begins, or an abort without one gives
# a new epoch (KIP-890).
_AT_REST: Final = frozenset({State.EMPTY, State.ONGOING, State.COMPLETE_ABORT})

TRANSITIONS: Final[Mapping[State, frozenset[State]]] = {
    State.EMPTY: _AT_REST,
    State.ONGOING: frozenset({State.ONGOING, State.PREPARE_COMMIT, State.PREPARE_ABORT}),
    State.PREPARE_COMMIT: frozenset({State.COMPLETE_COMMIT}),
    State.PREPARE_ABORT: frozenset({State.COMPLETE_ABORT}),
    State.COMPLETE_COMMIT: _AT_REST,
    State.COMPLETE_ABORT: _AT_REST,
}

# What a client may be given. One more is there for fencing it.
MAX_EPOCH: Final = (1 << 15) - 2


class Producer(NamedTuple):
    """A producer as it names itself with each call."""

    producer_id: int
    epoch: int


NO_PRODUCER: Final = Producer(-1, -1)


class Partition(NamedTuple):
    """Of a topic by name and id: one that is made again under the name is another one."""

    topic: str
    # As Kafka writes ids.
    topic_id: str
    partition: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Transaction:
    transactional_id: str
    # NO_PRODUCER until the id is first asked for.
    producer: Producer = NO_PRODUCER
    # Who it was before, where whoever had that may still repeat the call that gave it the
    # present one (KIP-360, KIP-890). NO_PRODUCER where that one is fenced.
    last_producer: Producer = NO_PRODUCER
    # With what it goes on once the transaction is complete, where its epochs are used up.
    next_producer_id: int = NO_PRODUCER.producer_id
    # Counts the transactions of this id, for ever.
    number: int = 0
    state: State = State.EMPTY
    timeout_ms: int = 0
    partitions: frozenset[Partition] = frozenset()
    groups: frozenset[str] = frozenset()
    # Of the open transaction; -1 while there is none.
    started_ms: int = -1
    updated_ms: int = 0

    def enter(self, state: State, now_ms: int) -> "Transaction":
        if state not in TRANSITIONS[self.state]:
            raise AssertionError(f"{self.transactional_id}: {self.state} -> {state}")
        return replace(self, state=state, updated_ms=now_ms)

    @property
    def is_prepared(self) -> bool:
        """Whether it is decided how the transaction ends, and it has not ended."""
        return self.state in (State.PREPARE_COMMIT, State.PREPARE_ABORT)

    @property
    def is_open(self) -> bool:
        """Whether there is a transaction that somebody must end."""
        return self.state is State.ONGOING or self.is_prepared

    @property
    def is_commit(self) -> bool:
        return self.state in (State.PREPARE_COMMIT, State.COMPLETE_COMMIT)

    @property
    def deadline_ms(self) -> int | None:
        """When the transaction is aborted, unless its producer has ended it by then."""
        if self.state is not State.ONGOING:
            return None
        return self.started_ms + self.timeout_ms
