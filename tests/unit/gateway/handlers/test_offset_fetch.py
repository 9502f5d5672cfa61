import pytest

from korvet.gateway.handlers.offset_fetch import HANDLER
from korvet.kafka.errors import ErrorCode
from korvet.kafka.messages.offset_fetch import OffsetFetchRequest, OffsetFetchResponse
from korvet.proto.coordinator.v1 import coordinator_service_pb2 as pb
from tests.support.fake_coordinator import FakeCoordinator
from tests.support.fake_storage import FakeStorage
from tests.support.handler_calls import call_groups

Group = OffsetFetchRequest.OffsetFetchRequestGroup
Topics = OffsetFetchRequest.OffsetFetchRequestTopics
Topic = OffsetFetchRequest.OffsetFetchRequestTopic
Answered = tuple[int, int, int, str | None, int]

NONE: Answered = (1, -1, -1, "", 0)


@pytest.fixture
def storage() -> FakeStorage:
    storage = FakeStorage()
    for name in ("orders", "bills"):
        storage.add_topic(name, 2)
    return storage


@pytest.fixture
def coordinator(storage: FakeStorage) -> FakeCoordinator:
    coordinator = FakeCoordinator()
    for group in ("group", "other", ""):
        for name in ("orders", "bills"):
            commit(coordinator, name, storage.topics[name].id, group)
    return coordinator


def commit(
    coordinator: FakeCoordinator, topic: str, topic_id: bytes, group: str = "group"
) -> None:
    coordinator.commit(
        group,
        pb.CommitOffsetsRequest.Offset(
            topic=topic,
            topic_id=topic_id,
            partition=0,
            offset=42,
            leader_epoch=3,
            metadata="note",
        ),
    )


def request(
    version: int, topic: str = "orders", topic_id: bytes = bytes(16), group: str = "group"
) -> OffsetFetchRequest:
    if version < 8:
        topics = [Topic(name=topic, partition_indexes=[0, 1])]
        return OffsetFetchRequest(group_id=group, topics=topics)
    by_id = version >= 10
    several = Topics(
        name="" if by_id else topic,
        topic_id=topic_id if by_id else bytes(16),
        partition_indexes=[0, 1],
    )
    return OffsetFetchRequest(groups=[Group(group_id=group, topics=[several])])


def everything(version: int) -> OffsetFetchRequest:
    if version < 8:
        return OffsetFetchRequest(group_id="group", topics=None)
    return OffsetFetchRequest(groups=[Group(group_id="group", topics=None)])


def answered(response: OffsetFetchResponse) -> dict[str | bytes, list[Answered]]:
    """What the only group has, by topic."""
    topics = response.groups[0].topics if response.groups else response.topics
    return {
        topic.name or getattr(topic, "topic_id", b""): [
            (
                partition.partition_index,
                partition.committed_offset,
                partition.committed_leader_epoch,
                partition.metadata,
                partition.error_code,
            )
            for partition in topic.partitions
        ]
        for topic in topics
    }


def group_code(response: OffsetFetchResponse) -> int:
    return response.groups[0].error_code if response.groups else response.error_code


@pytest.mark.parametrize("version", range(1, 11))
async def test_an_offset_is_fetched_or_there_is_none(
    storage: FakeStorage, coordinator: FakeCoordinator, version: int
) -> None:
    topic_id = storage.topics["orders"].id
    asked = request(version, topic_id=topic_id)

    answer = await call_groups(HANDLER, asked, version, coordinator, storage=storage)

    epoch = 3 if version >= 5 else -1
    assert group_code(answer) == ErrorCode.NONE
    assert answered(answer) == {
        topic_id if version >= 10 else "orders": [(0, 42, epoch, "note", 0), NONE]
    }


@pytest.mark.parametrize("version", range(2, 11))
async def test_everything_is_fetched_that_is_for_topics_as_they_are_now(
    storage: FakeStorage, coordinator: FakeCoordinator, version: int
) -> None:
    commit(coordinator, "deleted", bytes(15) + b"d")
    commit(coordinator, "bills", bytes(15) + b"earlier")

    answer = await call_groups(
        HANDLER, everything(version), version, coordinator, storage=storage
    )

    key = storage.topics["orders"].id if version >= 10 else "orders"
    epoch = 3 if version >= 5 else -1
    assert answered(answer) == {key: [(0, 42, epoch, "note", 0)]}


@pytest.mark.parametrize("version", [1, 9])
async def test_a_commit_for_an_earlier_topic_of_the_name_counts_as_none(
    storage: FakeStorage, coordinator: FakeCoordinator, version: int
) -> None:
    commit(coordinator, "orders", bytes(15) + b"earlier")

    answer = await call_groups(
        HANDLER, request(version), version, coordinator, storage=storage
    )

    assert answered(answer) == {"orders": [(0, -1, -1, "", 0), NONE]}


@pytest.mark.parametrize("version", [1, 9])
async def test_a_topic_that_is_not_there_has_no_offsets(
    storage: FakeStorage, coordinator: FakeCoordinator, version: int
) -> None:
    asked = request(version, "nowhere")

    answer = await call_groups(HANDLER, asked, version, coordinator, storage=storage)

    assert answered(answer) == {"nowhere": [(0, -1, -1, "", 0), NONE]}


async def test_an_id_that_is_not_there_is_told(
    storage: FakeStorage, coordinator: FakeCoordinator
) -> None:
    asked = request(10, topic_id=bytes(15) + b"x")

    answer = await call_groups(HANDLER, asked, 10, coordinator, storage=storage)

    (partitions,) = answered(answer).values()
    code = ErrorCode.UNKNOWN_TOPIC_ID
    assert partitions == [(0, -1, -1, "", code), (1, -1, -1, "", code)]


async def test_several_groups_are_answered_each_for_itself(
    storage: FakeStorage, coordinator: FakeCoordinator
) -> None:
    coordinator.group_codes["refused"] = ErrorCode.GROUP_AUTHORIZATION_FAILED
    groups = [
        Group(group_id=group_id, topics=None)
        for group_id in ("group", "refused", "", "new", "other")
    ]

    answer = await call_groups(
        HANDLER, OffsetFetchRequest(groups=groups), 8, coordinator, storage=storage
    )

    found = [(each.group_id, each.error_code, len(each.topics)) for each in answer.groups]
    assert found == [
        ("group", 0, 2),
        ("refused", ErrorCode.GROUP_AUTHORIZATION_FAILED, 0),
        ("", 0, 2),
        ("new", 0, 0),
        ("other", 0, 2),
    ]


async def test_offsets_that_are_not_stable_are_told(
    storage: FakeStorage, coordinator: FakeCoordinator
) -> None:
    coordinator.offset_codes["orders", 0] = ErrorCode.UNSTABLE_OFFSET_COMMIT
    asked = request(7)
    asked.require_stable = True

    answer = await call_groups(HANDLER, asked, 7, coordinator, storage=storage)

    unstable = (0, -1, -1, "", ErrorCode.UNSTABLE_OFFSET_COMMIT)
    assert answered(answer) == {"orders": [unstable, NONE]}
    (passed_on,) = coordinator.requests
    assert isinstance(passed_on, pb.FetchOffsetsRequest)
    assert passed_on.require_stable


@pytest.mark.parametrize("version", [7, 8, 10])
async def test_among_everything_too_offsets_that_are_not_stable_are_told(
    storage: FakeStorage, coordinator: FakeCoordinator, version: int
) -> None:
    # Which topic of the name they will be for is not known before the transaction ends.
    commit(coordinator, "orders", b"")
    coordinator.offset_codes["orders", 0] = ErrorCode.UNSTABLE_OFFSET_COMMIT
    asked = everything(version)
    asked.require_stable = True

    answer = await call_groups(HANDLER, asked, version, coordinator, storage=storage)

    orders = storage.topics["orders"].id if version >= 10 else "orders"
    unstable = (0, -1, -1, "", ErrorCode.UNSTABLE_OFFSET_COMMIT)
    assert answered(answer)[orders] == [unstable]


@pytest.mark.parametrize("version", range(1, 11))
async def test_a_group_that_cannot_be_read_is_told_where_the_version_has_room(
    storage: FakeStorage, coordinator: FakeCoordinator, version: int
) -> None:
    coordinator.is_away_with = ErrorCode.NOT_COORDINATOR
    asked = request(version, topic_id=storage.topics["orders"].id)

    answer = await call_groups(HANDLER, asked, version, coordinator, storage=storage)

    code = ErrorCode.NOT_COORDINATOR
    if version == 1:
        refused = [(0, -1, -1, "", code), (1, -1, -1, "", code)]
        assert answered(answer) == {"orders": refused}
    else:
        assert (group_code(answer), answered(answer)) == (code, {})


async def test_without_storage_the_code_is_one_that_consumers_retry(
    storage: FakeStorage, coordinator: FakeCoordinator
) -> None:
    storage.is_away_with = ErrorCode.LEADER_NOT_AVAILABLE

    some = await call_groups(HANDLER, request(9), 9, coordinator, storage=storage)
    all_ = await call_groups(HANDLER, everything(9), 9, coordinator, storage=storage)

    assert group_code(some) == ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
    assert group_code(all_) == ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
