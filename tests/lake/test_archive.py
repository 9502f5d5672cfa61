"""An archive, from topics of a real Korvet to tables of the lake."""

import json
import threading
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from korvet.pipeline.failure import LakeError
from korvet.pipeline.lake import Lake
from tests.support.korvet_process import KorvetCluster, StartKorvet
from tests.support.lake_records import Archived, put
from tests.support.lake_topics import (
    AWKWARD,
    add_partitions,
    archiving,
    delete_before,
    delta_log,
    fill,
    fill_in_transaction,
    forget_commits,
    log,
    numbered,
    table,
)
from tests.support.layouts import LAYOUTS
from tests.support.redis_copy import RedisCopy
from tests.support.topic_admin import create_topic, delete_topic

pytestmark = pytest.mark.e2e

DENSE = {"offset.encoding": "dense"}
# How records are read from each, the tests of the source show.
TWO_LAYOUTS = ("record-time", "batch-dense")


@pytest.mark.parametrize("layout", TWO_LAYOUTS)
def test_what_is_archived_is_what_was_committed_once(
    lake: Lake, korvet: KorvetCluster, topic: str, layout: str
) -> None:
    create_topic(korvet.bootstrap, topic, partitions=3, configs=LAYOUTS[layout])
    fill(korvet.storage, topic, AWKWARD, partition=1)
    fill_in_transaction(korvet.bootstrap, topic, [b"never"] * 3, commit=False)
    with archiving(lake, korvet.storage, records_per_commit=500) as archive:
        archive.once(topic)
        first = table(lake, topic)
        again = archive.once(topic)
        fill(korvet.storage, topic, numbered(800))
        fill_in_transaction(korvet.bootstrap, topic, [b"decided"] * 3, commit=True)
        archive.once(topic)
        commits = list(archive.counts)

    assert len(first) == len(AWKWARD)
    assert again == 0
    assert len(commits) == 2
    assert table(lake, topic) == log(korvet.storage, topic, partitions=3)


def test_several_topics_are_archived_in_one_job_and_a_new_one_joins(
    lake: Lake, korvet: KorvetCluster, topic: str
) -> None:
    names = [f"{topic}-{number}" for number in range(3)]
    stopped = threading.Event()
    for name in names[:2]:
        create_topic(korvet.bootstrap, name, partitions=2)
        fill(korvet.storage, name, numbered(20), partition=1)
    with archiving(lake, korvet.storage) as archive:
        looks = 0

        def find() -> list[object]:
            nonlocal looks
            looks += 1
            if looks == 2:
                create_topic(korvet.bootstrap, names[2])
                fill(korvet.storage, names[2], numbered(5))
            if looks == 4:
                stopped.set()
            return [each for each in archive.link.topics() if each.name in names]

        archive.job.follow(find, interval=0.01, stopped=stopped)  # type: ignore[arg-type]

    for name in names:
        assert table(lake, name) == log(korvet.storage, name, 2 if name != names[2] else 1)


def test_a_topic_made_again_is_a_new_history_beside_the_old_one(
    lake: Lake, korvet: KorvetCluster, topic: str
) -> None:
    create_topic(korvet.bootstrap, topic, configs=DENSE)
    fill(korvet.storage, topic, numbered(5))
    with archiving(lake, korvet.storage) as archive:
        archive.once(topic)
        first = archive.link.topic(topic)
        old = table(lake, topic)
        delete_topic(korvet.bootstrap, topic)
        assert first
        # It is planned for one that is not there any more.
        archive.job.once([first])
        create_topic(korvet.bootstrap, topic, configs=DENSE)
        fill(korvet.storage, topic, numbered(3))
        archive.once(topic)

    ids = [row[0] for row in lake.table(topic).select("topicId").distinct().collect()]
    histories = [table(lake, topic, each) for each in ids]
    assert sorted(histories, key=len) == [log(korvet.storage, topic), old]


def test_partitions_that_are_added_are_archived_from_their_start(
    lake: Lake, korvet: KorvetCluster, topic: str
) -> None:
    create_topic(korvet.bootstrap, topic)
    fill(korvet.storage, topic, numbered(5))
    with archiving(lake, korvet.storage) as archive:
        archive.once(topic)
        planned = archive.link.topic(topic)
        assert planned
        add_partitions(korvet.storage, topic, 3)
        fill(korvet.storage, topic, numbered(4), partition=2)
        # It was planned when there was one partition.
        archive.job.once([planned])
        assert len(table(lake, topic)) == 5
        archive.once(topic)

    assert table(lake, topic) == log(korvet.storage, topic, partitions=3)


def test_a_gap_is_an_error_with_its_bounds_or_passed_over(
    lake: Lake, korvet: KorvetCluster, topic: str
) -> None:
    create_topic(korvet.bootstrap, topic, configs=DENSE)
    fill(korvet.storage, topic, numbered(10))
    with archiving(lake, korvet.storage) as archive:
        archive.once(topic)
        # What was archived may go.
        delete_before(korvet.storage, topic, 10)
        fill(korvet.storage, topic, numbered(10))
        archive.once(topic)
        fill(korvet.storage, topic, numbered(10))
        delete_before(korvet.storage, topic, 25)

        with pytest.raises(LakeError, match=rf"\({topic}-0 20 up to 25\)"):
            archive.once(topic)

    assert len(table(lake, topic)) == 20
    with archiving(lake, korvet.storage, skips_gaps=True) as archive:
        archive.once(topic)
        assert [gap[1:] for gap in archive.gaps] == [(0, 20, 25)]
        archive.once(topic)
        assert len(archive.gaps) == 1
    offsets = sorted(offset for _, offset in table(lake, topic))
    assert offsets == [*range(20), *range(25, 30)]


def test_a_log_that_was_emptied_behind_the_archive_has_no_gap(
    lake: Lake, korvet: KorvetCluster, topic: str
) -> None:
    create_topic(korvet.bootstrap, topic)
    fill(korvet.storage, topic, numbered(10))
    with archiving(lake, korvet.storage) as archive:
        archive.once(topic)
        delete_before(korvet.storage, topic, -1)
        assert archive.once(topic) == 0
        fill(korvet.storage, topic, numbered(3))
        assert archive.once(topic) == 3


@pytest.mark.parametrize("layout", TWO_LAYOUTS)
def test_a_log_that_lost_what_the_lake_has_is_told_and_nothing_added(
    lake: Lake, start_korvet: StartKorvet, topic: str, tmp_path: Path, layout: str
) -> None:
    korvet = start_korvet()
    create_topic(korvet.bootstrap, topic, configs=LAYOUTS[layout])
    fill(korvet.storage, topic, numbered(10))
    kept = max(offset for _, offset in log(korvet.storage, topic))
    copy = RedisCopy(korvet, tmp_path)
    fill(korvet.storage, topic, numbered(5))
    with archiving(lake, korvet.storage) as archive:
        archive.once(topic)
        archived = table(lake, topic)
        copy.restore()
        # More than were lost, so that others are at their offsets.
        fill(korvet.storage, topic, numbered(20))

        with pytest.raises(LakeError, match=f"{topic}-0 was cut at {kept + 1}"):
            archive.once(topic)

    assert table(lake, topic) == archived


def test_two_archives_of_one_topic_write_each_record_once(
    lake: Lake, korvet: KorvetCluster, topic: str
) -> None:
    create_topic(korvet.bootstrap, topic)
    fill(korvet.storage, topic, numbered(10))
    with archiving(lake, korvet.storage) as one, archiving(lake, korvet.storage) as other:
        one.once(topic)
        other.once(topic)
        fill(korvet.storage, topic, numbered(10))
        one.once(topic)
        fill(korvet.storage, topic, numbered(10))
        # It believes that the second ten are still to be archived.
        other.once(topic)

    assert table(lake, topic) == log(korvet.storage, topic)


def test_how_far_it_is_is_found_when_delta_has_forgotten_the_commit(
    lake: Lake, korvet: KorvetCluster, topic: str
) -> None:
    create_topic(korvet.bootstrap, topic)
    fill(korvet.storage, topic, numbered(10))
    with archiving(lake, korvet.storage) as archive:
        archive.once(topic)
    forget_commits(lake, topic)
    fill(korvet.storage, topic, numbered(10))

    with archiving(lake, korvet.storage) as archive:
        assert archive.once(topic) == 10

    assert table(lake, topic) == log(korvet.storage, topic)


def test_a_folder_with_other_files_is_not_touched(
    spark: SparkSession, tmp_path: Path
) -> None:
    (tmp_path / "holiday.jpg").write_bytes(b"")

    with pytest.raises(LakeError, match="is not a Korvet lake"):
        Lake.create(spark, str(tmp_path))
    with pytest.raises(LakeError, match="There is no lake at"):
        Lake.open(spark, str(tmp_path / "nowhere"))
    assert [path.name for path in tmp_path.iterdir()] == ["holiday.jpg"]


def test_a_lake_of_a_newer_release_is_not_touched(
    spark: SparkSession, tmp_path: Path
) -> None:
    marker = {"format": "korvet-lake", "version": 2}
    (tmp_path / "korvet-lake.json").write_text(json.dumps(marker))

    with pytest.raises(LakeError, match="is a lake of version 2"):
        Lake.open(spark, str(tmp_path))


def test_a_table_with_another_schema_is_not_touched(
    lake: Lake, korvet: KorvetCluster, topic: str
) -> None:
    create_topic(korvet.bootstrap, topic)
    fill(korvet.storage, topic, numbered(1))
    frame = lake.spark.createDataFrame([(1, "a")], "topic INT, value STRING")
    frame.write.format("delta").save(lake.table_path(topic))

    with (
        archiving(lake, korvet.storage) as archive,
        pytest.raises(LakeError, match="column topic is int, not string"),
    ):
        archive.once(topic)

    assert lake.spark.read.format("delta").load(lake.table_path(topic)).count() == 1


def test_records_that_no_archive_wrote_are_not_added_to(
    lake: Lake, korvet: KorvetCluster, topic: str
) -> None:
    create_topic(korvet.bootstrap, topic)
    fill(korvet.storage, topic, numbered(1))
    put(lake, topic, [Archived(offset=1)])

    with (
        archiving(lake, korvet.storage) as archive,
        pytest.raises(LakeError, match="records which no archive has written"),
    ):
        archive.once(topic)


def test_a_damaged_commit_is_told_and_nothing_changed(
    lake: Lake, korvet: KorvetCluster, topic: str
) -> None:
    create_topic(korvet.bootstrap, topic)
    fill(korvet.storage, topic, numbered(10))
    with archiving(lake, korvet.storage) as archive:
        archive.once(topic)
    last = delta_log(lake, topic)[-1]
    (last.parent / f".{last.name}.crc").unlink()
    fill(korvet.storage, topic, numbered(10))

    for damage in (b"", b"{}\n{", b'{"commitInfo": 5}'):
        last.write_bytes(damage)
        with (
            archiving(lake, korvet.storage) as archive,
            pytest.raises(LakeError, match="is damaged"),
        ):
            archive.once(topic)

    assert delta_log(lake, topic)[-1] == last
