"""An empty group's first rebalance: how long it is put off for more members to come, and
how long it waits for those who have an id, and have yet to join with it."""

from typing import Any

from korvet.coordinator.group import State
from korvet.coordinator.group_join import Limits
from korvet.coordinator.rebalance import ID_WAIT
from korvet.kafka.errors import ErrorCode
from tests.support.group_harness import GroupHarness


def delayed(seconds: float, **settings: Any) -> GroupHarness:
    return GroupHarness(limits=Limits(initial_delay=seconds), **settings)


def test_a_first_rebalance_is_put_off_for_more_members_to_come() -> None:
    group = delayed(3)
    a = group.join_new("a")

    group.advance(2.9)
    assert a.is_parked
    group.advance(0.1)

    assert a.joined.generation == 1


def test_each_member_that_comes_puts_it_off_once_more() -> None:
    group = delayed(3)
    a = group.join_new("a")
    group.advance(2)
    b = group.join_new("b")
    group.advance(3)
    c = group.join_new("c")

    group.advance(3.9)
    assert a.is_parked
    group.advance(0.1)

    assert {call.joined.generation for call in (a, b, c)} == {1}
    assert group.now == 1009


def test_it_is_not_put_off_beyond_the_rebalance_time() -> None:
    group = delayed(3, rebalance_timeout=10)
    calls = [group.join_new("0")]
    for second in range(1, 10):
        group.advance(1)
        calls.append(group.join_new(str(second)))
    assert all(call.is_parked for call in calls)

    group.advance(1)

    assert {call.joined.generation for call in calls} == {1}


def test_a_rebalance_time_below_the_delay_wins() -> None:
    group = delayed(10, rebalance_timeout=2)
    a = group.join_new("a")

    group.advance(2)

    assert a.joined.generation == 1


def test_a_pending_id_does_not_put_off_the_end_of_the_delay() -> None:
    group = delayed(3)
    a = group.join_new("a")
    group.join_new("b", requires_member_id=True)

    group.advance(3)

    assert a.joined.generation == 1


def test_one_that_leaves_during_the_delay_does_not_end_it() -> None:
    group = delayed(3)
    a, b = group.join_new("a"), group.join_new("b")

    group.leave("a")

    assert a.answer is ErrorCode.UNKNOWN_MEMBER_ID
    assert b.is_parked
    group.advance(6)
    assert b.joined.leader == "b"


def test_all_leave_during_the_delay_and_the_group_is_empty_at_once() -> None:
    group = delayed(3)
    group.join_new("a")

    group.leave("a")

    assert group.state is State.EMPTY


def test_later_rebalances_are_not_put_off() -> None:
    group = delayed(3)
    group.join_new("a")
    group.advance(3)
    group.sync("a", "a")

    b = group.join_new("b")
    group.rejoin("a")

    assert b.joined.generation == 2


def test_a_group_that_has_become_empty_begins_with_a_delay_again() -> None:
    group = delayed(3)
    group.join_new("a")
    group.advance(3)
    group.leave("a")

    b = group.join_new("b")
    assert b.is_parked
    group.advance(3)

    assert b.joined.generation == 3


def test_all_vanish_during_the_first_delay() -> None:
    group = delayed(3)
    group.vanish(group.join_new("a"))

    group.advance(group.session_timeout - 0.1)
    assert group.members == ["a"]
    group.advance(0.1)

    assert group.state is State.EMPTY


def test_who_comes_after_all_have_vanished_goes_on_at_once() -> None:
    group = delayed(3)
    group.vanish(group.join_new("a"))
    group.advance(4)

    b = group.join_new("b")

    assert b.joined.leader == "b"


# ---------------------------------------------------------------- without a delay


def test_all_who_have_an_id_and_come_with_it_at_once_are_of_one_generation() -> None:
    group = GroupHarness()
    group.join_new("a", requires_member_id=True)
    group.join_new("b", requires_member_id=True)

    a = group.rejoin("a")
    assert a.is_parked
    b = group.rejoin("b")

    assert a.joined.generation == b.joined.generation == 1


def test_who_was_given_an_id_and_has_vanished_is_soon_not_waited_for() -> None:
    group = GroupHarness(session_timeout=45)
    group.join_new("gone", requires_member_id=True)
    group.join_new("a", requires_member_id=True)
    a = group.rejoin("a")
    assert a.is_parked

    group.advance(ID_WAIT)

    assert a.joined.generation == 1
    assert group.members == ["a"]


def test_who_comes_with_its_id_later_than_that_is_in_the_next_generation() -> None:
    group = GroupHarness()
    group.join_new("late", requires_member_id=True)
    group.join_new("a")
    group.advance(ID_WAIT)

    late = group.rejoin("late")
    a = group.rejoin("a")

    assert late.joined.generation == a.joined.generation == 2


def test_members_that_come_do_not_put_off_the_end_of_the_wait_for_ids() -> None:
    group = GroupHarness()
    group.join_new("gone", requires_member_id=True)
    a = group.join_new("a")
    group.advance(ID_WAIT / 2)
    b = group.join_new("b")
    assert a.is_parked

    group.advance(ID_WAIT / 2)

    assert a.joined.generation == b.joined.generation == 1


def test_a_group_that_has_become_empty_does_not_wait_long_for_ids_either() -> None:
    group = GroupHarness.stable("a")
    group.join_new("gone", requires_member_id=True)
    group.leave("a")

    b = group.join_new("b")
    group.advance(ID_WAIT)

    assert b.joined.leader == "b"


def test_a_rebalance_time_below_the_wait_for_ids_wins() -> None:
    group = GroupHarness(rebalance_timeout=ID_WAIT / 2)
    group.join_new("gone", requires_member_id=True)
    a = group.join_new("a")

    group.advance(ID_WAIT / 2)

    assert a.joined.generation == 1
