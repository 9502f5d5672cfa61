"""A group's size: who finds no place, and who keeps the one that it has."""

import pytest

from korvet.coordinator.group import State
from korvet.coordinator.group_join import Limits
from korvet.kafka.errors import ErrorCode
from tests.support.group_harness import GroupHarness


def of_size(size: int) -> Limits:
    return Limits(max_size=size, initial_delay=0)


@pytest.mark.parametrize("requires_member_id", [True, False])
def test_a_full_group_takes_nobody(requires_member_id: bool) -> None:
    group = GroupHarness.stable("a", "b", limits=of_size(2))

    refused = group.join_new("c", requires_member_id=requires_member_id)

    assert refused.answer is ErrorCode.GROUP_MAX_SIZE_REACHED
    assert group.state is State.STABLE
    assert not group.group.pending


def test_one_with_an_id_that_is_turned_away_is_not_waited_for() -> None:
    group = GroupHarness.stable("a", limits=of_size(2))
    group.join_new("late", requires_member_id=True)
    b = group.join_new("b")
    a = group.rejoin("a")
    assert a.is_parked

    late = group.rejoin("late")

    assert late.answer is ErrorCode.GROUP_MAX_SIZE_REACHED
    assert a.joined.generation == b.joined.generation == 2


def test_an_id_that_was_given_before_the_group_was_full_is_refused_and_forgotten() -> None:
    group = GroupHarness.stable("a", limits=of_size(2), rebalance_timeout=60)
    group.join_new("late", requires_member_id=True, session_timeout=100)
    group.join_new("b")
    group.rejoin("a")
    group.advance(60)
    group.sync_all()

    assert group.rejoin("late").answer is ErrorCode.GROUP_MAX_SIZE_REACHED
    assert group.rejoin("late").answer is ErrorCode.UNKNOWN_MEMBER_ID
    assert group.state is State.STABLE


def test_members_of_a_full_group_may_come_back() -> None:
    group = GroupHarness.stable("a", "b", limits=of_size(2))

    calls = group.join_all("a", "b")

    assert {call.joined.generation for call in calls.values()} == {2}


def test_while_a_rebalance_is_prepared_places_are_for_those_who_come_first() -> None:
    group = GroupHarness.stable("a", "b", limits=of_size(2))
    a = group.rejoin("a")
    c = group.join_new("c")

    late = group.rejoin("b")

    assert late.answer is ErrorCode.GROUP_MAX_SIZE_REACHED
    assert group.members == ["a", "c"]
    assert a.joined.generation == c.joined.generation == 2


def test_a_place_is_not_lost_by_joining_twice() -> None:
    group = GroupHarness.stable("a", "b", "c", limits=of_size(3))
    first = group.rejoin("a")
    group.join_new("d")
    group.join_new("e")

    second = group.rejoin("a")

    assert first.answer is ErrorCode.REBALANCE_IN_PROGRESS
    assert second.is_parked
    assert group.join_new("f").answer is ErrorCode.GROUP_MAX_SIZE_REACHED


def test_a_static_member_takes_its_own_place_in_a_full_group() -> None:
    group = GroupHarness(limits=of_size(1))
    group.join_new("old", instance_id="i")
    group.sync("old", "old")

    assert group.join_new("new", instance_id="i").joined.member_id == "new"
    assert group.members == ["new"]
