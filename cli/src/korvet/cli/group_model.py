"""A consumer group as the commands show it: its members, and how far they have come.

Pure: what the coordinator and storage say is put together here. A commit for an earlier
topic of the name, or for a partition that is gone, counts as none.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

QUEUE = "queue"


class TopicPartition(NamedTuple):
    topic: str
    partition: int


class TopicNow(NamedTuple):
    """The topic that has a name now."""

    id: bytes
    partitions: int


class Commit(NamedTuple):
    offset: int
    # Empty where it is not known which topic of the name it was for.
    topic_id: bytes = b""
    metadata: str = ""


class Count(NamedTuple):
    """Records at an offset and behind it, and the bounds of the log."""

    records: int
    log_start: int
    end: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Member:
    member_id: str
    instance_id: str | None
    client_id: str
    client_host: str
    # None where it is in no format that is known here.
    assigned: Mapping[str, list[int]] | None

    def partitions(self) -> list[TopicPartition]:
        return [
            TopicPartition(topic, partition)
            for topic, partitions in (self.assigned or {}).items()
            for partition in partitions
        ]


@dataclass(frozen=True, slots=True, kw_only=True)
class Position:
    """A partition that a group has committed, a member reads, or a queue works on."""

    topic: str
    partition: int
    commit: Commit | None
    end: int
    # In records, whatever the difference of offsets is; of a queue, what nobody has taken.
    lag: int | None
    member_id: str | None
    # Of a queue: records that were taken and are not acknowledged.
    pending: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    group_id: str
    state: str
    # "consumer" for Kafka's consumers; empty where there are only offsets.
    protocol_type: str
    # How partitions are assigned; known while the group is stable.
    protocol_name: str
    generation: int
    # Empty where nobody owns the group now.
    coordinator: str
    members: tuple[Member, ...]
    positions: tuple[Position, ...]

    @property
    def partitions(self) -> int:
        """In how many it has come somewhere."""
        return sum(position.lag is not None for position in self.positions)

    @property
    def lag(self) -> int | None:
        """Of all partitions in which it has come somewhere; None where there is none."""
        return _sum(each.lag for each in self.positions)

    @property
    def pending(self) -> int | None:
        return _sum(each.pending for each in self.positions)


def _sum(numbers: Iterable[int | None]) -> int | None:
    known = [number for number in numbers if number is not None]
    return sum(known) if known else None


def commits_in_force(
    commits: Mapping[TopicPartition, Commit], topics: Mapping[str, TopicNow]
) -> dict[TopicPartition, Commit]:
    """Those that are for partitions of the topics that there are now."""
    return {
        place: commit
        for place, commit in commits.items()
        if exists(place, topics) and commit.topic_id in (b"", topics[place.topic].id)
    }


def exists(place: TopicPartition, topics: Mapping[str, TopicNow]) -> bool:
    return place.topic in topics and place.partition < topics[place.topic].partitions


def positions(
    members: Iterable[Member],
    commits: Mapping[TopicPartition, Commit],
    counts: Mapping[TopicPartition, Count],
) -> tuple[Position, ...]:
    """What is committed or assigned and could be counted, in order.

    `commits` are those in force; a count is from the commit on where there is one.
    """
    readers = {place: member for member in members for place in member.partitions()}
    return tuple(
        Position(
            topic=place.topic,
            partition=place.partition,
            commit=commits.get(place),
            end=counts[place].end,
            lag=counts[place].records if place in commits else None,
            member_id=readers[place].member_id if place in readers else None,
        )
        for place in sorted({*commits, *readers})
        if place in counts
    )
