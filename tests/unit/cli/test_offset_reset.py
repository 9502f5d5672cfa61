import pytest

from korvet.cli.group_model import Commit, Count, TopicPartition
from korvet.cli.offset_reset import Move, Reset, nearest


@pytest.mark.parametrize(
    ("offset", "taken"), [(0, 10), (9, 10), (10, 10), (15, 15), (20, 20), (21, 20)]
)
def test_an_offset_that_the_log_does_not_have_becomes_the_nearest_one(
    offset: int, taken: int
) -> None:
    assert nearest(offset, Count(10, 10, 20)) == taken


def test_an_offset_in_a_gap_stays_as_it_was_given() -> None:
    sparse = Count(2, 1 << 40, 1 << 50)

    assert nearest((1 << 45) + 7, sparse) == (1 << 45) + 7


def test_a_reset_commits_for_the_topic_that_was_looked_at() -> None:
    move = Move(topic="orders", partition=3, before=None, after=42)

    commits = Reset(topic_id=b"i" * 16, moves=(move,)).commits

    assert commits == {TopicPartition("orders", 3): Commit(42, b"i" * 16)}
