import pytest

from korvet.gateway.cluster import TopicView
from korvet.gateway.config_resources import ConfigSource
from korvet.gateway.handlers.create_topics import HANDLER
from korvet.kafka.errors import ErrorCode, KafkaError
from korvet.kafka.messages.create_topics import CreateTopicsRequest, CreateTopicsResponse
from korvet.kafka.primitives import ZERO_UUID
from korvet.proto.storage.v1 import storage_service_pb2 as pb
from tests.support.fake_storage import FakeStorage
from tests.support.handler_calls import call, gateways

Topic = CreateTopicsRequest.CreatableTopic
Assignment = CreateTopicsRequest.CreatableReplicaAssignment
Config = CreateTopicsRequest.CreatableTopicConfig


def new_topic(
    name: str = "orders",
    *,
    partitions: int = -1,
    replication_factor: int = -1,
    assignments: dict[int, list[int]] | None = None,
    configs: dict[str, str | None] | None = None,
) -> Topic:
    return Topic(
        name=name,
        num_partitions=partitions,
        replication_factor=replication_factor,
        assignments=[
            Assignment(partition_index=index, broker_ids=brokers)
            for index, brokers in (assignments or {}).items()
        ],
        configs=[Config(name=key, value=value) for key, value in (configs or {}).items()],
    )


async def create(
    storage: FakeStorage, *topics: Topic, version: int = 7, validate_only: bool = False
) -> list[CreateTopicsResponse.CreatableTopicResult]:
    request = CreateTopicsRequest(topics=list(topics), validate_only=validate_only)
    return (await call(HANDLER, request, version, storage)).topics


async def refusal(storage: FakeStorage, topic: Topic) -> tuple[int, str]:
    (result,) = await create(storage, topic)
    assert topic.name not in storage.topics
    return result.error_code, result.error_message or ""


async def test_a_topic_is_created_with_what_was_asked_for() -> None:
    storage = FakeStorage()

    (result,) = await create(
        storage, new_topic(partitions=3, configs={"retention.ms": "1000"})
    )

    created = storage.topics["orders"]
    assert (result.error_code, result.error_message) == (0, None)
    assert result.topic_id == created.id
    assert (result.num_partitions, result.replication_factor) == (3, 1)
    assert len(created.leader_epochs) == 3
    assert result.configs == [
        CreateTopicsResponse.CreatableTopicConfigs(
            name="retention.ms",
            value="1000",
            config_source=ConfigSource.DYNAMIC_TOPIC_CONFIG,
        )
    ]


@pytest.mark.parametrize("version", [2, 7])
async def test_minus_one_takes_the_servers_default_in_every_version(version: int) -> None:
    storage = FakeStorage()
    storage.default_partitions = 4

    (result,) = await create(storage, new_topic(), version=version)

    assert result.error_code == ErrorCode.NONE
    assert len(storage.topics["orders"].leader_epochs) == 4


async def test_older_versions_are_not_told_ids_partitions_and_configs() -> None:
    (result,) = await create(FakeStorage(), new_topic(partitions=3), version=4)

    assert result.topic_id == ZERO_UUID
    assert (result.num_partitions, result.configs) == (-1, [])


async def test_any_replication_factor_is_accepted_and_one_is_reported() -> None:
    (result,) = await create(FakeStorage(), new_topic(replication_factor=3))

    assert (result.error_code, result.replication_factor) == (ErrorCode.NONE, 1)


@pytest.mark.parametrize("factor", [0, -2])
async def test_an_impossible_replication_factor_is_refused(factor: int) -> None:
    code, _ = await refusal(FakeStorage(), new_topic(replication_factor=factor))

    assert code == ErrorCode.INVALID_REPLICATION_FACTOR


async def test_an_assignment_says_how_many_partitions_there_are() -> None:
    storage = FakeStorage()

    (result,) = await create(storage, new_topic(assignments={1: [1], 0: [1]}))

    assert (result.num_partitions, result.replication_factor) == (2, 1)


async def test_an_assignment_may_name_several_live_gateways() -> None:
    storage = FakeStorage()
    request = CreateTopicsRequest(topics=[new_topic(assignments={0: [2, 1]})])

    response = await call(HANDLER, request, 7, storage, cluster=gateways(storage, 1, 2, 3))

    assert response.topics[0].error_code == ErrorCode.NONE


@pytest.mark.parametrize(
    ("assignments", "reason"),
    [
        ({0: [1], 2: [1]}, "consecutive 0-based"),
        ({-1: [1], 0: [1]}, "consecutive 0-based"),
        ({0: [7]}, "no such broker is registered"),
        ({0: []}, "empty replica list"),
        ({0: [1, 1]}, "more than once"),
    ],
)
async def test_an_assignment_that_makes_no_sense_is_refused(
    assignments: dict[int, list[int]], reason: str
) -> None:
    code, message = await refusal(FakeStorage(), new_topic(assignments=assignments))

    assert code == ErrorCode.INVALID_REPLICA_ASSIGNMENT
    assert reason in message


async def test_a_partition_assigned_twice_is_refused() -> None:
    topic = new_topic(assignments={0: [1]})
    topic.assignments.append(Assignment(partition_index=0, broker_ids=[1]))

    code, message = await refusal(FakeStorage(), topic)

    assert code == ErrorCode.INVALID_REPLICA_ASSIGNMENT
    assert "multiple" in message


@pytest.mark.parametrize(
    "topic",
    [
        new_topic(assignments={0: [1]}, partitions=1),
        new_topic(assignments={0: [1]}, replication_factor=1),
    ],
)
async def test_an_assignment_stands_alone(topic: Topic) -> None:
    code, message = await refusal(FakeStorage(), topic)

    assert code == ErrorCode.INVALID_REQUEST
    assert "was not set to -1" in message


async def test_a_config_without_a_value_is_refused() -> None:
    code, message = await refusal(FakeStorage(), new_topic(configs={"retention.ms": None}))

    assert code == ErrorCode.INVALID_CONFIG
    assert "retention.ms" in message


async def test_the_last_of_repeated_configs_counts() -> None:
    topic = new_topic()
    topic.configs = [
        Config(name="retention.ms", value="1"),
        Config(name="retention.ms", value="2"),
    ]

    (result,) = await create(FakeStorage(), topic)

    assert [config.value for config in result.configs or ()] == ["2"]


async def test_a_name_given_twice_is_refused_once_and_others_are_created() -> None:
    storage = FakeStorage()

    results = await create(storage, new_topic("a"), new_topic("b"), new_topic("a"))

    assert [(each.name, each.error_code) for each in results] == [
        ("a", ErrorCode.INVALID_REQUEST),
        ("b", ErrorCode.NONE),
    ]
    assert list(storage.topics) == ["b"]


async def test_what_storage_refuses_is_passed_on_with_its_reason() -> None:
    storage = FakeStorage()
    reason = "A topic needs at least 1 partition, not 0."
    storage.topic_refusals["orders"] = KafkaError(ErrorCode.INVALID_PARTITIONS, reason)

    assert await refusal(storage, new_topic(partitions=0)) == (
        ErrorCode.INVALID_PARTITIONS,
        reason,
    )


async def test_an_existing_topic_is_refused() -> None:
    storage = FakeStorage()
    storage.add_topic("orders")

    (result,) = await create(storage, new_topic())

    assert result.error_code == ErrorCode.TOPIC_ALREADY_EXISTS


async def test_all_topics_of_a_request_go_to_storage_in_one_call() -> None:
    storage = FakeStorage()

    await create(storage, *(new_topic(f"t{number}") for number in range(5)))

    (request,) = storage.requests
    assert isinstance(request, pb.CreateTopicsRequest)
    assert len(request.topics) == 5


async def test_a_new_topic_is_known_to_this_gateway_at_once() -> None:
    storage = FakeStorage()
    cluster = gateways(storage, 1)

    request = CreateTopicsRequest(topics=[new_topic()])
    await call(HANDLER, request, 7, storage, cluster=cluster)
    storage.is_away_with = ErrorCode.LEADER_NOT_AVAILABLE

    found = await cluster.find_names(["orders"])
    assert isinstance(found["orders"], TopicView)


async def test_validation_alone_creates_nothing() -> None:
    storage = FakeStorage()
    cluster = gateways(storage, 1)
    request = CreateTopicsRequest(topics=[new_topic(partitions=3)], validate_only=True)

    response = await call(HANDLER, request, 7, storage, cluster=cluster)

    assert response.topics[0].num_partitions == 3
    assert (await cluster.find_names(["orders"]))["orders"] == (
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    )


@pytest.mark.parametrize("version", [2, 7])
async def test_every_topic_gets_the_code_when_storage_is_away(version: int) -> None:
    storage = FakeStorage()
    storage.is_away_with = ErrorCode.REQUEST_TIMED_OUT

    results = await create(storage, new_topic("a"), new_topic("b"), version=version)

    assert [each.error_code for each in results] == [ErrorCode.REQUEST_TIMED_OUT] * 2


async def test_a_request_without_topics_gets_an_empty_answer() -> None:
    storage = FakeStorage()

    assert await create(storage) == []
    assert storage.requests == []
