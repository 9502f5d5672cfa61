"""PURE: how far a replay is in one partition of its target, and how that is remembered.

It is the metadata of an offset that the replay commits for that partition, in the very
transactions that write the records: so a position is there if and only if all before it is.
"""

import hashlib
import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Final, NamedTuple

# What a broker keeps with an offset, if it is not told to keep more (Kafka's
# offset.metadata.max.bytes).
LONGEST: Final = 4096
_NAME_CHARACTERS: Final = 80


class Strand(NamedTuple):
    """A partition of the lake's topic, as of one of the times that the topic was made."""

    topic_id: str
    partition: int


class UnreadableProgressError(Exception):
    """What is committed under the replay's name is none of ours."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Progress:
    # Of the target when the replay began. That must not change under way, or records that
    # belong together would go to different partitions.
    partitions: int
    # Written to this partition so far.
    records: int = 0
    # The offset in the lake from which on a strand has not been written.
    next_offsets: Mapping[Strand, int] = field(default_factory=dict)

    def after(self, strand: Strand, offset: int, records: int) -> "Progress":
        """When so many more records, the last of them at this offset, have been written."""
        return replace(
            self,
            records=self.records + records,
            next_offsets={**self.next_offsets, strand: offset + 1},
        )

    def encode(self) -> str:
        offsets = {
            f"{topic_id}/{partition}": offset
            for (topic_id, partition), offset in sorted(self.next_offsets.items())
        }
        values = {"partitions": self.partitions, "records": self.records, "next": offsets}
        return json.dumps(values, separators=(",", ":"))

    @classmethod
    def decode(cls, text: str) -> "Progress":
        try:
            values = json.loads(text)
            return cls(
                partitions=int(values["partitions"]),
                records=int(values["records"]),
                next_offsets={
                    _strand(name): int(offset) for name, offset in values["next"].items()
                },
            )
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise UnreadableProgressError(text[:200]) from error


def _strand(name: str) -> Strand:
    topic_id, _, partition = name.rpartition("/")
    return Strand(topic_id, int(partition))


def replay_name(source: str, target: str, selection: Mapping[str, object]) -> str:
    """The same for the same command, so that it goes on where it was; else another."""
    chosen = json.dumps([source, target, selection], sort_keys=True, default=str)
    digest = hashlib.sha256(chosen.encode()).hexdigest()[:10]
    return f"korvet-replay-{target[:_NAME_CHARACTERS]}-{digest}"
