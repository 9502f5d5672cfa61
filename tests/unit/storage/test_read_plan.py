"""How far one read may reach."""

from itertools import accumulate

from hypothesis import given
from hypothesis import strategies as st

from korvet.storage.read_plan import POINTS_AT_ONCE, Point, Reach, ReadPlan


def points_of(*block_bytes: int, first: int = 9) -> list[Point]:
    """Blocks of ten records each, of these sizes; their last offsets are 9, 19, 29 …"""
    sums = accumulate(block_bytes)
    return [
        Point(first + 10 * number, total, size, 10 * (number + 1), 10)
        for number, (total, size) in enumerate(zip(sums, block_bytes, strict=True))
    ]


def test_a_read_goes_up_to_the_last_block_within_its_limit() -> None:
    plan = ReadPlan(points_of(100, 100, 100, 100), now=0)

    assert plan.reach(0, 300) == Reach(29, 300, 30)
    assert plan.reach(0, 299) == Reach(19, 200, 20)
    assert plan.reach(15, 200) == Reach(29, 200, 20)
    assert plan.reach(0, 10_000) == Reach(39, 400, 40)


def test_the_first_block_is_read_however_large_it_is() -> None:
    plan = ReadPlan(points_of(100, 5000, 100), now=0)

    assert plan.reach(10, 1) == Reach(19, 5000, 10)
    assert plan.reach(19, 1) == Reach(19, 5000, 10)
    assert plan.reach(9, 200) == Reach(9, 100, 10)


def test_behind_the_last_point_is_the_open_block() -> None:
    assert ReadPlan(points_of(100), now=0).reach(10, 1000) is None
    assert ReadPlan((), now=0).reach(0, 1000) is None


def test_what_was_trimmed_before_a_plan_does_not_count() -> None:
    plan = ReadPlan(
        [Point(1009, 900_100, 100, 7010, 10), Point(1019, 900_200, 100, 7020, 10)], now=0
    )

    assert plan.reach(0, 150) == Reach(1009, 100, 10)


def test_points_that_follow_are_added_and_known_ones_skipped() -> None:
    points = points_of(100, 100, 100, 100)
    plan = ReadPlan(points[:2], now=0)

    plan.extend(points[1:], now=1)

    assert plan.last_offset == 39
    assert plan.reach(0, 10_000) == Reach(39, 400, 40)


def test_an_open_block_is_believed_to_be_open_for_a_short_time_only() -> None:
    plan = ReadPlan(points_of(100), now=100.0)

    assert plan.covers(5, now=200.0)
    assert plan.covers(10, now=100.1)
    assert not plan.covers(10, now=101.0)
    plan.extend((), now=101.0)
    assert plan.covers(10, now=101.1)


def test_a_plan_that_may_have_more_points_does_not_know_the_open_block() -> None:
    plan = ReadPlan(points_of(*[1] * POINTS_AT_ONCE), now=0)

    assert not plan.covers(10 * POINTS_AT_ONCE, now=0)
    assert plan.covers(10 * POINTS_AT_ONCE - 1, now=0)


def test_a_reader_who_goes_on_leaves_the_plan_to_others() -> None:
    plan = ReadPlan(points_of(100, 100, 100, 100), now=100.0)

    rest = plan.behind(20)

    assert rest.reach(20, 100) == Reach(29, 100, 10)
    assert rest.last_offset == 39
    assert rest.covers(40, now=100.1)
    assert plan.reach(0, 100) == Reach(9, 100, 10)
    assert plan.behind(40).last_offset is None


def test_that_there_is_nothing_to_read_is_remembered_for_the_next_read() -> None:
    plan = ReadPlan(points_of(100), now=0)
    plan.readable_from = 500

    assert plan.behind(10).readable_from == 500


@given(
    sizes=st.lists(st.integers(1, 1000), min_size=1, max_size=50),
    max_bytes=st.integers(1, 5000),
    data=st.data(),
)
def test_no_read_brings_more_than_its_limit_or_one_block(
    sizes: list[int], max_bytes: int, data: st.DataObject
) -> None:
    offset = data.draw(st.integers(0, 10 * len(sizes) - 1))

    reach = ReadPlan(points_of(*sizes), now=0).reach(offset, max_bytes)

    assert reach is not None
    assert reach.last_offset >= offset
    blocks = sizes[offset // 10 : (reach.last_offset + 1) // 10]
    assert reach.bytes == sum(blocks)
    assert reach.records == 10 * len(blocks)
    assert reach.bytes <= max_bytes or len(blocks) == 1
    following = sizes[(reach.last_offset + 1) // 10 :]
    assert not following or reach.bytes + following[0] > max_bytes
