import pytest

from korvet.gateway.handlers.offset_delete import HANDLER
from korvet.kafka.errors import ErrorCode
from korvet.kafka.messages.offset_delete import OffsetDeleteRequest, OffsetDeleteResponse
from korvet.proto.coordinator.v1 import coordinator_service_pb2 as pb
from tests.support.fake_coordinator import FakeCoordinator
from tests.support.fake_storage import FakeStorage
from tests.support.handler_calls import call_groups


@pytest.fixture
def coordinator() -> FakeCoordinator:
    coordinator = FakeCoordinator()
    for partition in (0, 1):
        offset = pb.CommitOffsetsRequest.Offset(topic="orders", partition=partition)
        coordinator.commit("group", offset)
    return coordinator


async def delete(
    coordinator: FakeCoordinator, group_id: str = "group"
) -> OffsetDeleteResponse:
    storage = FakeStorage()
    storage.add_topic("orders", 2)
    request = OffsetDeleteRequest(
        group_id=group_id,
        topics=[
            OffsetDeleteRequest.OffsetDeleteRequestTopic(
                name=name,
                partitions=[
                    OffsetDeleteRequest.OffsetDeleteRequestPartition(
                        partition_index=partition
                    )
                    for partition in (0, 1, 2)
                ],
            )
            for name in ("nowhere", "orders")
        ],
    )
    return await call_groups(HANDLER, request, 0, coordinator, storage=storage)


async def test_each_partition_has_its_own_answer(coordinator: FakeCoordinator) -> None:
    coordinator.offset_codes["orders", 1] = ErrorCode.GROUP_SUBSCRIBED_TO_TOPIC

    deleted = await delete(coordinator)

    codes = {
        (topic.name, partition.partition_index): partition.error_code
        for topic in deleted.topics
        for partition in topic.partitions
    }
    unknown = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert deleted.error_code == ErrorCode.NONE
    assert codes == {
        ("nowhere", 0): unknown,
        ("nowhere", 1): unknown,
        ("nowhere", 2): unknown,
        ("orders", 0): ErrorCode.NONE,
        ("orders", 1): ErrorCode.GROUP_SUBSCRIBED_TO_TOPIC,
        ("orders", 2): unknown,
    }
    assert list(coordinator.committed) == [("group", "orders", 1)]


async def test_a_group_that_is_not_there_is_told(coordinator: FakeCoordinator) -> None:
    coordinator.group_codes["group"] = ErrorCode.GROUP_ID_NOT_FOUND

    deleted = await delete(coordinator)

    assert (deleted.error_code, deleted.topics) == (ErrorCode.GROUP_ID_NOT_FOUND, [])


async def test_a_group_must_have_a_name(coordinator: FakeCoordinator) -> None:
    assert (await delete(coordinator, "")).error_code == ErrorCode.INVALID_GROUP_ID


async def test_without_a_coordinator_the_code_is_one_that_clients_retry(
    coordinator: FakeCoordinator,
) -> None:
    coordinator.is_away_with = ErrorCode.COORDINATOR_NOT_AVAILABLE

    deleted = await delete(coordinator)

    assert deleted.error_code == ErrorCode.COORDINATOR_NOT_AVAILABLE
