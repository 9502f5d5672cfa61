"""Members that leave: one or several, by id or by instance id, in whatever state."""

import pytest

from korvet.coordinator.group import State
from korvet.coordinator.group_rules import Leaving
from korvet.kafka.errors import ErrorCode
from tests.support.group_harness import GroupHarness

NONE, UNKNOWN = ErrorCode.NONE, ErrorCode.UNKNOWN_MEMBER_ID


def test_when_a_member_leaves_the_others_join_again() -> None:
    group = GroupHarness.stable("a", "b", "c")

    assert group.leave("b") == [NONE]

    assert group.heartbeat("a") is group.heartbeat("c") is ErrorCode.REBALANCE_IN_PROGRESS
    assert group.heartbeat("b") is UNKNOWN
    calls = group.join_all("a", "c")
    assert [name for name, _, _ in calls["a"].joined.members] == ["a", "c"]


@pytest.mark.parametrize("state", [s for s in State if s is not State.EMPTY])
def test_when_all_leave_the_group_is_empty_and_has_a_generation_of_its_own(
    state: State,
) -> None:
    group = GroupHarness.in_state(state)
    generation = group.group.generation

    assert group.leave("a", "b") == [NONE, NONE]

    assert group.state is State.EMPTY
    assert group.group.generation == generation + 1
    assert group.group.leader is group.group.protocol_name is None
    assert group.group.protocol_type == "consumer"
    assert group.group.next_deadline() is None


def test_several_leave_at_once_and_each_has_its_own_answer() -> None:
    group = GroupHarness.stable("a", "b", "c")
    group.join_new("d", requires_member_id=True)

    codes = group.leave("a", "x", "d", "a", "c")

    assert codes == [NONE, UNKNOWN, NONE, UNKNOWN, NONE]
    assert group.members == ["b"]
    assert not group.group.pending
    assert group.group.leader == "b"


def test_leaving_by_several_is_one_rebalance() -> None:
    group = GroupHarness.stable("a", "b", "c")
    saves = group.saves

    group.leave("a", "c")

    assert group.saves == saves + 1
    assert group.rejoin("b").joined.generation == 2


def test_nobody_leaves() -> None:
    group = GroupHarness.stable("a")

    assert group.leave() == []
    assert group.state is State.STABLE


def test_a_parked_join_of_one_who_leaves_is_answered() -> None:
    group = GroupHarness.stable("a", "b")
    a = group.rejoin("a")

    group.leave("a")

    assert a.answer is UNKNOWN
    assert group.rejoin("b").joined.leader == "b"


def test_a_parked_sync_of_one_who_leaves_is_answered() -> None:
    group = GroupHarness.completing("a", "b")
    b = group.sync("b")

    group.leave("b")

    assert b.answer is UNKNOWN


def test_the_last_that_is_waited_for_leaves_and_the_rebalance_completes() -> None:
    group = GroupHarness.stable("a", "b")
    a = group.rejoin("a")

    group.leave("b")

    assert a.joined.generation == 2


def test_a_pending_id_is_given_back_and_not_waited_for() -> None:
    group = GroupHarness.stable("a")
    group.join_new("b", requires_member_id=True)
    a = group.rejoin("a")
    assert a.is_parked

    assert group.leave("b") == [NONE]

    assert a.joined.generation == 2


def test_all_members_leave_while_a_pending_id_is_waited_for() -> None:
    group = GroupHarness.stable("a", "b")
    group.rejoin("a")
    group.join_new("c", requires_member_id=True)

    group.leave("a", "b")

    assert group.state is State.PREPARING_REBALANCE
    assert group.rejoin("c").joined.leader == "c"


# ---------------------------------------------------------------- by instance id


def with_static(instance_id: str = "i") -> GroupHarness:
    group = GroupHarness.stable("a")
    group.join_new("s", instance_id=instance_id)
    group.rejoin("a")
    group.sync_all()
    return group


def test_a_static_member_is_taken_out_by_its_instance_id_alone() -> None:
    group = with_static("i")

    assert group.leave(Leaving("", "i")) == [NONE]

    assert group.members == ["a"]


def test_a_static_member_may_leave_by_both_its_ids_or_by_its_member_id() -> None:
    assert with_static("i").leave(Leaving("s", "i")) == [NONE]
    assert with_static("i").leave(Leaving("s", None)) == [NONE]


def test_ids_that_do_not_belong_together_take_nobody_out() -> None:
    group = with_static("i")

    codes = group.leave(
        Leaving("a", "i"), Leaving("a", "x"), Leaving("", "x"), Leaving("", None)
    )

    assert codes == [ErrorCode.FENCED_INSTANCE_ID, UNKNOWN, UNKNOWN, UNKNOWN]
    assert group.members == ["a", "s"]
    assert group.state is State.STABLE
