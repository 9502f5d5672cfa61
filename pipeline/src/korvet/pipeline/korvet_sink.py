"""The writer of the `korvet` data source: rows become records, over gRPC.

Within a task no record is written twice, whatever connections are lost. A task that Spark
runs again writes its records again, as with Spark's own `kafka` sink.
"""

import asyncio
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, Final

from pyspark.sql import Row
from pyspark.sql.datasource import (
    DataSourceArrowWriter,
    DataSourceStreamWriter,
    WriterCommitMessage,
)
from pyspark.sql.types import StructType

from korvet.client import Korvet, NewRecord
from korvet.pipeline.failure import LakeError
from korvet.pipeline.source_options import endpoint_of
from korvet.pipeline.storage_link import Endpoint

if TYPE_CHECKING:
    import pyarrow as pa

# One append of a partition; well within what a topic takes by default, 1 MiB.
_APPEND_RECORDS: Final = 1000
_APPEND_BYTES: Final = 512 << 10

_EPOCH: Final = datetime.fromtimestamp(0, UTC)
_KINDS: Final = {
    "value": ("binary", "string"),
    "key": ("binary", "string"),
    "headers": ("array<struct<key:string,value:binary>>",),
    "timestamp": ("timestamp",),
    "partition": ("int",),
    "topic": ("string",),
}
# What a read brings along, and a write gives anew.
_IGNORED: Final = ("offset", "timestampType", "topicId", "leaderEpoch", "ingestDate")


@dataclass(frozen=True, slots=True, kw_only=True)
class SinkOptions:
    endpoint: Endpoint
    # Where all records go; None where each row names its own.
    topic: str | None


def parse_sink_options(options: Mapping[str, str], schema: StructType) -> SinkOptions:
    """Raise LakeError where the rows are not what can be written."""
    found = {field.name: field.dataType.simpleString() for field in schema}
    for name, kind in found.items():
        if name in _IGNORED:
            continue
        if name not in _KINDS:
            raise LakeError(
                f"The column {name} cannot be written to a topic.",
                f"Its records have {', '.join(_KINDS)}.",
            )
        if kind not in _KINDS[name]:
            raise LakeError(
                f"The column {name} is {kind}, and must be {' or '.join(_KINDS[name])}."
            )
    if "value" not in found:
        raise LakeError("The rows have no column value.")
    topic = options.get("topic")
    if topic is None and "topic" not in found:
        raise LakeError("Give the option topic, or rows with a column topic.")
    return SinkOptions(endpoint=endpoint_of(options), topic=topic)


class KorvetWriter(DataSourceArrowWriter):
    def __init__(self, options: SinkOptions) -> None:
        self._options = options

    def write(self, iterator: Iterator["pa.RecordBatch"]) -> WriterCommitMessage:
        rows = (row for batch in iterator for row in batch.to_pylist())
        asyncio.run(_write(self._options, rows))
        return WriterCommitMessage()


class KorvetStreamWriter(DataSourceStreamWriter):
    def __init__(self, options: SinkOptions) -> None:
        self._options = options

    def write(self, iterator: Iterator[Row]) -> WriterCommitMessage:
        asyncio.run(_write(self._options, (row.asDict() for row in iterator)))
        return WriterCommitMessage()


class _Pending:
    """Records of one partition of a topic, until they are worth an append."""

    def __init__(self) -> None:
        self.records: list[NewRecord] = []
        self.size = 0

    def add(self, record: NewRecord) -> bool:
        self.records.append(record)
        self.size += (
            len(record.value or b"")
            + len(record.key or b"")
            + sum(len(name) + len(value or b"") for name, value in record.headers)
        )
        return len(self.records) >= _APPEND_RECORDS or self.size >= _APPEND_BYTES


async def _write(options: SinkOptions, rows: Iterable[Mapping[str, Any]]) -> None:
    endpoint = options.endpoint
    credentials = endpoint.credentials()
    pending: defaultdict[tuple[str, int | None], _Pending] = defaultdict(_Pending)
    async with Korvet(
        endpoint.address, retry_for=endpoint.patience, credentials=credentials
    ) as korvet:
        for row in rows:
            where = (options.topic or row["topic"], row.get("partition"))
            if pending[where].add(_record(row)):
                await korvet.append_many(
                    where[0], pending.pop(where).records, partition=where[1]
                )
        for (topic, partition), each in pending.items():
            await korvet.append_many(topic, each.records, partition=partition)


def _record(row: Mapping[str, Any]) -> NewRecord:
    timestamp = row.get("timestamp")
    return NewRecord(
        value=_bytes(row["value"]),
        key=_bytes(row.get("key")),
        headers=tuple(
            (header["key"], _bytes(header["value"])) for header in row.get("headers") or ()
        ),
        timestamp_ms=None if timestamp is None else _milliseconds(timestamp),
    )


def _milliseconds(time: datetime) -> int:
    # Of a stream's rows it is in the time zone of the machine, without saying so.
    return (time.astimezone(UTC) - _EPOCH) // timedelta(milliseconds=1)


def _bytes(value: bytes | bytearray | str | None) -> bytes | None:
    if value is None:
        return None
    return value.encode() if isinstance(value, str) else bytes(value)
