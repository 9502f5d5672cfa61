"""Static members (KIP-345): they keep their place by an instance id, whatever their id."""

from typing import Any

import pytest

from korvet.coordinator.group import State
from korvet.coordinator.group_rules import Leaving
from korvet.kafka.errors import ErrorCode
from tests.support.group_harness import GroupHarness, protocols

MEMBERS = [state for state in State if state is not State.EMPTY]


def static(state: State = State.STABLE, **settings: Any) -> GroupHarness:
    """Static members a (instance ia), which leads, and b (ib)."""
    group = GroupHarness(**settings)
    group.join_new("a", instance_id="ia")
    group.join_new("b", instance_id="ib")
    group.rejoin("a")
    if state is not State.COMPLETING_REBALANCE:
        group.sync_all()
    if state is State.PREPARING_REBALANCE:
        group.rejoin("a")
    assert group.state is state
    return group


# ---------------------------------------------------------------- coming back


def test_a_follower_that_comes_back_gets_its_assignment_and_nobody_rebalances() -> None:
    group = static()

    joined = group.join_new("b2", instance_id="ib").joined

    assert (joined.generation, joined.member_id, joined.leader) == (2, "b2", "a")
    assert joined.members == ()
    assert not joined.skip_assignment
    assert group.members == ["a", "b2"]
    assert group.sync("b2").assignment == b"b"
    assert group.heartbeat("a") is ErrorCode.NONE


def test_a_leader_that_comes_back_leads_but_is_told_to_assign_nothing() -> None:
    group = static()

    joined = group.join_new("a2", instance_id="ia").joined

    assert joined.leader == joined.member_id == "a2"
    assert joined.skip_assignment
    assert [name for name, _, _ in joined.members] == ["a2", "b"]
    assert group.group.leader == "a2"
    assert group.sync("a2", "b").assignment == b"a"
    assert group.sync("b").assignment == b"b"


def test_a_leader_too_old_to_skip_is_told_of_its_former_self_as_the_leader() -> None:
    group = static()

    joined = group.join_new("a2", instance_id="ia", can_skip_assignment=False).joined

    assert (joined.member_id, joined.leader, joined.members) == ("a2", "a", ())
    assert not joined.skip_assignment
    assert group.group.leader == "a2"


def test_a_follower_too_old_to_skip_is_told_the_leader() -> None:
    group = static()

    joined = group.join_new("b2", instance_id="ib", can_skip_assignment=False).joined

    assert (joined.member_id, joined.leader) == ("b2", "a")


def test_one_that_comes_back_with_another_choice_of_protocol_starts_a_rebalance() -> None:
    group = GroupHarness()
    group.join_new("a", instance_id="ia", protocols=protocols("range", "sticky"))
    group.sync("a", "a")

    joined = group.join_new(
        "a2", instance_id="ia", protocols=protocols("sticky", "range")
    ).joined

    assert (joined.generation, joined.protocol_name) == (2, "sticky")
    assert not joined.skip_assignment
    assert group.state is State.COMPLETING_REBALANCE


def test_one_that_comes_back_before_the_assignments_are_in_starts_a_rebalance() -> None:
    group = static(State.COMPLETING_REBALANCE)
    b = group.sync("b")

    a2 = group.join_new("a2", instance_id="ia")

    assert a2.is_parked
    assert b.answer is ErrorCode.REBALANCE_IN_PROGRESS
    assert group.rejoin("b").joined.leader == a2.joined.leader == "a2"


def test_one_that_comes_back_while_a_rebalance_is_prepared_takes_part_in_it() -> None:
    group = static(State.PREPARING_REBALANCE)

    b2 = group.join_new("b2", instance_id="ib")

    assert b2.joined.generation == 3
    assert group.members == ["a", "b2"]


def test_what_it_says_when_it_comes_back_counts() -> None:
    group = static()

    group.join_new(
        "b2",
        instance_id="ib",
        session_timeout=7,
        rebalance_timeout=8,
        client_host="/10.0.0.2",
        protocols=protocols("range", metadata=b"other topics"),
    )

    member = group.member("b2")
    assert (member.session_timeout, member.rebalance_timeout) == (7, 8)
    assert member.client_host == "/10.0.0.2"
    assert member.metadata_for("range") == b"other topics"


def test_one_that_comes_back_must_speak_what_the_others_do() -> None:
    group = static()

    refused = group.join_new("b2", instance_id="ib", protocols=protocols("sticky"))

    assert refused.answer is ErrorCode.INCONSISTENT_GROUP_PROTOCOL
    assert group.members == ["a", "b"]


def test_one_that_comes_back_has_a_full_session() -> None:
    group = static(session_timeout=10)
    group.advance(9)
    group.heartbeat("a")

    group.join_new("b2", instance_id="ib")
    group.advance(9)

    assert group.members == ["a", "b2"]


# ---------------------------------------------------------------- fencing


@pytest.mark.parametrize("state", MEMBERS)
def test_the_one_before_is_fenced_in_whatever_it_does(state: State) -> None:
    group = static(state)
    group.join_new("b2", instance_id="ib")
    fenced = ErrorCode.FENCED_INSTANCE_ID

    assert group.heartbeat("b", instance_id="ib") is fenced
    assert group.commit("b", instance_id="ib") is fenced
    assert group.sync("b", instance_id="ib").answer is fenced
    assert group.rejoin("b", instance_id="ib").answer is fenced
    assert group.leave(Leaving("b", "ib")) == [fenced]
    assert "b2" in group.members


@pytest.mark.parametrize("state", MEMBERS)
def test_an_id_without_its_instance_id_is_unknown_once_it_was_replaced(
    state: State,
) -> None:
    group = static(state)
    group.join_new("b2", instance_id="ib")

    assert group.heartbeat("b") is ErrorCode.UNKNOWN_MEMBER_ID
    assert group.rejoin("b").answer is ErrorCode.UNKNOWN_MEMBER_ID


def test_a_parked_join_of_the_one_before_is_fenced() -> None:
    group = static(State.PREPARING_REBALANCE)
    before = next(iter(group.parked["join", "a"]))

    after = group.join_new("a2", instance_id="ia")

    assert before.answer is ErrorCode.FENCED_INSTANCE_ID
    assert after.is_parked
    assert group.rejoin("b").joined.leader == after.joined.leader == "a2"


def test_a_parked_sync_of_the_one_before_is_fenced() -> None:
    group = static(State.COMPLETING_REBALANCE)
    before = group.sync("b")

    group.join_new("b2", instance_id="ib")

    assert before.answer is ErrorCode.FENCED_INSTANCE_ID


def test_an_instance_id_that_nobody_has_is_unknown() -> None:
    group = static()

    assert group.heartbeat("b", instance_id="ix") is ErrorCode.UNKNOWN_MEMBER_ID
    assert group.rejoin("b", instance_id="ix").answer is ErrorCode.UNKNOWN_MEMBER_ID


def test_another_members_instance_id_is_fenced() -> None:
    group = static()

    assert group.heartbeat("b", instance_id="ia") is ErrorCode.FENCED_INSTANCE_ID


def test_a_static_member_under_its_own_id_is_like_any_other() -> None:
    group = static()

    assert group.heartbeat("b", instance_id="ib") is ErrorCode.NONE
    assert group.commit("b", instance_id="ib") is ErrorCode.NONE
    assert group.sync("b", instance_id="ib").assignment == b"b"
    assert group.rejoin("b", instance_id="ib").joined.generation == 2


# ---------------------------------------------------------------- being away


def test_a_static_member_stays_through_a_rebalance_that_it_has_missed() -> None:
    group = static(session_timeout=100, rebalance_timeout=30)
    a = group.rejoin("a")

    group.advance(30)

    assert [name for name, _, _ in a.joined.members] == ["a", "b"]
    group.sync("a", "a", "b")
    assert group.join_new("b2", instance_id="ib").joined.generation == 3
    assert group.sync("b2").assignment == b"b"


def test_a_static_member_that_is_away_goes_when_its_session_ends() -> None:
    group = static(session_timeout=100, rebalance_timeout=30)
    group.rejoin("a")
    group.advance(30)
    group.sync("a", "a", "b")

    group.advance(60)
    assert group.heartbeat("a") is ErrorCode.NONE
    assert group.members == ["a", "b"]
    group.advance(10)

    assert group.members == ["a"]
    assert group.state is State.PREPARING_REBALANCE


def test_a_static_leader_that_is_away_does_not_lead_the_next_generation() -> None:
    group = static(session_timeout=100, rebalance_timeout=30)
    b = group.rejoin("b", protocols=protocols("range", metadata=b"other topics"))

    group.advance(30)

    assert b.joined.leader == "b"
    assert [name for name, _, _ in b.joined.members] == ["a", "b"]


def test_if_all_static_members_are_away_the_rebalance_waits_for_one() -> None:
    group = static(session_timeout=100, rebalance_timeout=30)
    group.leave(Leaving(group.join_new("c").member_id, None))
    assert group.state is State.PREPARING_REBALANCE
    group.advance(60)
    assert group.state is State.PREPARING_REBALANCE

    a = group.rejoin("a")
    group.advance(30)

    assert a.joined.leader == "a"


def test_if_no_static_member_comes_back_the_group_is_empty_in_the_end() -> None:
    group = static(session_timeout=100, rebalance_timeout=0)
    group.leave(Leaving("", "ia"))

    group.advance(99)
    assert group.members == ["b"]
    group.advance(1)

    assert group.state is State.EMPTY
