import pytest

from korvet.kafka.errors import ErrorCode
from korvet.kafka.messages.offset_for_leader_epoch import (
    OffsetForLeaderEpochRequest,
    OffsetForLeaderEpochResponse,
)
from korvet.proto.storage.v1 import storage_service_pb2 as pb
from tests.support.fake_storage import FakeStorage
from tests.support.gateway_requests import BATCH
from tests.support.kafka_client import KafkaClient, kafka_server


@pytest.fixture
def storage() -> FakeStorage:
    storage = FakeStorage()
    storage.add_topic("orders")
    storage.logs["orders", 0].append(BATCH)
    return storage


async def ask(
    storage: FakeStorage, topic: str, *, current: int = -1, version: int = 4
) -> OffsetForLeaderEpochResponse.EpochEndOffset:
    request = OffsetForLeaderEpochRequest(
        topics=[
            OffsetForLeaderEpochRequest.OffsetForLeaderTopic(
                topic=topic,
                partitions=[
                    OffsetForLeaderEpochRequest.OffsetForLeaderPartition(
                        leader_epoch=0, current_leader_epoch=current
                    )
                ],
            )
        ]
    )
    client = KafkaClient(kafka_server(storage))
    answer = await client.ask(request, version, OffsetForLeaderEpochResponse)
    return answer.topics[0].partitions[0]


@pytest.mark.parametrize("version", [2, 3, 4])
async def test_the_end_of_an_epoch_is_told(storage: FakeStorage, version: int) -> None:
    answer = await ask(storage, "orders", version=version)

    assert (answer.error_code, answer.leader_epoch, answer.end_offset) == (0, 0, 1)


async def test_an_unknown_topic_is_told(storage: FakeStorage) -> None:
    answer = await ask(storage, "nowhere")

    assert answer.error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert (answer.leader_epoch, answer.end_offset) == (-1, -1)


async def test_what_the_client_believes_is_passed_on(storage: FakeStorage) -> None:
    await ask(storage, "orders", current=3)
    await ask(storage, "orders")

    first, second = storage.requests
    assert isinstance(first, pb.FindEpochEndsRequest)
    assert isinstance(second, pb.FindEpochEndsRequest)
    assert first.questions[0].current_leader_epoch == 3
    assert not second.questions[0].HasField("current_leader_epoch")


async def test_without_storage_the_code_is_one_that_clients_retry(
    storage: FakeStorage,
) -> None:
    storage.is_away_with = ErrorCode.KAFKA_STORAGE_ERROR

    assert (await ask(storage, "orders")).error_code == ErrorCode.KAFKA_STORAGE_ERROR
