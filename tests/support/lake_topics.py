"""Topics to archive, filled over gRPC and in transactions; and what their tables hold."""

import asyncio
import itertools
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any, Final

from confluent_kafka import Producer
from pyspark.sql import Row

from korvet.client import Korvet, NewRecord, Record
from korvet.pipeline.archive import Archive
from korvet.pipeline.lake import Lake
from korvet.pipeline.planning import Gap
from korvet.pipeline.storage_link import Endpoint, StorageLink
from korvet.pipeline.topic_archive import ArchiveSettings
from tests.support.lake_records import EPOCH, read

# What is easily lost on the way.
AWKWARD: Final = (
    NewRecord(value=None, key=None),
    NewRecord(value=b"", key=b""),
    NewRecord(value=b"\x00\xfe\r\n" * 10, key=b"\x00\xff"),
    NewRecord(
        value=b"v",
        key=b"headers",
        headers=(("b", b"1"), ("a", None), ("b", b""), ("b", b"1"), ("é", b"\xff")),
        timestamp_ms=0,
    ),
    NewRecord(value=b"x" * 300_000, timestamp_ms=1_770_000_000_001),
    NewRecord(value=b"early", timestamp_ms=-1),
)

Key = tuple[int, int]
Content = tuple[Any, ...]

_numbers = itertools.count()


def numbered(count: int) -> list[NewRecord]:
    """Records of which no two are the same, in this process."""
    return [NewRecord(value=b"%08d" % n) for n in itertools.islice(_numbers, count)]


def fill(
    storage: str, topic: str, records: Iterable[NewRecord], partition: int = 0
) -> None:
    async def run() -> None:
        async with Korvet(storage) as korvet:
            await korvet.append_many(topic, records, partition=partition)

    asyncio.run(run())


def delete_before(storage: str, topic: str, offset: int, partition: int = 0) -> None:
    async def run() -> None:
        async with Korvet(storage) as korvet:
            await korvet.delete_records(topic, partition=partition, before=offset)

    asyncio.run(run())


def fill_in_transaction(
    bootstrap: str, topic: str, values: Sequence[bytes], *, commit: bool
) -> None:
    """As a Kafka producer does it; what is aborted is in the log all the same."""
    producer = Producer(
        {"bootstrap.servers": bootstrap, "transactional.id": f"{topic}-{next(_numbers)}"}
    )
    producer.init_transactions(30)
    producer.begin_transaction()
    for value in values:
        producer.produce(topic, value)
    producer.flush(30)
    if commit:
        producer.commit_transaction(30)
    else:
        producer.abort_transaction(30)


def log(storage: str, topic: str, partitions: int = 1) -> dict[Key, Content]:
    """What readers of committed records find, by partition and offset."""
    return {
        (partition, record.offset): _content(record)
        for partition in range(partitions)
        for record in read(storage, topic, partition)
    }


def rows(found: Iterable[Row]) -> dict[Key, Content]:
    """The same of rows; two with one key are an error."""
    contents: dict[Key, Content] = {}
    for row in found:
        key = (row["partition"], row["offset"])
        assert key not in contents, f"{key} is there twice"
        headers = tuple((each["key"], each["value"]) for each in row["headers"])
        contents[key] = (_ms(row), _bytes(row["key"]), _bytes(row["value"]), headers)
    return contents


def table(lake: Lake, topic: str, topic_id: str | None = None) -> dict[Key, Content]:
    """What is in the lake of the topic, or of one of its histories."""
    records = lake.table(topic)
    if topic_id is not None:
        records = records.where(records["topicId"] == topic_id)
    return rows(records.collect())


@contextmanager
def archiving(
    lake: Lake, storage: str, *, skips_gaps: bool = False, records_per_commit: int = 1000
) -> Iterator["Archiving"]:
    endpoint = Endpoint(address=storage, patience=20.0)
    with StorageLink(endpoint) as link:
        yield Archiving(lake, link, endpoint, skips_gaps, records_per_commit)


class Archiving:
    """An archive as the command runs it, in this process."""

    def __init__(
        self,
        lake: Lake,
        link: StorageLink,
        endpoint: Endpoint,
        skips_gaps: bool,
        records_per_commit: int,
    ) -> None:
        self.link = link
        self.endpoint = endpoint
        self.gaps: list[Gap] = []
        self.counts: list[int] = []
        settings = ArchiveSettings(
            endpoint=endpoint,
            skips_gaps=skips_gaps,
            on_gap=self.gaps.append,
            records_per_commit=records_per_commit,
        )
        self.job = Archive(
            lake, link, settings, on_done=lambda _, done: self.counts.append(done.records)
        )

    def once(self, *topics: str) -> int:
        """Archive what there is; how many records that were."""
        self.counts.clear()
        found = [self.link.topic(topic) for topic in topics]
        self.job.once([each for each in found if each is not None])
        return sum(self.counts)


def _content(record: Record) -> Content:
    return record.timestamp_ms, record.key, record.value, record.headers


def _ms(row: Row) -> int:
    # Spark's timestamps are in the time zone of the machine when they get here.
    distance: timedelta = row["timestamp"].astimezone(EPOCH.tzinfo) - EPOCH
    return distance // timedelta(milliseconds=1)


def _bytes(value: bytearray | None) -> bytes | None:
    return None if value is None else bytes(value)


def add_partitions(storage: str, topic: str, count: int) -> None:
    async def run() -> None:
        async with Korvet(storage) as korvet:
            await korvet.add_partitions(topic, count)

    asyncio.run(run())


def delta_log(lake: Lake, topic: str) -> list[Path]:
    """The commits of a topic's table, the oldest first."""
    return sorted(Path(lake.table_path(topic), "_delta_log").glob("*.json"))


def forget_commits(lake: Lake, topic: str) -> None:
    """As Delta does with those that are weeks old: only what they came to is left."""
    path = lake.table_path(topic)
    # Written with the commit that asks for it.
    lake.spark.sql(
        f"ALTER TABLE delta.`{path}` SET TBLPROPERTIES ('delta.checkpointInterval' = '1')"
    )
    assert list(Path(path, "_delta_log").glob("*.checkpoint*.parquet"))
    for commit in delta_log(lake, topic)[:-1]:
        commit.unlink()
    jvm: Any = lake.spark._jvm
    jvm.org.apache.spark.sql.delta.DeltaLog.clearCache()


def change(lake: Lake, topic: str, statement: str) -> None:
    """Damage a table with SQL, behind the archive's back."""
    lake.spark.sql(statement.format(f"delta.`{lake.table_path(topic)}`"))
