"""What goes in and out of topics: counted in each storage for what that has served."""

from collections.abc import Iterable
from typing import Final

from korvet.kafka.errors import ErrorCode
from korvet.runtime import metrics
from korvet.storage.partition_read import ReadResult, ReadTarget
from korvet.storage.topic import Deletion
from korvet.storage.topic_cache import Change

TOPIC: Final = "messaging.destination.name"

_append_duration: Final = metrics.histogram(
    "korvet.log.append.duration",
    unit="s",
    description="From a partition's append being checked to its outcome: Redis, and with"
    " acks=all what the topic asks for beyond that.",
    attributes=("error.type",),
)
_appended_records: Final = metrics.counter(
    "korvet.topic.appended.records",
    unit="{record}",
    description="Records of appends that were acknowledged, repeated ones included.",
    attributes=(TOPIC,),
    limit=metrics.NAMES_SHOWN,
)
_appended_bytes: Final = metrics.counter(
    "korvet.topic.appended.bytes",
    unit="By",
    description="Bytes of appends that were acknowledged, as the log counts them.",
    attributes=(TOPIC,),
    limit=metrics.NAMES_SHOWN,
)
READ_DURATION: Final = metrics.histogram(
    "korvet.log.read.duration",
    unit="s",
    description="Of one look at Redis for the partitions of a read, which may be one of"
    " several; a read that waits for records is not counted while it waits.",
).of()
_read_records: Final = metrics.counter(
    "korvet.topic.read.records",
    unit="{record}",
    description="Records that readers were answered with, and work queues have delivered. A"
    " batch that is read from its middle counts as a whole.",
    attributes=(TOPIC,),
    limit=metrics.NAMES_SHOWN,
)
_read_bytes: Final = metrics.counter(
    "korvet.topic.read.bytes",
    unit="By",
    description="Bytes of these records, as the log counts them; of work queues, as sent.",
    attributes=(TOPIC,),
    limit=metrics.NAMES_SHOWN,
)


def appended(
    topic: str, record_count: int, size: int, error: ErrorCode, duration: float
) -> None:
    """Note the outcome of a partition's append."""
    if error is ErrorCode.NONE:
        _append_duration.of("").observe(duration)
        _appended_records.of(topic).value += record_count
        _appended_bytes.of(topic).value += size
    else:
        _append_duration.of(error.name).observe(duration)


def read(targets: Iterable[ReadTarget], results: Iterable[ReadResult]) -> None:
    """Note what a read is answered with."""
    for target, result in zip(targets, results, strict=True):
        if result.record_count:
            _read_records.of(target.topic.name).value += result.record_count
            _read_bytes.of(target.topic.name).value += result.size


def delivered(topic: str, record_count: int, size: int) -> None:
    """Note what a consumer of a work queue is given."""
    _read_records.of(topic).value += record_count
    _read_bytes.of(topic).value += size


def topics_changed(changes: Iterable[Change] | None) -> None:
    """Topics that are no more make room for others."""
    for change in changes or ():
        if isinstance(change, Deletion):
            metrics.REGISTRY.forget(TOPIC, change.name)
