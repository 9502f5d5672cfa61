"""What transactions and their readers did, and whether that is what Kafka promises.

Producers note each step before and after they ask for it, consumers what they were handed.
The order of notes is the order of time: a step was taken somewhere between the note that
asks for it and the note of its answer, and only what holds for every such moment is judged.
No value is written twice in a run, so that a value says which transaction it is from.
"""

import threading
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from enum import Enum, StrEnum
from itertools import count, pairwise
from typing import Final, NamedTuple

from tests.support.client_contract import Isolation
from tests.support.history import Partition, counted

_NEVER: Final = float("inf")


class Outcome(Enum):
    # Nobody was told: it may have been committed, aborted, or be open still.
    UNKNOWN = "unknown"
    COMMITTED = "committed"
    ABORTED = "aborted"


class Fault(StrEnum):
    LOST = "written for good, but not read"
    DUPLICATE = "read more than once"
    ABORTED = "read, but aborted"
    OPEN = "read at or past a transaction that was open"
    BACKWARDS = "at an offset that is not after the one before"
    DISORDER = "not in the order in which they were written"
    FOREIGN = "read, but never written there"
    MOVED = "not where the producer was told"


class Read(NamedTuple):
    at: float
    offset: int
    value: bytes


@dataclass(slots=True, kw_only=True)
class _Write:
    transaction: "Transaction"
    partition: Partition
    value: bytes
    at: float
    offset: int | None = None


class Transaction:
    """What its producer notes. Until it asks for an end, a transaction is open."""

    def __init__(self, history: "TransactionHistory", producer: str) -> None:
        self.producer = producer
        self.outcome = Outcome.UNKNOWN
        self.ends_at = _NEVER
        self.writes: dict[bytes, _Write] = {}
        self._history = history

    def write(self, partition: Partition, value: bytes) -> None:
        """About to be handed to the client."""
        with self._history.noted() as at:
            write = _Write(transaction=self, partition=partition, value=value, at=at)
            self.writes[value] = write
            self._history.written(write)

    def acknowledged(self, value: bytes, offset: int) -> None:
        with self._history.noted():
            self.writes[value].offset = offset

    def ends(self) -> None:
        """About to be committed, aborted, fenced, or left to its time-out."""
        with self._history.noted() as at:
            self.ends_at = min(self.ends_at, at)

    def committed(self) -> None:
        self._ended(Outcome.COMMITTED)

    def aborted(self) -> None:
        self._ended(Outcome.ABORTED)

    def _ended(self, outcome: Outcome) -> None:
        with self._history.noted() as at:
            self.outcome = outcome
            self.ends_at = min(self.ends_at, at)

    def first_offsets(self) -> dict[Partition, int]:
        """From where on a read of committed records may not go while this is open."""
        found: dict[Partition, int] = {}
        for write in self.writes.values():
            if write.offset is not None:
                known = found.get(write.partition, write.offset)
                found[write.partition] = min(known, write.offset)
        return found


@dataclass(slots=True)
class Reader:
    """One consumer, from the beginning of what it reads."""

    name: str
    isolation: Isolation
    _history: "TransactionHistory"
    reads: defaultdict[Partition, list[Read]] = field(
        default_factory=lambda: defaultdict(list)
    )
    is_finished: bool = False

    def read(self, partition: Partition, offset: int, value: bytes) -> None:
        with self._history.noted() as at:
            self.reads[partition].append(Read(at, offset, value))

    def is_past(self, write: _Write) -> bool:
        """Whether it would have read this, where it was to be read."""
        if self.is_finished or write.offset is None:
            return self.is_finished
        reads = self.reads[write.partition]
        return bool(reads) and reads[-1].offset > write.offset

    def finished(self) -> None:
        """It came to the end after everything had ended: what it has not, is not there."""
        with self._history.noted():
            self.is_finished = True


class TransactionHistory:
    """Safe to write from the threads of several clients."""

    def __init__(self) -> None:
        self._lock = threading.RLock()
        self._clock = count()
        self._transactions: list[Transaction] = []
        self._writes: dict[bytes, _Write] = {}
        self._readers: list[Reader] = []
        self._committed: defaultdict[tuple[str, Partition], list[int]] = defaultdict(list)

    # ------------------------------------------------------------ what happened

    def begin(self, producer: str) -> Transaction:
        with self._lock:
            transaction = Transaction(self, producer)
            self._transactions.append(transaction)
            return transaction

    def reader(self, name: str, isolation: Isolation) -> Reader:
        with self._lock:
            reader = Reader(name, isolation, self)
            self._readers.append(reader)
            return reader

    def group_offset(self, group: str, partition: Partition, offset: int) -> None:
        """Somebody was told that this is what a group has committed."""
        with self._lock:
            self._committed[group, partition].append(offset)

    @contextmanager
    def noted(self) -> Iterator[float]:
        """Holds the history while something is noted, and tells when that is."""
        with self._lock:
            yield next(self._clock)

    def written(self, write: _Write) -> None:
        assert write.value not in self._writes, f"{write.value!r} is written twice"
        self._writes[write.value] = write

    def count(self, outcome: Outcome) -> int:
        with self._lock:
            return sum(each.outcome is outcome for each in self._transactions)

    # ------------------------------------------------------------ the verdict

    def check(self) -> None:
        """Raise AssertionError with what is wrong, in words."""
        lines = [
            line
            for (who, fault), cases in self.faults().items()
            for line in counted(f"{who}: {fault}", cases)
        ]
        assert not lines, "\n".join(["transactions are not what they promise:", *lines])

    def faults(self) -> dict[tuple[str, Fault], list[str]]:
        """By who saw it and what it is."""
        found: defaultdict[tuple[str, Fault], list[str]] = defaultdict(list)
        with self._lock:
            for (group, partition), offsets in self._committed.items():
                for before, after in pairwise(offsets):
                    if after < before:
                        case = f"{partition} {after} after {before}"
                        found[f"group {group}", Fault.BACKWARDS].append(case)
            in_effect = self._in_effect()
            for reader in self._readers:
                for fault, case in self._reader_faults(reader, in_effect):
                    found[reader.name, fault].append(case)
        return dict(found)

    def _in_effect(self) -> set[int]:
        """The transactions that are committed, be it only because somebody saw them so."""
        seen = {
            id(self._writes[read.value].transaction)
            for reader in self._readers
            if reader.isolation is Isolation.COMMITTED
            for reads in reader.reads.values()
            for read in reads
            if read.value in self._writes
        }
        return {
            id(each)
            for each in self._transactions
            if each.outcome is Outcome.COMMITTED
            or (each.outcome is Outcome.UNKNOWN and id(each) in seen)
        }

    def _reader_faults(
        self, reader: Reader, in_effect: set[int]
    ) -> Iterator[tuple[Fault, str]]:
        for partition, reads in reader.reads.items():
            yield from _sequence_faults(partition, reads)
            yield from self._record_faults(partition, reads)
            if reader.isolation is Isolation.COMMITTED:
                yield from self._isolation_faults(partition, reads)
        seen = {read.value for reads in reader.reads.values() for read in reads}
        for write in self._writes.values():
            is_durable = id(write.transaction) in in_effect or (
                reader.isolation is Isolation.UNCOMMITTED and write.offset is not None
            )
            if is_durable and write.value not in seen and reader.is_past(write):
                yield Fault.LOST, _named(write.partition, write.offset, write.value)

    def _record_faults(
        self, partition: Partition, reads: Sequence[Read]
    ) -> Iterator[tuple[Fault, str]]:
        last: dict[str, float] = {}
        for _, offset, value in reads:
            case = _named(partition, offset, value)
            write = self._writes.get(value)
            if write is None or write.partition != partition:
                yield Fault.FOREIGN, case
                continue
            if write.offset not in (None, offset):
                yield Fault.MOVED, f"{case}, told {write.offset}"
            if write.at < last.get(write.transaction.producer, -1):
                yield Fault.DISORDER, case
            last[write.transaction.producer] = write.at

    def _isolation_faults(
        self, partition: Partition, reads: Sequence[Read]
    ) -> Iterator[tuple[Fault, str]]:
        barriers = [
            (each.ends_at, each.first_offsets().get(partition, _NEVER))
            for each in self._transactions
        ]
        for at, offset, value in reads:
            case = _named(partition, offset, value)
            write = self._writes.get(value)
            if write and write.transaction.outcome is Outcome.ABORTED:
                yield Fault.ABORTED, case
            is_open = write is not None and at < write.transaction.ends_at
            if is_open or any(at < ends and offset >= first for ends, first in barriers):
                yield Fault.OPEN, case


def _sequence_faults(
    partition: Partition, reads: Sequence[Read]
) -> Iterator[tuple[Fault, str]]:
    for before, after in pairwise(reads):
        if after.offset <= before.offset:
            yield Fault.BACKWARDS, f"{partition} {after.offset} after {before.offset}"
    for value, times in Counter(read.value for read in reads).items():
        if times > 1:
            yield Fault.DUPLICATE, f"{partition} {value!r}"


def _named(partition: Partition, offset: int | None, value: bytes) -> str:
    where = "?" if offset is None else offset
    return f"{partition.topic}-{partition.partition}@{where} {value!r}"
