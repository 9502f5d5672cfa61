"""Checks a topic's table: no record twice, none missing of those that its commits claim.

Where the log still has them, each range is counted by storage's index and read again, and
has to have the same records, byte for byte; the rest is checked against itself.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from korvet.pipeline import table
from korvet.pipeline.archive_state import ArchiveState
from korvet.pipeline.lake import Lake
from korvet.pipeline.log_plan import counted, in_splits
from korvet.pipeline.planning import Gap, Range
from korvet.pipeline.source_options import endpoint_options, splits_option
from korvet.pipeline.storage_link import Endpoint, StorageLink, TopicGoneError
from korvet.pipeline.table_log import last_commit

# Ranges are of at least so many records, and there are no more than that of a topic.
_RANGE_RECORDS: Final = 100_000
_MOST_RANGES: Final = 256
_SHOWN: Final = 5


class Digest(NamedTuple):
    """Of the records in a range: how many, and a sum that any change of one changes."""

    records: int
    checksum: int


class CheckedRange(NamedTuple):
    """A range that lake and log both have; no `live` where only the index was asked."""

    partition: int
    start: int
    end: int
    lake: Digest
    live: Digest | None
    # With markers and what was aborted, which readers do not see.
    indexed: int

    @property
    def is_right(self) -> bool:
        if self.live is None:
            return self.lake.records == self.indexed
        return self.lake == self.live and self.lake.records <= self.indexed


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    topic: str
    records: int
    # Keys (topic id, partition, offset) that are there more than once, some of them.
    duplicates: Sequence[str]
    # Records that no commit of the archive accounts for.
    strangers: int
    # Ranges that lake and log both have; none where the log is gone.
    ranges: Sequence[CheckedRange]
    gaps: Sequence[Gap]
    # Whether the topic, with this id, is in Korvet still.
    is_live: bool

    @property
    def is_right(self) -> bool:
        return not (
            self.duplicates
            or self.strangers
            or any(not each.is_right for each in self.ranges)
        )

    @property
    def compared(self) -> int:
        return sum(each.lake.records for each in self.ranges)


def verify(
    lake: Lake, link: StorageLink, endpoint: Endpoint, topic: str, *, counts_only: bool
) -> Verdict:
    """`counts_only` asks the index alone, which counts what readers do not see as well."""
    records = lake.table(topic)
    commit = last_commit(lake, topic)
    if commit is not None:
        # What an archive adds meanwhile is not looked at; what others did to it before is.
        records = lake.table(topic, version=commit.table_version)
    state = commit.state if commit is not None else ArchiveState()
    parts = _live_parts(link, topic, state)
    ranges = (
        _compare(lake, link, endpoint, records, parts, state, counts_only=counts_only)
        if parts
        else []
    )
    return Verdict(
        topic=topic,
        records=records.count(),
        duplicates=_duplicates(records),
        strangers=_strangers(records, state),
        ranges=ranges,
        gaps=state.gaps,
        is_live=parts is not None,
    )


def _duplicates(records: DataFrame) -> list[str]:
    twice = (
        records.groupBy("topicId", "partition", "offset")
        .count()
        .where(F.col("count") > 1)
        .limit(_SHOWN)
    )
    return [
        f"{row['topicId']}, partition {row['partition']}, offset {row['offset']}:"
        f" {row['count']} times"
        for row in twice.collect()
    ]


def _strangers(records: DataFrame, state: ArchiveState) -> int:
    """Records of the current history that lie outside what the archive has read."""
    accounted = F.col("topicId") != state.topic_id
    for number, each in state.partitions.items():
        accounted |= _within(number, each.first, each.next)
    return records.where(~accounted).count()


def _within(partition: int, start: int, end: int) -> Column:
    return (
        (F.col("partition") == partition)
        & (F.col("offset") >= start)
        & (F.col("offset") < end)
    )


def _live_parts(link: StorageLink, topic: str, state: ArchiveState) -> list[Range] | None:
    """What the archive has read and the log still has; None where it is another's log."""
    info = link.topic(topic)
    if info is None or table.topic_id_text(info.id) != state.topic_id:
        return None
    starts = {number: each.first for number, each in state.partitions.items()}
    ends = {number: each.next for number, each in state.partitions.items()}
    try:
        return counted(link, info, starts, ends).parts
    except TopicGoneError:
        return None


def _compare(
    lake: Lake,
    link: StorageLink,
    endpoint: Endpoint,
    records: DataFrame,
    parts: Sequence[Range],
    state: ArchiveState,
    *,
    counts_only: bool,
) -> list[CheckedRange]:
    total = sum(part.records for part in parts)
    per_range = max(_RANGE_RECORDS, total // _MOST_RANGES)
    splits = in_splits(link, parts, per_range)
    ranges = [part for each in splits for part in each]
    ours = records.where(F.col("topicId") == state.topic_id)
    lake_digests = _digests(lake, ours, ranges)
    live_digests: Mapping[int, Digest] | None = None
    if not counts_only:
        options = {
            **endpoint_options(endpoint),
            "topics": ranges[0].topic,
            "splits": splits_option(splits),
        }
        live = lake.spark.read.format("korvet").options(**options).load()
        live_digests = _digests(lake, live, ranges)
    nothing = Digest(0, 0)
    return [
        CheckedRange(
            part.partition,
            part.start,
            part.end,
            lake_digests.get(number, nothing),
            None if live_digests is None else live_digests.get(number, nothing),
            part.records,
        )
        for number, part in enumerate(ranges)
    ]


def _digests(lake: Lake, records: DataFrame, ranges: Sequence[Range]) -> dict[int, Digest]:
    """By the number of the range. A gap of the archive's lies in no range of the log's."""
    bounds = lake.spark.createDataFrame(
        [(n, part.partition, part.start, part.end) for n, part in enumerate(ranges)],
        "number INT, inPartition INT, first BIGINT, behind BIGINT",
    )
    located = records.join(
        F.broadcast(bounds),
        (F.col("partition") == F.col("inPartition"))
        & (F.col("offset") >= F.col("first"))
        & (F.col("offset") < F.col("behind")),
    )
    # Nulls leave a hash as it is: so each is told from what is empty.
    checksum = F.xxhash64(
        "offset",
        "timestamp",
        "timestampType",
        "key",
        F.col("key").isNull(),
        "value",
        F.col("value").isNull(),
        F.to_json(F.transform("headers", _header)),
    )
    found = located.groupBy("number").agg(F.count("*"), F.bit_xor(checksum)).collect()
    return {row[0]: Digest(row[1], row[2]) for row in found}


def _header(header: Column) -> Column:
    return F.struct(header["key"].alias("k"), F.hex(header["value"]).alias("v"))
