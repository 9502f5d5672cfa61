import pytest

from korvet.gateway.handlers.delete_topics import HANDLER
from korvet.kafka.errors import ErrorCode
from korvet.kafka.messages.delete_topics import DeleteTopicsRequest, DeleteTopicsResponse
from korvet.proto.storage.v1 import storage_service_pb2 as pb
from tests.support.fake_storage import FakeStorage
from tests.support.handler_calls import call, gateways

State = DeleteTopicsRequest.DeleteTopicState
UNKNOWN_ID = b"unknown topic id"


async def delete(
    storage: FakeStorage, *topics: State
) -> list[DeleteTopicsResponse.DeletableTopicResult]:
    request = DeleteTopicsRequest(topics=list(topics))
    return (await call(HANDLER, request, 6, storage)).responses


@pytest.mark.parametrize("version", [1, 5])
async def test_topics_are_deleted_by_name(version: int) -> None:
    storage = FakeStorage()
    storage.add_topic("a")
    storage.add_topic("b")
    request = DeleteTopicsRequest(topic_names=["a", "missing", "b"])

    response = await call(HANDLER, request, version, storage)

    assert [(each.name, each.error_code) for each in response.responses] == [
        ("a", ErrorCode.NONE),
        ("missing", ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
        ("b", ErrorCode.NONE),
    ]
    assert storage.topics == {}
    assert len(storage.requests) == 1


async def test_topics_are_deleted_by_name_or_id() -> None:
    storage = FakeStorage()
    a, b = storage.add_topic("a"), storage.add_topic("b")

    results = await delete(storage, State(topic_id=a.id), State(name="b"))

    assert [(each.name, each.topic_id, each.error_code) for each in results] == [
        ("a", a.id, ErrorCode.NONE),
        ("b", b.id, ErrorCode.NONE),
    ]
    assert storage.topics == {}


async def test_a_topic_by_its_name_and_by_its_id_as_well_is_not_deleted() -> None:
    storage = FakeStorage()
    a, b = storage.add_topic("a"), storage.add_topic("b")

    results = await delete(
        storage, State(topic_id=a.id), State(name="a"), State(topic_id=b.id)
    )

    # One answer for both, as Kafka's controller gives.
    assert [(each.name, each.topic_id, each.error_code) for each in results] == [
        ("a", a.id, ErrorCode.INVALID_REQUEST),
        ("b", b.id, ErrorCode.NONE),
    ]
    assert results[0].error_message == (
        "The provided topic name maps to an ID that was already supplied."
    )
    assert storage.topics.keys() == {"a"}


async def test_only_the_id_is_sent_for_a_topic_given_by_id() -> None:
    storage = FakeStorage()
    topic = storage.add_topic("a")

    await delete(storage, State(topic_id=topic.id))

    assert storage.requests == [pb.DeleteTopicsRequest(topics=[pb.TopicRef(id=topic.id)])]


async def test_an_unknown_id_has_a_code_of_its_own_and_no_name() -> None:
    (result,) = await delete(FakeStorage(), State(topic_id=UNKNOWN_ID))

    assert (result.name, result.topic_id) == (None, UNKNOWN_ID)
    assert result.error_code == ErrorCode.UNKNOWN_TOPIC_ID


@pytest.mark.parametrize(
    ("state", "reason"),
    [
        (State(name="a", topic_id=UNKNOWN_ID), "both topic name and topic id"),
        (State(), "Neither topic name nor id"),
    ],
)
async def test_a_topic_needs_either_a_name_or_an_id(state: State, reason: str) -> None:
    storage = FakeStorage()
    storage.add_topic("a")

    (result,) = await delete(storage, state)

    assert result.error_code == ErrorCode.INVALID_REQUEST
    assert reason in (result.error_message or "")
    assert "a" in storage.topics


@pytest.mark.parametrize("state", [State(name="a"), State(topic_id=UNKNOWN_ID)])
async def test_what_is_given_twice_is_refused_once(state: State) -> None:
    storage = FakeStorage()
    storage.add_topic("a")

    (result,) = await delete(storage, state, state)

    assert result.error_code == ErrorCode.INVALID_REQUEST
    assert "Duplicate" in (result.error_message or "")
    assert storage.requests == []


async def test_a_deleted_topic_is_unknown_to_this_gateway_at_once() -> None:
    storage = FakeStorage()
    cluster = gateways(storage, 1)
    cluster.apply_topics([storage.add_topic("a")])

    request = DeleteTopicsRequest(topics=[State(name="a")])
    await call(HANDLER, request, 6, storage, cluster=cluster)

    assert await cluster.find_names(["a"]) == {"a": ErrorCode.UNKNOWN_TOPIC_OR_PARTITION}


@pytest.mark.parametrize("version", [1, 6])
async def test_every_topic_gets_the_code_when_storage_is_away(version: int) -> None:
    storage = FakeStorage()
    storage.is_away_with = ErrorCode.REQUEST_TIMED_OUT
    request = (
        DeleteTopicsRequest(topics=[State(name="a"), State(topic_id=UNKNOWN_ID)])
        if version == 6
        else DeleteTopicsRequest(topic_names=["a", "b"])
    )

    response = await call(HANDLER, request, version, storage)

    assert [each.error_code for each in response.responses] == [
        ErrorCode.REQUEST_TIMED_OUT
    ] * 2
