"""Spark's own `kafka` source and sink, against the gateway."""

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F

from korvet.client import NewRecord
from tests.support.korvet_process import KorvetCluster
from tests.support.lake_topics import fill, fill_in_transaction, log, numbered
from tests.support.layouts import LAYOUTS
from tests.support.topic_admin import create_topic

pytestmark = pytest.mark.e2e

DENSE = {"storage.format": "batch", "offset.encoding": "dense"}
TWO_LAYOUTS = ("record-time", "batch-dense")


@pytest.fixture
def load(
    spark: SparkSession, korvet: KorvetCluster, topic: str
) -> Callable[..., DataFrame]:
    def load(**options: Any) -> DataFrame:
        options = {
            "kafka.bootstrap.servers": korvet.bootstrap,
            "subscribe": topic,
            "kafka.isolation.level": "read_committed",
            **options,
        }
        return spark.read.format("kafka").options(**options).load()

    return load


@pytest.mark.parametrize("layout", TWO_LAYOUTS)
def test_a_batch_has_what_was_committed_with_headers(
    korvet: KorvetCluster, topic: str, layout: str, load: Callable[..., DataFrame]
) -> None:
    create_topic(korvet.bootstrap, topic, partitions=2, configs=LAYOUTS[layout])
    headers = (("a", b"1"), ("b", b""), ("a", None))
    fill(korvet.storage, topic, [NewRecord(value=None, key=b"k", headers=headers)])
    fill(korvet.storage, topic, numbered(500), partition=1)
    fill_in_transaction(korvet.bootstrap, topic, [b"never"] * 3, commit=False)

    found = load(includeHeaders="true").collect()

    assert {
        (row["partition"], row["offset"]): (
            row["key"] and bytes(row["key"]),
            row["value"] and bytes(row["value"]),
            tuple((each["key"], each["value"]) for each in row["headers"] or ()),
        )
        for row in found
    } == {key: each[1:] for key, each in log(korvet.storage, topic, 2).items()}


@pytest.mark.parametrize("layout", TWO_LAYOUTS)
def test_a_batch_begins_and_ends_by_offset_and_by_time(
    korvet: KorvetCluster, topic: str, layout: str, load: Callable[..., DataFrame]
) -> None:
    create_topic(korvet.bootstrap, topic, configs=LAYOUTS[layout])
    began = 1_770_000_000_000
    records = [
        NewRecord(value=b"%d" % number, timestamp_ms=began + number) for number in range(20)
    ]
    fill(korvet.storage, topic, records)
    offsets = sorted(offset for _, offset in log(korvet.storage, topic))

    def found(**options: str) -> list[int]:
        return sorted(row["offset"] for row in load(**options).select("offset").collect())

    def at(number: int) -> str:
        return json.dumps({topic: {"0": number}})

    assert (
        found(startingOffsets=at(offsets[5]), endingOffsets=at(offsets[9]))
        == (offsets[5:9])
    )
    by_time = {
        "startingOffsetsByTimestamp": at(began + 3),
        "endingOffsetsByTimestamp": at(began + 8),
    }
    assert found(**by_time) == offsets[3:8]
    assert found(startingTimestamp=str(began + 12)) == offsets[12:]


def test_min_partitions_divides_a_dense_topic(
    korvet: KorvetCluster, topic: str, load: Callable[..., DataFrame]
) -> None:
    create_topic(korvet.bootstrap, topic, configs=DENSE)
    fill(korvet.storage, topic, numbered(400))

    parts = load(minPartitions="4").rdd.glom().map(len).collect()

    assert parts == [100] * 4


@pytest.mark.parametrize("layout", TWO_LAYOUTS)
def test_a_stream_copies_a_topic_to_another_and_goes_on_after_a_restart(
    spark: SparkSession, korvet: KorvetCluster, topic: str, layout: str, tmp_path: Path
) -> None:
    copy = f"{topic}-copy"
    configs: Mapping[str, str] = LAYOUTS[layout]
    for name in (topic, copy):
        create_topic(korvet.bootstrap, name, configs=configs)
    kafka = {"kafka.bootstrap.servers": korvet.bootstrap}
    sizes: list[int] = []

    def run() -> None:
        stream = (
            spark.readStream.format("kafka")
            .options(**kafka, subscribe=topic, startingOffsets="earliest")
            .option("includeHeaders", "true")
        )
        if layout == "batch-dense":
            stream = stream.option("maxOffsetsPerTrigger", "200")
        query = (
            stream.load()
            .withColumn("topic", F.lit(copy))
            .select("topic", "key", "value", "headers")
            .writeStream.format("kafka")
            .options(**kafka, checkpointLocation=str(tmp_path / "checkpoint"))
            .start()
        )
        query.processAllAvailable()
        sizes.extend(each["numInputRows"] for each in query.recentProgress)
        query.stop()

    fill(korvet.storage, topic, numbered(500))
    run()
    headers = (("a", b"1"), ("a", None))
    fill(korvet.storage, topic, [NewRecord(value=None, key=b"k", headers=headers)])
    run()

    def contents(name: str) -> list[Any]:
        return sorted((each[1:] for each in log(korvet.storage, name).values()), key=repr)

    assert contents(copy) == contents(topic)
    if layout == "batch-dense":
        assert [size for size in sizes if size] == [200, 200, 100, 1]
