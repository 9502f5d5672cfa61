"""Which committed offsets have expired."""

import pytest

from korvet.coordinator.committed_offsets import Commit, Committed, TopicPartition
from korvet.coordinator.group import Group, Member, Protocol, State
from korvet.coordinator.offset_rules import expired_offsets
from tests.support.group_wire import subscription

RETENTION = 1000


def committed(time_ms: int) -> Committed:
    return Committed(Commit(5, "topic", -1, ""), time_ms)


@pytest.mark.parametrize(
    ("committed_at", "empty_since", "is_expired"),
    [
        (0, 0, True),
        # Not before the whole time has passed, since the later of the two.
        (1001, 0, False),
        (1000, 0, False),
        (999, 0, True),
        (0, 1000, False),
        (0, 999, True),
    ],
)
def test_an_offset_expires_when_nobody_has_wanted_it_for_long(
    committed_at: int, empty_since: int, is_expired: bool
) -> None:
    place = TopicPartition("orders", 0)

    expired = expired_offsets(
        {place: committed(committed_at)},
        Group(group_id="group"),
        empty_since_ms=empty_since,
        now_ms=2000,
        retention_ms=RETENTION,
    )

    assert expired == ([place] if is_expired else [])


def with_members(
    *metadata: bytes, state: State = State.STABLE, protocol_type: str = "consumer"
) -> Group:
    members = [
        Member(
            member_id=f"{number}",
            session_timeout=10,
            rebalance_timeout=60,
            protocols=(Protocol("range", each),),
        )
        for number, each in enumerate(metadata)
    ]
    return Group(
        group_id="group",
        state=state,
        protocol_type=protocol_type,
        protocol_name="range",
        members={member.member_id: member for member in members},
    )


def expired_of(group: Group) -> list[TopicPartition]:
    """Of three old commits and a new one."""
    topics = ("orders", "bills", "parcels")
    offsets = {TopicPartition(topic, 0): committed(0) for topic in topics}
    offsets[TopicPartition("parcels", 1)] = committed(1999)
    return expired_offsets(
        offsets, group, empty_since_ms=None, now_ms=2000, retention_ms=RETENTION
    )


def test_a_group_with_members_keeps_what_any_of_them_is_subscribed_to() -> None:
    group = with_members(subscription(["orders"]), subscription(["bills", "orders"]))

    assert expired_of(group) == [TopicPartition("parcels", 0)]


@pytest.mark.parametrize(
    "group",
    [
        with_members(subscription(["orders"]), b"gibberish"),
        with_members(subscription(["orders"]), protocol_type="connect"),
        with_members(subscription(["orders"]), state=State.PREPARING_REBALANCE),
        with_members(subscription(["orders"]), state=State.COMPLETING_REBALANCE),
    ],
    ids=["gibberish", "connect", "preparing", "completing"],
)
def test_a_group_of_which_nobody_can_tell_keeps_everything(group: Group) -> None:
    assert expired_of(group) == []
