"""Sessions and rebalances: who is out when time has passed."""

import pytest

from korvet.coordinator.group import State
from korvet.kafka.errors import ErrorCode
from tests.support.group_harness import GroupHarness

# ---------------------------------------------------------------- sessions


def test_a_silent_member_is_removed_and_the_rest_rebalance() -> None:
    group = GroupHarness.stable("a", "b", session_timeout=10)
    group.advance(6)
    group.heartbeat("a")

    group.advance(3.9)
    assert group.members == ["a", "b"]
    group.advance(0.1)

    assert group.members == ["a"]
    assert group.state is State.PREPARING_REBALANCE
    assert group.heartbeat("a") is ErrorCode.REBALANCE_IN_PROGRESS
    assert group.heartbeat("b") is ErrorCode.UNKNOWN_MEMBER_ID


def test_each_member_has_its_own_session_time() -> None:
    group = GroupHarness()
    group.join_new("a", session_timeout=30)
    group.join_new("b", session_timeout=10)
    group.rejoin("a", session_timeout=30)
    group.sync_all()

    group.advance(29)

    assert group.members == ["a"]


@pytest.mark.parametrize("state", [s for s in State if s is not State.EMPTY])
def test_a_member_that_heartbeats_lives_in_every_state(state: State) -> None:
    group = GroupHarness.in_state(state)

    for _ in range(5):
        group.advance(group.session_timeout - 1)
        assert group.heartbeat("a") is not ErrorCode.UNKNOWN_MEMBER_ID
        assert group.heartbeat("b") is not ErrorCode.UNKNOWN_MEMBER_ID

    assert group.members == ["a", "b"]
    assert group.state is state


def test_a_heartbeat_of_another_generation_is_no_sign_of_life() -> None:
    group = GroupHarness.stable("a", session_timeout=10)
    group.advance(9)

    assert group.heartbeat("a", generation=0) is ErrorCode.ILLEGAL_GENERATION
    group.advance(1)

    assert group.state is State.EMPTY


def test_who_is_parked_is_alive_and_has_a_full_session_afterwards() -> None:
    group = GroupHarness.stable("a", "b", session_timeout=10, rebalance_timeout=100)
    a = group.rejoin("a")
    for _ in range(9):
        group.advance(9)
        group.heartbeat("b")
    group.rejoin("b")
    synced = group.sync("b")
    for _ in range(5):
        group.advance(9)
        group.heartbeat("a")
    group.sync("a", "a", "b")
    group.advance(9)

    assert a.joined.generation == 2
    assert synced.assignment == b"b"
    assert group.members == ["a", "b"]


def test_the_death_of_the_last_that_is_waited_for_completes_the_rebalance() -> None:
    group = GroupHarness.stable("a", "b", session_timeout=10, rebalance_timeout=100)
    a = group.rejoin("a")

    group.advance(10)

    assert a.joined.generation == 2
    assert group.members == ["a"]


def test_a_dead_leader_does_not_leave_its_followers_parked() -> None:
    group = GroupHarness.completing("a", "b", session_timeout=10, rebalance_timeout=100)
    b = group.sync("b")

    group.advance(10)

    assert b.answer is ErrorCode.REBALANCE_IN_PROGRESS
    assert group.rejoin("b").joined.leader == "b"


# ---------------------------------------------------------------- rebalances


def test_who_does_not_join_within_the_rebalance_time_is_out_though_it_is_alive() -> None:
    group = GroupHarness.stable("a", "b", session_timeout=20, rebalance_timeout=30)
    a = group.rejoin("a")
    group.advance(15)
    assert group.heartbeat("b") is ErrorCode.REBALANCE_IN_PROGRESS

    group.advance(14.9)
    assert a.is_parked
    group.advance(0.1)

    assert a.joined.generation == 2
    assert group.members == ["a"]
    assert group.heartbeat("b") is ErrorCode.UNKNOWN_MEMBER_ID


def test_the_longest_rebalance_time_of_all_members_counts() -> None:
    group = GroupHarness(session_timeout=100)
    group.join_new("a", rebalance_timeout=10)
    group.join_new("b", rebalance_timeout=50)
    group.rejoin("a", rebalance_timeout=10)
    group.sync_all()
    a = group.rejoin("a", rebalance_timeout=10)

    group.advance(49.9)
    assert a.is_parked
    group.advance(0.1)

    assert a.joined.generation == 3


def test_new_members_do_not_put_off_the_end_of_a_rebalance() -> None:
    group = GroupHarness.stable("a", "b", session_timeout=100, rebalance_timeout=30)
    a = group.rejoin("a")

    group.advance(29)
    c = group.join_new("c")
    group.advance(1)

    assert a.joined.generation == c.joined.generation == 2


@pytest.mark.parametrize("timeout", [0, -1])
def test_a_member_without_rebalance_time_is_gone_before_it_can_sync(timeout: float) -> None:
    group = GroupHarness()
    joined = group.join_new("a", rebalance_timeout=timeout).joined

    group.advance(0)

    assert joined.generation == 1
    assert group.state is State.EMPTY


# ---------------------------------------------------------------- clients that vanish


def test_nobody_waits_for_one_that_vanished_from_its_join() -> None:
    group = GroupHarness.stable("a", session_timeout=10, rebalance_timeout=100)
    group.vanish(group.join_new("b"))

    a = group.rejoin("a")

    assert a.joined.generation == 2
    assert [name for name, *_ in a.joined.members] == ["a", "b"]
    assert group.sync("a", "a", "b").assignment == b"a"


def test_one_that_vanished_from_its_join_is_out_when_its_session_ends() -> None:
    group = GroupHarness.stable("a", session_timeout=10, rebalance_timeout=100)
    b = group.join_new("b")
    group.advance(5)
    group.vanish(b)
    group.rejoin("a")
    group.sync("a", "a", "b")
    group.advance(5)
    group.heartbeat("a")

    group.advance(4.9)
    assert group.members == ["a", "b"]
    group.advance(0.1)

    assert group.members == ["a"]
    assert group.heartbeat("a") is ErrorCode.REBALANCE_IN_PROGRESS


def test_one_that_vanished_is_out_at_the_end_of_its_session_in_a_rebalance_as_well() -> (
    None
):
    group = GroupHarness.stable("a", "b", session_timeout=10, rebalance_timeout=100)
    group.vanish(group.rejoin("a"))
    group.advance(9)
    group.heartbeat("b")

    group.advance(1)

    assert group.members == ["b"]
    assert group.rejoin("b").joined.leader == "b"


def test_who_has_vanished_does_not_lead() -> None:
    group = GroupHarness.stable("a", "b")
    group.vanish(group.rejoin("a"))

    b = group.rejoin("b")

    assert b.joined.leader == "b"
    assert group.sync("b", "a", "b").assignment == b"b"


def test_one_that_is_back_after_the_others_went_on_has_what_it_was_assigned() -> None:
    group = GroupHarness.stable("a", "b", session_timeout=40, rebalance_timeout=30)
    group.vanish(group.rejoin("a"))
    group.rejoin("b")
    group.sync("b", "a", "b")

    assert group.rejoin("a").joined.generation == 2
    assert group.sync("a").assignment == b"a"
    group.advance(30)

    assert group.members == ["a", "b"]


def test_one_that_vanished_and_left_is_out_at_once() -> None:
    group = GroupHarness.stable("a", "b")
    group.vanish(group.rejoin("a"))

    assert group.leave("a") == [ErrorCode.NONE]

    assert group.rejoin("b").joined.leader == "b"
    assert group.members == ["b"]


def test_one_that_vanishes_from_a_join_may_come_back_to_it() -> None:
    group = GroupHarness.stable("a", "b")
    group.vanish(group.rejoin("a"))

    again = group.rejoin("a")
    group.rejoin("b")

    assert again.joined.leader == "a"


def test_one_that_vanishes_from_a_sync_must_ask_again() -> None:
    group = GroupHarness.completing("a", "b", session_timeout=40, rebalance_timeout=30)
    group.vanish(group.sync("b"))
    group.sync("a", "a", "b")
    assert group.members == ["a", "b"]

    group.advance(30)

    assert group.members == ["a"]


def test_one_that_vanishes_from_a_sync_and_asks_again_is_in_order() -> None:
    group = GroupHarness.completing("a", "b", session_timeout=40, rebalance_timeout=30)
    group.vanish(group.sync("b"))
    group.sync("a", "a", "b")

    assert group.sync("b").assignment == b"b"
    group.advance(30)

    assert group.state is State.STABLE
