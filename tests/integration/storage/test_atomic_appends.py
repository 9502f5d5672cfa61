"""AppendAtomically: several partitions in one script, all or nothing."""

from collections.abc import AsyncIterator

import pytest

from korvet.kafka.compression import CODECS
from korvet.kafka.errors import ErrorCode
from korvet.kafka.records import build_batch
from korvet.proto.storage.v1 import storage_service_pb2 as pb
from korvet.redis.failures import InvalidRequestError
from korvet.storage.record_arguments import MAX_RECORDS
from tests.support.log_replica import (
    KEYS,
    LAYOUTS,
    TIMESTAMP,
    LogReplica,
    Producer,
    batch_of,
    log_replica_on,
    ref,
    snapshot,
)
from tests.support.redis_server import RedisServer

pytestmark = pytest.mark.integration


@pytest.fixture
async def replica(redis_server: RedisServer) -> AsyncIterator[LogReplica]:
    async with log_replica_on(redis_server) as replica:
        yield replica


def part(topic: str, partition: int, batch: bytes) -> pb.PartitionAppend:
    return pb.PartitionAppend(topic=ref(topic), partition=partition, batch=batch)


async def together(
    replica: LogReplica, *parts: pb.PartitionAppend
) -> list[pb.PartitionAppended]:
    response = await replica.atomic_appends.append(pb.AppendRequest(partitions=parts))
    return list(response.partitions)


def codes(answers: list[pb.PartitionAppended]) -> list[ErrorCode]:
    return [ErrorCode(answer.error_code) for answer in answers]


async def topics_of_every_layout(replica: LogReplica) -> list[str]:
    for layout, configs in LAYOUTS.items():
        await replica.create(layout, configs, partitions=2)
    return list(LAYOUTS)


async def test_every_partition_has_its_records_at_the_offsets_told(
    replica: LogReplica,
) -> None:
    topics = await topics_of_every_layout(replica)
    await replica.appended(batch_of(3), topics[0], 1)
    parts = [part(topic, p, batch_of(2)) for topic in topics for p in (0, 1)]

    answers = await together(replica, *parts)

    assert set(codes(answers)) == {ErrorCode.NONE}
    for place, answer in zip(parts, answers, strict=True):
        found = await replica.read_all(
            answer.base_offset, place.topic.name, place.partition
        )
        assert [record.offset for record in found] == [
            answer.base_offset,
            answer.base_offset + 1,
        ]


async def test_one_that_is_refused_keeps_all_from_being_written(
    replica: LogReplica, redis_server: RedisServer
) -> None:
    topics = await topics_of_every_layout(replica)
    await replica.appended(batch_of(1, producer=Producer(7, 3, 0)), topics[1], 0)
    before = snapshot(redis_server)
    good = part(topics[0], 0, batch_of(2))
    not_attempted = ErrorCode.OPERATION_NOT_ATTEMPTED

    fenced = part(topics[1], 0, batch_of(1, producer=Producer(7, 2, 1)))
    assert codes(await together(replica, good, fenced)) == [
        not_attempted, ErrorCode.INVALID_PRODUCER_EPOCH
    ]  # fmt: skip
    unknown = part("no-such-topic", 0, batch_of(1))
    assert codes(await together(replica, unknown, good)) == [
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, not_attempted
    ]  # fmt: skip
    corrupt = part(topics[2], 0, batch_of(1)[:-1] + b"!")
    assert codes(await together(replica, good, corrupt)) == [
        not_attempted, ErrorCode.CORRUPT_MESSAGE
    ]  # fmt: skip
    assert snapshot(redis_server) == before


async def test_a_topic_made_again_keeps_all_from_being_written(
    replica: LogReplica, redis_server: RedisServer
) -> None:
    topics = await topics_of_every_layout(replica)
    async with log_replica_on(redis_server) as other:
        # Its cache is stale from now on.
        await other.catalogue.refresh(name=topics[1])
        await replica.catalogue.delete(name=topics[1])
        await replica.create(topics[1], LAYOUTS[topics[1]], partitions=2)
        before = snapshot(redis_server)

        answers = await together(
            other, part(topics[0], 0, batch_of(1)), part(topics[1], 0, batch_of(1))
        )

        assert codes(answers) == [
            ErrorCode.OPERATION_NOT_ATTEMPTED, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        ]  # fmt: skip
        assert snapshot(redis_server) == before


@pytest.mark.parametrize("injury", ["wrong type", "ahead", "index", "full"])
async def test_a_failure_in_any_partition_changes_no_key(
    replica: LogReplica, redis_server: RedisServer, injury: str
) -> None:
    topics = await topics_of_every_layout(replica)
    parts = [part(topic, 0, batch_of(600)) for topic in topics]
    stream = KEYS.stream(topics[-1], 0)
    with redis_server.client() as client:
        if injury == "wrong type":
            client.set(stream, "no stream")
        elif injury == "ahead":
            client.xadd(stream, {"a": "b"}, id="9999999999999-0")
        elif injury == "index":
            client.xadd(KEYS.index(topics[-1], 0), {"a": "b"}, id="9999999999999-0")
        else:
            client.config_set("maxmemory", "1")
        before = snapshot(redis_server)

        answers = await together(replica, *parts)

        assert set(codes(answers)) == {ErrorCode.KAFKA_STORAGE_ERROR}
        assert snapshot(redis_server) == before
        client.config_set("maxmemory", "0")


async def test_a_repeated_request_is_appended_once(replica: LogReplica) -> None:
    topics = await topics_of_every_layout(replica)
    parts = [part(topic, 0, batch_of(2, producer=Producer(7, 0, 0))) for topic in topics]
    first = await together(replica, *parts)

    assert await together(replica, *parts) == first

    # A part of it is not what was appended before.
    more = part(topics[0], 1, batch_of(2, producer=Producer(7, 0, 0)))
    assert codes(await together(replica, parts[0], more)) == [
        ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER, ErrorCode.OPERATION_NOT_ATTEMPTED
    ]  # fmt: skip


async def test_a_partition_that_is_named_twice_is_no_request(replica: LogReplica) -> None:
    await replica.create()

    with pytest.raises(InvalidRequestError):
        await together(
            replica, part("orders", 0, batch_of(1)), part("orders", 0, batch_of(1))
        )
    assert await together(replica) == []


# --- how much ---


async def test_what_is_too_much_for_one_command_is_refused_and_changes_no_key(
    replica: LogReplica, redis_server: RedisServer
) -> None:
    """Redis 6.2 hangs up on whoever sends more words than it takes."""
    await replica.create(configs={"max.message.bytes": "67108864"}, partitions=3)
    before = snapshot(redis_server)
    headers = [("h", b"")] * 30
    many = build_batch(
        [(place, TIMESTAMP, b"k", b"v", headers) for place in range(16_000)], base_offset=0
    )
    parts = [part("orders", partition, many) for partition in range(3)]

    answers = await together(replica, *parts)

    assert set(codes(answers)) == {ErrorCode.MESSAGE_TOO_LARGE}
    assert snapshot(redis_server) == before
    # So much is taken by every Redis.
    answers = await together(replica, *parts[:2])
    assert set(codes(answers)) == {ErrorCode.NONE}


async def test_too_many_records_at_once_are_refused_and_change_no_key(
    replica: LogReplica, redis_server: RedisServer
) -> None:
    await replica.create(configs={"max.message.bytes": "67108864"}, partitions=2)
    before = snapshot(redis_server)
    half = MAX_RECORDS // 2
    parts = [part("orders", partition, batch_of(half)) for partition in range(2)]

    answers = await together(replica, parts[0], part("orders", 1, batch_of(half + 1)))

    assert set(codes(answers)) == {ErrorCode.MESSAGE_TOO_LARGE}
    assert snapshot(redis_server) == before
    assert set(codes(await together(replica, *parts))) == {ErrorCode.NONE}


@pytest.mark.parametrize("storage_format", ["record", "batch"])
async def test_too_many_bytes_at_once_are_refused_and_change_no_key(
    replica: LogReplica, redis_server: RedisServer, storage_format: str
) -> None:
    configs = {"storage.format": storage_format, "max.message.bytes": "67108864"}
    await replica.create(configs=configs, partitions=3)
    before = snapshot(redis_server)
    large = batch_of(1, value=bytes(45 << 20))
    parts = [part("orders", partition, large) for partition in range(3)]

    answers = await together(replica, *parts)

    assert set(codes(answers)) == {ErrorCode.MESSAGE_TOO_LARGE}
    assert snapshot(redis_server) == before


async def test_a_small_batch_counts_as_what_becomes_of_it(replica: LogReplica) -> None:
    await replica.create(configs={"max.message.bytes": "67108864"}, partitions=3)
    compressed = batch_of(1, value=bytes(45 << 20), codec=CODECS["zstd"])
    parts = [part("orders", partition, compressed) for partition in range(3)]

    answers = await together(replica, *parts)

    assert len(compressed) < 1 << 16
    assert set(codes(answers)) == {ErrorCode.MESSAGE_TOO_LARGE}


async def test_a_batch_of_records_may_hold_redis_up_for_only_so_long(
    replica: LogReplica,
) -> None:
    await replica.create(configs={"max.message.bytes": "67108864"})

    answer = await replica.append(batch_of(MAX_RECORDS))
    more = await replica.append(batch_of(MAX_RECORDS + 1))

    assert answer.error_code == ErrorCode.NONE
    assert more.error_code == ErrorCode.MESSAGE_TOO_LARGE
