"""A group's value in Redis: what comes back, and what is no group."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from korvet.coordinator.group import Group, Member, Protocol, State
from korvet.coordinator.group_codec import QUEUE, StoredGroup, decode, encode, is_queue
from korvet.coordinator.owner import Owner
from tests.support.group_harness import GroupHarness

OWNER = Owner(address="127.0.0.1:50052", incarnation="0f3a", epoch=7)


def stored(group: Group, empty_since_ms: int | None = None) -> StoredGroup:
    return StoredGroup(group=group, owner=OWNER, version=3, empty_since_ms=empty_since_ms)


# ---------------------------------------------------------------- there and back

names = st.text(min_size=1, max_size=8)
# At the wire they are int32 milliseconds.
durations = st.integers(0, (1 << 31) - 1).map(lambda ms: ms / 1000)
members = st.builds(
    Member,
    member_id=names,
    instance_id=st.none() | names,
    client_id=st.text(max_size=8),
    client_host=st.text(max_size=8),
    principal=st.text(max_size=8),
    session_timeout=durations,
    rebalance_timeout=durations,
    protocols=st.lists(st.builds(Protocol, names, st.binary(max_size=8))).map(tuple),
    assignment=st.binary(max_size=8),
)
groups = st.builds(
    Group,
    group_id=names,
    state=st.sampled_from(State),
    generation=st.integers(0, (1 << 31) - 1),
    protocol_type=st.text(max_size=8),
    protocol_name=st.none() | names,
    leader=st.none() | names,
    members=st.lists(members, unique_by=lambda member: member.member_id).map(
        lambda found: {member.member_id: member for member in found}
    ),
)


@given(group=groups, empty_since_ms=st.none() | st.integers(0, 1 << 53))
def test_what_was_saved_comes_back(group: Group, empty_since_ms: int | None) -> None:
    saved = stored(group, empty_since_ms)

    found = decode(group.group_id, encode(saved))

    assert found == saved
    assert list(found.group.members) == list(group.members)


@pytest.mark.parametrize("address", ["coordinator:50052", "unix:/run/with space.sock"])
def test_the_owner_comes_back_whatever_its_address(address: str) -> None:
    owner = Owner(address=address, incarnation="0f3a", epoch=7)
    saved = StoredGroup(
        group=Group(group_id="orders"), owner=owner, version=3, empty_since_ms=None
    )

    assert decode("orders", encode(saved)).owner == owner


def test_what_belongs_to_one_process_is_not_kept() -> None:
    group = GroupHarness.stable("a", "b")
    group.join_new("c", requires_member_id=True)
    group.rejoin("a")

    found = decode("orders", encode(stored(group.group))).group

    assert found.next_deadline() == float("inf")
    assert not found.pending
    assert not any(member.is_parked for member in found.members.values())


# ---------------------------------------------------------------- the value itself


def test_the_first_line_is_for_scripts_and_the_rest_is_json() -> None:
    group = GroupHarness.stable("a").group

    head, _, body = encode(stored(group)).partition(b"\n")

    assert head == b"classic 7 3 0f3a 127.0.0.1:50052"
    assert head.decode() == stored(group).head
    assert json.loads(body) == {
        "state": "Stable",
        "generation": 1,
        "protocolType": "consumer",
        "protocolName": "range",
        "leader": "a",
        "emptySince": None,
        "members": [
            {
                "id": "a",
                "instance": None,
                "clientId": "",
                "host": "",
                "principal": "",
                "sessionMs": 10000,
                "rebalanceMs": 60000,
                "protocols": [["range", "dG9waWNz"]],
                "assignment": "YQ==",
            }
        ],
    }


def test_a_work_queue_is_told_from_a_group() -> None:
    assert is_queue(QUEUE.encode())
    assert is_queue(QUEUE.encode() + b"\nmore")
    assert not is_queue(encode(stored(Group(group_id="orders"))))


VALID = encode(stored(GroupHarness.stable("a").group))


@pytest.mark.parametrize(
    "value",
    [
        b"",
        QUEUE.encode(),
        b"classic",
        b"classic 7 3 0f3a",
        b"\xff\xfe",
        VALID.replace(b"classic", b"modern"),
        VALID.replace(b"classic 7", b"classic x"),
        VALID.replace(b"Stable", b"Unstable"),
        VALID.replace(b'"generation"', b'"other"'),
        VALID.replace(b'"dG9waWNz"', b"1"),
        VALID.replace(b'"dG9waWNz"', b'"dG9"'),
        VALID.replace(b'"sessionMs":10000', b'"sessionMs":"x"'),
        VALID.partition(b"\n")[0] + b"\nnull",
        VALID.partition(b"\n")[0] + b"\n[]",
        VALID.partition(b"\n")[0] + b'\n{"members":["a"]}',
        VALID[:-1],
    ],
)
def test_a_value_that_is_no_group_is_refused_by_name(value: bytes) -> None:
    with pytest.raises(ValueError, match="group 'orders' cannot be read"):
        decode("orders", value)
