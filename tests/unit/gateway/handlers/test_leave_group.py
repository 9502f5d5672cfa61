import pytest

from korvet.gateway.handlers.leave_group import HANDLER
from korvet.kafka.errors import ErrorCode
from korvet.kafka.messages.leave_group import LeaveGroupRequest, LeaveGroupResponse
from korvet.proto.coordinator.v1 import coordinator_service_pb2 as pb
from tests.support.fake_coordinator import FakeCoordinator
from tests.support.handler_calls import call_groups

Member = LeaveGroupRequest.MemberIdentity


@pytest.fixture
def coordinator() -> FakeCoordinator:
    coordinator = FakeCoordinator()
    coordinator.leave_codes["stranger"] = ErrorCode.UNKNOWN_MEMBER_ID
    return coordinator


def several() -> LeaveGroupRequest:
    return LeaveGroupRequest(
        group_id="group",
        members=[
            Member(member_id="member"),
            Member(group_instance_id="instance"),
            Member(member_id="stranger"),
        ],
    )


async def leave(
    coordinator: FakeCoordinator, request: LeaveGroupRequest, version: int
) -> LeaveGroupResponse:
    return await call_groups(HANDLER, request, version, coordinator)


@pytest.mark.parametrize("version", [0, 1, 2])
@pytest.mark.parametrize(
    ("member_id", "code"),
    [("member", ErrorCode.NONE), ("stranger", ErrorCode.UNKNOWN_MEMBER_ID)],
)
async def test_one_member_leaves_by_itself(
    coordinator: FakeCoordinator, version: int, member_id: str, code: ErrorCode
) -> None:
    request = LeaveGroupRequest(group_id="group", member_id=member_id)

    left = await leave(coordinator, request, version)

    assert left.error_code == code
    (asked,) = coordinator.requests
    assert isinstance(asked, pb.LeaveGroupRequest)
    assert [member.member_id for member in asked.members] == [member_id]
    assert not asked.members[0].HasField("group_instance_id")


@pytest.mark.parametrize("version", [3, 4, 5])
async def test_several_members_leave_each_with_its_own_answer(
    coordinator: FakeCoordinator, version: int
) -> None:
    left = await leave(coordinator, several(), version)

    answers = [
        (member.member_id, member.group_instance_id, member.error_code)
        for member in left.members
    ]
    assert left.error_code == ErrorCode.NONE
    assert answers == [
        ("member", None, ErrorCode.NONE),
        ("", "instance", ErrorCode.NONE),
        ("stranger", None, ErrorCode.UNKNOWN_MEMBER_ID),
    ]


async def test_a_reason_is_passed_on(coordinator: FakeCoordinator) -> None:
    members = [Member(member_id="member", reason="tired")]
    await leave(coordinator, LeaveGroupRequest(group_id="group", members=members), 5)

    expected = pb.LeaveGroupRequest.Member(member_id="member", reason="tired")
    assert coordinator.requests == [
        pb.LeaveGroupRequest(group_id="group", members=[expected])
    ]


@pytest.mark.parametrize("version", [0, 5])
async def test_a_group_must_have_a_name(coordinator: FakeCoordinator, version: int) -> None:
    left = await leave(coordinator, LeaveGroupRequest(), version)

    assert left.error_code == ErrorCode.INVALID_GROUP_ID
    assert coordinator.requests == []


async def test_a_refusal_of_the_whole_request_is_told(coordinator: FakeCoordinator) -> None:
    coordinator.group_codes["group"] = ErrorCode.UNKNOWN_MEMBER_ID

    left = await leave(coordinator, several(), 5)

    assert (left.error_code, left.members) == (ErrorCode.UNKNOWN_MEMBER_ID, [])


@pytest.mark.parametrize("version", [0, 5])
async def test_without_a_coordinator_the_code_is_one_that_clients_retry(
    coordinator: FakeCoordinator, version: int
) -> None:
    coordinator.is_away_with = ErrorCode.COORDINATOR_NOT_AVAILABLE

    left = await leave(coordinator, LeaveGroupRequest(group_id="group"), version)

    assert left.error_code == ErrorCode.COORDINATOR_NOT_AVAILABLE


def test_members_leave_even_if_their_connection_is_gone() -> None:
    assert not HANDLER.cancellable
