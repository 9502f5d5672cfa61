"""Assignments: handed in by the leader, and given to each member once and as its own."""

import pytest

from korvet.coordinator.group import State, Synced
from korvet.kafka.errors import ErrorCode
from tests.support.group_harness import GroupHarness


def test_followers_wait_for_the_leader_and_each_gets_its_own() -> None:
    group = GroupHarness.completing("a", "b", "c")
    b, c = group.sync("b"), group.sync("c")
    assert b.is_parked
    assert c.is_parked

    a = group.sync("a", "a", "b", "c")

    assert a.answer == Synced("consumer", "range", b"a")
    assert b.answer == Synced("consumer", "range", b"b")
    assert c.answer == Synced("consumer", "range", b"c")
    assert group.state is State.STABLE


def test_who_comes_after_the_leader_is_answered_at_once() -> None:
    group = GroupHarness.completing("a", "b")
    group.sync("a", "a", "b")

    assert group.sync("b").assignment == b"b"


def test_a_sync_may_be_repeated() -> None:
    group = GroupHarness.stable("a", "b")

    assert group.sync("b").assignment == group.sync("b").assignment == b"b"
    assert group.sync("a", "b").assignment == b"a"
    assert group.sync("b").assignment == b"b"


def test_of_two_syncs_of_one_member_each_is_answered_once() -> None:
    group = GroupHarness.completing("a", "b")
    first = group.sync("b")

    second = group.sync("b")
    group.sync("a", "a", "b")

    assert first.answer is ErrorCode.REBALANCE_IN_PROGRESS
    assert second.assignment == b"b"


def test_who_is_not_assigned_anything_gets_nothing() -> None:
    group = GroupHarness.completing("a", "b")
    b = group.sync("b")

    a = group.sync("a")

    assert a.assignment == b.assignment == b""


def test_assignments_for_strangers_are_dropped() -> None:
    group = GroupHarness.completing("a")

    group.sync("a", "a", "stranger")

    assert group.members == ["a"]
    assert group.member("a").assignment == b"a"


def test_a_follower_assigns_nothing() -> None:
    group = GroupHarness.completing("a", "b")

    b = group.sync("b", "a", "b")

    assert b.is_parked
    assert group.state is State.COMPLETING_REBALANCE


@pytest.mark.parametrize("difference", [-1, 1])
def test_another_generation_is_refused(difference: int) -> None:
    group = GroupHarness.completing("a", "b")

    refused = group.sync("a", "a", generation=group.group.generation + difference)

    assert refused.answer is ErrorCode.ILLEGAL_GENERATION
    assert group.state is State.COMPLETING_REBALANCE


@pytest.mark.parametrize(
    "wrong", [{"protocol_type": "connect"}, {"protocol_name": "sticky"}]
)
@pytest.mark.parametrize("state", [State.COMPLETING_REBALANCE, State.STABLE])
def test_another_protocol_is_refused(wrong: dict[str, str], state: State) -> None:
    group = GroupHarness.in_state(state)

    refused = group.sync("a", "a", **wrong)

    assert refused.answer is ErrorCode.INCONSISTENT_GROUP_PROTOCOL
    assert group.state is state


def test_the_groups_own_protocol_may_be_named() -> None:
    group = GroupHarness.completing("a")

    synced = group.sync("a", "a", protocol_type="consumer", protocol_name="range")

    assert synced.assignment == b"a"


def test_a_sync_is_a_sign_of_life() -> None:
    group = GroupHarness.stable("a", session_timeout=10)

    for _ in range(5):
        group.advance(9)
        assert group.sync("a").assignment == b"a"

    assert group.members == ["a"]


# ---------------------------------------------------------------- members that never sync


def test_a_leader_that_never_assigns_is_taken_out_though_it_is_alive() -> None:
    group = GroupHarness.completing("a", "b", session_timeout=20, rebalance_timeout=30)
    b = group.sync("b")

    group.advance(15)
    assert group.heartbeat("a") is ErrorCode.NONE
    group.advance(15)

    assert group.members == ["b"]
    assert group.state is State.PREPARING_REBALANCE
    assert b.answer is ErrorCode.REBALANCE_IN_PROGRESS
    assert group.heartbeat("a") is ErrorCode.UNKNOWN_MEMBER_ID
    assert group.rejoin("b").joined.leader == "b"


def test_a_follower_that_never_syncs_is_taken_out_of_a_stable_group() -> None:
    group = GroupHarness.completing("a", "b", session_timeout=20, rebalance_timeout=30)
    group.sync("a", "a", "b")

    group.advance(15)
    assert group.heartbeat("a") is group.heartbeat("b") is ErrorCode.NONE
    group.advance(15)

    assert group.members == ["a"]
    assert group.state is State.PREPARING_REBALANCE


def test_joining_again_is_no_sync() -> None:
    group = GroupHarness.completing("a", "b", session_timeout=20, rebalance_timeout=30)
    group.sync("a", "a", "b")
    group.advance(15)
    group.heartbeat("a")

    assert group.rejoin("b").joined.generation == 1
    group.advance(15)

    assert group.members == ["a"]


def test_a_parked_sync_that_a_join_has_replaced_is_owed_again() -> None:
    group = GroupHarness.completing("a", "b", session_timeout=20, rebalance_timeout=30)
    group.sync("b")
    group.rejoin("b")
    group.sync("a", "a", "b")
    group.advance(15)
    group.heartbeat("a")
    group.heartbeat("b")

    group.advance(15)

    assert group.members == ["a"]


def test_nobody_is_taken_out_once_all_have_synced() -> None:
    group = GroupHarness.stable("a", "b", session_timeout=20, rebalance_timeout=30)

    for _ in range(10):
        group.advance(10)
        assert group.heartbeat("a") is group.heartbeat("b") is ErrorCode.NONE

    assert group.state is State.STABLE


def test_if_nobody_syncs_the_group_is_empty_in_the_end() -> None:
    group = GroupHarness.completing("a", "b", session_timeout=60, rebalance_timeout=30)

    group.advance(30)

    assert group.state is State.EMPTY
    assert group.group.generation == 2
