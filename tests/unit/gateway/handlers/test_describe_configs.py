import pytest

from korvet.gateway.config_resources import ConfigSource, ResourceType
from korvet.gateway.handler import BrokerConfig
from korvet.gateway.handlers.describe_configs import HANDLER
from korvet.kafka.errors import ErrorCode, KafkaError
from korvet.kafka.messages.describe_configs import (
    DescribeConfigsRequest,
    DescribeConfigsResponse,
)
from korvet.proto.storage.v1 import storage_service_pb2 as pb
from tests.support.fake_coordinator import FakeCoordinator
from tests.support.fake_storage import FakeStorage
from tests.support.handler_calls import call

Result = DescribeConfigsResponse.DescribeConfigsResult

RETENTION = pb.Config(
    name="retention.ms",
    value="1000",
    source=pb.CONFIG_SOURCE_TOPIC,
    type=pb.CONFIG_TYPE_LONG,
    documentation="How long.",
    default_value="604800000",
)
FORMAT = pb.Config(
    name="storage.format",
    value="batch",
    source=pb.CONFIG_SOURCE_SERVER,
    type=pb.CONFIG_TYPE_STRING,
    documentation="How.",
    read_only=True,
    default_value="record",
)
POLICY = pb.Config(
    name="cleanup.policy",
    value="delete",
    source=pb.CONFIG_SOURCE_DEFAULT,
    type=pb.CONFIG_TYPE_LIST,
    documentation="What goes.",
    default_value="delete",
)
LISTENERS = BrokerConfig(
    name="listeners",
    value="PLAINTEXT://127.0.0.1:9092",
    is_set=True,
    type=pb.CONFIG_TYPE_LIST,
    documentation="Where.",
)
MAX_CONNECTIONS = BrokerConfig(
    name="max.connections",
    value="10000",
    is_set=False,
    type=pb.CONFIG_TYPE_INT,
    documentation="How many.",
)


@pytest.fixture
def storage() -> FakeStorage:
    storage = FakeStorage()
    topic = storage.add_topic("orders")
    topic.configs.extend([POLICY, RETENTION, FORMAT])
    storage.settings = [
        pb.Config(
            name="num.partitions",
            value="3",
            source=pb.CONFIG_SOURCE_SERVER,
            type=pb.CONFIG_TYPE_INT,
            read_only=True,
            default_value="1",
        )
    ]
    return storage


async def describe(
    storage: FakeStorage,
    *resources: tuple[int, str],
    keys: list[str] | None = None,
    version: int = 4,
    include_synonyms: bool = False,
    include_documentation: bool = False,
    coordinator: FakeCoordinator | None = None,
) -> list[Result]:
    request = DescribeConfigsRequest(
        resources=[
            DescribeConfigsRequest.DescribeConfigsResource(
                resource_type=kind, resource_name=name, configuration_keys=keys
            )
            for kind, name in resources
        ],
        include_synonyms=include_synonyms,
        include_documentation=include_documentation,
    )
    configs = (LISTENERS, MAX_CONNECTIONS)
    response = await call(
        HANDLER, request, version, storage, coordinator=coordinator, broker_configs=configs
    )
    return response.results


def values(result: Result) -> dict[str, str | None]:
    assert result.error_code == ErrorCode.NONE
    return {config.name: config.value for config in result.configs}


async def test_a_topics_configs_say_where_they_come_from(storage: FakeStorage) -> None:
    (result,) = await describe(storage, (ResourceType.TOPIC, "orders"))

    assert (result.resource_type, result.resource_name) == (ResourceType.TOPIC, "orders")
    assert [
        (each.name, each.value, each.config_source, each.read_only, each.config_type)
        for each in result.configs
    ] == [
        ("cleanup.policy", "delete", ConfigSource.DEFAULT_CONFIG, False, 7),
        ("retention.ms", "1000", ConfigSource.DYNAMIC_TOPIC_CONFIG, False, 5),
        ("storage.format", "batch", ConfigSource.STATIC_BROKER_CONFIG, True, 2),
    ]
    assert not any(each.synonyms or each.documentation for each in result.configs)


@pytest.mark.parametrize("keys", [None, []])
async def test_without_names_all_configs_are_described(
    storage: FakeStorage, keys: list[str] | None
) -> None:
    (result,) = await describe(storage, (ResourceType.TOPIC, "orders"), keys=keys)

    assert len(result.configs) == 3


async def test_only_those_that_were_asked_for_are_described(storage: FakeStorage) -> None:
    keys = ["retention.ms", "no.such.config"]

    (result,) = await describe(storage, (ResourceType.TOPIC, "orders"), keys=keys)

    assert values(result) == {"retention.ms": "1000"}


@pytest.mark.parametrize("version", [1, 4])
async def test_synonyms_end_with_the_built_in_default(
    storage: FakeStorage, version: int
) -> None:
    (result,) = await describe(
        storage, (ResourceType.TOPIC, "orders"), version=version, include_synonyms=True
    )

    assert [[(s.value, s.source) for s in each.synonyms] for each in result.configs] == [
        [("delete", ConfigSource.DEFAULT_CONFIG)],
        [
            ("1000", ConfigSource.DYNAMIC_TOPIC_CONFIG),
            ("604800000", ConfigSource.DEFAULT_CONFIG),
        ],
        [
            ("batch", ConfigSource.STATIC_BROKER_CONFIG),
            ("record", ConfigSource.DEFAULT_CONFIG),
        ],
    ]


async def test_documentation_comes_when_asked_for(storage: FakeStorage) -> None:
    (result,) = await describe(
        storage, (ResourceType.TOPIC, "orders"), include_documentation=True
    )

    assert [each.documentation for each in result.configs] == [
        "What goes.",
        "How long.",
        "How.",
    ]


async def test_an_unknown_topic_is_refused_and_others_are_described(
    storage: FakeStorage,
) -> None:
    results = await describe(
        storage, (ResourceType.TOPIC, "missing"), (ResourceType.TOPIC, "orders")
    )

    assert [each.error_code for each in results] == [
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        ErrorCode.NONE,
    ]
    assert len(storage.requests) == 1


async def test_a_topic_asked_for_twice_is_described_once(storage: FakeStorage) -> None:
    orders = (ResourceType.TOPIC, "orders")

    results = await describe(storage, orders, orders)

    assert [each.error_code for each in results] == [ErrorCode.NONE]


async def test_a_brokers_configs_are_those_of_gateway_and_storage(
    storage: FakeStorage,
) -> None:
    (result,) = await describe(storage, (ResourceType.BROKER, "1"), include_synonyms=True)

    assert [(each.name, each.value, each.config_source) for each in result.configs] == [
        ("listeners", "PLAINTEXT://127.0.0.1:9092", ConfigSource.STATIC_BROKER_CONFIG),
        ("max.connections", "10000", ConfigSource.DEFAULT_CONFIG),
        ("num.partitions", "3", ConfigSource.STATIC_BROKER_CONFIG),
    ]
    assert all(each.read_only for each in result.configs)
    assert [len(each.synonyms) for each in result.configs] == [1, 1, 2]


async def test_a_brokers_configs_are_those_of_the_coordinator_too(
    storage: FakeStorage,
) -> None:
    coordinator = FakeCoordinator()
    coordinator.settings = [
        pb.Config(
            name="group.max.size", value="9", source=pb.CONFIG_SOURCE_SERVER, read_only=True
        )
    ]

    (result,) = await describe(storage, (ResourceType.BROKER, "1"), coordinator=coordinator)

    assert values(result)["group.max.size"] == "9"
    assert values(result)["num.partitions"] == "3"


async def test_a_broker_is_not_described_in_part(storage: FakeStorage) -> None:
    coordinator = FakeCoordinator()
    coordinator.is_away_with = ErrorCode.REQUEST_TIMED_OUT

    (result,) = await describe(storage, (ResourceType.BROKER, "1"), coordinator=coordinator)

    assert result.error_code == ErrorCode.REQUEST_TIMED_OUT
    assert result.configs == []


async def test_there_are_no_cluster_wide_defaults_of_brokers(storage: FakeStorage) -> None:
    (result,) = await describe(storage, (ResourceType.BROKER, ""))

    assert values(result) == {}
    assert storage.requests == []


@pytest.mark.parametrize(
    ("kind", "name"),
    [
        (ResourceType.BROKER, "2"),
        (ResourceType.BROKER, "one"),
        (ResourceType.BROKER, "1" * 5000),
        (ResourceType.BROKER_LOGGER, "2"),
        (ResourceType.BROKER_LOGGER, ""),
        (ResourceType.GROUP, ""),
        (ResourceType.CLIENT_METRICS, ""),
        (0, "orders"),
        (77, "orders"),
        (-1, "orders"),
    ],
)
@pytest.mark.parametrize("version", [1, 4])
async def test_what_cannot_be_described_is_refused_with_a_reason(
    storage: FakeStorage, kind: int, name: str, version: int
) -> None:
    (result,) = await describe(storage, (kind, name), version=version)

    assert result.error_code == ErrorCode.INVALID_REQUEST
    assert result.error_message
    assert (result.resource_type, result.resource_name) == (kind, name)


@pytest.mark.parametrize(
    "resource",
    [
        (ResourceType.GROUP, "readers"),
        (ResourceType.CLIENT_METRICS, "all"),
        (ResourceType.BROKER_LOGGER, "1"),
    ],
)
async def test_groups_metrics_and_loggers_have_no_configs(
    storage: FakeStorage, resource: tuple[int, str]
) -> None:
    (result,) = await describe(storage, resource)

    assert values(result) == {}


async def test_what_needs_no_storage_is_answered_when_it_is_away(
    storage: FakeStorage,
) -> None:
    storage.is_away_with = ErrorCode.LEADER_NOT_AVAILABLE

    results = await describe(
        storage,
        (ResourceType.TOPIC, "orders"),
        (ResourceType.BROKER, "1"),
        (ResourceType.GROUP, "readers"),
    )

    assert [each.error_code for each in results] == [
        ErrorCode.LEADER_NOT_AVAILABLE,
        ErrorCode.LEADER_NOT_AVAILABLE,
        ErrorCode.NONE,
    ]


@pytest.mark.parametrize("version", [1, 4])
def test_a_refusal_of_the_whole_request_names_each_resource(version: int) -> None:
    request = DescribeConfigsRequest(
        resources=[
            DescribeConfigsRequest.DescribeConfigsResource(
                resource_type=ResourceType.TOPIC, resource_name=name
            )
            for name in ("a", "b")
        ]
    )

    response = HANDLER.refuse(request, KafkaError(ErrorCode.UNKNOWN_SERVER_ERROR), version)

    assert response is not None
    assert [(each.resource_name, each.error_code) for each in response.results] == [
        ("a", ErrorCode.UNKNOWN_SERVER_ERROR),
        ("b", ErrorCode.UNKNOWN_SERVER_ERROR),
    ]
