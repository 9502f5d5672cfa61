"""Clients that vanish in the middle of a rebalance: nobody waits for them."""

import uuid
from collections.abc import Iterator

import pytest

from korvet.coordinator.group import State
from korvet.kafka.errors import ErrorCode
from tests.support.eventually import eventually_true
from tests.support.group_wire import GroupWire
from tests.support.korvet_process import KorvetCluster
from tests.support.member_process import PATIENCE

pytestmark = pytest.mark.e2e

PREPARING = State.PREPARING_REBALANCE


@pytest.fixture(scope="module")
def korvet(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KorvetCluster]:
    with KorvetCluster(tmp_path_factory.mktemp("group-vanishing")) as cluster:
        yield cluster
        assert cluster.errors() == []


@pytest.fixture
def group() -> str:
    """A name that no other test has."""
    return f"group-{uuid.uuid4().hex[:12]}"


# Less than a session, which is 30 s: whoever waits for one that has gone fails.
@pytest.fixture
def first(korvet: KorvetCluster) -> Iterator[GroupWire]:
    with GroupWire(korvet.gateways[0].address, patience=5.0) as client:
        yield client


@pytest.fixture
def second(korvet: KorvetCluster) -> Iterator[GroupWire]:
    with GroupWire(korvet.gateways[0].address, patience=5.0) as client:
        yield client


def is_parked(first: GroupWire, group: str, members: int) -> None:
    """Wait until a rebalance with so many members has begun."""
    eventually_true(lambda: first.members_in(group, PREPARING) == members, PATIENCE)


def test_the_others_go_on_at_once_when_a_new_member_vanishes_from_its_join(
    first: GroupWire, second: GroupWire, group: str
) -> None:
    member = first.join(group, ["orders"])
    first.sync(group, member)
    given = second.join_once(group, ["orders"])
    second.send_join(group, ["orders"], given.member_id)
    is_parked(first, group, 2)

    second.close()
    # Behind these answers the gateway and the coordinator know that it has gone.
    for _ in range(10):
        assert first.heartbeat(group, member) is ErrorCode.REBALANCE_IN_PROGRESS
    again = first.join(group, ["orders"], member.member_id)

    assert {each.member_id for each in again.members} == {
        member.member_id,
        given.member_id,
    }
    assert first.sync(group, again).error_code == ErrorCode.NONE
    assert first.heartbeat(group, again) is ErrorCode.NONE


def test_a_leader_that_vanishes_from_its_join_does_not_lead(
    first: GroupWire, second: GroupWire, group: str
) -> None:
    leader = second.join(group, ["orders"])
    second.sync(group, leader)
    given = first.join_once(group, ["orders"])
    second.send_join(group, ["orders"], leader.member_id)
    is_parked(first, group, 1)

    second.close()
    for _ in range(10):
        assert first.heartbeat(group, leader) is ErrorCode.REBALANCE_IN_PROGRESS
    joined = first.join(group, ["orders"], given.member_id)

    assert joined.leader == joined.member_id == given.member_id
    assert first.sync(group, joined).error_code == ErrorCode.NONE


def test_one_that_lost_its_connection_comes_back_to_its_join(
    korvet: KorvetCluster, first: GroupWire, second: GroupWire, group: str
) -> None:
    member = first.join(group, ["orders"])
    first.sync(group, member)
    given = second.join_once(group, ["orders"])
    second.send_join(group, ["orders"], given.member_id)
    is_parked(first, group, 2)

    second.close()
    with GroupWire(korvet.gateways[0].address) as back:
        back.send_join(group, ["orders"], given.member_id)
        leader = first.join(group, ["orders"], member.member_id)
        joined = back.receive_join()
        assigned = {given.member_id: [("orders", 0)]}
        assert first.sync(group, leader, assigned).error_code == ErrorCode.NONE
        assert back.sync(group, joined).error_code == ErrorCode.NONE

    assert joined.generation_id == leader.generation_id


def test_the_first_of_a_group_does_not_wait_for_one_that_was_only_given_an_id(
    first: GroupWire, second: GroupWire, group: str
) -> None:
    given = second.join_once(group, ["orders"])
    assert given.error_code == ErrorCode.MEMBER_ID_REQUIRED

    second.close()
    joined = first.join(group, ["orders"])

    assert [each.member_id for each in joined.members] == [joined.member_id]
    assert first.sync(group, joined).error_code == ErrorCode.NONE
