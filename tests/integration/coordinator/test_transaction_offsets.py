"""Groups as participants: offsets that appear with a transaction, or not at all."""

import pytest
from redis.asyncio import Redis

from korvet.kafka.errors import ErrorCode
from korvet.proto.coordinator.v1 import coordinator_service_pb2 as pb
from korvet.redis.topic_ids import topic_id_text
from tests.support.coordinator_replica import TOPIC_ID, CoordinatorReplica
from tests.support.eventually import eventually
from tests.support.transaction_storage import TransactionStorage
from tests.support.transactional_producer import StartTransactional, TransactionalProducer

pytestmark = pytest.mark.integration

NONE = ErrorCode.NONE
NOT_OPEN = ErrorCode.INVALID_TXN_STATE


async def offsets(
    coordinator: CoordinatorReplica, *topics: str, require_stable: bool = True
) -> dict[str, int | ErrorCode]:
    """What a member would begin from; no topics: all that there are."""
    request = pb.FetchOffsetsRequest(
        group_id="group", all=not topics, require_stable=require_stable
    )
    for topic in topics:
        request.partitions.add(topic=topic, partition=0)
    response = await coordinator.stub.FetchOffsets(request)
    assert response.error_code == NONE
    return {
        each.topic: ErrorCode(each.error_code) if each.error_code else each.offset
        for each in response.offsets
    }


UNSTABLE = {"orders": ErrorCode.UNSTABLE_OFFSET_COMMIT}


@pytest.mark.parametrize("is_commit", [True, False])
async def test_offsets_appear_with_the_transaction_or_not_at_all(
    producer: TransactionalProducer, redis: "Redis", is_commit: bool
) -> None:
    coordinator = producer.coordinator
    await coordinator.commit("group", 3)
    await coordinator.commit("group", 8, topic="bills")
    assert await producer.add_group() is NONE
    assert await producer.commit_offset(5, metadata="it\nis me ") is NONE

    assert await offsets(coordinator, "orders", "bills") == {**UNSTABLE, "bills": 8}
    assert await offsets(coordinator) == {**UNSTABLE, "bills": 8}
    assert await offsets(coordinator, "bills") == {"bills": 8}
    unstable_too = await offsets(coordinator, "orders", require_stable=False)
    assert unstable_too == {"orders": 3}

    assert await producer.end(is_commit=is_commit) is NONE

    assert await offsets(coordinator, "orders") == {"orders": 5 if is_commit else 3}
    assert not await redis.exists("korvet:group:group:pending")
    request = pb.FetchOffsetsRequest(group_id="group")
    request.partitions.add(topic="orders", partition=0)
    (found,) = (await coordinator.stub.FetchOffsets(request)).offsets
    metadata, leader_epoch = ("it\nis me ", 3) if is_commit else ("", -1)
    assert (found.metadata, found.leader_epoch) == (metadata, leader_epoch)
    assert found.topic_id == TOPIC_ID


async def test_the_first_offset_of_a_partition_is_not_stable_either(
    producer: TransactionalProducer,
) -> None:
    await producer.add_group()
    await producer.commit_offset(5)

    assert await offsets(producer.coordinator, "orders") == UNSTABLE
    assert await offsets(producer.coordinator) == UNSTABLE
    assert await offsets(producer.coordinator, "orders", require_stable=False) == {}


async def test_the_last_offset_of_a_transaction_counts(
    producer: TransactionalProducer,
) -> None:
    await producer.add_group()
    for offset in (5, 7, 6):
        assert await producer.commit_offset(offset) is NONE
    await producer.commit()
    assert await offsets(producer.coordinator) == {"orders": 6}


async def test_two_producers_do_not_meet_in_a_group(
    producer: TransactionalProducer,
) -> None:
    other = TransactionalProducer(producer.coordinator, "other")
    await other.init()
    for each, topic in ((producer, "orders"), (other, "bills")):
        await each.add_group()
        assert await each.commit_offset(5, topic=topic) is NONE

    await producer.abort()

    unstable = ErrorCode.UNSTABLE_OFFSET_COMMIT
    assert await offsets(producer.coordinator) == {"bills": unstable}
    await other.commit()
    assert await offsets(producer.coordinator) == {"bills": 5}


async def test_only_an_open_transaction_of_this_epoch_commits_offsets(
    producer: TransactionalProducer,
) -> None:
    assert await producer.commit_offset(5) is NOT_OPEN
    await producer.add()
    assert await producer.commit_offset(5) is NOT_OPEN
    await producer.add_group()
    producer.epoch += 1
    assert await producer.commit_offset(5) is NOT_OPEN
    producer.epoch -= 1
    assert await producer.commit_offset(5) is NONE
    await producer.commit()
    # It comes late, and opens nothing.
    assert await producer.commit_offset(9) is NOT_OPEN

    zombie = TransactionalProducer(producer.coordinator)
    zombie.producer_id, zombie.epoch = producer.producer_id, producer.epoch
    await producer.init()
    await producer.add_group()
    assert await zombie.commit_offset(9) is ErrorCode.INVALID_PRODUCER_EPOCH
    await producer.abort()
    assert await offsets(producer.coordinator) == {"orders": 5}


async def test_members_are_checked_and_those_from_outside_are_not(
    producer: TransactionalProducer,
) -> None:
    member = await producer.coordinator.member("group")
    await producer.add_group()

    assert await producer.commit_offset(5, joined=member) is NONE
    # Producers before KIP-447 say nothing of their group.
    assert await producer.commit_offset(6) is NONE
    member.generation_id += 1
    illegal = ErrorCode.ILLEGAL_GENERATION
    assert await producer.commit_offset(7, joined=member) is illegal
    member.member_id = "a stranger"
    unknown = ErrorCode.UNKNOWN_MEMBER_ID
    assert await producer.commit_offset(7, joined=member) is unknown
    assert await producer.commit_offset(7, "no group", joined=member) is illegal
    assert await producer.commit_offset(7, "") is ErrorCode.INVALID_GROUP_ID
    await producer.commit()
    assert await offsets(producer.coordinator) == {"orders": 6}


async def test_metadata_that_is_too_long_is_refused(
    producer: TransactionalProducer,
) -> None:
    await producer.add_group()
    refused = ErrorCode.OFFSET_METADATA_TOO_LARGE
    assert await producer.commit_offset(5, metadata="x" * 4097) is refused
    await producer.commit()
    assert await offsets(producer.coordinator) == {}


async def test_another_owner_of_the_group_is_named(
    start_transactional: StartTransactional, producer: TransactionalProducer
) -> None:
    other = await start_transactional("other")
    await other.commit("group", 1)

    assert await producer.add_group() is NONE
    assert await producer.commit_offset(5) is ErrorCode.NOT_COORDINATOR
    producer.coordinator, owner = other, producer.coordinator
    assert await producer.commit_offset(5) is NONE
    producer.coordinator = owner
    assert await producer.commit() is NONE
    assert await offsets(owner) == await offsets(other) == {"orders": 5}


async def test_a_group_that_was_overtaken_takes_no_offsets(
    start_transactional: StartTransactional,
    producer: TransactionalProducer,
    redis: "Redis",
) -> None:
    stale = await start_transactional("stale", lease_ms=300_000)
    member = await stale.member("group")
    await producer.add_group()
    # Its registration lapses, and it does not know yet.
    await redis.hdel("korvet:coordinators", stale.address)
    assert await producer.commit_offset(5, joined=member) is NONE

    zombie = TransactionalProducer(stale)
    zombie.producer_id, zombie.epoch = producer.producer_id, producer.epoch
    assert await zombie.commit_offset(3, joined=member) is ErrorCode.NOT_COORDINATOR
    assert await stale.heartbeat("group", member) is ErrorCode.NOT_COORDINATOR
    await producer.commit()
    assert await offsets(producer.coordinator) == {"orders": 5}


async def test_a_deleted_group_is_out_of_its_transactions(
    producer: TransactionalProducer, redis: "Redis"
) -> None:
    coordinator = producer.coordinator
    await producer.add_group()
    await producer.commit_offset(5)

    assert await coordinator.delete("group") is NONE

    assert await offsets(coordinator) == {}
    assert await redis.keys("korvet:*group*") == [b"korvet:group:group:transactions"]
    # So that what comes late is still refused.
    assert await redis.pttl("korvet:group:group:transactions") > 0
    assert await producer.commit() is NONE
    assert await offsets(coordinator) == {}
    assert await producer.commit_offset(6) is NOT_OPEN


async def test_offsets_that_are_deleted_do_not_come_back(
    producer: TransactionalProducer,
) -> None:
    coordinator = producer.coordinator
    await producer.add_group()
    for topic in ("orders", "bills"):
        await producer.commit_offset(5, topic=topic)
    request = pb.DeleteOffsetsRequest(group_id="group")
    request.partitions.add(topic="orders", partition=0)
    assert (await coordinator.stub.DeleteOffsets(request)).error_code == NONE

    await producer.commit()

    assert await offsets(coordinator) == {"bills": 5}


async def test_offsets_of_deleted_topics_wait_for_nothing(
    start_transactional: StartTransactional, storage: TransactionStorage, redis: "Redis"
) -> None:
    coordinator = await start_transactional(offsets_retention_check_interval_ms=50)
    producer = TransactionalProducer(coordinator)
    await producer.init()
    await producer.add_group()
    await producer.commit_offset(5)
    storage.gone.add("orders")

    async def is_forgotten() -> bool:
        return not await redis.exists("korvet:group:group:pending")

    await eventually(is_forgotten)
    await producer.commit()
    assert await offsets(coordinator) == {}


async def test_transactions_that_ended_long_ago_are_forgotten(
    start_transactional: StartTransactional, redis: "Redis"
) -> None:
    coordinator = await start_transactional(
        offsets_retention_check_interval_ms=50, transactional_id_expiration_ms=60_000
    )
    done, opened = (TransactionalProducer(coordinator, name) for name in ("done", "open"))
    for each in (done, opened):
        await each.init()
        await each.add_group()
        await each.commit_offset(5, topic=each.transactional_id)
    await done.commit()
    key = "korvet:group:group:transactions"
    for field, value in (await redis.hgetall(key)).items():
        await redis.hset(key, field, b" ".join([*value.split()[:4], b"1000"]))

    async def is_forgotten() -> bool:
        return await redis.hkeys(key) == [str(opened.producer_id).encode()]

    await eventually(is_forgotten)
    assert await opened.commit() is NONE


async def test_a_group_without_a_trace_is_not_remembered_for_ever(
    producer: TransactionalProducer, redis: "Redis"
) -> None:
    await producer.add_group()
    key = "korvet:group:group:transactions"
    assert await redis.pttl(key) == -1
    await producer.commit()
    assert await redis.pttl(key) > 0

    # It is needed again.
    await producer.add_group()
    assert await redis.pttl(key) == -1
    await producer.commit_offset(5)
    await producer.commit()
    assert await redis.pttl(key) == -1


async def test_a_group_takes_one_end_of_each_transaction(
    start_transactional: StartTransactional,
    producer: TransactionalProducer,
    storage: TransactionStorage,
) -> None:
    await producer.add_group()
    await producer.commit_offset(5)
    await producer.add()
    held = storage.hold("EndTransaction")
    await producer.commit()
    # The group has heard of it, whatever the partition does.
    assert await offsets(producer.coordinator) == {"orders": 5}
    assert await producer.state() == "PrepareCommit"
    await producer.coordinator.commit("group", 9)

    await producer.coordinator.crash()
    held.release()
    await producer.coordinator.start()
    assert await producer.init() is NONE

    assert storage.outcomes() == [(1, True)]
    assert await offsets(producer.coordinator) == {"orders": 9}


async def test_pending_offsets_lie_in_redis_as_documented(
    producer: TransactionalProducer, redis: "Redis"
) -> None:
    await producer.add_group()
    await producer.commit_offset(5, metadata="note")

    pending = await redis.hgetall("korvet:group:group:pending")
    field = f"{producer.producer_id} korvet:stream:orders:0".encode()
    assert pending == {field: f"5 {topic_id_text(TOPIC_ID)} 3 note".encode()}
