"""Work queues: who may consume one, where it begins, and how its streams end."""

from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from korvet.kafka.errors import ErrorCode
from korvet.proto.storage.v1 import storage_service_pb2 as pb
from tests.support.eventually import eventually
from tests.support.log_replica import (
    KEYS,
    LAYOUTS,
    LogReplica,
    batch_of,
    log_replica_on,
    ref,
)
from tests.support.queue_consumer import consumer_of, pending
from tests.support.redis_server import RedisServer

pytestmark = pytest.mark.integration

STREAM = KEYS.stream("orders", 0)


@pytest.fixture
async def replica(redis_server: RedisServer) -> AsyncIterator[LogReplica]:
    async with log_replica_on(redis_server) as replica:
        yield replica


@pytest.fixture
async def other(redis_server: RedisServer) -> AsyncIterator[LogReplica]:
    async with log_replica_on(redis_server) as replica:
        yield replica


async def test_a_group_of_kafka_consumers_is_no_queue(replica: LogReplica) -> None:
    await replica.create()
    await replica.redis.set(KEYS.group("workers"), "classic 1 1\n{}")

    async with consumer_of(replica.consumes) as consumer:
        assert await consumer.refused() is ErrorCode.INCONSISTENT_GROUP_PROTOCOL


async def test_a_queue_is_listed_among_the_groups(replica: LogReplica) -> None:
    await replica.create()
    for _ in range(2):
        async with consumer_of(replica.consumes, group="a:b", name="me") as consumer:
            await replica.appended(batch_of(1))
            await consumer.acknowledge(await consumer.next())

    groups: Any = replica.redis.smembers(KEYS.groups)
    assert await groups == {"a:b"}
    value: Any = await replica.redis.get(KEYS.group("a:b"))
    assert value.startswith("queue\n")


async def test_deleting_the_topic_ends_the_stream(replica: LogReplica) -> None:
    topic = await replica.create()
    async with consumer_of(replica.consumes) as consumer:
        await replica.appended(batch_of(1))
        await consumer.next()

        await replica.catalogue.delete(topic_id=topic.id)

        assert await consumer.refused() is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


async def test_a_topic_that_was_made_again_gets_no_acknowledgement_of_the_old_one(
    replica: LogReplica, other: LogReplica
) -> None:
    topic = await replica.create(configs=LAYOUTS["record-dense"])
    await replica.appended(batch_of(1))
    async with consumer_of(replica.consumes) as consumer:
        old = await consumer.next()
        await other.catalogue.delete(topic_id=topic.id)
        await other.create(configs=LAYOUTS["record-dense"])
        await other.appended(batch_of(1))
        async with consumer_of(other.consumes, name="worker-2") as another:
            new = await another.next()

            consumer.send(acknowledged=[old])
            assert await consumer.refused() is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION

            assert new.record.offset == old.record.offset
            assert await pending(replica) == {"worker-2": 1}


async def test_a_group_that_is_destroyed_ends_the_stream(replica: LogReplica) -> None:
    await replica.create()
    async with consumer_of(replica.consumes) as consumer:
        await replica.appended(batch_of(1))
        await consumer.next()

        await replica.redis.xgroup_destroy(STREAM, "workers")
        await replica.appended(batch_of(1))

        assert await consumer.refused() is ErrorCode.GROUP_ID_NOT_FOUND


async def test_a_storage_that_stops_ends_its_streams_and_keeps_what_is_pending(
    replica: LogReplica,
) -> None:
    await replica.create()
    await replica.appended(batch_of(2))
    async with consumer_of(replica.consumes) as consumer:
        await consumer.take(2)

        replica.consumes.intake.stop()

        assert await consumer.refused() is ErrorCode.NONE
    assert await pending(replica) == {"worker-1": 2}


async def test_a_stream_ends_with_a_retriable_error_when_redis_is_away(
    redis_server_name: str, tmp_path: Path
) -> None:
    with RedisServer(tmp_path, server=redis_server_name) as server:
        async with log_replica_on(server) as replica:
            await replica.create()
            await replica.appended(batch_of(1))
            async with consumer_of(replica.consumes) as consumer:
                delivery = await consumer.next()

                server.kill()
                consumer.send(acknowledged=[delivery])

                assert await consumer.refused() is ErrorCode.KAFKA_STORAGE_ERROR


@pytest.mark.parametrize(
    ("wrong", "code"),
    [
        ({"topic": "nothing"}, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
        ({"topic": b"a" * 16}, ErrorCode.UNKNOWN_TOPIC_ID),
        ({"partitions": [7]}, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
        ({"partitions": [-1]}, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
        ({"group": ""}, ErrorCode.INVALID_GROUP_ID),
        ({"name": ""}, ErrorCode.INVALID_REQUEST),
        ({"max_in_flight": -1}, ErrorCode.INVALID_REQUEST),
        ({"timestamp_ms": -9}, ErrorCode.INVALID_REQUEST),
    ],
)
async def test_what_makes_no_sense_is_refused(
    replica: LogReplica, wrong: dict[str, Any], code: ErrorCode
) -> None:
    await replica.create()

    async with consumer_of(replica.consumes, **wrong) as consumer:
        assert await consumer.refused() is code


async def test_a_consumer_that_has_nothing_left_leaves_no_trace(
    replica: LogReplica,
) -> None:
    await replica.create()
    await replica.appended(batch_of(2))
    async with (
        consumer_of(replica.consumes, max_in_flight=1) as tidy,
        consumer_of(replica.consumes, name="worker-2", max_in_flight=1) as careless,
    ):
        first, _ = await tidy.next(), await careless.next()
        await tidy.acknowledge(first)
        await tidy.finish()
        await careless.finish()

    async def names() -> list[str]:
        consumers: Any = await replica.redis.xinfo_consumers(STREAM, "workers")
        return [each["name"] for each in consumers]

    async def is_tidy() -> bool:
        return await names() == ["worker-2"]

    await eventually(is_tidy)


async def test_a_new_group_begins_where_it_is_told(replica: LogReplica) -> None:
    await replica.create()
    base = await replica.appended(batch_of(1, timestamp=1_700_000_000_000))
    middle = await replica.appended(batch_of(1, timestamp=1_700_000_005_000))

    async def first_of_group(group: str, timestamp_ms: int | None) -> int:
        async with consumer_of(
            replica.consumes, group=group, timestamp_ms=timestamp_ms
        ) as consumer:
            return (await consumer.next()).record.offset

    assert await first_of_group("default", None) == base
    assert await first_of_group("earliest", -2) == base
    assert await first_of_group("by time", 1_700_000_001_000) == middle
    async with (
        consumer_of(replica.consumes, group="latest", timestamp_ms=-1) as latest,
        consumer_of(replica.consumes, group="future", timestamp_ms=1 << 60) as future,
    ):
        for name in ("latest", "future"):
            await eventually(lambda name=name: exists(replica, name))  # type: ignore[misc]
        newest = await replica.appended(batch_of(1))
        assert (await latest.next()).record.offset == newest
        assert (await future.next()).record.offset == newest


@pytest.mark.parametrize("delivery", ["commit", "redis"])
async def test_a_queue_does_not_go_on_where_kafkas_consumers_of_the_name_have_been(
    replica: LogReplica, delivery: str
) -> None:
    await replica.create(configs={"group.delivery": delivery})
    base = await replica.appended(batch_of(3))
    await fetch(replica, base)
    await show_commit(replica, base + 2)

    async with consumer_of(replica.consumes) as consumer:
        taken = await consumer.take(3)

    assert [each.record.offset for each in taken] == [base, base + 1, base + 2]
    assert {each.delivery_count for each in taken} == {1}
    assert await pending(replica) == {"worker-1": 3}


async def test_a_queue_does_not_go_on_where_an_earlier_one_of_the_name_has_been(
    replica: LogReplica,
) -> None:
    await replica.create()
    base = await replica.appended(batch_of(2))
    async with consumer_of(replica.consumes) as consumer:
        await consumer.take(2)
    # Deleted, though not on this stream: it could not be reached.
    await replica.redis.delete(KEYS.group("workers"))

    async with consumer_of(replica.consumes, name="worker-2") as consumer:
        taken = await consumer.take(2)

    assert [each.record.offset for each in taken] == [base, base + 1]
    assert await pending(replica) == {"worker-2": 2}


async def test_what_is_told_late_of_kafkas_consumers_does_not_touch_a_queue(
    replica: LogReplica,
) -> None:
    await replica.create(configs={"group.delivery": "redis"})
    base = await replica.appended(batch_of(3))
    async with consumer_of(replica.consumes, max_in_flight=1) as consumer:
        first = await consumer.next()

        await show_commit(replica, base + 3)
        await fetch(replica, base)
        await forget_commit(replica)
        await consumer.acknowledge(first)

        assert (await consumer.next()).record.offset == base + 1


async def fetch(replica: LogReplica, offset: int) -> None:
    """As a Kafka consumer whose group is called like the queue."""
    read = pb.PartitionRead(
        topic=ref("orders"),
        offset=offset,
        max_bytes=1 << 20,
        deliver_to=pb.RedisConsumer(group="workers", consumer="a member"),
    )
    await replica.reads.read(pb.ReadRequest(partitions=[read]))


async def show_commit(replica: LogReplica, offset: int) -> None:
    request = pb.MoveRedisGroupsRequest()
    request.positions.add(topic=ref("orders"), group="workers", offset=offset)
    answer = await replica.groups.move_redis_groups(request)
    assert list(answer.error_codes) == [ErrorCode.NONE]


async def forget_commit(replica: LogReplica) -> None:
    request = pb.DestroyRedisGroupRequest(group="workers")
    request.partitions.add(topic=ref("orders"))
    await replica.groups.destroy_redis_group(request)


async def exists(replica: LogReplica, group: str) -> bool:
    groups: Any = await replica.redis.xinfo_groups(STREAM)
    return group in [each["name"] for each in groups]


async def test_partitions_that_a_topic_gets_later_are_consumed_too(
    replica: LogReplica,
) -> None:
    await replica.create()
    async with consumer_of(replica.consumes) as consumer:
        await replica.appended(batch_of(1))
        await consumer.next()
        await replica.catalogue.add_partitions("orders", 2)
        await replica.appended(batch_of(1), partition=1)

        # Anything that happens makes it look.
        await replica.appended(batch_of(1))
        taken = await consumer.take(2)

    assert {each.partition for each in taken} == {0, 1}
