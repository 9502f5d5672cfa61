"""DescribeLogDirs and AlterReplicaLogDirs: one directory, which is Redis."""

import pytest

from korvet.gateway.cluster import Cluster
from korvet.gateway.handlers import alter_replica_log_dirs, describe_log_dirs
from korvet.gateway.handlers.describe_log_dirs import LOG_DIR
from korvet.kafka.errors import ErrorCode
from korvet.kafka.messages.alter_replica_log_dirs import AlterReplicaLogDirsRequest
from korvet.kafka.messages.describe_log_dirs import (
    DescribeLogDirsRequest,
    DescribeLogDirsResponse,
)
from korvet.proto.storage.v1 import storage_service_pb2 as pb
from tests.support.fake_storage import FakeStorage
from tests.support.handler_calls import call, gateways

GIBIBYTE = 1 << 30


@pytest.fixture
def storage() -> FakeStorage:
    storage = FakeStorage()
    storage.add_topic("orders", partitions=4)
    storage.add_topic("other", partitions=1)
    storage.logs["orders", 1].batches.append((0, b"x" * 100))
    return storage


async def described(
    storage: FakeStorage,
    topics: dict[str, list[int]] | None,
    *,
    version: int = 4,
    cluster: Cluster | None = None,
) -> DescribeLogDirsResponse.DescribeLogDirsResult:
    request = DescribeLogDirsRequest(
        topics=None
        if topics is None
        else [
            DescribeLogDirsRequest.DescribableLogDirTopic(topic=name, partitions=partitions)
            for name, partitions in topics.items()
        ]
    )
    handler = describe_log_dirs.HANDLER
    response = await call(handler, request, version, storage, cluster=cluster)
    assert response.error_code == ErrorCode.NONE
    (result,) = response.results
    assert result.log_dir == LOG_DIR
    return result


def sizes(
    result: DescribeLogDirsResponse.DescribeLogDirsResult,
) -> dict[tuple[str, int], int]:
    assert result.error_code == ErrorCode.NONE
    return {
        (topic.name, each.partition_index): each.partition_size
        for topic in result.topics
        for each in topic.partitions
    }


@pytest.mark.parametrize("version", [1, 4])
async def test_without_topics_all_partitions_are_described(
    storage: FakeStorage, version: int
) -> None:
    assert sizes(await described(storage, None, version=version)) == {
        ("orders", 0): 0,
        ("orders", 1): 100,
        ("orders", 2): 0,
        ("orders", 3): 0,
        ("other", 0): 0,
    }


@pytest.mark.parametrize("version", [1, 4])
async def test_what_does_not_exist_is_left_out(storage: FakeStorage, version: int) -> None:
    result = await described(
        storage, {"orders": [1, 9, -1], "missing": [0], "other": []}, version=version
    )

    assert sizes(result) == {("orders", 1): 100}


async def test_no_topics_are_no_topics(storage: FakeStorage) -> None:
    assert sizes(await described(storage, {})) == {}


async def test_several_gateways_describe_each_partition_once(storage: FakeStorage) -> None:
    cluster = gateways(storage, 1, 2)
    cluster.apply_topics(storage.topics.values())
    here = sizes(await described(storage, None, cluster=cluster))

    found = await cluster.find_names(["orders"])
    topic = found["orders"]
    assert not isinstance(topic, ErrorCode)
    leaders = cluster.leaders(topic)
    assert sorted(p for name, p in here if name == "orders") == [
        partition for partition, leader in enumerate(leaders) if leader == 1
    ]
    assert 0 < leaders.count(1) < 4


async def test_a_partition_that_vanished_meanwhile_is_left_out(
    storage: FakeStorage,
) -> None:
    refusal = pb.PartitionAppended(error_code=ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
    storage.refusals["orders", 1] = refusal

    assert ("orders", 1) not in sizes(await described(storage, {"orders": [0, 1]}))


async def test_all_partitions_are_asked_for_in_one_call(storage: FakeStorage) -> None:
    cluster = gateways(storage, 1)
    cluster.apply_topics(storage.topics.values())

    await described(storage, {"orders": [0, 1, 2], "other": [0]}, cluster=cluster)

    (request,) = storage.requests
    assert isinstance(request, pb.DescribeLogsRequest)
    assert [list(chosen.partitions) for chosen in request.topics] == [[0, 1, 2], [0]]


@pytest.mark.parametrize(
    ("limit", "used", "expected"),
    [
        (0, GIBIBYTE, (-1, -1)),
        (4 * GIBIBYTE, GIBIBYTE, (4 * GIBIBYTE, 3 * GIBIBYTE)),
        (GIBIBYTE, 2 * GIBIBYTE, (GIBIBYTE, 0)),
    ],
)
async def test_the_limit_of_memory_is_the_room_there_is(
    storage: FakeStorage, limit: int, used: int, expected: tuple[int, int]
) -> None:
    storage.memory_limit_bytes, storage.memory_used_bytes = limit, used

    result = await described(storage, {})

    assert (result.total_bytes, result.usable_bytes) == expected


@pytest.mark.parametrize("version", [1, 4])
async def test_the_directory_is_away_when_storage_is(
    storage: FakeStorage, version: int
) -> None:
    storage.is_away_with = ErrorCode.KAFKA_STORAGE_ERROR

    result = await described(storage, None, version=version)

    assert result.error_code == ErrorCode.KAFKA_STORAGE_ERROR


def move(moves: dict[str, dict[str, list[int]]]) -> AlterReplicaLogDirsRequest:
    return AlterReplicaLogDirsRequest(
        dirs=[
            AlterReplicaLogDirsRequest.AlterReplicaLogDir(
                path=path,
                topics=[
                    AlterReplicaLogDirsRequest.AlterReplicaLogDirTopic(
                        name=name, partitions=partitions
                    )
                    for name, partitions in topics.items()
                ],
            )
            for path, topics in moves.items()
        ]
    )


async def moved(
    storage: FakeStorage,
    request: AlterReplicaLogDirsRequest,
    *,
    version: int = 2,
    cluster: Cluster | None = None,
) -> dict[tuple[str, int], int]:
    handler = alter_replica_log_dirs.HANDLER
    response = await call(handler, request, version, storage, cluster=cluster)
    return {
        (topic.topic_name, each.partition_index): each.error_code
        for topic in response.results
        for each in topic.partitions
    }


@pytest.mark.parametrize("version", [1, 2])
async def test_replicas_are_where_they_can_be(storage: FakeStorage, version: int) -> None:
    request = move(
        {
            LOG_DIR: {"orders": [0, 9, -1], "missing": [0]},
            "/elsewhere": {"orders": [1], "missing": [1]},
        }
    )

    assert await moved(storage, request, version=version) == {
        ("orders", 0): ErrorCode.NONE,
        ("orders", 9): ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        ("orders", -1): ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        ("orders", 1): ErrorCode.LOG_DIR_NOT_FOUND,
        ("missing", 0): ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        ("missing", 1): ErrorCode.LOG_DIR_NOT_FOUND,
    }


async def test_a_replica_of_another_gateway_is_not_available_here(
    storage: FakeStorage,
) -> None:
    codes = await moved(
        storage,
        move({LOG_DIR: {"orders": [0, 1, 2, 3]}}),
        cluster=gateways(storage, 1, 2),
    )

    assert sorted(codes.values()) == [
        ErrorCode.NONE,
        ErrorCode.NONE,
        ErrorCode.REPLICA_NOT_AVAILABLE,
        ErrorCode.REPLICA_NOT_AVAILABLE,
    ]


async def test_a_move_is_answered_with_the_code_when_storage_is_away(
    storage: FakeStorage,
) -> None:
    storage.is_away_with = ErrorCode.LEADER_NOT_AVAILABLE

    assert await moved(storage, move({LOG_DIR: {"orders": [0]}})) == {
        ("orders", 0): ErrorCode.LEADER_NOT_AVAILABLE
    }
