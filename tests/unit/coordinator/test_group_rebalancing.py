"""How a rebalance begins, whom it waits for, and what those who have joined are told."""

import pytest

from korvet.coordinator.group import State
from korvet.kafka.errors import ErrorCode
from tests.support.group_harness import GroupHarness, protocols

OTHER_TOPICS = protocols("range", metadata=b"other topics")


def test_all_join_one_generation_and_only_the_leader_learns_who_they_are() -> None:
    group = GroupHarness()

    calls = group.join_all("a", "b", "c")

    answers = {name: call.joined for name, call in calls.items()}
    assert {one.generation for one in answers.values()} == {1}
    assert {one.leader for one in answers.values()} == {"a"}
    assert {one.protocol_name for one in answers.values()} == {"range"}
    assert [name for name, _, _ in answers["a"].members] == ["a", "b", "c"]
    assert answers["b"].members == answers["c"].members == ()
    assert {name: one.member_id for name, one in answers.items()} == {
        "a": "a",
        "b": "b",
        "c": "c",
    }


def test_a_new_member_is_parked_until_the_others_have_joined_again() -> None:
    group = GroupHarness.stable("a", "b")

    c = group.join_new("c")
    assert group.heartbeat("a") is group.heartbeat("b") is ErrorCode.REBALANCE_IN_PROGRESS
    a = group.rejoin("a")
    assert c.is_parked
    assert a.is_parked
    b = group.rejoin("b")

    assert {call.joined.generation for call in (a, b, c)} == {2}
    assert a.joined.leader == "a"


@pytest.mark.parametrize(("who", "other"), [("a", "b"), ("b", "a")])
def test_a_member_with_other_topics_makes_everybody_join_again(
    who: str, other: str
) -> None:
    group = GroupHarness.stable("a", "b")

    calls = {who: group.rejoin(who, protocols=OTHER_TOPICS)}
    assert calls[who].is_parked
    assert group.heartbeat(other) is ErrorCode.REBALANCE_IN_PROGRESS
    calls[other] = group.rejoin(other)

    assert (who, None, b"other topics") in calls["a"].joined.members


def test_a_leader_that_joins_again_makes_everybody_do_so() -> None:
    group = GroupHarness.stable("a", "b")

    assert group.rejoin("a").is_parked

    assert group.heartbeat("b") is ErrorCode.REBALANCE_IN_PROGRESS


def test_a_follower_that_joins_again_unchanged_is_told_the_generation_as_it_is() -> None:
    group = GroupHarness.stable("a", "b")

    joined = group.rejoin("b").joined

    assert (joined.generation, joined.leader, joined.members) == (1, "a", ())
    assert group.sync("b").assignment == b"b"
    assert group.heartbeat("a") is ErrorCode.NONE


def test_who_has_missed_its_answer_gets_it_again_before_the_assignments_are_in() -> None:
    group = GroupHarness.completing("a", "b")

    leader, follower = group.rejoin("a").joined, group.rejoin("b").joined

    assert leader.generation == follower.generation == 1
    assert [name for name, _, _ in leader.members] == ["a", "b"]
    assert follower.members == ()
    assert group.state is State.COMPLETING_REBALANCE


def test_a_member_that_is_alone_joins_again_without_waiting() -> None:
    group = GroupHarness.stable("a")

    assert group.rejoin("a").joined.generation == 2


def test_of_two_joins_of_one_member_each_is_answered_once() -> None:
    group = GroupHarness.stable("a", "b")
    first = group.rejoin("a")

    second = group.rejoin("a")
    group.rejoin("b")

    assert first.answer is ErrorCode.REBALANCE_IN_PROGRESS
    assert second.joined.generation == 2


def test_a_join_takes_the_place_of_a_parked_sync() -> None:
    group = GroupHarness.completing("a", "b")
    synced = group.sync("b")

    joined = group.rejoin("b")

    assert synced.answer is ErrorCode.REBALANCE_IN_PROGRESS
    assert joined.joined.generation == 1


def test_syncs_are_refused_when_another_rebalance_begins() -> None:
    group = GroupHarness.completing("a", "b", "c")
    b, c = group.sync("b"), group.sync("c")

    group.join_new("d")

    assert b.answer is c.answer is ErrorCode.REBALANCE_IN_PROGRESS
    assert group.sync("b").answer is ErrorCode.REBALANCE_IN_PROGRESS


def test_assignments_of_the_last_generation_are_not_given_out_in_the_next() -> None:
    group = GroupHarness.stable("a", "b")
    group.join_all("a", "b")
    b = group.sync("b")
    assert b.is_parked

    a = group.sync("a", "stranger")

    assert a.assignment == b.assignment == b""


def test_members_are_shown_with_their_last_assignment_until_they_have_another() -> None:
    group = GroupHarness.stable("a", "b")

    group.rejoin("a")
    assert (group.member("a").assignment, group.member("b").assignment) == (b"a", b"b")
    group.rejoin("b")
    assert group.state is State.COMPLETING_REBALANCE
    assert (group.member("a").assignment, group.member("b").assignment) == (b"a", b"b")
    group.sync("a", "a")

    assert (group.member("a").assignment, group.member("b").assignment) == (b"a", b"")


def test_nobody_has_anything_after_a_rebalance_that_another_one_interrupts() -> None:
    group = GroupHarness.stable("a", "b")
    group.join_all("a", "b")
    group.sync("b")

    group.join_new("c")

    assert [group.member(each).assignment for each in group.members] == [b"", b"", b""]


# ---------------------------------------------------------------- the leader


def test_the_leader_stays_the_leader() -> None:
    group = GroupHarness.stable("a", "b")

    group.join_new("c")
    group.rejoin("b")

    assert group.rejoin("a").joined.leader == "a"


@pytest.mark.parametrize("state", [s for s in State if s is not State.EMPTY])
def test_when_the_leader_leaves_another_member_leads(state: State) -> None:
    group = GroupHarness.in_state(state)

    group.leave("a")

    assert group.group.leader == "b"
    joined = group.rejoin("b").joined
    assert joined.leader == "b"
    assert joined.members == (("b", None, b"topics"),)


def test_a_leader_that_does_not_come_back_is_replaced_by_one_who_does() -> None:
    group = GroupHarness.stable("a", "b", "c", rebalance_timeout=5)
    c = group.rejoin("c", protocols=OTHER_TOPICS)

    group.advance(5)

    assert c.joined.leader == "c"
    assert group.members == ["c"]


# ---------------------------------------------------------------- the protocol


def test_the_protocol_is_one_that_all_support() -> None:
    group = GroupHarness()
    group.join_new("a", protocols=protocols("range", "sticky"))
    b = group.join_new("b", protocols=protocols("sticky"))

    group.rejoin("a")

    assert b.joined.protocol_name == "sticky"


def test_among_those_that_all_support_most_votes_count() -> None:
    group = GroupHarness()
    group.join_new("a", protocols=protocols("range", "sticky"))
    group.join_new("b", protocols=protocols("sticky", "range"))
    group.join_new("c", protocols=protocols("other", "sticky", "range"))

    assert group.rejoin("a").joined.protocol_name == "sticky"


def test_with_as_many_votes_the_first_member_decides() -> None:
    group = GroupHarness()
    group.join_new("a", protocols=protocols("range", "sticky"))
    group.join_new("b", protocols=protocols("sticky", "range"))

    assert group.rejoin("a").joined.protocol_name == "range"


def test_the_leader_gets_what_members_say_for_the_protocol_in_force() -> None:
    group = GroupHarness()
    both = (*protocols("range", metadata=b"1"), *protocols("sticky", metadata=b"2"))
    group.join_new("a", protocols=both)
    group.join_new("b", protocols=protocols("sticky", metadata=b"3"))

    joined = group.rejoin("a").joined

    assert joined.members == (("a", None, b"2"), ("b", None, b"3"))


# ---------------------------------------------------------------- cooperative members


def test_cooperative_members_join_twice_to_move_a_partition() -> None:
    owns_both = protocols("cooperative-sticky", metadata=b"owns 0, 1")
    owns_one = protocols("cooperative-sticky", metadata=b"owns 0")
    group = GroupHarness()
    group.join_new("a", protocols=owns_both)
    group.sync("a", "a")

    # First round: a is told to give 1 up, and b gets nothing.
    b = group.join_new("b", protocols=protocols("cooperative-sticky"))
    assert group.rejoin("a", protocols=owns_both).joined.generation == 2
    assert b.joined.generation == 2
    group.sync("b")
    group.sync("a", "a")

    # Second round: a has given it up.
    second = group.rejoin("a", protocols=owns_one)
    assert group.heartbeat("b") is ErrorCode.REBALANCE_IN_PROGRESS
    assert group.rejoin("b").joined.generation == 3
    assert ("a", None, b"owns 0") in second.joined.members
    group.sync("a", "a", "b")
    assert group.sync("b").assignment == b"b"
