"""Compact and vacuum, on tables of several commits."""

import pytest

from korvet.cli import lake_vacuum
from korvet.pipeline import upkeep
from korvet.pipeline.failure import LakeError
from korvet.pipeline.lake import Lake
from tests.support.lake_records import Archived, put

pytestmark = pytest.mark.e2e

MIB = 1 << 20


def test_small_files_are_joined_and_deleted_only_when_that_is_safe(lake: Lake) -> None:
    for number in range(3):
        put(lake, "orders", [Archived(offset=number, value=b"%d" % number)])

    joined = upkeep.compact(lake, "orders", MIB)
    again = upkeep.compact(lake, "orders", MIB)
    too_early = upkeep.vacuum(lake, "orders", upkeep.SAFE_HOURS)
    would = upkeep.vacuum(lake, "orders", 0, dry_run=True)
    deleted = upkeep.vacuum(lake, "orders", 0)

    assert (joined.files_removed, joined.files_added, joined.files_left) == (3, 1, 1)
    assert (again.files_removed, again.files_left) == (0, 1)
    assert (too_early.files, too_early.files_left) == (0, 4)
    assert (would.files, would.files_left) == (3, 1)
    assert (deleted.files, deleted.files_left) == (3, 1)
    assert would.size_bytes == deleted.size_bytes > 0
    values = sorted(row.value for row in lake.table("orders").collect())
    assert values == [b"0", b"1", b"2"]


def test_a_topic_that_is_not_in_the_lake_is_told(lake: Lake) -> None:
    with pytest.raises(LakeError, match="no topic orders in the lake"):
        upkeep.compact(lake, "orders", MIB)


def test_the_command_guards_what_delta_would_guard() -> None:
    assert lake_vacuum.SAFE_HOURS == upkeep.SAFE_HOURS
