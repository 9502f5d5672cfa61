"""PURE: how far one read may reach.

Redis can limit a range of a stream by entries but not by bytes, and entries may be of any
size. The sparse index knows the bytes up to each of its points, so a read goes up to the
last point within its limit: never more than that and one block.

Points never change once written; they only vanish with the log's head. So a plan is good
for as long as the topic and the history of Redis last, and only what lies behind its last
point has to be asked for again.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Sequence
from operator import attrgetter
from typing import Final, NamedTuple

# A block is closed at the append that reaches one of these.
BLOCK_RECORDS: Final = 512
BLOCK_BYTES: Final = 256 << 10

# How many are asked of Redis in one go; fewer in the answer: there are no more.
POINTS_AT_ONCE: Final = 128
# For so long a block that was open counts as open: what is appended meanwhile is all that
# a read can bring beyond its limit.
_OPEN_SECONDS: Final = 0.2


class Point(NamedTuple):
    """One point of the index: the block that ends with `offset`."""

    offset: int
    # Of the log from its creation on, up to and with this block.
    bytes: int
    block_bytes: int
    # The same in records.
    records: int
    block_records: int


class Reach(NamedTuple):
    """Read up to this offset; so many bytes and records of ours come with it at most."""

    last_offset: int
    bytes: int
    records: int


class ReadPlan:
    """What is known of one partition's index from some offset on, without gaps."""

    __slots__ = ("_asked_at", "_is_whole", "_offsets", "_points", "has_transactions",
                 "readable_from")  # fmt: skip

    def __init__(self, points: Sequence[Point], now: float, readable_from: int = 0) -> None:
        """The first points from the offset on, as the index had them at this time."""
        self._offsets: list[int] = []
        self._points: list[Point] = []
        # Up to here a read of its reader has found nothing: it was trimmed, or is other
        # programs'. Nothing comes there any more, since appends go behind all there is.
        self.readable_from = readable_from
        # As far as its reader knows.
        self.has_transactions = False
        self.extend(points, now)

    @property
    def last_offset(self) -> int | None:
        """The last known point's, from which on the index is to be asked for more."""
        return self._offsets[-1] if self._offsets else None

    def covers(self, offset: int, now: float) -> bool:
        """Whether the block of this offset is known, or is known to be open still."""
        if self._offsets and offset <= self._offsets[-1]:
            return True
        return self._is_whole and now - self._asked_at <= _OPEN_SECONDS

    def extend(self, points: Sequence[Point], now: float) -> None:
        """Add the points that follow the last known one; known ones are skipped."""
        self._asked_at = now
        self._is_whole = len(points) < POINTS_AT_ONCE
        for point in points:
            if not self._offsets or point.offset > self._offsets[-1]:
                self._offsets.append(point.offset)
                self._points.append(point)

    def behind(self, offset: int) -> "ReadPlan":
        """The plan of a reader who has come so far; others may still be before it."""
        passed = bisect_left(self._offsets, offset)
        rest = ReadPlan((), self._asked_at, self.readable_from)
        rest._is_whole = self._is_whole
        rest._offsets = self._offsets[passed:]
        rest._points = self._points[passed:]
        rest.has_transactions = self.has_transactions
        return rest

    def reach(self, offset: int, max_bytes: int) -> Reach | None:
        """How far to read from an offset on; None where that is the open block."""
        first = bisect_left(self._offsets, offset)
        if first == len(self._offsets):
            return None
        head = self._points[first]
        start = head.bytes - head.block_bytes
        beyond = bisect_right(self._points, start + max_bytes, key=attrgetter("bytes"))
        last = self._points[max(first, beyond - 1)]
        records = last.records - (head.records - head.block_records)
        return Reach(last.offset, last.bytes - start, records)
