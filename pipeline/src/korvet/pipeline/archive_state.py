"""PURE: how far a topic's archive is, as it stands in the commits of the topic's table.

A commit of the archive brings records and says up to where it has read, in one: so that
after a kill at any moment the table holds exactly what its last commit says. Whatever else
writes to the table (compaction) leaves that as it is.
"""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final, NamedTuple

from korvet.pipeline.failure import LakeError
from korvet.pipeline.planning import Gap

# Delta keeps the last version that an application has committed; a batch is committed once.
APPLICATION: Final = "korvet-archive"

_VERSION: Final = 1
_KEY: Final = "korvet-archive"


class Archived(NamedTuple):
    """Of one partition everything committed from `first` up to and without `next`."""

    first: int
    next: int
    # The log's leader epoch at that time: a later one may have lost some of it.
    epoch: int


@dataclass(frozen=True, slots=True, kw_only=True)
class ArchiveState:
    """After batch `batch`; before the first one there is no topic id."""

    batch: int = 0
    # Tells a run's own commit from that of another under the same number.
    run: str = ""
    topic_id: str = ""
    partitions: Mapping[int, Archived] = field(default_factory=dict)
    # Of this topic id: what was deleted before it could be archived.
    gaps: Sequence[Gap] = ()

    def of_topic(self, topic_id: str) -> "ArchiveState":
        """The same, or a new history's beginning where the topic was made again."""
        if topic_id == self.topic_id:
            return self
        return replace(self, topic_id=topic_id, partitions={}, gaps=())

    def after(
        self, run: str, reached: Mapping[int, Archived], gaps: Sequence[Gap]
    ) -> "ArchiveState":
        """What the next batch will say when it has read so far."""
        return replace(
            self,
            batch=self.batch + 1,
            run=run,
            partitions={**self.partitions, **reached},
            gaps=(*self.gaps, *gaps),
        )

    def to_metadata(self) -> str:
        return json.dumps(
            {
                _KEY: {
                    "version": _VERSION,
                    "batch": self.batch,
                    "run": self.run,
                    "topicId": self.topic_id,
                    "partitions": {
                        str(number): list(each)
                        for number, each in sorted(self.partitions.items())
                    },
                    "gaps": [[each.partition, each.start, each.end] for each in self.gaps],
                }
            }
        )


def parse_metadata(topic: str, text: str | None) -> ArchiveState | None:
    """The state that a commit tells; None where it is not one of the archive's."""
    try:
        found: Any = json.loads(text or "null")
    except ValueError:
        return None
    if not isinstance(found, dict) or _KEY not in found:
        return None
    told = found[_KEY]
    try:
        if told["version"] != _VERSION:
            raise LakeError(
                f"The archive of {topic} was written by a newer release of Korvet.",
                "Go on with that one.",
            )
        return ArchiveState(
            batch=int(told["batch"]),
            run=str(told["run"]),
            topic_id=str(told["topicId"]),
            partitions={
                int(number): Archived(int(first), int(following), int(epoch))
                for number, (first, following, epoch) in told["partitions"].items()
            },
            gaps=tuple(
                Gap(topic, int(partition), int(start), int(end))
                for partition, start, end in told["gaps"]
            ),
        )
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise LakeError(
            f"How far the archive of {topic} is cannot be read: its table's last commit is"
            f" damaged ({error!r}).",
            "Nothing was changed. Restore the table's _delta_log from a copy.",
        ) from None
