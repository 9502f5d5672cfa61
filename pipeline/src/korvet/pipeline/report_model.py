"""PURE: what a report says about a lake, as plain values; no Spark, no page.

A value that cannot be known is None, and whoever shows it says so. Times are milliseconds
since 1970, as in the records; a bucket is named by its beginning.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple

# The lengths that a chart's buckets may have: as people divide time.
_LADDER_MS: Final = tuple(
    seconds * 1000
    for seconds in (1, 5, 15, 60, 300, 900, 3600, 3 * 3600, 6 * 3600, 12 * 3600, 86400)
)
HOUR_MS: Final = 3_600_000
_DAY_MS: Final = 86_400_000
_MOST_BUCKETS: Final = 96
# A silence is worth a word if it is so many times as long as the buckets of the chart.
_SILENT_BUCKETS: Final = 2


class Latency(NamedTuple):
    """From a record's timestamp to its append, in milliseconds."""

    p50: float
    p99: float
    most: float


class Bucket(NamedTuple):
    """What was stamped in one stretch of time."""

    start_ms: int
    records: int
    size_bytes: int
    latency: Latency | None


class PartitionShare(NamedTuple):
    partition: int
    records: int
    size_bytes: int


class KeyShare(NamedTuple):
    key: bytes
    records: int


class SizeClass(NamedTuple):
    """Records whose value has at most so many bytes, and more than the class before."""

    at_most: int
    records: int


class Silence(NamedTuple):
    """A stretch without any record, from one record's timestamp to the next one's."""

    start_ms: int
    end_ms: int

    @property
    def length_ms(self) -> int:
        return self.end_ms - self.start_ms


class MissingOffsets(NamedTuple):
    """Offsets that a dense topic has given and the lake does not have."""

    partition: int
    first: int
    last: int


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicReport:
    """One topic of the lake."""

    topic: str
    records: int
    size_bytes: int
    first_ms: int
    last_ms: int
    # How often the topic was made: each time is a history of its own.
    histories: int
    tombstones: int
    keyless: int
    distinct_keys: int
    files: int
    file_bytes: int
    bucket_ms: int
    buckets: Sequence[Bucket]
    hours: Sequence[Bucket]
    partitions: Sequence[PartitionShare]
    top_keys: Sequence[KeyShare]
    sizes: Sequence[SizeClass]
    silences: Sequence[Silence]
    # None: its offsets have gaps by nature, so that none can be told to be missing.
    missing: Sequence[MissingOffsets] | None
    missing_count: int
    latency: Latency | None
    # Why the latency is not known, where it is not.
    latency_unknown: str

    @property
    def mean_bytes(self) -> float:
        return self.size_bytes / self.records if self.records else 0.0

    @property
    def span_seconds(self) -> float:
        return (self.last_ms - self.first_ms) / 1000

    @property
    def mean_rate(self) -> float | None:
        """Records a second; None where there is none. Less than a bucket counts as one."""
        seconds = max(self.span_seconds, self.bucket_ms / 1000)
        return self.records / seconds if self.records else None

    @property
    def peak(self) -> Bucket | None:
        return max(self.buckets, key=lambda bucket: bucket.records, default=None)

    @property
    def peak_rate(self) -> float:
        return self.peak.records / (self.bucket_ms / 1000) if self.peak else 0.0

    @property
    def top_share(self) -> float | None:
        """The most frequent key's share of the records that have one."""
        keyed = self.records - self.keyless
        if not (keyed and self.top_keys):
            return None
        return self.top_keys[0].records / keyed


@dataclass(frozen=True, slots=True, kw_only=True)
class LakeReport:
    lake: str
    made_at_ms: int
    topics: Sequence[TopicReport]

    @property
    def records(self) -> int:
        return sum(topic.records for topic in self.topics)

    @property
    def size_bytes(self) -> int:
        return sum(topic.size_bytes for topic in self.topics)

    @property
    def file_bytes(self) -> int:
        return sum(topic.file_bytes for topic in self.topics)


def bucket_length_ms(first_ms: int, last_ms: int) -> int:
    """The shortest length by which a chart from first to last stays readable."""
    span = max(last_ms - first_ms, 1)
    for length in _LADDER_MS:
        if span / length <= _MOST_BUCKETS:
            return length
    days = -(-span // (_DAY_MS * _MOST_BUCKETS))
    return days * _DAY_MS


def shortest_silence_ms(bucket_ms: int) -> int:
    """Shorter ones are not told: a chart would not show them either."""
    return _SILENT_BUCKETS * bucket_ms


def size_class(index: int) -> int:
    """The bound of the class with this index: 0, 1, 2, 4, 8 … bytes."""
    return 0 if index == 0 else 1 << (index - 1)
