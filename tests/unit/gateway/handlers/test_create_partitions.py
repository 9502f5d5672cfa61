import pytest

from korvet.gateway.cluster import TopicView
from korvet.gateway.handlers.create_partitions import HANDLER
from korvet.kafka.errors import ErrorCode
from korvet.kafka.messages.create_partitions import (
    CreatePartitionsRequest,
    CreatePartitionsResponse,
)
from tests.support.fake_storage import FakeStorage
from tests.support.handler_calls import call, gateways

Topic = CreatePartitionsRequest.CreatePartitionsTopic
Assignment = CreatePartitionsRequest.CreatePartitionsAssignment


def growth(
    name: str = "orders", count: int = 3, assignments: list[list[int]] | None = None
) -> Topic:
    return Topic(
        name=name,
        count=count,
        assignments=None
        if assignments is None
        else [Assignment(broker_ids=brokers) for brokers in assignments],
    )


async def grow(
    storage: FakeStorage, *topics: Topic, version: int = 3, validate_only: bool = False
) -> list[CreatePartitionsResponse.CreatePartitionsTopicResult]:
    request = CreatePartitionsRequest(topics=list(topics), validate_only=validate_only)
    return (await call(HANDLER, request, version, storage)).results


@pytest.fixture
def storage() -> FakeStorage:
    storage = FakeStorage()
    storage.add_topic("orders", partitions=2)
    return storage


@pytest.mark.parametrize("version", [0, 3])
async def test_partitions_are_added(storage: FakeStorage, version: int) -> None:
    (result,) = await grow(storage, growth(), version=version)

    assert (result.name, result.error_code, result.error_message) == ("orders", 0, None)
    assert len(storage.topics["orders"].leader_epochs) == 3


async def test_validation_alone_adds_nothing(storage: FakeStorage) -> None:
    (result,) = await grow(storage, growth(), validate_only=True)

    assert result.error_code == ErrorCode.NONE
    assert len(storage.topics["orders"].leader_epochs) == 2


@pytest.mark.parametrize(
    ("topic", "code"),
    [
        (growth("missing"), ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
        (growth("missing", assignments=[[1]]), ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
        (growth(count=2), ErrorCode.INVALID_PARTITIONS),
        (growth(count=-1), ErrorCode.INVALID_PARTITIONS),
        (growth(count=2, assignments=[]), ErrorCode.INVALID_PARTITIONS),
        (growth(assignments=[]), ErrorCode.INVALID_REPLICA_ASSIGNMENT),
        (growth(assignments=[[1], [1]]), ErrorCode.INVALID_REPLICA_ASSIGNMENT),
        (growth(assignments=[[]]), ErrorCode.INVALID_REPLICA_ASSIGNMENT),
        (growth(assignments=[[9]]), ErrorCode.INVALID_REPLICA_ASSIGNMENT),
        (growth(assignments=[[1, 1]]), ErrorCode.INVALID_REPLICA_ASSIGNMENT),
    ],
)
async def test_what_cannot_be_done_is_refused(
    storage: FakeStorage, topic: Topic, code: ErrorCode
) -> None:
    (result,) = await grow(storage, topic)

    assert result.error_code == code
    assert len(storage.topics["orders"].leader_epochs) == 2


async def test_a_sensible_assignment_is_accepted(storage: FakeStorage) -> None:
    (result,) = await grow(storage, growth(count=4, assignments=[[1], [1]]))

    assert result.error_code == ErrorCode.NONE
    assert len(storage.topics["orders"].leader_epochs) == 4


async def test_a_topic_given_twice_is_refused_once_and_others_grow(
    storage: FakeStorage,
) -> None:
    storage.add_topic("other")

    results = await grow(storage, growth(), growth("other"), growth())

    assert [(each.name, each.error_code) for each in results] == [
        ("orders", ErrorCode.INVALID_REQUEST),
        ("other", ErrorCode.NONE),
    ]


async def test_new_partitions_are_known_to_this_gateway_at_once(
    storage: FakeStorage,
) -> None:
    cluster = gateways(storage, 1)
    cluster.apply_topics(storage.topics.values())

    request = CreatePartitionsRequest(topics=[growth()])
    await call(HANDLER, request, 3, storage, cluster=cluster)

    topic = (await cluster.find_names(["orders"]))["orders"]
    assert isinstance(topic, TopicView)
    assert len(topic.leader_epochs) == 3


@pytest.mark.parametrize("version", [0, 3])
async def test_every_topic_gets_the_code_when_storage_is_away(
    storage: FakeStorage, version: int
) -> None:
    storage.is_away_with = ErrorCode.REQUEST_TIMED_OUT

    results = await grow(storage, growth("a"), growth("b"), version=version)

    assert [each.error_code for each in results] == [ErrorCode.REQUEST_TIMED_OUT] * 2
