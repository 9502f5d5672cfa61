import pytest

from korvet.gateway.handlers.sync_group import HANDLER
from korvet.kafka.errors import ErrorCode
from korvet.kafka.messages.sync_group import SyncGroupRequest, SyncGroupResponse
from korvet.proto.coordinator.v1 import coordinator_service_pb2 as pb
from tests.support.fake_coordinator import FakeCoordinator
from tests.support.handler_calls import call_groups


@pytest.fixture
def coordinator() -> FakeCoordinator:
    return FakeCoordinator()


def request(
    group_id: str = "group",
    *,
    instance_id: str | None = None,
    protocol_type: str | None = "consumer",
    protocol_name: str | None = "range",
) -> SyncGroupRequest:
    return SyncGroupRequest(
        group_id=group_id,
        generation_id=3,
        member_id="member",
        group_instance_id=instance_id,
        protocol_type=protocol_type,
        protocol_name=protocol_name,
        assignments=[
            SyncGroupRequest.SyncGroupRequestAssignment(
                member_id="member", assignment=b"all"
            )
        ],
    )


async def sync(
    coordinator: FakeCoordinator, asked: SyncGroupRequest, version: int = 5
) -> SyncGroupResponse:
    return await call_groups(HANDLER, asked, version, coordinator)


@pytest.mark.parametrize("version", range(6))
async def test_a_member_gets_its_assignment(
    coordinator: FakeCoordinator, version: int
) -> None:
    synced = await sync(coordinator, request(), version)

    assert (synced.error_code, synced.assignment) == (0, b"assignment")
    names = (synced.protocol_type, synced.protocol_name)
    assert names == (("consumer", "range") if version >= 5 else (None, None))


async def test_everything_that_a_member_says_is_passed_on(
    coordinator: FakeCoordinator,
) -> None:
    await sync(coordinator, request(instance_id="instance"))

    assert coordinator.requests == [
        pb.SyncGroupRequest(
            group_id="group",
            generation_id=3,
            member_id="member",
            group_instance_id="instance",
            protocol_type="consumer",
            protocol_name="range",
            assignments=[
                pb.SyncGroupRequest.Assignment(member_id="member", assignment=b"all")
            ],
        )
    ]


async def test_what_a_version_does_not_say_is_left_open(
    coordinator: FakeCoordinator,
) -> None:
    await sync(coordinator, request(), 0)

    (asked,) = coordinator.requests
    assert isinstance(asked, pb.SyncGroupRequest)
    for field in ("group_instance_id", "protocol_type", "protocol_name"):
        assert not asked.HasField(field)


@pytest.mark.parametrize(
    ("protocol_type", "protocol_name"), [(None, "range"), ("consumer", None)]
)
async def test_newer_members_must_name_the_protocol(
    coordinator: FakeCoordinator, protocol_type: str | None, protocol_name: str | None
) -> None:
    asked = request(protocol_type=protocol_type, protocol_name=protocol_name)

    refused = await sync(coordinator, asked)

    assert refused.error_code == ErrorCode.INCONSISTENT_GROUP_PROTOCOL
    assert coordinator.requests == []


@pytest.mark.parametrize(
    "code",
    [
        ErrorCode.UNKNOWN_MEMBER_ID,
        ErrorCode.ILLEGAL_GENERATION,
        ErrorCode.REBALANCE_IN_PROGRESS,
        ErrorCode.FENCED_INSTANCE_ID,
    ],
)
@pytest.mark.parametrize("version", [0, 5])
async def test_a_refusal_is_told(
    coordinator: FakeCoordinator, version: int, code: ErrorCode
) -> None:
    coordinator.synced = pb.SyncGroupResponse(error_code=code)

    refused = await sync(coordinator, request(), version)

    assert (refused.error_code, refused.assignment) == (code, b"")


async def test_a_group_must_have_a_name(coordinator: FakeCoordinator) -> None:
    refused = await sync(coordinator, request(""))

    assert refused.error_code == ErrorCode.INVALID_GROUP_ID


async def test_without_a_coordinator_the_code_is_one_that_clients_retry(
    coordinator: FakeCoordinator,
) -> None:
    coordinator.is_away_with = ErrorCode.COORDINATOR_NOT_AVAILABLE

    refused = await sync(coordinator, request())

    assert refused.error_code == ErrorCode.COORDINATOR_NOT_AVAILABLE


def test_a_client_that_goes_takes_its_request_with_it() -> None:
    assert HANDLER.cancellable
