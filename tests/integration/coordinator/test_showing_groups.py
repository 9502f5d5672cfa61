"""What ListGroups and DescribeGroups show, and which groups a filter leaves."""

import asyncio
from collections.abc import Sequence

import pytest

from korvet.coordinator.group import State
from korvet.kafka.errors import ErrorCode
from korvet.proto.coordinator.v1 import coordinator_service_pb2 as pb
from tests.support.coordinator_replica import CoordinatorReplica
from tests.support.eventually import eventually

pytestmark = pytest.mark.integration

EVERYTHING = {"empty", "stable"}


@pytest.mark.parametrize(
    ("states", "types", "expected"),
    [
        ([], [], EVERYTHING),
        (["Stable"], [], {"stable"}),
        (["Empty"], [], {"empty"}),
        (["Stable", "Empty"], [], EVERYTHING),
        (["Dead"], [], set()),
        (["no such state"], [], set()),
        (["no such state", "Empty"], [], {"empty"}),
        (["sTABLE"], [], {"stable"}),
        ([], ["classic"], EVERYTHING),
        ([], ["CLASSIC"], EVERYTHING),
        ([], ["consumer"], set()),
        ([], ["no such type"], set()),
        ([], ["consumer", "Classic"], EVERYTHING),
        (["Stable"], ["classic"], {"stable"}),
        (["Stable"], ["consumer"], set()),
        (["Dead"], ["classic"], set()),
    ],
)
async def test_groups_are_listed_by_state_and_type(
    coordinator: CoordinatorReplica,
    states: Sequence[str],
    types: Sequence[str],
    expected: set[str],
) -> None:
    await coordinator.member("stable")
    await coordinator.commit("empty", 1)

    request = pb.ListGroupsRequest(states=states, types=types)
    listed = await coordinator.stub.ListGroups(request)

    assert {each.group_id for each in listed.groups} == expected


async def test_a_rebalance_shows_what_members_had_before_it(
    coordinator: CoordinatorReplica,
) -> None:
    async def assigned_in(state: State) -> dict[str, bytes]:
        described = await coordinator.describe("group")
        assert (described.state, described.protocol_name) == (state, "")
        assert {each.metadata for each in described.members} == {b""}
        return {each.member_id: each.assignment for each in described.members}

    async def is_preparing() -> bool:
        return (await coordinator.describe("group")).state == State.PREPARING_REBALANCE

    first = await coordinator.member("group")
    joining = asyncio.create_task(coordinator.join("group"))
    await eventually(is_preparing)
    preparing = await assigned_in(State.PREPARING_REBALANCE)
    leader = await coordinator.join("group", first.member_id)
    second = await joining
    completing = await assigned_in(State.COMPLETING_REBALANCE)
    synced = await coordinator.sync("group", leader, {second.member_id: b"all"})

    assert (
        preparing
        == completing
        == {
            first.member_id: b"everything",
            second.member_id: b"",
        }
    )
    assert (synced.error_code, synced.assignment) == (ErrorCode.NONE, b"")


async def test_a_group_is_described_as_often_as_it_is_asked_for(
    coordinator: CoordinatorReplica,
) -> None:
    await coordinator.member("group")

    request = pb.DescribeGroupsRequest(group_ids=["group", "no such group", "group"])
    described = await coordinator.stub.DescribeGroups(request)

    assert [each.state for each in described.groups] == ["Stable", "Dead", "Stable"]
