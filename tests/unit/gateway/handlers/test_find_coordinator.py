import pytest

from korvet.gateway.handlers.find_coordinator import HANDLER
from korvet.kafka.errors import ErrorCode
from korvet.kafka.messages.find_coordinator import (
    FindCoordinatorRequest,
    FindCoordinatorResponse,
)
from tests.support.fake_coordinator import FakeCoordinator
from tests.support.fake_storage import FakeStorage
from tests.support.gateway_context import THIS_BROKER
from tests.support.handler_calls import call_groups, gateways

CLUSTER = gateways(FakeStorage(), 0, THIS_BROKER.node_id, 7)


async def ask(request: FindCoordinatorRequest, version: int) -> FindCoordinatorResponse:
    return await call_groups(HANDLER, request, version, FakeCoordinator(), cluster=CLUSTER)


@pytest.mark.parametrize("version", range(4))
@pytest.mark.parametrize("group", ["a", "b", "c"])
async def test_a_group_has_one_gateway(group: str, version: int) -> None:
    found = await ask(FindCoordinatorRequest(key=group), version)

    assert found.error_code == ErrorCode.NONE
    assert (found.node_id, found.host, found.port) == CLUSTER.coordinator(group)[:3]


@pytest.mark.parametrize("version", [4, 5, 6])
async def test_several_groups_are_found_at_once(version: int) -> None:
    found = await ask(FindCoordinatorRequest(coordinator_keys=["a", "b"]), version)

    assert [coordinator.key for coordinator in found.coordinators] == ["a", "b"]
    for coordinator in found.coordinators:
        where = (coordinator.node_id, coordinator.host, coordinator.port)
        assert where == CLUSTER.coordinator(coordinator.key)[:3]
        assert coordinator.error_code == ErrorCode.NONE


async def test_no_groups_are_no_coordinators() -> None:
    assert (await ask(FindCoordinatorRequest(), 6)).coordinators == []


@pytest.mark.parametrize("version", range(1, 7))
async def test_a_transactional_id_has_one_gateway_too(version: int) -> None:
    if version < 4:
        old = await ask(FindCoordinatorRequest(key="id", key_type=1), version)
        where = (old.error_code, old.node_id, old.host, old.port)
    else:
        request = FindCoordinatorRequest(coordinator_keys=["id"], key_type=1)
        (only,) = (await ask(request, version)).coordinators
        where = (only.error_code, only.node_id, only.host, only.port)

    assert where == (ErrorCode.NONE, *CLUSTER.coordinator("id")[:3])


@pytest.mark.parametrize("key_type", [2, 3, -1])
async def test_coordinators_of_other_things_are_refused_for_good(key_type: int) -> None:
    code = ErrorCode.INVALID_REQUEST
    old = await ask(FindCoordinatorRequest(key="id", key_type=key_type), 1)
    new = await ask(FindCoordinatorRequest(coordinator_keys=["id"], key_type=key_type), 6)

    assert (old.error_code, old.node_id, old.port) == (code, -1, -1)
    assert old.error_message
    assert [each.error_code for each in new.coordinators] == [code]
    assert new.coordinators[0].error_message
