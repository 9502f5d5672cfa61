"""Records as a lake's table has them, written without an archive, and read from a topic."""

import asyncio
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from typing import Any, Final

from pyspark.sql import SparkSession

from korvet.client import Korvet, Record
from korvet.pipeline import table
from korvet.pipeline.lake import Lake

EPOCH: Final = datetime.fromtimestamp(0, UTC)
INGESTED: Final = date(2026, 2, 3)
# When the records of tests were made, a little before they were archived.
BEGAN_MS: Final = 1_770_000_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Archived:
    offset: int
    partition: int = 0
    timestamp_ms: int = BEGAN_MS
    key: bytes | None = None
    value: bytes | None = b"a value"
    headers: tuple[tuple[str, bytes | None], ...] = ()
    topic_id: str = "AAAAAAAAQACAAAAAAAAAAA"
    timestamp_type: int = table.CREATE_TIME
    ingested: date = INGESTED

    def row(self, topic: str) -> dict[str, Any]:
        return {
            "topic": topic,
            "partition": self.partition,
            "offset": self.offset,
            "timestamp": EPOCH + timedelta(milliseconds=self.timestamp_ms),
            "timestampType": self.timestamp_type,
            "key": self.key,
            "value": self.value,
            "headers": [{"key": key, "value": value} for key, value in self.headers],
            "topicId": self.topic_id,
            "leaderEpoch": 0,
            "ingestDate": self.ingested,
        }

    @property
    def content(self) -> tuple[Any, ...]:
        """What a replay has to keep."""
        return self.timestamp_ms, self.key, self.value, self.headers


def put(lake: Lake, topic: str, records: Iterable[Archived]) -> None:
    """Add records to the topic's table, as one commit of an archive."""
    rows = [each.row(topic) for each in records]
    frame = frame_of(lake.spark, rows)
    writer = frame.coalesce(1).write.format("delta").mode("append")
    writer.partitionBy(table.PARTITION_COLUMN).save(lake.table_path(topic))


def frame_of(spark: SparkSession, rows: list[dict[str, Any]]) -> Any:
    values = [tuple(row[name] for name in table.COLUMNS) for row in rows]
    return spark.createDataFrame(values, table.ddl(table.COLUMNS))


def read(storage: str, topic: str, partition: int = 0) -> list[Record]:
    """What a reader of committed records finds in a partition."""

    async def run() -> list[Record]:
        async with Korvet(storage) as korvet:
            (log,) = [
                each
                for each in await korvet.describe_logs(topic)
                if each.partition == partition
            ]
            records: list[Record] = []
            offset = log.log_start_offset
            while offset < log.high_watermark:
                found = await korvet.read(
                    topic, offset=offset, partition=partition, committed=True
                )
                records += found.records
                assert offset < found.next_offset, found
                offset = found.next_offset
            return records

    return asyncio.run(run())


def content(record: Record) -> tuple[Any, ...]:
    return record.timestamp_ms, record.key, record.value, record.headers
