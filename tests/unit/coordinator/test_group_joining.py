"""Who may come into a group, under which id, and with which code others are refused."""

import pytest

from korvet.coordinator.group import Group, State
from korvet.coordinator.group_join import Limits, MemberIdRequired
from korvet.kafka.errors import ErrorCode
from tests.support.group_harness import GroupHarness, protocols

# ---------------------------------------------------------------- coming in


def test_a_group_begins_with_its_first_member_which_leads_it() -> None:
    group = GroupHarness()

    joined = group.join_new("a", protocols=protocols("range", metadata=b"of a")).joined

    assert joined.generation == 1
    assert joined.leader == joined.member_id == "a"
    assert joined.members == (("a", None, b"of a"),)
    assert (joined.protocol_type, joined.protocol_name) == ("consumer", "range")
    assert not joined.skip_assignment
    assert group.state is State.COMPLETING_REBALANCE


def test_a_first_join_is_told_an_id_to_join_with() -> None:
    group = GroupHarness()

    required = group.join_new("a", requires_member_id=True)

    assert required.answer == MemberIdRequired("a")
    assert group.state is State.EMPTY
    assert group.members == []
    assert group.rejoin("a").joined.leader == "a"


def test_everybody_who_has_an_id_is_waited_for() -> None:
    group = GroupHarness.stable("a")
    group.join_new("b", requires_member_id=True)
    group.join_new("c", requires_member_id=True)

    a, b = group.rejoin("a"), group.rejoin("b")
    assert a.is_parked
    assert b.is_parked
    c = group.rejoin("c")

    assert {call.joined.generation for call in (a, b, c)} == {2}


def test_an_id_that_is_not_used_within_the_session_time_is_not_waited_for_any_more() -> (
    None
):
    group = GroupHarness.stable("a", session_timeout=10)
    group.join_new("b", requires_member_id=True)
    group.advance(5)
    a = group.rejoin("a")

    group.advance(4.9)
    assert a.is_parked
    group.advance(0.1)

    assert a.joined.generation == 2
    assert group.rejoin("b").answer is ErrorCode.UNKNOWN_MEMBER_ID


def test_a_pending_id_in_an_empty_group_ends_without_a_trace() -> None:
    group = GroupHarness(session_timeout=10)
    group.join_new("a", requires_member_id=True)

    group.advance(10)

    assert group.group == Group(group_id="orders")


def test_a_pending_id_is_no_member_yet() -> None:
    group = GroupHarness.stable("a")
    group.join_new("b", requires_member_id=True)

    assert group.heartbeat("b") is ErrorCode.UNKNOWN_MEMBER_ID
    assert group.sync("b").answer is ErrorCode.UNKNOWN_MEMBER_ID
    assert group.commit("b") is ErrorCode.UNKNOWN_MEMBER_ID
    assert group.state is State.STABLE


def test_a_pending_id_gives_no_right_to_an_instance_id() -> None:
    group = GroupHarness.stable("a")
    group.join_new("s", instance_id="i")
    group.join_new("b", requires_member_id=True)

    fenced = group.rejoin("b", instance_id="i")
    unknown = group.rejoin("b", instance_id="other")

    assert fenced.answer is ErrorCode.FENCED_INSTANCE_ID
    assert unknown.answer is ErrorCode.UNKNOWN_MEMBER_ID


def test_a_client_too_old_for_ids_joins_at_once() -> None:
    group = GroupHarness()

    joined = group.join_new("a", requires_member_id=False).joined

    assert joined.member_id == "a"


def test_a_static_member_needs_no_id_to_join_with() -> None:
    group = GroupHarness()

    joined = group.join_new("a", instance_id="i", requires_member_id=True).joined

    assert joined.members == (("a", "i", b"topics"),)


def test_what_is_said_of_the_client_is_kept() -> None:
    group = GroupHarness()

    group.join_new("a", client_id="app", client_host="/10.0.0.1", principal="User:ann")

    member = group.member("a")
    assert (member.client_id, member.client_host, member.principal) == (
        "app",
        "/10.0.0.1",
        "User:ann",
    )


@pytest.mark.parametrize("state", State)
def test_an_id_that_nobody_was_given_is_unknown(state: State) -> None:
    group = GroupHarness.in_state(state)

    assert group.rejoin("stranger").answer is ErrorCode.UNKNOWN_MEMBER_ID
    assert group.state is state


# ---------------------------------------------------------------- what is refused


@pytest.mark.parametrize(
    ("timeout", "is_taken"), [(5.9, False), (6, True), (30, True), (30.1, False)]
)
def test_session_times_have_limits(timeout: float, is_taken: bool) -> None:
    limits = Limits(min_session_timeout=6, max_session_timeout=30, initial_delay=0)
    group = GroupHarness(limits=limits)

    call = group.join_new("a", session_timeout=timeout)

    assert (call.answer is not ErrorCode.INVALID_SESSION_TIMEOUT) is is_taken
    assert bool(group.members) is is_taken


def test_a_rejoin_with_a_wrong_session_time_is_refused_and_changes_nothing() -> None:
    group = GroupHarness.stable("a")

    assert group.rejoin("a", session_timeout=0).answer is ErrorCode.INVALID_SESSION_TIMEOUT

    assert group.state is State.STABLE


@pytest.mark.parametrize(
    "wrong",
    [
        {"protocol_type": ""},
        {"protocols": ()},
    ],
)
def test_a_protocol_is_needed_even_in_an_empty_group(wrong: dict[str, object]) -> None:
    group = GroupHarness()

    refused = group.join_new("a", **wrong)

    assert refused.answer is ErrorCode.INCONSISTENT_GROUP_PROTOCOL
    assert group.state is State.EMPTY


@pytest.mark.parametrize(
    "wrong",
    [
        {"protocol_type": "connect"},
        {"protocol_type": ""},
        {"protocols": ()},
        {"protocols": protocols("sticky")},
    ],
)
@pytest.mark.parametrize("requires_member_id", [True, False])
def test_a_new_member_must_speak_what_the_others_do(
    wrong: dict[str, object], requires_member_id: bool
) -> None:
    group = GroupHarness.stable("a")

    refused = group.join_new("b", requires_member_id=requires_member_id, **wrong)

    assert refused.answer is ErrorCode.INCONSISTENT_GROUP_PROTOCOL
    assert group.state is State.STABLE
    assert not group.group.pending


def test_one_protocol_must_be_common_to_all_not_one_to_each_pair() -> None:
    group = GroupHarness()
    group.join_new("a", protocols=protocols("range", "sticky"))
    group.join_new("b", protocols=protocols("sticky", "roundrobin"))

    refused = group.join_new("c", protocols=protocols("range", "roundrobin"))

    assert refused.answer is ErrorCode.INCONSISTENT_GROUP_PROTOCOL


def test_a_member_may_not_change_to_what_the_others_do_not_speak() -> None:
    group = GroupHarness.stable("a", "b")

    refused = group.rejoin("b", protocols=protocols("sticky"))

    assert refused.answer is ErrorCode.INCONSISTENT_GROUP_PROTOCOL
    assert group.state is State.STABLE


def test_a_member_alone_may_change_to_another_protocol() -> None:
    group = GroupHarness.stable("a")

    joined = group.rejoin("a", protocols=protocols("sticky")).joined

    assert joined.protocol_name == "sticky"


def test_an_empty_group_takes_another_type_of_protocol() -> None:
    group = GroupHarness.stable("a")
    group.leave("a")

    joined = group.join_new("b", protocol_type="connect").joined

    assert joined.protocol_type == "connect"
