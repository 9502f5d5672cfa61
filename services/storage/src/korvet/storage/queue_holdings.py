"""PURE: what one consumer of a work queue has got and not settled yet.

Redis knows entries, a consumer knows records, and an entry of a batch topic holds several:
it is acknowledged when all its records are, and given back when all are settled and some
were released. Of what an entry holds, no more is delivered than may be in flight.

Entries are read when it is their turn and not before: a few bytes may be many records.
"""

from collections import deque
from collections.abc import Callable, Sequence
from typing import NamedTuple

from korvet.kafka.records import Record


class TakenEntry(NamedTuple):
    """An entry as Redis gave it to the consumer."""

    partition: int
    id: bytes
    delivery_count: int
    # Its records; none where nobody can read it.
    read: Callable[[], Sequence[Record]]


class DeliveredRecord(NamedTuple):
    partition: int
    record: Record
    delivery_count: int


class SettledEntry(NamedTuple):
    """An entry that the consumer is done with."""

    partition: int
    id: bytes
    is_released: bool


class _Held:
    __slots__ = ("entry", "in_flight", "is_dropped", "is_released", "taken_at", "unsettled",
                 "waiting")  # fmt: skip

    def __init__(self, entry: TakenEntry, now: float) -> None:
        self.entry = entry
        self.taken_at = now
        self.in_flight: set[int] = set()
        # Not delivered yet; None: not even read.
        self.waiting: deque[Record] | None = None
        self.unsettled = 0
        self.is_released = False
        self.is_dropped = False

    def read(self) -> "deque[Record]":
        if self.waiting is None:
            self.waiting = deque(self.entry.read())
            self.unsettled = len(self.waiting)
        return self.waiting


class Holdings:
    def __init__(self, max_in_flight: int) -> None:
        self._max_in_flight = max_in_flight
        self._in_flight = 0
        # By partition and entry id, the longest held first.
        self._held: dict[tuple[int, bytes], _Held] = {}
        # By partition and offset, what is in flight.
        self._delivered: dict[tuple[int, int], _Held] = {}
        # Those with something to deliver, in order; of these the first alone may be read.
        self._backlog: deque[_Held] = deque()
        self._unreadable: list[SettledEntry] = []

    @property
    def room(self) -> int:
        """How many more records may be in flight."""
        return self._max_in_flight - self._in_flight

    @property
    def has_backlog(self) -> bool:
        """Whether there are entries that wait for room."""
        while self._backlog and self._backlog[0].is_dropped:
            self._backlog.popleft()
        return bool(self._backlog)

    @property
    def oldest_taken_at(self) -> float | None:
        return next((held.taken_at for held in self._held.values()), None)

    def put(self, entry: TakenEntry, now: float) -> None:
        """Take an entry; if it is held already, this delivery counts instead."""
        key = entry.partition, entry.id
        if known := self._held.pop(key, None):
            self._drop(known)
        held = self._held[key] = _Held(entry, now)
        self._backlog.append(held)

    def deliver(self, max_bytes: int) -> list[DeliveredRecord]:
        """The next records, as far as there is room; of any size, if it is but one."""
        delivered: list[DeliveredRecord] = []
        while self.has_backlog and self.room > 0 and max_bytes > 0:
            held = self._backlog[0]
            entry, records = held.entry, held.read()
            if not records:
                self._backlog.popleft()
                self._give_up(held)
                continue
            record = records.popleft()
            if not records:
                self._backlog.popleft()
            held.in_flight.add(record.offset)
            self._delivered[entry.partition, record.offset] = held
            self._in_flight += 1
            max_bytes -= len(record.key or b"") + len(record.value or b"")
            delivered.append(DeliveredRecord(entry.partition, record, entry.delivery_count))
        return delivered

    def take_unreadable(self) -> Sequence[SettledEntry]:
        """What nobody can read, so that nobody can acknowledge it either."""
        unreadable, self._unreadable = self._unreadable, []
        return unreadable

    def _give_up(self, held: _Held) -> None:
        partition, entry_id = held.entry.partition, held.entry.id
        del self._held[partition, entry_id]
        self._unreadable.append(SettledEntry(partition, entry_id, is_released=False))

    def settle(
        self, partition: int, offset: int, *, is_released: bool
    ) -> SettledEntry | None:
        """Note that a record is done with; return its entry if that was its last record.

        What is not in flight was settled before, or is somebody else's by now.
        """
        held = self._delivered.pop((partition, offset), None)
        if held is None:
            return None
        held.in_flight.discard(offset)
        self._in_flight -= 1
        held.unsettled -= 1
        held.is_released |= is_released
        if held.unsettled:
            return None
        entry = held.entry
        del self._held[entry.partition, entry.id]
        return SettledEntry(entry.partition, entry.id, held.is_released)

    def expire(self, taken_until: float) -> None:
        """Drop what was taken so long ago that anybody may have it by now."""
        for key, held in list(self._held.items()):
            if held.taken_at > taken_until:
                return
            del self._held[key]
            self._drop(held)

    def _drop(self, held: _Held) -> None:
        held.is_dropped = True
        self._in_flight -= len(held.in_flight)
        for offset in held.in_flight:
            del self._delivered[held.entry.partition, offset]
