"""PURE: Kafka record batches, as storage returns them, into Arrow, a column at a time.

What a read_committed reader must not see is left out here, as Kafka's clients do it:
markers, records of aborted transactions, and what lies outside the range.
"""

from collections.abc import Iterator, Sequence
from typing import Any, Final, NamedTuple

import pyarrow as pa

from korvet.kafka.records import BatchHeader, Headers, read_records, split_batches
from korvet.pipeline.failure import LakeError
from korvet.pipeline.table import CREATE_TIME, LOG_APPEND_TIME, SOURCE_COLUMNS
from korvet.proto.storage.v1 import storage_service_pb2 as pb

# As storage bounds what it decompresses.
_MOST_DECOMPRESSED: Final = 128 << 20
_LARGEST_MS: Final = (1 << 63) // 1000 - 1

_HEADERS: Final = pa.list_(pa.struct([("key", pa.string()), ("value", pa.binary())]))
_TYPES: Final = {
    "topic": pa.string(),
    "partition": pa.int32(),
    "offset": pa.int64(),
    "timestamp": pa.timestamp("us", tz="UTC"),
    "timestampType": pa.int32(),
    "key": pa.binary(),
    "value": pa.binary(),
    "headers": _HEADERS,
    "topicId": pa.string(),
    "leaderEpoch": pa.int32(),
}
SCHEMA: Final = pa.schema([(name, _TYPES[name]) for name in SOURCE_COLUMNS])


class Place(NamedTuple):
    """What is the same for all records of a read."""

    topic: str
    topic_id: str
    partition: int


class _Rows(NamedTuple):
    offsets: Sequence[int]
    timestamps: Sequence[int]
    keys: Sequence[bytes | None]
    values: Sequence[bytes | None]
    headers: Sequence[Headers]


def arrow_batches(
    place: Place,
    batches: bytes,
    aborted: Sequence["pb.AbortedTransaction"],
    start: int,
    end: int,
) -> Iterator[pa.RecordBatch]:
    """The visible records from `start` on and before `end`, in order.

    Neighbouring batches with the same epoch and kind of timestamp become one of Arrow's.
    """
    rows: list[Any] = []
    constants: tuple[int, int] | None = None
    for header, batch in _visible(batches, aborted):
        if header.last_offset < start or header.base_offset >= end:
            continue
        records: list[Any] = read_records(batch, _MOST_DECOMPRESSED)
        if header.base_offset < start or header.last_offset >= end:
            records = [record for record in records if start <= record[0] < end]
        kind = LOG_APPEND_TIME if header.is_log_append_time else CREATE_TIME
        this = (header.partition_leader_epoch, kind)
        if rows and this != constants:
            yield _to_arrow(place, constants or this, rows)
            rows = []
        constants = this
        rows += records
    if rows and constants:
        yield _to_arrow(place, constants, rows)


def _visible(
    batches: bytes, aborted: Sequence["pb.AbortedTransaction"]
) -> Iterator[tuple[BatchHeader, memoryview]]:
    waiting = sorted((each.first_offset, each.producer_id) for each in aborted)
    aborting: set[int] = set()
    for header, batch in split_batches(batches):
        while waiting and waiting[0][0] <= header.last_offset:
            aborting.add(waiting.pop(0)[1])
        if header.is_control:
            # It ends the transaction; one that was committed is not listed anyway.
            aborting.discard(header.producer_id)
        elif not (header.is_transactional and header.producer_id in aborting):
            yield header, batch


def _to_arrow(
    place: Place, constants: tuple[int, int], records: Sequence[Any]
) -> pa.RecordBatch:
    rows = _Rows(*zip(*records, strict=True))
    count = len(records)
    epoch, kind = constants
    columns = {
        "topic": pa.repeat(pa.scalar(place.topic), count),
        "partition": pa.repeat(pa.scalar(place.partition, pa.int32()), count),
        "offset": pa.array(rows.offsets, pa.int64()),
        "timestamp": _times(place, rows),
        "timestampType": pa.repeat(pa.scalar(kind, pa.int32()), count),
        "key": pa.array(rows.keys, pa.binary()),
        "value": pa.array(rows.values, pa.binary()),
        "headers": _headers(rows.headers),
        "topicId": pa.repeat(pa.scalar(place.topic_id), count),
        "leaderEpoch": pa.repeat(pa.scalar(epoch, pa.int32()), count),
    }
    return pa.RecordBatch.from_arrays(
        [columns[name] for name in SCHEMA.names], schema=SCHEMA
    )


def _times(place: Place, rows: _Rows) -> pa.Array:
    largest = max(rows.timestamps)
    if largest > _LARGEST_MS:
        offset = rows.offsets[rows.timestamps.index(largest)]
        raise LakeError(
            f"The record at offset {offset} of {place.topic}-{place.partition} has the"
            f" timestamp {largest} ms, which no table can hold.",
            "Its producer seems to count nanoseconds. Delete it, or go on behind it.",
        )
    milliseconds = pa.array(rows.timestamps, pa.int64())
    return milliseconds.cast(pa.timestamp("ms", tz="UTC")).cast(_TYPES["timestamp"])


def _headers(headers: Sequence[Headers]) -> pa.Array:
    if any(headers):
        lists = [
            [{"key": name, "value": value} for name, value in each] for each in headers
        ]
        return pa.array(lists, _HEADERS)
    zeros = pa.py_buffer(bytes(4 * (len(headers) + 1)))
    none = pa.array([], _HEADERS.value_type)
    return pa.Array.from_buffers(_HEADERS, len(headers), [None, zeros], children=[none])
