"""What a verification finds, on tables that are right and on damaged ones."""

import pytest
from pyspark.sql import functions as F

from korvet.pipeline.lake import Lake
from korvet.pipeline.storage_link import Endpoint, StorageLink
from korvet.pipeline.verify import Verdict, verify
from tests.support.korvet_process import KorvetCluster
from tests.support.lake_topics import (
    AWKWARD,
    archiving,
    change,
    delete_before,
    fill,
    fill_in_transaction,
    numbered,
)
from tests.support.topic_admin import create_topic, delete_topic

pytestmark = pytest.mark.e2e

DENSE = {"offset.encoding": "dense"}
COUNT = 20


@pytest.fixture
def archived(lake: Lake, korvet: KorvetCluster, topic: str) -> str:
    """A topic with its table."""
    create_topic(korvet.bootstrap, topic, configs=DENSE)
    fill(korvet.storage, topic, numbered(COUNT - len(AWKWARD)))
    fill(korvet.storage, topic, AWKWARD)
    with archiving(lake, korvet.storage) as archive:
        archive.once(topic)
    return topic


def verdict_of(
    lake: Lake, korvet: KorvetCluster, topic: str, *, counts_only: bool = False
) -> Verdict:
    endpoint = Endpoint(address=korvet.storage)
    with StorageLink(endpoint) as link:
        return verify(lake, link, endpoint, topic, counts_only=counts_only)


@pytest.mark.parametrize("counts_only", [False, True])
def test_a_table_with_every_record_once_is_right(
    lake: Lake, korvet: KorvetCluster, archived: str, counts_only: bool
) -> None:
    verdict = verdict_of(lake, korvet, archived, counts_only=counts_only)

    assert verdict.is_right
    assert (verdict.records, verdict.compared, verdict.is_live) == (COUNT, COUNT, True)


def test_what_was_aborted_is_not_missing(
    lake: Lake, korvet: KorvetCluster, archived: str
) -> None:
    fill_in_transaction(korvet.bootstrap, archived, [b"never"] * 3, commit=False)
    fill(korvet.storage, archived, numbered(2))
    with archiving(lake, korvet.storage) as archive:
        archive.once(archived)

    verdict = verdict_of(lake, korvet, archived)

    assert verdict.is_right
    assert sum(each.indexed for each in verdict.ranges) == COUNT + 2 + 4


@pytest.mark.parametrize("counts_only", [False, True])
def test_a_record_that_is_missing_is_found(
    lake: Lake, korvet: KorvetCluster, archived: str, counts_only: bool
) -> None:
    change(lake, archived, "DELETE FROM {} WHERE offset = 7")

    verdict = verdict_of(lake, korvet, archived, counts_only=counts_only)

    assert not verdict.is_right
    (wrong,) = [each for each in verdict.ranges if not each.is_right]
    assert (wrong.start, wrong.end) == (0, COUNT)
    assert (wrong.lake.records, wrong.indexed) == (COUNT - 1, COUNT)


def test_a_record_that_is_there_twice_is_found(
    lake: Lake, korvet: KorvetCluster, archived: str
) -> None:
    records = lake.table(archived)
    again = records.where(F.col("offset") == 7)
    again.write.format("delta").mode("append").save(lake.table_path(archived))

    verdict = verdict_of(lake, korvet, archived)

    assert not verdict.is_right
    (twice,) = verdict.duplicates
    assert twice.endswith("partition 0, offset 7: 2 times")


def test_a_record_that_was_changed_in_any_way_is_found(
    lake: Lake, korvet: KorvetCluster, archived: str
) -> None:
    for statement in (
        "UPDATE {} SET value = x'00' WHERE offset = 7",
        "UPDATE {} SET value = x'' WHERE value IS NULL",
        "UPDATE {} SET timestamp = timestamp + INTERVAL 1 MILLISECOND WHERE offset = 7",
        "UPDATE {} SET headers = reverse(headers) WHERE size(headers) > 0",
        "UPDATE {} SET headers = filter(headers, h -> h.value IS NOT NULL)",
    ):
        change(lake, archived, statement)

        verdict = verdict_of(lake, korvet, archived)

        assert not verdict.is_right, statement
        assert [each.lake.records for each in verdict.ranges] == [COUNT]
        # As the archive has left it.
        change(lake, archived, "RESTORE TABLE {} TO VERSION AS OF 1")
    assert verdict_of(lake, korvet, archived).is_right


def test_records_behind_what_was_archived_are_found(
    lake: Lake, korvet: KorvetCluster, archived: str
) -> None:
    records = lake.table(archived).where(F.col("offset") == 7)
    moved = records.withColumn("offset", F.lit(900).cast("bigint"))
    moved.write.format("delta").mode("append").save(lake.table_path(archived))

    verdict = verdict_of(lake, korvet, archived)

    assert verdict.strangers == 1
    assert not verdict.is_right


def test_what_the_log_has_no_more_is_checked_as_far_as_that_goes(
    lake: Lake, korvet: KorvetCluster, archived: str
) -> None:
    delete_before(korvet.storage, archived, 15)
    trimmed = verdict_of(lake, korvet, archived)
    delete_topic(korvet.bootstrap, archived)
    gone = verdict_of(lake, korvet, archived)

    assert (trimmed.is_right, trimmed.records, trimmed.compared) == (True, COUNT, 5)
    assert (gone.is_right, gone.compared, gone.is_live) == (True, 0, False)
