import pytest

from korvet.gateway.handlers.heartbeat import HANDLER
from korvet.kafka.errors import ErrorCode
from korvet.kafka.messages.heartbeat import HeartbeatRequest
from korvet.proto.coordinator.v1 import coordinator_service_pb2 as pb
from tests.support.fake_coordinator import FakeCoordinator
from tests.support.handler_calls import call_groups


@pytest.fixture
def coordinator() -> FakeCoordinator:
    return FakeCoordinator()


async def beat(
    coordinator: FakeCoordinator,
    group_id: str = "group",
    *,
    instance_id: str | None = None,
    version: int = 4,
) -> int:
    request = HeartbeatRequest(
        group_id=group_id,
        generation_id=2,
        member_id="member",
        group_instance_id=instance_id,
    )
    return (await call_groups(HANDLER, request, version, coordinator)).error_code


@pytest.mark.parametrize("version", range(5))
@pytest.mark.parametrize(
    "code",
    [
        ErrorCode.NONE,
        ErrorCode.REBALANCE_IN_PROGRESS,
        ErrorCode.ILLEGAL_GENERATION,
        ErrorCode.UNKNOWN_MEMBER_ID,
        ErrorCode.FENCED_INSTANCE_ID,
    ],
)
async def test_a_member_hears_what_the_coordinator_says(
    coordinator: FakeCoordinator, version: int, code: ErrorCode
) -> None:
    coordinator.heartbeat_code = code

    assert await beat(coordinator, version=version) == code


async def test_everything_that_a_member_says_is_passed_on(
    coordinator: FakeCoordinator,
) -> None:
    await beat(coordinator, instance_id="instance")
    await beat(coordinator)

    plain = pb.HeartbeatRequest(group_id="group", generation_id=2, member_id="member")
    static = pb.HeartbeatRequest(
        group_id="group",
        generation_id=2,
        member_id="member",
        group_instance_id="instance",
    )
    assert coordinator.requests == [static, plain]


async def test_a_group_must_have_a_name(coordinator: FakeCoordinator) -> None:
    assert await beat(coordinator, "") == ErrorCode.INVALID_GROUP_ID


async def test_without_a_coordinator_the_code_is_one_that_clients_retry(
    coordinator: FakeCoordinator,
) -> None:
    coordinator.is_away_with = ErrorCode.COORDINATOR_NOT_AVAILABLE

    assert await beat(coordinator) == ErrorCode.COORDINATOR_NOT_AVAILABLE
