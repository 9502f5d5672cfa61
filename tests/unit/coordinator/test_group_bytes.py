"""How much a group may be: who finds no room, and that the others keep theirs."""

import pytest

from korvet.coordinator.group import Protocol, State
from korvet.coordinator.group_codec import StoredGroup, assigned_bytes, encode
from korvet.coordinator.group_join import Limits
from korvet.coordinator.owner import Owner
from korvet.kafka.errors import ErrorCode
from tests.support.group_harness import GroupHarness, protocols

ROOM = 10_000
LIMITS = Limits(max_bytes=ROOM, initial_delay=0)
TOO_MUCH = ErrorCode.UNKNOWN_SERVER_ERROR


@pytest.mark.parametrize(
    "fields",
    [
        {"protocols": protocols("range", metadata=b"x" * ROOM)},
        {"protocols": (*protocols("range"), *protocols("n" * ROOM))},
        {"protocols": protocols("range", *(f"{each}" for each in range(ROOM // 4)))},
        {"client_id": "c" * ROOM},
        {"instance_id": "i" * ROOM},
        # Written as \u0001, which is what counts.
        {"client_id": "\x01" * (ROOM // 5)},
    ],
    ids=["metadata", "a name", "many names", "a client id", "an instance", "escapes"],
)
@pytest.mark.parametrize("requires_member_id", [True, False])
def test_who_says_more_than_there_is_room_for_is_refused_and_nothing_is_left(
    fields: dict[str, object], requires_member_id: bool
) -> None:
    group = GroupHarness.stable("a", "b", limits=LIMITS)
    before = group.group

    refused = group.join_new("c", requires_member_id=requires_member_id, **fields)

    assert refused.answer is TOO_MUCH
    assert group.group == before


def test_what_all_members_say_counts_together() -> None:
    third = protocols("range", metadata=b"x" * (ROOM // 4))
    group = GroupHarness(limits=LIMITS)
    group.join_new("a", protocols=third)
    group.join_new("b", protocols=third)

    assert group.join_new("c", protocols=third).answer is TOO_MUCH
    assert group.members == ["a", "b"]
    group.leave("b")
    assert group.join_new("c", protocols=third).is_parked


def test_one_with_an_id_that_finds_no_room_is_not_waited_for() -> None:
    group = GroupHarness.stable("a", limits=LIMITS)
    group.join_new("late", requires_member_id=True)
    a = group.rejoin("a")
    assert a.is_parked

    late = group.rejoin("late", protocols=protocols("range", metadata=b"x" * ROOM))

    assert late.answer is TOO_MUCH
    assert a.joined.generation == 2
    assert not group.group.pending
    assert group.members == ["a"]


def test_a_member_that_grows_too_large_is_out_and_the_others_go_on() -> None:
    group = GroupHarness.stable("a", "b", limits=LIMITS)

    grown = group.rejoin("b", protocols=protocols("range", metadata=b"x" * ROOM))

    assert grown.answer is TOO_MUCH
    assert group.heartbeat("a") is ErrorCode.REBALANCE_IN_PROGRESS
    assert group.rejoin("a").joined.generation == 2
    assert group.members == ["a"]


def test_a_member_that_comes_again_does_not_count_twice() -> None:
    most = protocols("range", metadata=b"x" * (ROOM // 2))
    group = GroupHarness(limits=LIMITS)
    group.join_new("a", protocols=most)
    group.sync_all()

    assert group.rejoin("a", protocols=most).joined.generation == 2
    again = group.join_new("again", instance_id="i", protocols=protocols("range"))
    group.rejoin("a")
    assert again.joined.generation == 3
    group.sync_all()
    assert group.join_new("b", instance_id="i").joined.member_id == "b"


def test_the_next_owner_counts_what_was_saved() -> None:
    most = protocols("range", metadata=b"x" * (ROOM // 2))
    group = GroupHarness(limits=LIMITS)
    group.join_new("a", protocols=most)

    group.take_over()

    assert group.join_new("b", protocols=most).answer is TOO_MUCH


def test_assignments_that_are_more_than_is_kept_are_refused_and_the_group_goes_on() -> None:
    group = GroupHarness.completing("a", "b", limits=LIMITS)
    b = group.sync("b")
    too_much = (("a", b"x"), ("b", b"x" * ROOM))

    refused = group.sync("a", assignments=too_much)

    assert refused.answer is TOO_MUCH
    assert b.answer is ErrorCode.REBALANCE_IN_PROGRESS
    assert group.state is State.PREPARING_REBALANCE
    group.join_all("a", "b")
    assert {call.assignment for call in group.sync_all().values()} == {b"a", b"b"}


def test_assignments_for_strangers_take_no_room() -> None:
    group = GroupHarness.completing("a", limits=LIMITS)

    synced = group.sync("a", assignments=(("a", b"x"), ("stranger", b"x" * ROOM)))

    assert synced.assignment == b"x"


def test_a_group_is_saved_in_about_what_it_counts_for() -> None:
    said = tuple(Protocol(name, bytes(range(256))) for name in ("range", "\x01\u00e4"))
    group = GroupHarness()
    for name in ("a", "b"):
        group.join_new(name, client_id="c\n", instance_id=name, protocols=said)
    group.rejoin("a")
    group.sync_all()
    owner = Owner(address="127.0.0.1:50052", incarnation="first", epoch=1)
    saved = StoredGroup(group=group.group, owner=owner, version=1, empty_since_ms=None)

    counted = group.group.said_bytes + assigned_bytes(
        member.assignment for member in group.group.members.values()
    )

    assert 0 < len(encode(saved)) - counted < 300
