"""What is saved, and how a new owner goes on with it in every state."""

import dataclasses

import pytest

from korvet.coordinator import group_rules as rules
from korvet.coordinator.group import State
from korvet.coordinator.group_join import Limits
from korvet.coordinator.group_rules import Leaving
from korvet.kafka.errors import ErrorCode
from tests.support.group_harness import GroupHarness, protocols

WITH_MEMBERS = [state for state in State if state is not State.EMPTY]

# ---------------------------------------------------------------- what is saved


def test_one_save_for_each_state_that_a_group_goes_through() -> None:
    group = GroupHarness()

    group.join_new("a")
    assert group.saves == 1
    group.sync("a", "a")
    assert group.saves == 2
    group.join_new("b")
    assert group.saves == 3
    group.rejoin("a")
    assert group.saves == 4
    group.sync_all()
    assert group.saves == 5
    group.leave("a", "b")
    assert group.saves == 6


def test_what_happens_all_the_time_is_not_saved() -> None:
    group = GroupHarness.stable("a", "b")
    saves = group.saves

    group.heartbeat("a")
    group.commit("a")
    group.rejoin("b")
    group.sync("b")
    group.join_new("c", requires_member_id=True)
    group.leave("c")
    group.advance(1)

    assert group.saves == saves


def test_a_generation_is_saved_though_the_state_is_the_same() -> None:
    group = GroupHarness.completing("a")

    group.rejoin("a", protocols=protocols("range", metadata=b"other topics"))
    group.take_over()

    assert group.state is State.COMPLETING_REBALANCE
    assert group.heartbeat("a", 2) is ErrorCode.NONE


def test_a_static_member_that_comes_back_is_saved() -> None:
    group = GroupHarness()
    group.join_new("a", instance_id="i")
    group.sync("a", "a")

    group.join_new("a2", instance_id="i")
    group.take_over()

    assert group.heartbeat("a2", instance_id="i") is ErrorCode.NONE
    assert group.heartbeat("a", instance_id="i") is ErrorCode.FENCED_INSTANCE_ID


def test_who_has_left_during_a_rebalance_does_not_come_back() -> None:
    group = GroupHarness.stable("a")
    group.join_new("s", instance_id="i")
    group.rejoin("a")
    group.sync_all()
    group.rejoin("a", protocols=protocols("range", metadata=b"other topics"))

    group.join_new("b")
    group.leave(Leaving("", "i"))
    group.take_over()

    assert group.members == ["a", "b"]


# ---------------------------------------------------------------- going on


@pytest.mark.parametrize("state", State)
def test_a_new_owner_knows_no_less_than_one_that_goes_on_with_what_it_has(
    state: State,
) -> None:
    group = GroupHarness.in_state(state)
    group.join_new("c", requires_member_id=True)
    in_memory = rules.resumed(group.group, group.now)

    group.take_over()

    assert dataclasses.replace(in_memory, delay_limit=0.0) == group.group


def test_a_stable_group_goes_on_in_its_generation() -> None:
    group = GroupHarness.stable("a", "b")

    group.take_over()

    assert group.state is State.STABLE
    assert group.heartbeat("a", 1) is group.heartbeat("b", 1) is ErrorCode.NONE
    assert group.commit("a", 1) is ErrorCode.NONE
    assert group.sync("b").assignment == b"b"
    assert group.rejoin("b").joined.generation == 1


def test_a_leader_whose_assignments_were_saved_finds_them_in_force() -> None:
    group = GroupHarness.completing("a", "b")
    group.sync("a", "a", "b")

    group.take_over()

    assert group.sync("a", "a").assignment == b"a"
    assert group.sync("b").assignment == b"b"


def test_members_that_had_joined_sync_with_the_new_owner() -> None:
    group = GroupHarness.completing("a", "b")
    b = group.sync("b")

    group.take_over()

    assert b.answer is ErrorCode.NOT_COORDINATOR
    again = group.sync("b")
    group.sync("a", "a", "b")
    assert again.assignment == b"b"
    assert group.group.generation == 1


def test_members_that_missed_the_answer_to_their_join_get_it_from_the_new_owner() -> None:
    group = GroupHarness.completing("a", "b")

    group.take_over()

    assert group.rejoin("a").joined.generation == group.rejoin("b").joined.generation == 1
    assert [name for name, _, _ in group.rejoin("a").joined.members] == ["a", "b"]


def test_in_a_prepared_rebalance_members_join_once_more() -> None:
    group = GroupHarness.stable("a", "b")
    parked = group.rejoin("a")

    group.take_over()

    assert parked.answer is ErrorCode.NOT_COORDINATOR
    assert group.heartbeat("b") is ErrorCode.REBALANCE_IN_PROGRESS
    a, b = group.rejoin("a"), group.rejoin("b")
    assert a.joined.generation == b.joined.generation == 2


def test_new_members_that_were_not_saved_begin_anew() -> None:
    group = GroupHarness.stable("a", "b")
    group.rejoin("a")
    group.join_new("c")

    group.take_over()

    assert group.rejoin("c").answer is ErrorCode.UNKNOWN_MEMBER_ID
    c = group.join_new("c2")
    group.join_all("a", "b")
    assert c.joined.generation == 2


def test_ids_that_were_given_away_are_forgotten() -> None:
    group = GroupHarness.stable("a")
    group.join_new("b", requires_member_id=True)

    group.take_over()

    assert group.rejoin("b").answer is ErrorCode.UNKNOWN_MEMBER_ID


def test_an_empty_group_keeps_its_generation() -> None:
    group = GroupHarness.stable("a")
    group.leave("a")

    group.take_over()

    assert group.state is State.EMPTY
    assert group.join_new("b").joined.generation == 3


def test_a_first_rebalance_is_not_put_off_twice() -> None:
    group = GroupHarness(limits=Limits(initial_delay=3))
    group.join_new("a")

    group.take_over()

    assert group.rejoin("a").joined.generation == 1


# ---------------------------------------------------------------- time


@pytest.mark.parametrize("state", WITH_MEMBERS)
def test_members_have_a_full_session_with_the_new_owner(state: State) -> None:
    group = GroupHarness.in_state(state)
    group.advance(group.session_timeout - 1)

    group.take_over()
    group.advance(group.session_timeout - 0.1)

    assert group.members == ["a", "b"]


@pytest.mark.parametrize("state", WITH_MEMBERS)
def test_if_nobody_comes_to_the_new_owner_the_group_is_empty_in_the_end(
    state: State,
) -> None:
    group = GroupHarness.in_state(state)

    group.take_over()
    group.advance(group.session_timeout)

    assert group.state is State.EMPTY
    assert group.group.next_deadline() is None


def test_who_does_not_join_with_the_new_owner_in_time_is_out() -> None:
    group = GroupHarness.stable("a", "b", session_timeout=50, rebalance_timeout=30)
    group.rejoin("a")
    group.advance(20)

    group.take_over()
    a = group.rejoin("a")
    group.advance(29.9)
    assert a.is_parked
    group.advance(0.1)

    assert a.joined.generation == 2
    assert group.members == ["a"]


def test_who_does_not_sync_with_the_new_owner_in_time_is_out() -> None:
    group = GroupHarness.completing("a", "b", session_timeout=50, rebalance_timeout=30)
    group.advance(20)

    group.take_over()
    b = group.sync("b")
    group.advance(29.9)
    assert b.is_parked
    group.advance(0.1)

    assert b.answer is ErrorCode.REBALANCE_IN_PROGRESS
    assert group.members == ["b"]
