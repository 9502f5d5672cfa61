"""What the members of a group did, and whether that is what a group promises.

Each place (a partition of a topic) belongs to a member for a while: a `Tenure`. Times are
those of the machine's monotonic clock, which all processes share.
"""

import threading
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from typing import Any, Final, NamedTuple, TypeAlias

from tests.support.group_member import Place, Taken

_NEVER: Final = float("inf")
_EXAMPLES: Final = 8


class Entry(NamedTuple):
    """A record as it is in the log."""

    offset: int
    value: str


Logs: TypeAlias = Mapping[Place, Sequence[Entry]]


@dataclass(slots=True)
class Absence:
    since: float
    until: float = _NEVER


class Commit(NamedTuple):
    acknowledged_at: float
    offset: int
    member: str


@dataclass(slots=True, kw_only=True)
class Tenure:
    member: str
    place: Place
    began: float
    ended: float = _NEVER
    entries: list[Entry] = field(default_factory=list)


class GroupHistory:
    """Written by the threads that listen to members, read by the test."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._tenures: list[Tenure] = []
        self._current: defaultdict[str, dict[Place, Tenure]] = defaultdict(dict)
        self._commits: defaultdict[Place, list[Commit]] = defaultdict(list)
        self._read: defaultdict[Place, set[Entry]] = defaultdict(set)
        self._stray: list[str] = []
        # When a member may have been taken for gone, whatever it thought itself.
        self._absences: defaultdict[str, list[Absence]] = defaultdict(list)
        self.told: list[str] = []

    # ------------------------------------------------------------ what happened

    def add(self, member: str, event: Mapping[str, Any]) -> None:
        with self._lock:
            at, items = float(event["at"]), event["items"]
            match event["kind"]:
                case "assigned":
                    for topic, partition in items:
                        self._begin(member, (topic, partition), at)
                case "revoked":
                    for topic, partition in items:
                        self._end(member, (topic, partition), at)
                case "read":
                    for item in items:
                        self._note(member, Taken(*item))
                case "committed":
                    for topic, partition, offset in items:
                        self._commits[topic, partition].append(Commit(at, offset, member))
                case _:
                    self.told.append(f"{member}: {items}")

    def gone(self, member: str, at: float) -> None:
        with self._lock:
            for place in list(self._current[member]):
                self._end(member, place, at)

    def absent(self, member: str, at: float) -> None:
        """From now on others may own what it has: it leaves, is stopped, or is killed."""
        with self._lock:
            self._absences[member].append(Absence(at))

    def present(self, member: str, at: float) -> None:
        """It is a member like the others again."""
        with self._lock:
            for absence in self._absences[member]:
                absence.until = min(absence.until, at)

    def _begin(self, member: str, place: Place, at: float) -> None:
        self._end(member, place, at)
        tenure = Tenure(member=member, place=place, began=at)
        self._current[member][place] = tenure
        self._tenures.append(tenure)

    def _end(self, member: str, place: Place, at: float) -> None:
        if tenure := self._current[member].pop(place, None):
            tenure.ended = at

    def _note(self, member: str, taken: Taken) -> None:
        place, entry = (taken.topic, taken.partition), Entry(taken.offset, taken.value)
        self._read[place].add(entry)
        if tenure := self._current[member].get(place):
            tenure.entries.append(entry)
        else:
            self._stray.append(f"{member} read {entry} of {place} without owning it")

    # ------------------------------------------------------------ what is so

    def owned(self, member: str) -> set[Place]:
        with self._lock:
            return set(self._current[member])

    def tenures(self, member: str) -> list[Tenure]:
        with self._lock:
            return [each for each in self._tenures if each.member == member]

    def missing(self, logs: Logs) -> list[tuple[Place, Entry]]:
        with self._lock:
            return [
                (place, entry)
                for place, entries in logs.items()
                for entry in entries
                if entry not in self._read[place]
            ]

    def last_commits(self) -> dict[Place, int]:
        """The largest that was acknowledged for each place."""
        with self._lock:
            return {
                place: max(commit.offset for commit in commits)
                for place, commits in self._commits.items()
            }

    # ------------------------------------------------------------ what must be so

    def check(self, logs: Logs) -> None:
        """All is read, nothing is skipped, and no acknowledged commit is forgotten."""
        assert not self._stray, self._stray[:_EXAMPLES]
        missing = self.missing(logs)
        assert not missing, f"{len(missing)} never read: {missing[:_EXAMPLES]}"
        for tenure in self._tenures:
            self._check_run(tenure, logs[tenure.place])
            self._check_start(tenure)

    def check_one_owner_at_a_time(self) -> None:
        by_place: defaultdict[Place, list[Tenure]] = defaultdict(list)
        for tenure in self._tenures:
            by_place[tenure.place].append(tenure)
        for place, tenures in by_place.items():
            held = [(*self._held(each), each) for each in tenures]
            for (began, ended, one), (began_too, ended_too, other) in combinations(held, 2):
                overlap = min(ended, ended_too) - max(began, began_too)
                assert overlap <= 0, f"{place} had two owners: {one}, {other}"

    def _check_run(self, tenure: Tenure, log: Sequence[Entry]) -> None:
        if not tenure.entries:
            return
        start = log.index(tenure.entries[0])
        expected = list(log[start : start + len(tenure.entries)])
        assert tenure.entries == expected, f"out of order, or with a gap: {tenure}"

    def _check_start(self, tenure: Tenure) -> None:
        if not tenure.entries:
            return
        for commit in self._commits[tenure.place]:
            if commit.acknowledged_at < tenure.began:
                first = tenure.entries[0].offset
                assert commit.offset <= first, f"{commit} was forgotten by {tenure}"

    def _held(self, tenure: Tenure) -> tuple[float, float]:
        """From when to when nobody else may have had it."""
        began, ended = tenure.began, tenure.ended
        for absence in self._absences[tenure.member]:
            if absence.since <= began < absence.until:
                began = absence.until
            elif absence.since > began:
                ended = min(ended, absence.since)
        return began, ended


def all_places(topics: Mapping[str, int] | Iterable[tuple[str, int]]) -> set[Place]:
    """Every partition of topics, which are given with their numbers of partitions."""
    return {(name, each) for name, count in dict(topics).items() for each in range(count)}
