"""What may follow what: the table of states, and every event in every state."""

from collections.abc import Callable, Mapping
from typing import Final

import pytest

from korvet.coordinator import group_rules as rules
from korvet.coordinator.group import TRANSITIONS, Group, Joined, State, Synced
from korvet.coordinator.group_join import MemberIdRequired
from korvet.coordinator.group_rules import Leaving
from korvet.coordinator.rebalance import next_generation
from korvet.kafka.errors import ErrorCode
from tests.support.group_harness import Answer, Call, GroupHarness, protocols

EMPTY, PREPARING, COMPLETING, STABLE = State


@pytest.mark.parametrize(
    ("before", "after"),
    [(b, a) for b in State for a in State if a not in TRANSITIONS[b]],
)
def test_every_other_transition_is_a_bug(before: State, after: State) -> None:
    with pytest.raises(AssertionError):
        Group(group_id="orders", state=before).enter(after)


@pytest.mark.parametrize(
    ("before", "after"), [(b, a) for b in State for a in TRANSITIONS[b]]
)
def test_every_transition_of_the_table_is_possible(before: State, after: State) -> None:
    assert Group(group_id="orders", state=before).enter(after).state is after


# ---------------------------------------------------------------- every event, every state


def outcome(answer: Call | ErrorCode | list[ErrorCode]) -> object:
    """A code, a kind of answer, or None while the call is parked."""
    if isinstance(answer, list):
        (code,) = answer
        return code
    if not isinstance(answer, Call):
        return answer
    if answer.is_parked:
        return None
    given: Answer = answer.answer
    return given if isinstance(given, ErrorCode) else type(given)


def vanished_member_is_silent(group: GroupHarness) -> ErrorCode:
    group.advance(group.session_timeout)
    return ErrorCode.NONE


Event = Callable[[GroupHarness], Call | ErrorCode | list[ErrorCode]]
OTHER: Final = protocols("range", metadata=b"other topics")

# Members a, which leads, and b. While a rebalance is prepared, a has joined and b has not.
EVENTS: Final[Mapping[str, Event]] = {
    "a new member joins": lambda g: g.join_new("c"),
    "a new member asks for an id": lambda g: g.join_new("c", requires_member_id=True),
    "a static member joins": lambda g: g.join_new("c", instance_id="i"),
    "the leader joins": lambda g: g.rejoin("a"),
    "the leader joins with other topics": lambda g: g.rejoin("a", protocols=OTHER),
    "the follower joins": lambda g: g.rejoin("b"),
    "the follower joins with other topics": lambda g: g.rejoin("b", protocols=OTHER),
    "the leader syncs": lambda g: g.sync("a", "a", "b"),
    "the follower syncs": lambda g: g.sync("b"),
    "a stale sync": lambda g: g.sync("b", generation=g.group.generation - 1),
    "a stranger syncs": lambda g: g.sync("x"),
    "the follower heartbeats": lambda g: g.heartbeat("b"),
    "a stale heartbeat": lambda g: g.heartbeat("b", g.group.generation - 1),
    "a stranger heartbeats": lambda g: g.heartbeat("x"),
    "the leader leaves": lambda g: g.leave("a"),
    "the follower leaves": lambda g: g.leave("b"),
    "a stranger leaves": lambda g: g.leave("x"),
    "the follower commits": lambda g: g.commit("b"),
    "a stale commit": lambda g: g.commit("b", g.group.generation - 1),
    "a stranger commits": lambda g: g.commit("x"),
    "a commit from outside": lambda g: g.commit("", -1),
    "everybody is silent": vanished_member_is_silent,
}

NONE = ErrorCode.NONE
UNKNOWN = ErrorCode.UNKNOWN_MEMBER_ID
ILLEGAL = ErrorCode.ILLEGAL_GENERATION
REBALANCE = ErrorCode.REBALANCE_IN_PROGRESS

# By event: the outcome and the state after it, beginning from each state in turn.
TABLE: Final[Mapping[str, tuple[tuple[object, State], ...]]] = {
    "a new member joins": (
        (Joined, COMPLETING),
        (None, PREPARING),
        (None, PREPARING),
        (None, PREPARING),
    ),
    "a new member asks for an id": (
        (MemberIdRequired, EMPTY),
        (MemberIdRequired, PREPARING),
        (MemberIdRequired, COMPLETING),
        (MemberIdRequired, STABLE),
    ),
    "a static member joins": (
        (Joined, COMPLETING),
        (None, PREPARING),
        (None, PREPARING),
        (None, PREPARING),
    ),
    "the leader joins": (
        (UNKNOWN, EMPTY),
        (None, PREPARING),
        (Joined, COMPLETING),
        (None, PREPARING),
    ),
    "the leader joins with other topics": (
        (UNKNOWN, EMPTY),
        (None, PREPARING),
        (None, PREPARING),
        (None, PREPARING),
    ),
    "the follower joins": (
        (UNKNOWN, EMPTY),
        (Joined, COMPLETING),
        (Joined, COMPLETING),
        (Joined, STABLE),
    ),
    "the follower joins with other topics": (
        (UNKNOWN, EMPTY),
        (Joined, COMPLETING),
        (None, PREPARING),
        (None, PREPARING),
    ),
    "the leader syncs": (
        (UNKNOWN, EMPTY),
        (REBALANCE, PREPARING),
        (Synced, STABLE),
        (Synced, STABLE),
    ),
    "the follower syncs": (
        (UNKNOWN, EMPTY),
        (REBALANCE, PREPARING),
        (None, COMPLETING),
        (Synced, STABLE),
    ),
    "a stale sync": (
        (UNKNOWN, EMPTY),
        (ILLEGAL, PREPARING),
        (ILLEGAL, COMPLETING),
        (ILLEGAL, STABLE),
    ),
    "a stranger syncs": (
        (UNKNOWN, EMPTY),
        (UNKNOWN, PREPARING),
        (UNKNOWN, COMPLETING),
        (UNKNOWN, STABLE),
    ),
    "the follower heartbeats": (
        (UNKNOWN, EMPTY),
        (REBALANCE, PREPARING),
        (NONE, COMPLETING),
        (NONE, STABLE),
    ),
    "a stale heartbeat": (
        (UNKNOWN, EMPTY),
        (ILLEGAL, PREPARING),
        (ILLEGAL, COMPLETING),
        (ILLEGAL, STABLE),
    ),
    "a stranger heartbeats": (
        (UNKNOWN, EMPTY),
        (UNKNOWN, PREPARING),
        (UNKNOWN, COMPLETING),
        (UNKNOWN, STABLE),
    ),
    "the leader leaves": (
        (UNKNOWN, EMPTY),
        (NONE, PREPARING),
        (NONE, PREPARING),
        (NONE, PREPARING),
    ),
    "the follower leaves": (
        (UNKNOWN, EMPTY),
        (NONE, COMPLETING),
        (NONE, PREPARING),
        (NONE, PREPARING),
    ),
    "a stranger leaves": (
        (UNKNOWN, EMPTY),
        (UNKNOWN, PREPARING),
        (UNKNOWN, COMPLETING),
        (UNKNOWN, STABLE),
    ),
    "the follower commits": (
        (UNKNOWN, EMPTY),
        (NONE, PREPARING),
        (REBALANCE, COMPLETING),
        (NONE, STABLE),
    ),
    "a stale commit": (
        (NONE, EMPTY),
        (ILLEGAL, PREPARING),
        (ILLEGAL, COMPLETING),
        (ILLEGAL, STABLE),
    ),
    "a stranger commits": (
        (UNKNOWN, EMPTY),
        (UNKNOWN, PREPARING),
        (UNKNOWN, COMPLETING),
        (UNKNOWN, STABLE),
    ),
    "a commit from outside": (
        (NONE, EMPTY),
        (UNKNOWN, PREPARING),
        (UNKNOWN, COMPLETING),
        (UNKNOWN, STABLE),
    ),
    # While a rebalance is prepared, a waits, and is alive.
    "everybody is silent": (
        (NONE, EMPTY),
        (NONE, COMPLETING),
        (NONE, EMPTY),
        (NONE, EMPTY),
    ),
}


@pytest.mark.parametrize("before", State)
@pytest.mark.parametrize("name", EVENTS)
def test_every_event_has_its_outcome_in_every_state(name: str, before: State) -> None:
    group = GroupHarness.in_state(before)
    expected, after = TABLE[name][list(State).index(before)]

    answer = EVENTS[name](group)

    assert (outcome(answer), group.state) == (expected, after)


@pytest.mark.parametrize("before", State)
@pytest.mark.parametrize(
    "refused",
    [
        lambda g: g.rejoin("x"),
        lambda g: g.join_new("c", session_timeout=0),
        lambda g: g.join_new("c", protocol_type=""),
        lambda g: g.sync("x"),
        lambda g: g.heartbeat("x"),
        lambda g: g.commit("x"),
        lambda g: g.leave("x"),
        lambda g: g.leave(Leaving("", "x")),
    ],
)
def test_what_is_refused_changes_nothing(
    refused: Callable[[GroupHarness], object], before: State
) -> None:
    group = GroupHarness.in_state(before)
    as_it_was = group.group

    refused(group)

    assert group.group == as_it_was


@pytest.mark.parametrize("state", State)
def test_a_timer_that_comes_early_does_nothing(state: State) -> None:
    group = GroupHarness.in_state(state)

    step = rules.expire(group.group, group.now + 1)

    assert step.group == group.group
    assert step.effects == ()


def test_generations_stay_within_an_int32_and_are_never_negative() -> None:
    largest = (1 << 31) - 1

    assert next_generation(0) == 1
    assert next_generation(largest - 1) == largest
    assert next_generation(largest) == 1
