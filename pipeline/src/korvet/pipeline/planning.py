"""PURE: which part of the log is read next, and in which pieces.

Offsets have gaps, so no difference of them is a count. Storage counts records between
offsets; to find the offset behind so many records is to guess and to be told.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Final, NamedTuple, TypeAlias


class Range(NamedTuple):
    """Part of a partition, up to and without `end`, and how many records it is to have."""

    topic: str
    topic_id: bytes
    partition: int
    start: int
    end: int
    records: int


class Gap(NamedTuple):
    """What retention took before it was read: from `start` up to and without `end`."""

    topic: str
    partition: int
    start: int
    end: int


# Counts the records of ranges; all of a list are asked for at once.
Counter: TypeAlias = Callable[[Sequence[Range]], Sequence[int]]

# Pieces may be larger or smaller than they should be by so much of them.
_UNEVEN: Final = 0.1


class _Cut(NamedTuple):
    """The search for the offset before which a range has so many records."""

    part: Range
    target: int
    tolerance: int
    # Of offsets that are known, the nearest ones: at `low` are too few, or just enough.
    low: int
    low_count: int
    high: int
    high_count: int

    @property
    def is_done(self) -> bool:
        return self.target - self.low_count <= self.tolerance or self.high - self.low <= 1

    def guess(self, halve: bool) -> int:
        width = self.high - self.low
        if halve:
            step = width // 2
        else:
            wanted = self.target - self.low_count
            step = width * wanted // max(1, self.high_count - self.low_count)
        return self.low + min(max(step, 1), width - 1)

    def told(self, offset: int, count: int) -> "_Cut":
        if count <= self.target:
            return self._replace(low=offset, low_count=count)
        return self._replace(high=offset, high_count=count)


def first_records(wanted: Sequence[tuple[Range, int]], count: Counter) -> list[Range]:
    """Of each range the part with its first so many records: exactly so many."""
    cuts = [_begin(part, min(records, part.records), 0) for part, records in wanted]
    return [
        cut.part
        if cut.target >= cut.part.records
        else cut.part._replace(end=cut.low, records=cut.low_count)
        for cut in _search(cuts, count)
    ]


def split(parts: Sequence[Range], records_per_split: int, count: Counter) -> list[Range]:
    """The ranges in pieces of about so many records, none of them much larger."""
    tolerance = int(records_per_split * _UNEVEN)
    cuts = [
        _begin(part, target, tolerance)
        for part in parts
        for target in _targets(part.records, records_per_split)
    ]
    found = iter(_search(cuts, count))
    return [
        piece
        for part in parts
        for piece in _pieces(
            part,
            [next(found) for _ in _targets(part.records, records_per_split)],
        )
    ]


def shares(available: Sequence[int], limit: int) -> list[int]:
    """How much of each to take, so that all together are no more than the limit.

    Each in proportion, so that none falls behind for ever; what is left over by rounding
    goes to the first that have more.
    """
    total = sum(available)
    if total <= limit:
        return list(available)
    taken = [each * limit // total for each in available]
    left = limit - sum(taken)
    for index, each in enumerate(available):
        if left and taken[index] < each:
            taken[index] += 1
            left -= 1
    return taken


def group(parts: Sequence[Range], records_per_group: int) -> list[list[Range]]:
    """Neighbours together, so that many small ranges are not as many tasks and files."""
    groups: list[list[Range]] = []
    room = 0
    for part in parts:
        if part.records > room or not groups:
            groups.append([])
            room = records_per_group
        groups[-1].append(part)
        room -= part.records
    return groups


def _targets(records: int, each: int) -> Iterator[int]:
    pieces = -(-records // each)
    # Not a sliver at the end.
    if records <= each * (1 + _UNEVEN):
        pieces = 1
    return (records * number // pieces for number in range(1, pieces))


def _begin(part: Range, target: int, tolerance: int) -> _Cut:
    return _Cut(part, target, tolerance, part.start, 0, part.end, part.records)


def _search(cuts: list[_Cut], count: Counter) -> list[_Cut]:
    """Narrow all of them down, a question for each and a round at a time."""
    turn = 0
    while open_cuts := [number for number, cut in enumerate(cuts) if not cut.is_done]:
        # Offsets are nearly even in most logs; where they are not, halving gets there.
        guesses = [cuts[number].guess(halve=turn % 3 == 2) for number in open_cuts]
        asked = [
            cuts[number].part._replace(end=guess)
            for number, guess in zip(open_cuts, guesses, strict=True)
        ]
        counted = count(asked)
        for number, guess, records in zip(open_cuts, guesses, counted, strict=True):
            cuts[number] = cuts[number].told(guess, records)
        turn += 1
    return cuts


def _pieces(part: Range, cuts: Sequence[_Cut]) -> Iterator[Range]:
    start, before = part.start, 0
    for cut in cuts:
        if cut.low_count > before:
            yield part._replace(start=start, end=cut.low, records=cut.low_count - before)
            start, before = cut.low, cut.low_count
    yield part._replace(start=start, records=part.records - before)
