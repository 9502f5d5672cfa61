"""AlterConfigs and IncrementalAlterConfigs: the same rules for what can change."""

import pytest

from korvet.gateway.config_resources import ResourceType
from korvet.gateway.handlers import alter_configs, incremental_alter_configs
from korvet.kafka.errors import ErrorCode, KafkaError
from korvet.kafka.messages.alter_configs import AlterConfigsRequest
from korvet.kafka.messages.incremental_alter_configs import (
    IncrementalAlterConfigsRequest,
    IncrementalAlterConfigsResponse,
)
from korvet.proto.storage.v1 import storage_service_pb2 as pb
from tests.support.fake_storage import FakeStorage
from tests.support.handler_calls import call

Resource = IncrementalAlterConfigsRequest.AlterConfigsResource
Config = IncrementalAlterConfigsRequest.AlterableConfig
Result = IncrementalAlterConfigsResponse.AlterConfigsResourceResponse

SET, DELETE, APPEND, SUBTRACT = range(4)
ORDERS = (ResourceType.TOPIC, "orders")


def resource(
    kind: int, name: str, *changes: tuple[str, int, str | None]
) -> IncrementalAlterConfigsRequest.AlterConfigsResource:
    return Resource(
        resource_type=kind,
        resource_name=name,
        configs=[
            Config(name=config, config_operation=operation, value=value)
            for config, operation, value in changes
        ],
    )


async def alter(
    storage: FakeStorage,
    *resources: Resource,
    version: int = 1,
    validate_only: bool = False,
) -> list[Result]:
    request = IncrementalAlterConfigsRequest(
        resources=list(resources), validate_only=validate_only
    )
    handler = incremental_alter_configs.HANDLER
    return (await call(handler, request, version, storage)).responses


@pytest.fixture
def storage() -> FakeStorage:
    storage = FakeStorage()
    storage.add_topic("orders")
    return storage


@pytest.mark.parametrize("version", [0, 1])
async def test_each_operation_reaches_storage(storage: FakeStorage, version: int) -> None:
    (result,) = await alter(
        storage,
        resource(
            *ORDERS,
            ("retention.ms", SET, "1000"),
            ("segment.ms", DELETE, None),
            ("cleanup.policy", APPEND, "compact"),
            ("leader.replication.throttled.replicas", SUBTRACT, "0:1"),
        ),
        version=version,
        validate_only=True,
    )

    assert (result.error_code, result.error_message) == (ErrorCode.NONE, None)
    assert (result.resource_type, result.resource_name) == ORDERS
    expected = pb.TopicConfigChange(
        topic="orders",
        changes=[
            pb.ConfigChange(
                name="retention.ms", operation=pb.CONFIG_OPERATION_SET, value="1000"
            ),
            pb.ConfigChange(name="segment.ms", operation=pb.CONFIG_OPERATION_DELETE),
            pb.ConfigChange(
                name="cleanup.policy", operation=pb.CONFIG_OPERATION_APPEND, value="compact"
            ),
            pb.ConfigChange(
                name="leader.replication.throttled.replicas",
                operation=pb.CONFIG_OPERATION_SUBTRACT,
                value="0:1",
            ),
        ],
    )
    assert storage.requests == [
        pb.AlterTopicConfigsRequest(topics=[expected], validate_only=True)
    ]


async def test_topics_go_to_storage_together_and_each_gets_its_own_answer(
    storage: FakeStorage,
) -> None:
    storage.add_topic("fixed")
    reason = "storage.format is fixed"
    storage.topic_refusals["fixed"] = KafkaError(ErrorCode.INVALID_CONFIG, reason)

    results = await alter(
        storage,
        resource(ResourceType.TOPIC, "missing", ("retention.ms", SET, "1")),
        resource(ResourceType.BROKER, "1", ("num.partitions", SET, "3")),
        resource(ResourceType.TOPIC, "fixed", ("storage.format", SET, "batch")),
        resource(*ORDERS, ("retention.ms", SET, "1")),
    )

    assert [each.error_code for each in results] == [
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        ErrorCode.INVALID_REQUEST,
        ErrorCode.INVALID_CONFIG,
        ErrorCode.NONE,
    ]
    assert results[2].error_message == reason
    assert len(storage.requests) == 1


@pytest.mark.parametrize(
    ("asked", "code", "reason"),
    [
        (resource(*ORDERS, ("a", SET, None)), 42, "Null value"),
        (resource(*ORDERS, ("a", APPEND, None)), 42, "Null value"),
        (resource(*ORDERS, ("a", SET, "1"), ("a", DELETE, None)), 42, "duplicate"),
        (resource(*ORDERS, ("a", 9, "1")), 42, "Unknown operation"),
        (resource(ResourceType.TOPIC, "", ("a", SET, "1")), 42, "Default topic"),
        (resource(ResourceType.BROKER, "1", ("a", SET, "1")), 42, "fixed when they start"),
        (resource(ResourceType.BROKER, "", ("a", SET, "1")), 42, "fixed when they start"),
        (resource(ResourceType.BROKER, "2"), 42, "expected 1, but received 2"),
        (resource(ResourceType.BROKER, "one"), 42, "must be an integer"),
        (resource(ResourceType.BROKER_LOGGER, "1", ("root", SET, "INFO")), 40, "root"),
        (resource(ResourceType.BROKER_LOGGER, ""), 42, "must be an integer"),
        (resource(ResourceType.GROUP, "readers", ("a", SET, "1")), 40, "Unknown group"),
        (resource(ResourceType.GROUP, ""), 42, "Default group"),
        (resource(ResourceType.CLIENT_METRICS, "m", ("a", SET, "1")), 42, "Unknown client"),
        (resource(0, "orders"), 42, "Unknown resource type 0"),
        (resource(77, "orders"), 42, "Unknown resource type 77"),
    ],
)
async def test_what_cannot_change_is_refused_with_a_reason(
    storage: FakeStorage, asked: Resource, code: int, reason: str
) -> None:
    (result,) = await alter(storage, asked)

    assert result.error_code == code
    assert reason in (result.error_message or "")
    assert storage.requests == []


@pytest.mark.parametrize(
    "asked",
    [
        resource(
            ResourceType.BROKER, "1", ("leader.replication.throttled.rate", DELETE, "")
        ),
        resource(ResourceType.BROKER, ""),
        resource(ResourceType.GROUP, "readers", ("a", DELETE, None)),
        resource(ResourceType.CLIENT_METRICS, "all", ("a", DELETE, None)),
        resource(ResourceType.BROKER_LOGGER, "1", ("root", DELETE, None)),
    ],
)
async def test_taking_back_what_was_never_set_changes_nothing_and_succeeds(
    storage: FakeStorage, asked: Resource
) -> None:
    (result,) = await alter(storage, asked)

    assert result.error_code == ErrorCode.NONE


async def test_a_resource_given_twice_is_refused_each_time(storage: FakeStorage) -> None:
    asked = resource(*ORDERS, ("retention.ms", SET, "1"))

    results = await alter(storage, asked, asked)

    assert [each.error_code for each in results] == [ErrorCode.INVALID_REQUEST] * 2
    assert storage.requests == []


@pytest.mark.parametrize("version", [0, 2])
async def test_the_older_api_replaces_all_configs_of_a_topic(
    storage: FakeStorage, version: int
) -> None:
    request = AlterConfigsRequest(
        resources=[
            AlterConfigsRequest.AlterConfigsResource(
                resource_type=ResourceType.TOPIC,
                resource_name="orders",
                configs=[
                    AlterConfigsRequest.AlterableConfig(name="retention.ms", value="1")
                ],
            ),
            AlterConfigsRequest.AlterConfigsResource(
                resource_type=ResourceType.BROKER,
                resource_name="1",
                configs=[AlterConfigsRequest.AlterableConfig(name="a", value=None)],
            ),
        ]
    )

    response = await call(alter_configs.HANDLER, request, version, storage)

    assert [each.error_code for each in response.responses] == [
        ErrorCode.NONE,
        ErrorCode.INVALID_REQUEST,
    ]
    change = pb.ConfigChange(
        name="retention.ms", operation=pb.CONFIG_OPERATION_SET, value="1"
    )
    assert storage.requests == [
        pb.AlterTopicConfigsRequest(
            topics=[
                pb.TopicConfigChange(topic="orders", replace_all=True, changes=[change])
            ]
        )
    ]


@pytest.mark.parametrize("version", [0, 1])
async def test_every_resource_gets_the_code_when_storage_is_away(
    storage: FakeStorage, version: int
) -> None:
    storage.is_away_with = ErrorCode.REQUEST_TIMED_OUT

    results = await alter(storage, resource(*ORDERS), version=version)

    assert [(each.resource_name, each.error_code) for each in results] == [
        ("orders", ErrorCode.REQUEST_TIMED_OUT)
    ]


@pytest.mark.parametrize("version", [0, 2])
async def test_so_does_every_resource_of_the_older_api(
    storage: FakeStorage, version: int
) -> None:
    storage.is_away_with = ErrorCode.REQUEST_TIMED_OUT
    request = AlterConfigsRequest(
        resources=[
            AlterConfigsRequest.AlterConfigsResource(
                resource_type=ResourceType.TOPIC, resource_name="orders"
            )
        ]
    )

    response = await call(alter_configs.HANDLER, request, version, storage)

    assert [each.error_code for each in response.responses] == [ErrorCode.REQUEST_TIMED_OUT]
