import pytest

from korvet.gateway.handlers.delete_records import HANDLER
from korvet.kafka.errors import ErrorCode
from korvet.kafka.messages.delete_records import DeleteRecordsRequest
from tests.support.fake_storage import FakeStorage
from tests.support.handler_calls import call

Topic = DeleteRecordsRequest.DeleteRecordsTopic
Partition = DeleteRecordsRequest.DeleteRecordsPartition


def cut(cuts: dict[str, dict[int, int]]) -> DeleteRecordsRequest:
    return DeleteRecordsRequest(
        topics=[
            Topic(
                name=name,
                partitions=[
                    Partition(partition_index=index, offset=offset)
                    for index, offset in partitions.items()
                ],
            )
            for name, partitions in cuts.items()
        ]
    )


@pytest.fixture
def storage() -> FakeStorage:
    storage = FakeStorage()
    storage.add_topic("orders", partitions=3)
    for partition in range(3):
        storage.logs["orders", partition].high_watermark = 100
    return storage


@pytest.mark.parametrize("version", [0, 2])
async def test_each_partition_gets_its_own_answer(
    storage: FakeStorage, version: int
) -> None:
    request = cut({"missing": {0: 5}, "orders": {2: 40, 0: -1, 1: 101, 9: 0}})

    response = await call(HANDLER, request, version, storage)

    assert [
        (topic.name, each.partition_index, each.low_watermark, each.error_code)
        for topic in response.topics
        for each in topic.partitions
    ] == [
        ("missing", 0, -1, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
        ("orders", 2, 40, ErrorCode.NONE),
        ("orders", 0, 100, ErrorCode.NONE),
        ("orders", 1, -1, ErrorCode.OFFSET_OUT_OF_RANGE),
        ("orders", 9, -1, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
    ]
    assert len(storage.requests) == 1


async def test_an_offset_below_minus_one_is_out_of_range(storage: FakeStorage) -> None:
    response = await call(HANDLER, cut({"orders": {0: -2}}), 2, storage)

    assert response.topics[0].partitions[0].error_code == ErrorCode.OFFSET_OUT_OF_RANGE


@pytest.mark.parametrize("version", [0, 2])
async def test_every_partition_gets_the_code_when_storage_is_away(
    storage: FakeStorage, version: int
) -> None:
    storage.is_away_with = ErrorCode.REQUEST_TIMED_OUT

    response = await call(HANDLER, cut({"orders": {0: 1, 1: 1}}), version, storage)

    (topic,) = response.topics
    assert [(each.error_code, each.low_watermark) for each in topic.partitions] == [
        (ErrorCode.REQUEST_TIMED_OUT, -1)
    ] * 2
