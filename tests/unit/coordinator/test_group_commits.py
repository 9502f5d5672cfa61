"""Who may commit offsets, and when: members of this generation, or anybody while empty."""

import pytest

from korvet.coordinator.group import State
from korvet.kafka.errors import ErrorCode
from tests.support.group_harness import GroupHarness

NO_GENERATION = -1


@pytest.mark.parametrize(("member_id", "instance_id"), [("", None), ("x", None), ("", "i")])
def test_an_empty_group_takes_commits_from_outside(
    member_id: str, instance_id: str | None
) -> None:
    group = GroupHarness()

    assert group.commit(member_id, NO_GENERATION, instance_id) is ErrorCode.NONE

    assert group.state is State.EMPTY


def test_a_group_that_has_become_empty_takes_commits_from_outside() -> None:
    group = GroupHarness.stable("a")
    assert group.commit("", NO_GENERATION) is ErrorCode.UNKNOWN_MEMBER_ID

    group.leave("a")

    assert group.commit("", NO_GENERATION) is ErrorCode.NONE


@pytest.mark.parametrize("generation", [0, 1])
def test_an_empty_group_has_no_member_that_could_commit(generation: int) -> None:
    group = GroupHarness()

    assert group.commit("a", generation) is ErrorCode.UNKNOWN_MEMBER_ID
    assert group.commit("", generation) is ErrorCode.UNKNOWN_MEMBER_ID


@pytest.mark.parametrize("generation", [NO_GENERATION, 0, 2])
def test_a_member_commits_in_its_own_generation_only(generation: int) -> None:
    group = GroupHarness.stable("a")

    assert group.commit("a", generation) is ErrorCode.ILLEGAL_GENERATION
    assert group.commit("a", 1) is ErrorCode.NONE


def test_a_member_may_commit_until_the_next_generation_begins() -> None:
    group = GroupHarness.stable("a", "b")
    group.join_new("c")

    assert group.commit("a", 1) is ErrorCode.NONE
    group.join_all("a", "b")

    assert group.commit("a", 1) is ErrorCode.ILLEGAL_GENERATION
    assert group.commit("a", 2) is ErrorCode.REBALANCE_IN_PROGRESS


def test_a_commit_is_a_sign_of_life() -> None:
    group = GroupHarness.stable("a", session_timeout=10)

    for _ in range(5):
        group.advance(9)
        assert group.commit("a") is ErrorCode.NONE

    assert group.members == ["a"]


def test_a_refused_commit_is_no_sign_of_life() -> None:
    group = GroupHarness.stable("a", session_timeout=10)
    group.advance(9)

    group.commit("a", 0)
    group.advance(1)

    assert group.state is State.EMPTY
