import pytest

from korvet.kafka.errors import ErrorCode
from korvet.kafka.messages.list_offsets import ListOffsetsRequest, ListOffsetsResponse
from korvet.proto.storage.v1 import storage_service_pb2 as pb
from tests.support.fake_storage import FakeStorage
from tests.support.gateway_requests import batch_of
from tests.support.kafka_client import KafkaClient, kafka_server


@pytest.fixture
def storage() -> FakeStorage:
    storage = FakeStorage()
    storage.add_topic("orders")
    for timestamp in (1000, 2000, 3000):
        storage.logs["orders", 0].append(batch_of(b"v", timestamp=timestamp))
    return storage


def request(
    timestamp: int, topic: str = "orders", *, isolation_level: int = 0, epoch: int = -1
) -> ListOffsetsRequest:
    return ListOffsetsRequest(
        replica_id=-1,
        isolation_level=isolation_level,
        topics=[
            ListOffsetsRequest.ListOffsetsTopic(
                name=topic,
                partitions=[
                    ListOffsetsRequest.ListOffsetsPartition(
                        timestamp=timestamp, current_leader_epoch=epoch
                    )
                ],
            )
        ],
    )


async def ask(
    storage: FakeStorage, request: ListOffsetsRequest, version: int = 7
) -> ListOffsetsResponse.ListOffsetsPartitionResponse:
    client = KafkaClient(kafka_server(storage))
    answer = await client.ask(request, version, ListOffsetsResponse)
    return answer.topics[0].partitions[0]


@pytest.mark.parametrize("version", range(1, 12))
@pytest.mark.parametrize(("timestamp", "offset"), [(-2, 0), (-1, 3), (1500, 1), (9999, -1)])
async def test_offsets_are_found_in_every_version(
    storage: FakeStorage, version: int, timestamp: int, offset: int
) -> None:
    answer = await ask(storage, request(timestamp), version)

    assert (answer.error_code, answer.offset) == (0, offset)
    assert answer.timestamp == (2000 if timestamp == 1500 else -1)


@pytest.mark.parametrize(
    ("timestamp", "known_from"), [(-3, 7), (-4, 8), (-5, 9), (-6, 11), (-7, 99)]
)
async def test_special_timestamps_are_refused_in_versions_that_do_not_have_them(
    storage: FakeStorage, timestamp: int, known_from: int
) -> None:
    for version in range(1, 12):
        answer = await ask(storage, request(timestamp), version)
        is_known = version >= known_from
        assert (answer.error_code == 0) == is_known
        assert is_known or answer.error_code == ErrorCode.UNSUPPORTED_VERSION


async def test_nothing_waits_for_tiered_storage(storage: FakeStorage) -> None:
    answer = await ask(storage, request(-6), 11)

    assert (answer.offset, answer.timestamp) == (-1, -1)


async def test_an_unknown_topic_is_told(storage: FakeStorage) -> None:
    answer = await ask(storage, request(-1, "nowhere"))

    assert answer.error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert answer.offset == -1


async def test_isolation_level_and_epoch_are_passed_on(storage: FakeStorage) -> None:
    await ask(storage, request(-1, isolation_level=1, epoch=4))

    asked = storage.requests[-1]
    assert isinstance(asked, pb.FindOffsetsRequest)
    assert asked.isolation_level == pb.ISOLATION_LEVEL_READ_COMMITTED
    assert asked.positions[0].current_leader_epoch == 4


async def test_without_storage_the_code_is_one_that_clients_retry(
    storage: FakeStorage,
) -> None:
    storage.is_away_with = ErrorCode.KAFKA_STORAGE_ERROR

    answer = await ask(storage, request(-1))

    assert answer.error_code == ErrorCode.KAFKA_STORAGE_ERROR
