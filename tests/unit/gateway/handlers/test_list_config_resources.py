import pytest

from korvet.gateway.config_resources import ResourceType
from korvet.gateway.handlers.list_config_resources import HANDLER
from korvet.kafka.errors import ErrorCode
from korvet.kafka.messages.list_config_resources import ListConfigResourcesRequest
from tests.support.fake_storage import FakeStorage
from tests.support.handler_calls import call, gateways


@pytest.fixture
def storage() -> FakeStorage:
    storage = FakeStorage()
    storage.add_topic("orders")
    return storage


async def listed(storage: FakeStorage, version: int, *types: int) -> list[tuple[int, str]]:
    request = ListConfigResourcesRequest(resource_types=list(types))
    cluster = gateways(storage, 1, 2)
    response = await call(HANDLER, request, version, storage, cluster=cluster)
    assert response.error_code == ErrorCode.NONE
    return [(each.resource_type, each.resource_name) for each in response.config_resources]


async def test_the_oldest_version_knows_only_client_metrics(storage: FakeStorage) -> None:
    assert await listed(storage, 0) == []


async def test_brokers_and_topics_are_listed(storage: FakeStorage) -> None:
    assert await listed(storage, 1) == [
        (ResourceType.BROKER, "1"),
        (ResourceType.BROKER, "2"),
        (ResourceType.TOPIC, "orders"),
    ]


async def test_only_the_types_asked_for_are_listed(storage: FakeStorage) -> None:
    assert await listed(storage, 1, ResourceType.TOPIC, ResourceType.GROUP) == [
        (ResourceType.TOPIC, "orders")
    ]


@pytest.mark.parametrize("unknown", [0, 1, 77])
async def test_an_unknown_type_is_refused(storage: FakeStorage, unknown: int) -> None:
    request = ListConfigResourcesRequest(resource_types=[ResourceType.TOPIC, unknown])

    response = await call(HANDLER, request, 1, storage)

    assert response.error_code == ErrorCode.UNSUPPORTED_VERSION
    assert response.config_resources == []
