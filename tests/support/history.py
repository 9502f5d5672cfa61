"""What a run of clients did, and whether the log agrees: the judge of every fault test.

A producer numbers its records from 0 on, for each partition by itself, and notes each
outcome; consumers note what they read. Then `check` compares with the log as it is: nothing
acknowledged is missing, nothing is there twice, the order is the producer's.
"""

import threading
from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Final, NamedTuple

from korvet.kafka.records import Record

_EXAMPLES: Final = 8


class Partition(NamedTuple):
    topic: str
    partition: int


class Position(NamedTuple):
    offset: int
    number: int


class History:
    """Safe to write from the threads of several clients."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._sent: Counter[Partition] = Counter()
        # Number to offset; -1 where the client was not told one.
        self._acknowledged: defaultdict[Partition, dict[int, int]] = defaultdict(dict)
        self._failed: list[str] = []
        self._read: defaultdict[Partition, list[Position]] = defaultdict(list)

    # ------------------------------------------------------------ what happened

    def next_number(self, partition: Partition) -> int:
        with self._lock:
            number = self._sent[partition]
            self._sent[partition] += 1
            return number

    def acknowledged(self, partition: Partition, number: int, offset: int) -> None:
        with self._lock:
            self._acknowledged[partition][number] = offset

    def failed(self, partition: Partition, number: int, error: object) -> None:
        with self._lock:
            self._failed.append(f"{partition}: {number} was refused: {error}")

    def read(self, partition: Partition, offset: int, value: bytes) -> None:
        with self._lock:
            self._read[partition].append(Position(offset, number_in(value)))

    # ------------------------------------------------------------ how far it got

    def sent_count(self, partition: Partition) -> int:
        with self._lock:
            return self._sent[partition]

    def acknowledged_numbers(self, partition: Partition) -> set[int]:
        with self._lock:
            return set(self._acknowledged[partition])

    def fewest(self) -> int:
        """How many records the slowest partition has acknowledged."""
        with self._lock:
            return min((len(self._acknowledged[p]) for p in self._sent), default=0)

    def everything_is_read(self) -> bool:
        """Whether the consumers have come to each partition's last acknowledged record."""
        with self._lock:
            return all(
                self._read[partition] and self._read[partition][-1].number >= max(numbers)
                for partition, numbers in self._acknowledged.items()
                if numbers
            )

    def __str__(self) -> str:
        with self._lock:
            lines = [
                f"{partition}: sent {sent}, read {len(self._read[partition])}, "
                f"acknowledged {len(self._acknowledged[partition])}"
                for partition, sent in self._sent.items()
            ]
            return "\n".join([*lines, *self._failed])

    # ------------------------------------------------------------ the verdict

    def check(self, partition: Partition, log: Iterable[Record]) -> None:
        """Raise AssertionError with what is wrong, in words, if the log is not right."""
        found = [Position(record.offset, number_in(record.value or b"")) for record in log]
        with self._lock:
            problems = [
                *self._failed,
                *_order_problems("the log", found),
                *self._log_problems(partition, found),
            ]
            if partition in self._read:
                problems += _read_problems(self._read[partition], found)
        assert not problems, "\n".join([f"{partition} is wrong:", *problems])

    def check_order(self, partition: Partition, log: Iterable[Record]) -> None:
        """The same where the log is not what the producer began with."""
        found = [Position(record.offset, number_in(record.value or b"")) for record in log]
        with self._lock:
            problems = [*self._failed, *_order_problems("the log", found)]
        assert not problems, "\n".join([f"{partition} is wrong:", *problems])

    def _log_problems(self, partition: Partition, found: Sequence[Position]) -> list[str]:
        offsets = {number: offset for offset, number in found}
        acknowledged = self._acknowledged[partition]
        lost = sorted(acknowledged.keys() - offsets.keys())
        unsent = sorted(number for number in offsets if number >= self._sent[partition])
        moved = [
            f"{number} at {offsets[number]}, not {offset}"
            for number, offset in acknowledged.items()
            if offset >= 0 and number in offsets and offsets[number] != offset
        ]
        return [
            *counted("acknowledged, but not in the log", lost),
            *counted("in the log, but never sent", unsent),
            *counted("not where the producer was told", moved),
        ]


def number_in(value: bytes) -> int:
    """Values are a number, and after it whatever makes them longer."""
    return int(value.split(b" ", 1)[0])


def _order_problems(where: str, positions: Sequence[Position]) -> list[str]:
    twice = [
        number
        for number, count in Counter(p.number for p in positions).items()
        if count > 1
    ]
    backwards = [
        f"{after} after {before}"
        for before, after in pairwise(positions)
        if after.number <= before.number or after.offset <= before.offset
    ]
    return [
        *counted(f"more than once in {where}", twice),
        *counted(f"out of order in {where}", backwards),
    ]


def _read_problems(read: Sequence[Position], log: Sequence[Position]) -> list[str]:
    """A consumer that reads on from the beginning sees the log, up to where it is."""
    problems = _order_problems("what was read", read)
    was_read, is_there = set(read), set(log)
    missed = [each for each in log[: len(read)] if each not in was_read]
    foreign = [each for each in read if each not in is_there]
    return [
        *problems,
        *counted("skipped by the consumer", missed),
        *counted("read, but not in the log", foreign),
    ]


def counted(what: str, cases: Sequence[object]) -> list[str]:
    if not cases:
        return []
    examples = ", ".join(map(str, cases[:_EXAMPLES]))
    return [f"  {len(cases)} {what}: {examples}{' …' * (len(cases) > _EXAMPLES)}"]
