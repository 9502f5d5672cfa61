"""ListGroups, DescribeGroups and DeleteGroups."""

import pytest

from korvet.gateway.authorized_operations import NOT_ASKED, ON_GROUP
from korvet.gateway.cluster import Broker, Cluster
from korvet.gateway.handlers import delete_groups, describe_groups, list_groups
from korvet.kafka.errors import ErrorCode
from korvet.kafka.messages.delete_groups import DeleteGroupsRequest
from korvet.kafka.messages.describe_groups import (
    DescribeGroupsRequest,
    DescribeGroupsResponse,
)
from korvet.kafka.messages.list_groups import ListGroupsRequest
from korvet.proto.coordinator.v1 import coordinator_service_pb2 as pb
from korvet.proto.storage.v1 import storage_service_pb2 as storage_pb
from tests.support.fake_coordinator import FakeCoordinator
from tests.support.fake_storage import FakeStorage
from tests.support.gateway_context import request_context
from tests.support.handler_calls import call_groups

Group = pb.DescribeGroupsResponse.Group


@pytest.fixture
def coordinator() -> FakeCoordinator:
    coordinator = FakeCoordinator()
    coordinator.groups["group"] = Group(
        group_id="group",
        state="Stable",
        protocol_type="consumer",
        protocol_name="range",
        members=[
            pb.DescribeGroupsResponse.Member(
                member_id="member",
                group_instance_id="instance",
                client_id="client",
                client_host="192.0.2.1",
                metadata=b"metadata",
                assignment=b"assignment",
            ),
            pb.DescribeGroupsResponse.Member(member_id="other"),
        ],
    )
    coordinator.groups["empty"] = Group(group_id="empty", state="Empty")
    return coordinator


# ---------------------------------------------------------------- listing


@pytest.mark.parametrize("version", range(6))
async def test_groups_are_listed(coordinator: FakeCoordinator, version: int) -> None:
    listed = await call_groups(
        list_groups.HANDLER, ListGroupsRequest(), version, coordinator
    )

    states = [group.group_state for group in listed.groups]
    types = {group.group_type for group in listed.groups}
    assert listed.error_code == ErrorCode.NONE
    assert [group.group_id for group in listed.groups] == ["group", "empty"]
    assert [group.protocol_type for group in listed.groups] == ["consumer", ""]
    assert states == (["Stable", "Empty"] if version >= 4 else ["", ""])
    assert types == ({"classic"} if version >= 5 else {""})


async def test_groups_are_chosen_by_state_and_type(coordinator: FakeCoordinator) -> None:
    request = ListGroupsRequest(states_filter=["Empty"], types_filter=["classic"])

    listed = await call_groups(list_groups.HANDLER, request, 5, coordinator)

    assert [group.group_id for group in listed.groups] == ["empty"]
    assert coordinator.requests == [
        pb.ListGroupsRequest(states=["Empty"], types=["classic"])
    ]


async def test_each_group_is_listed_by_one_gateway(coordinator: FakeCoordinator) -> None:
    groups = {f"group-{number}" for number in range(200)}
    coordinator.groups = {group_id: Group(group_id=group_id) for group_id in groups}
    listed: list[set[str]] = []
    for node_id in (1, 2, 3):
        storage = FakeStorage()
        cluster = Cluster(Broker(node_id, "host", 9092, None), storage)
        cluster.set_gateways(storage_pb.Gateway(node_id=each) for each in (1, 2, 3))
        context = request_context(
            storage, 5, coordinator=coordinator, cluster=cluster, node_id=node_id
        )
        answer = await list_groups.handle(ListGroupsRequest(), context)
        listed.append({group.group_id for group in answer.groups})

    assert set.union(*listed) == groups
    assert sum(map(len, listed)) == len(groups)
    assert all(listed)


@pytest.mark.parametrize("version", [0, 5])
async def test_listing_without_a_coordinator_is_a_code_that_clients_retry(
    coordinator: FakeCoordinator, version: int
) -> None:
    coordinator.is_away_with = ErrorCode.COORDINATOR_NOT_AVAILABLE

    listed = await call_groups(
        list_groups.HANDLER, ListGroupsRequest(), version, coordinator
    )

    assert listed.error_code == ErrorCode.COORDINATOR_NOT_AVAILABLE


# ---------------------------------------------------------------- describing


async def describe(
    coordinator: FakeCoordinator,
    *group_ids: str,
    version: int = 6,
    operations: bool = False,
) -> list[DescribeGroupsResponse.DescribedGroup]:
    request = DescribeGroupsRequest(
        groups=list(group_ids), include_authorized_operations=operations
    )
    answer = await call_groups(describe_groups.HANDLER, request, version, coordinator)
    return answer.groups


@pytest.mark.parametrize("version", range(7))
async def test_a_group_is_described_with_its_members(
    coordinator: FakeCoordinator, version: int
) -> None:
    (group,) = await describe(coordinator, "group", version=version)

    assert (group.error_code, group.group_id) == (0, "group")
    assert (group.group_state, group.protocol_type) == ("Stable", "consumer")
    assert group.protocol_data == "range"
    member, other = group.members
    assert (member.member_id, member.client_id) == ("member", "client")
    assert member.client_host == "/192.0.2.1"
    assert (member.member_metadata, member.member_assignment) == (
        b"metadata",
        b"assignment",
    )
    assert member.group_instance_id == ("instance" if version >= 4 else None)
    assert other.group_instance_id is None


@pytest.mark.parametrize("version", range(7))
async def test_a_group_that_is_not_there_is_dead_or_not_found(
    coordinator: FakeCoordinator, version: int
) -> None:
    found, absent = await describe(coordinator, "empty", "nobody", version=version)

    assert (found.error_code, found.group_state) == (0, "Empty")
    assert (absent.group_id, absent.group_state) == ("nobody", "Dead")
    if version >= 6:
        assert absent.error_code == ErrorCode.GROUP_ID_NOT_FOUND
        assert absent.error_message == "Group nobody not found."
    else:
        assert absent.error_code == ErrorCode.NONE


async def test_a_group_is_described_once_however_often_it_is_asked_for(
    coordinator: FakeCoordinator,
) -> None:
    """Kafka repeats its answer; of a large group that would be any amount of memory."""
    asked = ("group", "nobody", "group")

    found = await describe(coordinator, *asked)
    coordinator.is_away_with = ErrorCode.COORDINATOR_NOT_AVAILABLE
    refused = await describe(coordinator, *asked)

    assert [each.group_id for each in found] == ["group", "nobody"]
    assert [each.group_id for each in refused] == ["group", "nobody"]


async def test_operations_are_told_to_those_who_ask(coordinator: FakeCoordinator) -> None:
    (asked,) = await describe(coordinator, "group", operations=True)
    (not_asked,) = await describe(coordinator, "group")

    assert asked.authorized_operations == ON_GROUP
    assert not_asked.authorized_operations == NOT_ASKED


@pytest.mark.parametrize("version", [0, 6])
async def test_describing_without_a_coordinator_is_a_code_that_clients_retry(
    coordinator: FakeCoordinator, version: int
) -> None:
    coordinator.is_away_with = ErrorCode.COORDINATOR_NOT_AVAILABLE

    groups = await describe(coordinator, "group", "empty", version=version)

    assert [group.group_id for group in groups] == ["group", "empty"]
    codes = {group.error_code for group in groups}
    assert codes == {ErrorCode.COORDINATOR_NOT_AVAILABLE}


@pytest.mark.parametrize("version", [0, 6])
async def test_another_refusal_of_a_group_is_told(
    coordinator: FakeCoordinator, version: int
) -> None:
    coordinator.groups["group"] = Group(error_code=ErrorCode.GROUP_AUTHORIZATION_FAILED)

    (group,) = await describe(coordinator, "group", version=version)

    assert group.error_code == ErrorCode.GROUP_AUTHORIZATION_FAILED


# ---------------------------------------------------------------- deleting


async def delete(
    coordinator: FakeCoordinator, *group_ids: str, version: int = 2
) -> dict[str, int]:
    request = DeleteGroupsRequest(groups_names=list(group_ids))
    answer = await call_groups(delete_groups.HANDLER, request, version, coordinator)
    return {result.group_id: result.error_code for result in answer.results}


@pytest.mark.parametrize("version", [0, 1, 2])
async def test_groups_are_deleted_each_with_its_own_answer(
    coordinator: FakeCoordinator, version: int
) -> None:
    coordinator.group_codes["group"] = ErrorCode.NON_EMPTY_GROUP

    deleted = await delete(
        coordinator, "group", "empty", "nobody", "empty", version=version
    )

    assert deleted == {
        "group": ErrorCode.NON_EMPTY_GROUP,
        "empty": ErrorCode.NONE,
        "nobody": ErrorCode.GROUP_ID_NOT_FOUND,
    }
    assert list(coordinator.groups) == ["group"]


async def test_many_groups_are_deleted_at_once(coordinator: FakeCoordinator) -> None:
    names = [f"group-{number}" for number in range(100)]
    coordinator.groups = {name: Group(group_id=name) for name in names}

    assert await delete(coordinator, *names) == dict.fromkeys(names, 0)


async def test_deleting_without_a_coordinator_is_a_code_that_clients_retry(
    coordinator: FakeCoordinator,
) -> None:
    coordinator.is_away_with = ErrorCode.COORDINATOR_NOT_AVAILABLE

    deleted = await delete(coordinator, "group", "empty")

    assert set(deleted.values()) == {ErrorCode.COORDINATOR_NOT_AVAILABLE}
