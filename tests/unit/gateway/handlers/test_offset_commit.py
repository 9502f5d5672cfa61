import pytest

from korvet.gateway.handlers.offset_commit import HANDLER
from korvet.kafka.errors import ErrorCode
from korvet.kafka.messages.offset_commit import OffsetCommitRequest, OffsetCommitResponse
from korvet.proto.coordinator.v1 import coordinator_service_pb2 as pb
from tests.support.fake_coordinator import FakeCoordinator
from tests.support.fake_storage import FakeStorage
from tests.support.handler_calls import call_groups

Topic = OffsetCommitRequest.OffsetCommitRequestTopic
Partition = OffsetCommitRequest.OffsetCommitRequestPartition


@pytest.fixture
def storage() -> FakeStorage:
    storage = FakeStorage()
    storage.add_topic("orders", 2)
    return storage


@pytest.fixture
def coordinator() -> FakeCoordinator:
    return FakeCoordinator()


def request(*topics: Topic, group_id: str = "group") -> OffsetCommitRequest:
    return OffsetCommitRequest(
        group_id=group_id,
        generation_id_or_member_epoch=4,
        member_id="member",
        topics=list(topics),
    )


def named(
    name: str,
    *partitions: int,
    offset: int = 42,
    epoch: int = -1,
    metadata: str | None = "note",
) -> Topic:
    return Topic(
        name=name,
        partitions=[
            Partition(
                partition_index=partition,
                committed_offset=offset,
                committed_leader_epoch=epoch,
                committed_metadata=metadata,
            )
            for partition in partitions
        ],
    )


def with_id(topic_id: bytes, *partitions: int) -> Topic:
    topic = named("", *partitions)
    topic.topic_id = topic_id
    return topic


def codes(response: OffsetCommitResponse) -> list[tuple[str, int, int]]:
    return [
        (topic.name, partition.partition_index, partition.error_code)
        for topic in response.topics
        for partition in topic.partitions
    ]


@pytest.mark.parametrize("version", range(2, 10))
async def test_offsets_are_committed_with_the_topics_id(
    storage: FakeStorage, coordinator: FakeCoordinator, version: int
) -> None:
    epoch = 3 if version >= 6 else -1
    asked = request(named("orders", 0, 1, epoch=epoch))

    answer = await call_groups(HANDLER, asked, version, coordinator, storage=storage)

    assert codes(answer) == [("orders", 0, 0), ("orders", 1, 0)]
    assert coordinator.committed["group", "orders", 1] == pb.CommitOffsetsRequest.Offset(
        topic="orders",
        topic_id=storage.topics["orders"].id,
        partition=1,
        offset=42,
        leader_epoch=epoch,
        metadata="note",
    )
    (passed_on,) = coordinator.requests
    assert isinstance(passed_on, pb.CommitOffsetsRequest)
    assert (passed_on.member_id, passed_on.generation_id) == ("member", 4)


async def test_topics_may_be_named_by_their_ids(
    storage: FakeStorage, coordinator: FakeCoordinator
) -> None:
    topic_id = storage.topics["orders"].id
    asked = request(with_id(topic_id, 0, 7), with_id(bytes(15) + b"x", 0))

    answer = await call_groups(HANDLER, asked, 10, coordinator, storage=storage)

    assert [topic.topic_id for topic in answer.topics] == [topic_id, bytes(15) + b"x"]
    assert [code for _, _, code in codes(answer)] == [
        ErrorCode.NONE,
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        ErrorCode.UNKNOWN_TOPIC_ID,
    ]
    assert list(coordinator.committed) == [("group", "orders", 0)]


async def test_what_is_not_there_does_not_keep_others_from_being_committed(
    storage: FakeStorage, coordinator: FakeCoordinator
) -> None:
    asked = request(named("nowhere", 0), named("orders", 2, 1, -1))
    coordinator.offset_codes["orders", 1] = ErrorCode.OFFSET_METADATA_TOO_LARGE

    answer = await call_groups(HANDLER, asked, 2, coordinator, storage=storage)

    assert codes(answer) == [
        ("nowhere", 0, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
        ("orders", 2, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
        ("orders", 1, ErrorCode.OFFSET_METADATA_TOO_LARGE),
        ("orders", -1, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
    ]


async def test_nothing_to_commit_is_not_asked_for(
    storage: FakeStorage, coordinator: FakeCoordinator
) -> None:
    await call_groups(HANDLER, request(), 8, coordinator, storage=storage)
    await call_groups(HANDLER, request(named("no", 0)), 8, coordinator, storage=storage)

    assert coordinator.requests == []


async def test_metadata_may_be_null_an_offset_anything_and_the_group_nameless(
    storage: FakeStorage, coordinator: FakeCoordinator
) -> None:
    asked = request(named("orders", 0, offset=-1, metadata=None), group_id="")

    answer = await call_groups(HANDLER, asked, 8, coordinator, storage=storage)

    assert codes(answer) == [("orders", 0, 0)]
    committed = coordinator.committed["", "orders", 0]
    assert not committed.HasField("metadata")
    assert committed.offset == -1


async def test_static_members_commit_under_their_instance_ids(
    storage: FakeStorage, coordinator: FakeCoordinator
) -> None:
    asked = request(named("orders", 0))
    asked.group_instance_id = "instance"

    await call_groups(HANDLER, asked, 7, coordinator, storage=storage)

    (passed_on,) = coordinator.requests
    assert isinstance(passed_on, pb.CommitOffsetsRequest)
    assert passed_on.group_instance_id == "instance"


@pytest.mark.parametrize(
    "code",
    [
        ErrorCode.UNKNOWN_MEMBER_ID,
        ErrorCode.ILLEGAL_GENERATION,
        ErrorCode.REBALANCE_IN_PROGRESS,
        ErrorCode.FENCED_INSTANCE_ID,
    ],
)
@pytest.mark.parametrize("version", [2, 9])
async def test_a_refusal_of_the_group_is_told_for_each_partition_that_is_there(
    storage: FakeStorage, coordinator: FakeCoordinator, version: int, code: ErrorCode
) -> None:
    coordinator.group_codes["group"] = code
    asked = request(named("orders", 0), named("nowhere", 0))

    answer = await call_groups(HANDLER, asked, version, coordinator, storage=storage)

    assert [each for _, _, each in codes(answer)] == [
        code,
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    ]


@pytest.mark.parametrize(
    ("version", "code"),
    [(8, ErrorCode.ILLEGAL_GENERATION), (9, ErrorCode.GROUP_ID_NOT_FOUND)],
)
async def test_a_group_that_is_not_there_is_told_where_the_version_has_a_code_for_it(
    storage: FakeStorage, coordinator: FakeCoordinator, version: int, code: ErrorCode
) -> None:
    coordinator.group_codes["group"] = ErrorCode.GROUP_ID_NOT_FOUND
    asked = request(named("orders", 0))

    answer = await call_groups(HANDLER, asked, version, coordinator, storage=storage)

    assert codes(answer) == [("orders", 0, code)]


async def test_without_a_coordinator_the_code_is_one_that_clients_retry(
    storage: FakeStorage, coordinator: FakeCoordinator
) -> None:
    coordinator.is_away_with = ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
    asked = request(named("orders", 0))

    answer = await call_groups(HANDLER, asked, 9, coordinator, storage=storage)

    assert codes(answer) == [("orders", 0, ErrorCode.COORDINATOR_LOAD_IN_PROGRESS)]


@pytest.mark.parametrize("version", [2, 10])
async def test_without_storage_the_code_is_one_that_committers_retry(
    storage: FakeStorage, coordinator: FakeCoordinator, version: int
) -> None:
    storage.is_away_with = ErrorCode.LEADER_NOT_AVAILABLE
    asked = request(with_id(bytes(16), 0) if version == 10 else named("orders", 0))

    answer = await call_groups(HANDLER, asked, version, coordinator, storage=storage)

    assert [code for _, _, code in codes(answer)] == [
        ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
    ]


def test_a_commit_is_made_even_if_its_connection_is_gone() -> None:
    assert not HANDLER.cancellable
