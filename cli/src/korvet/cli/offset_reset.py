"""Where the offsets of a group are moved to: the plan of `korvet groups reset-offsets`."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from korvet.cli.addresses import no_such_partition, no_such_topic
from korvet.cli.group_model import Commit, Count, TopicPartition, commits_in_force
from korvet.cli.log_positions import EARLIEST, LATEST, LogPositions
from korvet.cli.places import Place, timestamp_ms

_ENDS: Final = {"earliest": EARLIEST, "latest": LATEST}


@dataclass(frozen=True, slots=True, kw_only=True)
class Move:
    """One partition's; `before` is None where nothing was committed."""

    topic: str
    partition: int
    before: int | None
    after: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Reset:
    topic_id: bytes
    moves: tuple[Move, ...]

    @property
    def commits(self) -> dict[TopicPartition, Commit]:
        return {
            TopicPartition(move.topic, move.partition): Commit(move.after, self.topic_id)
            for move in self.moves
        }


async def plan_reset(
    log: LogPositions,
    committed: Mapping[TopicPartition, Commit],
    topic: str,
    wanted: Sequence[int] | None,
    to: Place,
) -> Reset:
    """Look up where `to` is in each wanted partition, or in all of them."""
    topics = await log.topics([topic])
    now = topics.get(topic)
    if now is None:
        raise no_such_topic(topic)
    partitions = range(now.partitions) if wanted is None else sorted(set(wanted))
    for partition in partitions:
        if not 0 <= partition < now.partitions:
            raise no_such_partition(topic, partition, now.partitions)
    if isinstance(to, int):
        places = {TopicPartition(topic, partition): to for partition in partitions}
        counts = await log.count(places, topics)
        targets = {place.partition: nearest(to, count) for place, count in counts.items()}
    else:
        moment = timestamp_ms(to) if isinstance(to, datetime) else _ENDS[to]
        targets = await log.find(topic, now.id, partitions, moment)
    return Reset(
        topic_id=now.id,
        moves=tuple(_moves(topic, commits_in_force(committed, topics), targets)),
    )


def nearest(offset: int, count: Count) -> int:
    """Where a consumer can go on: an offset outside the log would reset it once more."""
    return min(max(offset, count.log_start), count.end)


def _moves(
    topic: str, committed: Mapping[TopicPartition, Commit], targets: Mapping[int, int]
) -> Iterator[Move]:
    for partition, after in targets.items():
        commit = committed.get(TopicPartition(topic, partition))
        yield Move(
            topic=topic,
            partition=partition,
            before=None if commit is None else commit.offset,
            after=after,
        )
