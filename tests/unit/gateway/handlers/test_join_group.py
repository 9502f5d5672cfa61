import pytest

from korvet.gateway.handlers.join_group import HANDLER
from korvet.kafka.errors import ErrorCode
from korvet.kafka.messages.join_group import JoinGroupRequest, JoinGroupResponse
from korvet.proto.coordinator.v1 import coordinator_service_pb2 as pb
from tests.support.fake_coordinator import FakeCoordinator
from tests.support.handler_calls import call_groups


@pytest.fixture
def coordinator() -> FakeCoordinator:
    return FakeCoordinator()


def request(
    group_id: str = "group",
    *,
    member_id: str = "",
    instance_id: str | None = None,
    reason: str | None = None,
) -> JoinGroupRequest:
    return JoinGroupRequest(
        group_id=group_id,
        session_timeout_ms=10_000,
        rebalance_timeout_ms=60_000,
        member_id=member_id,
        group_instance_id=instance_id,
        protocol_type="consumer",
        protocols=[
            JoinGroupRequest.JoinGroupRequestProtocol(name="range", metadata=b"one"),
            JoinGroupRequest.JoinGroupRequestProtocol(name="sticky", metadata=b"two"),
        ],
        reason=reason,
    )


async def join(
    coordinator: FakeCoordinator, asked: JoinGroupRequest, version: int = 9
) -> JoinGroupResponse:
    return await call_groups(HANDLER, asked, version, coordinator)


def passed_on(coordinator: FakeCoordinator) -> pb.JoinGroupRequest:
    (asked,) = coordinator.requests
    assert isinstance(asked, pb.JoinGroupRequest)
    return asked


@pytest.mark.parametrize("version", range(10))
async def test_a_leader_hears_of_the_members(
    coordinator: FakeCoordinator, version: int
) -> None:
    coordinator.joined.members.add(member_id="member", metadata=b"one")
    coordinator.joined.members.add(
        member_id="static", group_instance_id="instance", metadata=b"two"
    )

    joined = await join(coordinator, request(), version)

    assert (joined.error_code, joined.generation_id) == (0, 1)
    assert (joined.leader, joined.member_id) == ("member", "member")
    assert joined.protocol_name == "range"
    assert joined.protocol_type == ("consumer" if version >= 7 else None)
    members = [(member.member_id, member.metadata) for member in joined.members]
    assert members == [("member", b"one"), ("static", b"two")]
    instances = [member.group_instance_id for member in joined.members]
    assert instances == [None, "instance" if version >= 5 else None]


async def test_everything_that_a_member_says_is_passed_on(
    coordinator: FakeCoordinator,
) -> None:
    asked = request(member_id="me", instance_id="instance", reason="why not")
    await join(coordinator, asked, 9)

    assert passed_on(coordinator) == pb.JoinGroupRequest(
        group_id="group",
        member_id="me",
        group_instance_id="instance",
        protocol_type="consumer",
        protocols=[
            pb.MemberProtocol(name="range", metadata=b"one"),
            pb.MemberProtocol(name="sticky", metadata=b"two"),
        ],
        session_timeout_ms=10_000,
        rebalance_timeout_ms=60_000,
        can_skip_assignment=True,
        client_id="test",
        client_host="127.0.0.1",
        principal="User:ANONYMOUS",
        reason="why not",
    )


@pytest.mark.parametrize("version", range(10))
async def test_versions_differ_in_what_they_ask_for(
    coordinator: FakeCoordinator, version: int
) -> None:
    await join(coordinator, request(), version)

    asked = passed_on(coordinator)
    assert asked.rebalance_timeout_ms == (60_000 if version >= 1 else 10_000)
    assert asked.requires_member_id == (version >= 4)
    assert asked.can_skip_assignment == (version >= 9)
    assert not asked.HasField("group_instance_id")


async def test_static_members_need_no_second_join(coordinator: FakeCoordinator) -> None:
    await join(coordinator, request(instance_id="instance"))

    assert not passed_on(coordinator).requires_member_id


async def test_a_leader_may_be_told_to_assign_nothing(coordinator: FakeCoordinator) -> None:
    coordinator.joined.skip_assignment = True

    assert (await join(coordinator, request())).skip_assignment


@pytest.mark.parametrize("version", [4, 6, 7, 9])
async def test_a_new_member_is_given_an_id(
    coordinator: FakeCoordinator, version: int
) -> None:
    coordinator.joined = pb.JoinGroupResponse(
        error_code=ErrorCode.MEMBER_ID_REQUIRED, member_id="given"
    )

    refused = await join(coordinator, request(), version)

    assert refused.error_code == ErrorCode.MEMBER_ID_REQUIRED
    assert (refused.member_id, refused.generation_id) == ("given", -1)
    assert refused.protocol_name == (None if version >= 7 else "")


@pytest.mark.parametrize(
    "code",
    [
        ErrorCode.UNKNOWN_MEMBER_ID,
        ErrorCode.INCONSISTENT_GROUP_PROTOCOL,
        ErrorCode.INVALID_SESSION_TIMEOUT,
        ErrorCode.GROUP_MAX_SIZE_REACHED,
        ErrorCode.FENCED_INSTANCE_ID,
    ],
)
@pytest.mark.parametrize("version", [0, 9])
async def test_a_refusal_is_told(
    coordinator: FakeCoordinator, version: int, code: ErrorCode
) -> None:
    coordinator.joined = pb.JoinGroupResponse(error_code=code)

    refused = await join(coordinator, request(member_id="me"), version)

    assert (refused.error_code, refused.member_id) == (code, "me")
    assert refused.members == []


@pytest.mark.parametrize("version", [0, 9])
async def test_a_group_must_have_a_name(coordinator: FakeCoordinator, version: int) -> None:
    refused = await join(coordinator, request(""), version)

    assert refused.error_code == ErrorCode.INVALID_GROUP_ID
    assert coordinator.requests == []


@pytest.mark.parametrize("version", [0, 9])
async def test_without_a_coordinator_the_code_is_one_that_clients_retry(
    coordinator: FakeCoordinator, version: int
) -> None:
    coordinator.is_away_with = ErrorCode.COORDINATOR_NOT_AVAILABLE

    refused = await join(coordinator, request(member_id="me"), version)

    assert refused.error_code == ErrorCode.COORDINATOR_NOT_AVAILABLE
    assert refused.member_id == "me"


def test_a_client_that_goes_takes_its_request_with_it() -> None:
    assert HANDLER.cancellable
