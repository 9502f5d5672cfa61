import pytest

from korvet.gateway.handlers import describe_topic_partitions as api
from korvet.kafka.errors import ErrorCode, KafkaError
from korvet.kafka.messages.describe_topic_partitions import (
    DescribeTopicPartitionsRequest,
    DescribeTopicPartitionsResponse,
)
from tests.support.fake_storage import FakeStorage
from tests.support.gateway_context import request_context
from tests.support.kafka_client import KafkaClient, kafka_server


@pytest.fixture
def storage() -> FakeStorage:
    storage = FakeStorage()
    storage.add_topic("b", 3)
    storage.add_topic("a", 2)
    storage.add_topic("c", 1)
    return storage


def request(
    *names: str, limit: int = 2000, cursor: tuple[str, int] | None = None
) -> DescribeTopicPartitionsRequest:
    return DescribeTopicPartitionsRequest(
        topics=[DescribeTopicPartitionsRequest.TopicRequest(name=name) for name in names],
        response_partition_limit=limit,
        cursor=DescribeTopicPartitionsRequest.Cursor(
            topic_name=cursor[0], partition_index=cursor[1]
        )
        if cursor
        else None,
    )


async def ask(
    storage: FakeStorage, asked: DescribeTopicPartitionsRequest
) -> DescribeTopicPartitionsResponse:
    client = KafkaClient(kafka_server(storage))
    return await client.ask(asked, 0, DescribeTopicPartitionsResponse)


def listed(answer: DescribeTopicPartitionsResponse) -> list[tuple[str | None, list[int]]]:
    return [
        (topic.name, [partition.partition_index for partition in topic.partitions])
        for topic in answer.topics
    ]


async def test_all_topics_come_by_name(storage: FakeStorage) -> None:
    answer = await ask(storage, request())

    assert listed(answer) == [("a", [0, 1]), ("b", [0, 1, 2]), ("c", [0])]
    assert answer.next_cursor is None
    first = answer.topics[0]
    assert first.topic_id == storage.topics["a"].id
    assert (first.partitions[0].leader_id, first.partitions[0].isr_nodes) == (1, [1])
    assert first.topic_authorized_operations == 3576


@pytest.mark.parametrize("limit", range(1, 8))
async def test_pages_of_any_size_add_up_to_everything(
    storage: FakeStorage, limit: int
) -> None:
    found: list[tuple[str | None, int]] = []
    cursor: tuple[str, int] | None = None
    for _ in range(10):
        answer = await ask(storage, request(limit=limit, cursor=cursor))
        page = [(name, index) for name, indexes in listed(answer) for index in indexes]
        assert len(page) <= limit
        found += page
        if answer.next_cursor is None:
            break
        cursor = (answer.next_cursor.topic_name, answer.next_cursor.partition_index)

    assert found == [("a", 0), ("a", 1), ("b", 0), ("b", 1), ("b", 2), ("c", 0)]


async def test_a_cursor_at_a_topic_that_is_gone_goes_on_with_the_next(
    storage: FakeStorage,
) -> None:
    answer = await ask(storage, request(cursor=("aa", 5)))

    assert listed(answer) == [("b", [0, 1, 2]), ("c", [0])]


async def test_only_the_topics_that_are_named_are_described(storage: FakeStorage) -> None:
    answer = await ask(storage, request("c", "nowhere", "a b", "a"))

    assert [(topic.name, topic.error_code) for topic in answer.topics] == [
        ("a", 0),
        ("a b", ErrorCode.INVALID_TOPIC_EXCEPTION),
        ("c", 0),
        ("nowhere", ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
    ]


async def test_a_negative_partition_in_the_cursor_is_an_invalid_request(
    storage: FakeStorage,
) -> None:
    with pytest.raises(KafkaError) as refused:
        await api.handle(request(cursor=("a", -1)), request_context(storage, 0))

    answer = api.refuse(request("a"), refused.value, 0)
    assert refused.value.code is ErrorCode.INVALID_REQUEST
    assert answer.topics[0].error_code == ErrorCode.INVALID_REQUEST
