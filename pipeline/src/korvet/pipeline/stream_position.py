"""How far a stream is, as Spark keeps it in a checkpoint, and how it gets on.

A position names topics by their ids, too: one that was made again under its name begins at
its start.
"""

import sys
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from korvet.pipeline.failure import LakeError
from korvet.pipeline.log_plan import (
    counted,
    limited,
    positions,
    selected_topics,
)
from korvet.pipeline.planning import Gap, Range
from korvet.pipeline.source_options import EARLIEST, LATEST, Bound, SourceOptions
from korvet.pipeline.storage_link import StorageLink, TopicInfo
from korvet.pipeline.table import topic_id_text


@dataclass(frozen=True, slots=True)
class TopicPosition:
    topic_id: str
    # Partition -> the next offset.
    offsets: Mapping[int, int]


@dataclass(frozen=True, slots=True)
class StreamPosition:
    topics: Mapping[str, TopicPosition]

    def to_json(self) -> dict[str, object]:
        return {
            name: {
                "id": each.topic_id,
                "offsets": {str(k): v for k, v in each.offsets.items()},
            }
            for name, each in sorted(self.topics.items())
        }

    @classmethod
    def from_json(cls, found: Any) -> "StreamPosition":
        try:
            return cls(
                {
                    name: TopicPosition(
                        str(each["id"]),
                        {int(k): int(v) for k, v in each["offsets"].items()},
                    )
                    for name, each in found.items()
                }
            )
        except (AttributeError, KeyError, TypeError, ValueError):
            raise LakeError(
                "The stream's checkpoint holds no position of the korvet source.",
                "It is another query's, or damaged: use another checkpointLocation.",
            ) from None


class StreamPlanner:
    def __init__(self, options: SourceOptions) -> None:
        self._options = options

    def initial(self, link: StorageLink) -> StreamPosition:
        topics = selected_topics(link, self._options)
        return StreamPosition(
            {
                topic.name: TopicPosition(
                    topic_id_text(topic.id), positions(link, topic, self._options.start)
                )
                for topic in topics
            }
        )

    def next(self, link: StorageLink, position: StreamPosition) -> StreamPosition:
        """How far to go from here: to the end, or as many records as a trigger takes.

        Topics that came meanwhile begin at their start; those that went are left out.
        """
        topics = selected_topics(link, self._options)
        starts = {
            topic.name: self._starts(link, topic, position.topics.get(topic.name))
            for topic in topics
        }
        parts: list[Range] = []
        for topic in topics:
            ends = positions(link, topic, Bound(timestamp_ms=LATEST))
            parts += self._checked(link, topic, starts[topic.name], ends)
        reached = {
            (part.topic, part.partition): part.end
            for part in limited(link, parts, self._options.records_per_trigger)
        }
        return StreamPosition(
            {
                topic.name: TopicPosition(
                    topic_id_text(topic.id),
                    {
                        partition: reached.get((topic.name, partition), start)
                        for partition, start in starts[topic.name].items()
                    },
                )
                for topic in topics
            }
        )

    def between(
        self, link: StorageLink, first: StreamPosition, last: StreamPosition
    ) -> list[Range]:
        parts: list[Range] = []
        for topic in selected_topics(link, self._options):
            end = last.topics.get(topic.name)
            if end is None or end.topic_id != topic_id_text(topic.id):
                # Deleted since it was planned: what was to be read is gone.
                continue
            starts = self._starts(link, topic, first.topics.get(topic.name))
            parts += self._checked(link, topic, starts, end.offsets)
        return parts

    def _starts(
        self, link: StorageLink, topic: TopicInfo, known: TopicPosition | None
    ) -> dict[int, int]:
        """Where each partition goes on: as known, and what is new at its start."""
        offsets: Mapping[int, int] = {}
        if known is not None and known.topic_id == topic_id_text(topic.id):
            offsets = known.offsets
        new = [each for each in range(topic.partitions) if each not in offsets]
        if not new:
            return dict(offsets)
        found = positions(link, topic, Bound(timestamp_ms=EARLIEST))
        return {**found, **offsets}

    def _checked(
        self,
        link: StorageLink,
        topic: TopicInfo,
        starts: Mapping[int, int],
        ends: Mapping[int, int],
    ) -> list[Range]:
        parts, gaps = counted(link, topic, starts, ends)
        for gap in gaps:
            if self._options.fail_on_data_loss:
                raise lost(gap)
            sys.stderr.write(f"{lost(gap).problem}\n")
        return parts


def lost(gap: Gap) -> LakeError:
    return LakeError(
        f"Of {gap.topic}-{gap.partition} the offsets {gap.start} up to {gap.end} were"
        " deleted before they were read.",
        "With the option failOnDataLoss=false the stream goes on behind them.",
    )
