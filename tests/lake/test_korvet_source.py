"""`spark.read.format("korvet")` and its stream, on a real Korvet."""

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame, SparkSession

from tests.support.korvet_process import KorvetCluster
from tests.support.lake_topics import (
    AWKWARD,
    delete_before,
    fill,
    fill_in_transaction,
    log,
    numbered,
    rows,
)
from tests.support.layouts import LAYOUTS
from tests.support.topic_admin import create_topic, delete_topic

pytestmark = pytest.mark.e2e

# Of which each differs from the other in everything.
TWO_LAYOUTS = ("record-time", "batch-dense")


@pytest.fixture
def load(spark: SparkSession, korvet: KorvetCluster) -> Callable[..., DataFrame]:
    def load(**options: Any) -> DataFrame:
        options = {"endpoint": korvet.storage, "patience": 10, **options}
        return spark.read.format("korvet").options(**options).load()

    return load


@pytest.mark.parametrize("layout", LAYOUTS.values(), ids=LAYOUTS)
def test_what_is_read_is_what_was_committed_byte_for_byte(
    korvet: KorvetCluster,
    topic: str,
    layout: Mapping[str, str],
    load: Callable[..., DataFrame],
) -> None:
    create_topic(korvet.bootstrap, topic, partitions=2, configs=layout)
    fill(korvet.storage, topic, AWKWARD, partition=1)
    fill_in_transaction(korvet.bootstrap, topic, [b"never"] * 3, commit=False)
    fill_in_transaction(korvet.bootstrap, topic, [b"decided"] * 3, commit=True)
    fill(korvet.storage, topic, numbered(700))

    found = load(topics=topic, recordsPerSplit=200).collect()

    assert rows(found) == log(korvet.storage, topic, partitions=2)
    assert {row["topic"] for row in found} == {topic}
    assert len({row["topicId"] for row in found}) == 1
    assert {(row["timestampType"], row["leaderEpoch"]) for row in found} == {(0, 0)}


@pytest.mark.parametrize("layout", LAYOUTS.values(), ids=LAYOUTS)
def test_a_split_has_as_many_records_as_it_is_told_to(
    korvet: KorvetCluster,
    topic: str,
    layout: Mapping[str, str],
    load: Callable[..., DataFrame],
) -> None:
    create_topic(korvet.bootstrap, topic, configs=layout)
    for _ in range(4):
        fill(korvet.storage, topic, numbered(1000))

    splits = load(topics=topic, recordsPerSplit=500).rdd.glom().map(len).collect()

    assert sum(splits) == 4000
    assert len(splits) == 8
    assert all(450 <= size <= 550 for size in splits), splits


def test_a_read_begins_and_ends_where_it_is_told_to(
    korvet: KorvetCluster, topic: str, load: Callable[..., DataFrame]
) -> None:
    create_topic(korvet.bootstrap, topic)
    fill(korvet.storage, topic, numbered(50))
    offsets = sorted(offset for _, offset in log(korvet.storage, topic))
    middle = log(korvet.storage, topic)[0, offsets[-1]][0]

    def found(**options: str) -> list[int]:
        return sorted(row["offset"] for row in load(topics=topic, **options).collect())

    bounds = [json.dumps({topic: {"0": offsets[at]}}) for at in (10, 20)]
    assert found(startingOffsets=bounds[0], endingOffsets=bounds[1]) == offsets[10:20]
    assert found(startingTimestamp=str(middle + 1)) == []
    assert found(endingTimestamp="1970-01-02T00:00:00Z") == []
    assert found(startingTimestamp="1970-01-02T00:00:00Z") == offsets


@pytest.mark.parametrize(
    ("options", "reason"),
    [
        ({}, "either the option topics or"),
        ({"topics": "nowhere"}, "There is no topic nowhere"),
        ({"topics": "a", "topicPattern": "b"}, "either the option topics or"),
        ({"topicPattern": "("}, "no regular expression"),
        ({"topics": "a", "recordPerSplit": "5"}, "no option recordpersplit"),
        ({"topics": "a", "recordsPerSplit": "0"}, "must be a number of records"),
        ({"topics": "a", "startingOffsets": "5"}, "startingOffsets is not what"),
        ({"topics": "a", "startingOffsets": "latest"}, "cannot be latest"),
        ({"topics": "a", "startingTimestamp": "noon"}, "noon is no time"),
        ({"topics": "a", "endpoint": "127.0.0.1:1", "patience": "1"}, "does not answer"),
    ],
)
def test_a_mistake_is_told(
    load: Callable[..., DataFrame], options: dict[str, str], reason: str
) -> None:
    with pytest.raises(PySparkException, match=f"(?i){reason}"):
        load(**options).count()


def test_what_was_deleted_below_a_given_offset_is_an_error(
    korvet: KorvetCluster, topic: str, load: Callable[..., DataFrame]
) -> None:
    create_topic(korvet.bootstrap, topic, configs={"offset.encoding": "dense"})
    fill(korvet.storage, topic, numbered(20))
    delete_before(korvet.storage, topic, 10)
    start = json.dumps({topic: {"0": 4}})

    with pytest.raises(PySparkException, match=f"{topic}-0 the offsets 4 up to 10"):
        load(topics=topic, startingOffsets=start).count()

    assert load(topics=topic, startingOffsets=start, failOnDataLoss="false").count() == 10
    assert load(topics=topic).count() == 10


@pytest.mark.parametrize("layout", TWO_LAYOUTS)
def test_a_stream_takes_what_a_trigger_may_and_goes_on_after_a_restart(
    spark: SparkSession,
    korvet: KorvetCluster,
    topic: str,
    layout: str,
    tmp_path: Path,
) -> None:
    create_topic(korvet.bootstrap, topic, partitions=2, configs=LAYOUTS[layout])
    fill(korvet.storage, topic, numbered(700))
    sizes: list[int] = []

    def run() -> None:
        """A query of its own each time, on the same checkpoint."""
        stream = spark.readStream.format("korvet").options(
            endpoint=korvet.storage,
            topics=topic,
            startingOffsets="earliest",
            recordsPerTrigger=300,
        )
        query = (
            stream.load()
            .writeStream.format("delta")
            .option("checkpointLocation", str(tmp_path / "checkpoint"))
            .start(str(tmp_path / "table"))
        )
        query.processAllAvailable()
        sizes.extend(each["numInputRows"] for each in query.recentProgress)
        query.stop()

    run()
    fill(korvet.storage, topic, numbered(650), partition=1)
    run()

    found = spark.read.format("delta").load(str(tmp_path / "table")).collect()
    assert rows(found) == log(korvet.storage, topic, partitions=2)
    assert [size for size in sizes if size] == [300, 300, 100, 300, 300, 50]


def test_a_stream_reads_a_topic_that_was_made_again_from_its_start(
    spark: SparkSession, korvet: KorvetCluster, topic: str, tmp_path: Path
) -> None:
    create_topic(korvet.bootstrap, topic, configs={"offset.encoding": "dense"})
    fill(korvet.storage, topic, numbered(5))
    stream = spark.readStream.format("korvet").options(
        endpoint=korvet.storage, topicPattern=f"{topic}.*", startingOffsets="earliest"
    )
    query = (
        stream.load()
        .writeStream.format("delta")
        .option("checkpointLocation", str(tmp_path / "checkpoint"))
        .start(str(tmp_path / "table"))
    )
    try:
        query.processAllAvailable()
        delete_topic(korvet.bootstrap, topic)
        create_topic(korvet.bootstrap, topic, configs={"offset.encoding": "dense"})
        create_topic(korvet.bootstrap, f"{topic}-new")
        fill(korvet.storage, topic, numbered(7))
        fill(korvet.storage, f"{topic}-new", numbered(3))
        query.processAllAvailable()
    finally:
        query.stop()

    found = spark.read.format("delta").load(str(tmp_path / "table"))
    counts = {tuple(row) for row in found.groupBy("topic", "topicId").count().collect()}
    assert sorted((name, count) for name, _, count in counts) == [
        (topic, 5),
        (topic, 7),
        (f"{topic}-new", 3),
    ]


@pytest.mark.parametrize("streaming", [False, True], ids=["batch", "stream"])
def test_what_is_written_is_what_was_read(
    spark: SparkSession, korvet: KorvetCluster, topic: str, tmp_path: Path, streaming: bool
) -> None:
    copy = f"{topic}-copy"
    create_topic(korvet.bootstrap, topic, partitions=2)
    create_topic(korvet.bootstrap, copy, partitions=2)
    fill(korvet.storage, topic, [*AWKWARD, *numbered(1200)], partition=1)
    source = {"endpoint": korvet.storage, "topics": topic, "startingOffsets": "earliest"}
    sink = {"endpoint": korvet.storage, "topic": copy}

    if streaming:
        rows = spark.readStream.format("korvet").options(**source).load()
        query = (
            rows.writeStream.format("korvet")
            .options(**sink, checkpointLocation=str(tmp_path / "checkpoint"))
            .start()
        )
        query.processAllAvailable()
        query.stop()
    else:
        rows = spark.read.format("korvet").options(**source).load()
        rows.write.format("korvet").options(**sink).mode("append").save()

    def contents(name: str) -> list[Any]:
        found = log(korvet.storage, name, partitions=2)
        return [each for key, each in sorted(found.items()) if key[0] == 1]

    assert contents(copy) == contents(topic)


@pytest.mark.parametrize(
    ("columns", "options", "mode", "reason"),
    [
        ("value STRING, more INT", {"topic": "a"}, "append", "column more cannot be"),
        ("value INT", {"topic": "a"}, "append", "column value is int"),
        ("key STRING", {"topic": "a"}, "append", "no column value"),
        ("value STRING", {}, "append", "Give the option topic"),
        ("value STRING", {"topic": "a"}, "overwrite", "cannot be overwritten"),
    ],
)
def test_what_cannot_be_written_is_told(
    spark: SparkSession, columns: str, options: dict[str, str], mode: str, reason: str
) -> None:
    writer = spark.createDataFrame([], columns).write.format("korvet").options(**options)

    with pytest.raises(PySparkException, match=reason):
        writer.mode(mode).save()
