"""Who may commit offsets as a part of a transaction (KIP-447): as without one, but also
from outside of a group with members, and while a rebalance is completed."""

import pytest

from korvet.coordinator import group_rules as rules
from korvet.coordinator.group import State
from korvet.kafka.errors import ErrorCode, KafkaError
from tests.support.group_harness import GroupHarness

NO_GENERATION = -1


def commit(
    group: GroupHarness,
    member_id: str = "",
    generation: int = NO_GENERATION,
    instance_id: str | None = None,
) -> ErrorCode:
    try:
        rules.check_transactional_commit(group.group, member_id, instance_id, generation)
    except KafkaError as refusal:
        return refusal.code
    return ErrorCode.NONE


@pytest.mark.parametrize("state", State)
def test_producers_that_say_nothing_of_their_group_are_taken_at_their_word(
    state: State,
) -> None:
    assert commit(GroupHarness.in_state(state)) is ErrorCode.NONE


@pytest.mark.parametrize("state", [state for state in State if state is not State.EMPTY])
def test_members_of_this_generation_commit_in_every_state(state: State) -> None:
    group = GroupHarness.in_state(state)
    assert commit(group, "a", group.group.generation) is ErrorCode.NONE


@pytest.mark.parametrize("state", [state for state in State if state is not State.EMPTY])
def test_others_do_not(state: State) -> None:
    group = GroupHarness.in_state(state)
    generation = group.group.generation
    unknown, illegal = ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.ILLEGAL_GENERATION
    assert commit(group, "x", generation) is unknown
    assert commit(group, "", generation) is unknown
    assert commit(group, "", NO_GENERATION, "instance") is unknown
    assert commit(group, "a", generation - 1) is illegal
    assert commit(group, "a", NO_GENERATION) is illegal


def test_a_static_member_that_was_replaced_is_fenced() -> None:
    group = GroupHarness()
    group.join_new("a", instance_id="i")
    group.sync("a", "a")
    generation = group.group.generation
    assert commit(group, "a", generation, "i") is ErrorCode.NONE
    assert commit(group, "b", generation, "i") is ErrorCode.FENCED_INSTANCE_ID
