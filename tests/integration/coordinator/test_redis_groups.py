"""What becomes of Kafka's groups in Redis's own, when they or their offsets are no more."""

import pytest
from redis.asyncio import Redis

from korvet.kafka.errors import ErrorCode
from korvet.proto.coordinator.v1 import coordinator_service_pb2 as pb
from tests.support.coordinator_replica import CoordinatorReplica, StartCoordinator
from tests.support.eventually import eventually, steady
from tests.support.group_storage import GroupStorage
from tests.support.idle_groups import age_group, age_offsets

pytestmark = pytest.mark.integration


@pytest.fixture
async def coordinator(
    start_coordinator: StartCoordinator, group_storage: GroupStorage
) -> CoordinatorReplica:
    # It looks for what has expired whenever it is started.
    return await start_coordinator(
        storage_address=group_storage.address, offsets_retention_minutes=1
    )


async def commit(
    coordinator: CoordinatorReplica, storage: GroupStorage, *partitions: int
) -> None:
    """Commit offset 5 of each, and wait until that is shown."""
    for partition in partitions:
        await coordinator.commit("group", 5, partition=partition)
    expected = {("group", "orders", partition): 5 for partition in partitions}
    await eventually(lambda: is_shown(storage, expected))


async def is_shown(
    storage: GroupStorage, expected: dict[tuple[str, str, int], int]
) -> bool:
    return storage.shown == expected


async def delete_offset(coordinator: CoordinatorReplica, partition: int) -> None:
    request = pb.DeleteOffsetsRequest(group_id="group")
    request.partitions.add(topic="orders", partition=partition)
    answer = await coordinator.stub.DeleteOffsets(request)
    codes = answer.error_code, *answer.partition_error_codes
    assert codes == (ErrorCode.NONE, ErrorCode.NONE)


async def grow_old(coordinator: CoordinatorReplica, redis: "Redis") -> None:
    await coordinator.crash()
    await age_offsets(redis, "group")
    await age_group(redis, "group")
    await coordinator.start()


async def test_a_group_is_taken_off_the_partition_whose_offset_is_deleted(
    coordinator: CoordinatorReplica, group_storage: GroupStorage
) -> None:
    await commit(coordinator, group_storage, 0, 1)

    await delete_offset(coordinator, 0)

    await eventually(lambda: is_shown(group_storage, {("group", "orders", 1): 5}))


async def test_deleting_an_offset_does_not_wait_for_storage(
    coordinator: CoordinatorReplica, group_storage: GroupStorage
) -> None:
    await commit(coordinator, group_storage, 0, 1)
    group_storage.is_away = True

    await delete_offset(coordinator, 0)
    await delete_offset(coordinator, 1)
    await coordinator.commit("group", 7, partition=1)
    group_storage.is_away = False

    # Of what happened to one offset, the last is shown.
    await eventually(lambda: is_shown(group_storage, {("group", "orders", 1): 7}))


async def test_a_group_that_expires_is_taken_off_all_it_was_shown_on(
    coordinator: CoordinatorReplica, group_storage: GroupStorage, redis: "Redis"
) -> None:
    await commit(coordinator, group_storage, 0, 1)
    # Fetched, and never committed.
    group_storage.shown["group", "delivered", 1] = 3

    await grow_old(coordinator, redis)

    await eventually(lambda: is_shown(group_storage, {}))


async def test_a_group_does_not_expire_while_it_cannot_be_taken_off(
    coordinator: CoordinatorReplica, group_storage: GroupStorage, redis: "Redis"
) -> None:
    await commit(coordinator, group_storage, 0)
    group_storage.is_away = True

    await grow_old(coordinator, redis)

    async def is_there() -> int:
        found: int = await redis.exists("korvet:group:group")
        return found

    assert await steady(is_there, for_=0.3) == 1
    group_storage.is_away = False
    await coordinator.crash()
    await coordinator.start()
    await eventually(lambda: is_shown(group_storage, {}))

    async def is_gone() -> bool:
        return not await is_there()

    await eventually(is_gone)


async def test_an_offset_that_expires_before_the_others_is_not_shown_any_more(
    coordinator: CoordinatorReplica, group_storage: GroupStorage, redis: "Redis"
) -> None:
    await commit(coordinator, group_storage, 0)
    await coordinator.crash()
    await age_offsets(redis, "group")
    await age_group(redis, "group")
    await redis.hset(
        "korvet:group:group:offsets",
        "korvet:stream:orders:1",
        f"AAECAwQFBgcICQoLDA0ODw -1 {1 << 50} ",
    )
    await redis.set("korvet:commit:korvet:stream:orders:1:group", "9")
    group_storage.shown["group", "orders", 1] = 9

    await coordinator.start()

    await eventually(lambda: is_shown(group_storage, {("group", "orders", 1): 9}))


async def test_a_deleted_group_is_taken_off_every_partition(
    coordinator: CoordinatorReplica, group_storage: GroupStorage
) -> None:
    await commit(coordinator, group_storage, 0)
    # Nothing else in Redis tells of these any more.
    group_storage.shown["group", "orders", 1] = 3
    group_storage.shown["group", "delivered", 0] = 3
    group_storage.shown["another", "orders", 0] = 3

    assert await coordinator.delete("group") is ErrorCode.NONE

    assert group_storage.shown == {("another", "orders", 0): 3}
    # And in one call, however many they are.
    assert group_storage.destroyed == [4]


async def test_a_group_is_not_deleted_while_it_cannot_be_taken_off(
    coordinator: CoordinatorReplica, group_storage: GroupStorage
) -> None:
    await commit(coordinator, group_storage, 0)
    group_storage.is_away = True

    assert await coordinator.delete("group") is ErrorCode.COORDINATOR_NOT_AVAILABLE
    assert await coordinator.committed("group") == {("orders", 0): 5}

    group_storage.is_away = False
    assert await coordinator.delete("group") is ErrorCode.NONE
    assert group_storage.shown == {}
