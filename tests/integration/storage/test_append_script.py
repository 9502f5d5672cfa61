"""The append script as a whole: nothing is half-written, whatever goes wrong in it."""

from collections.abc import AsyncIterator, Iterator
from typing import Any

import hiredis
import pytest
import redis as redis_sync

from korvet.kafka.errors import ErrorCode
from korvet.proto.storage.v1 import storage_service_pb2 as pb
from korvet.storage.topic_configs import ConfigChange
from tests.support.log_injuries import (
    ALL_INJURIES,
    DAMAGED_POINTS,
    INJURIES,
    KEPT,
    PARTITION,
    STREAM,
    heal,
    in_use,
)
from tests.support.log_replica import (
    LAYOUTS,
    LogReplica,
    Producer,
    batch_of,
    log_replica_on,
    snapshot,
)
from tests.support.partition_transaction import TransactionalProducer
from tests.support.redis_server import RedisServer

pytestmark = pytest.mark.integration


@pytest.fixture
async def replica(redis_server: RedisServer) -> AsyncIterator[LogReplica]:
    async with log_replica_on(redis_server) as replica:
        yield replica


@pytest.fixture
def healthy(redis_server: RedisServer) -> Iterator[None]:
    """Leaves the server's settings as they were."""
    yield
    with redis_server.client() as client:
        client.config_set("maxmemory", "0")
        client.config_set("min-replicas-to-write", "0")


@pytest.mark.usefixtures("healthy")
@pytest.mark.parametrize("layout", LAYOUTS)
async def test_a_failed_append_changes_no_key(
    replica: LogReplica, redis_server: RedisServer, layout: str
) -> None:
    await in_use(replica, layout)
    whole = snapshot(redis_server)
    # It closes a block, trims, and is the producer's next.
    batch = batch_of(700, producer=Producer(7, 0, 1210))
    with redis_server.client() as client:
        for name, injure in INJURIES.items():
            injure(client)
            before = snapshot(redis_server)

            answer = await replica.append(batch)

            assert answer.error_code == ErrorCode.KAFKA_STORAGE_ERROR, name
            assert snapshot(redis_server) == before, name
            heal(client, whole)
    assert await replica.appended(batch) > 0


@pytest.mark.parametrize("layout", LAYOUTS)
async def test_an_append_passes_over_what_is_damaged_in_the_index(
    replica: LogReplica, redis_server: RedisServer, layout: str
) -> None:
    await in_use(replica, layout)
    whole = snapshot(redis_server)
    batch = batch_of(700, producer=Producer(7, 0, 1210), value=b"v" * 100)
    with redis_server.client() as client:
        for name, injure in DAMAGED_POINTS.items():
            injure(client)
            base = await replica.appended(batch)

            newest = client.xrevrange(STREAM, count=1)[0][0]
            assert client.hget(PARTITION, "last") == newest, name
            log = await replica.describe()
            assert log.size_bytes >= KEPT, name
            kept = await replica.read_all(log.log_start_offset)
            assert base + 699 == kept[-1].offset, name
            assert len(kept) >= KEPT // 120, name
            # What was written is known to be: it can come again.
            assert await replica.appended(batch) == base, name
            assert client.xrevrange(STREAM, count=1)[0][0] == newest, name
            heal(client, whole)


@pytest.mark.usefixtures("healthy")
@pytest.mark.parametrize("layout", LAYOUTS)
async def test_an_append_that_needs_less_succeeds_or_changes_no_key(
    replica: LogReplica, redis_server: RedisServer, layout: str
) -> None:
    await in_use(replica, layout)
    whole = snapshot(redis_server)
    with redis_server.client() as client:
        for name, injure in ALL_INJURIES.items():
            injure(client)
            before = snapshot(redis_server)

            # Nobody's, and too small to close a block.
            answer = await replica.append(batch_of(2))

            if answer.error_code:
                assert answer.error_code == ErrorCode.KAFKA_STORAGE_ERROR, name
                assert name in INJURIES
                assert snapshot(redis_server) == before, name
            else:
                newest = client.xrevrange(STREAM, count=1)[0][0]
                assert client.hget(PARTITION, "last") == newest, name
            heal(client, whole)


@pytest.mark.usefixtures("healthy")
@pytest.mark.parametrize("layout", LAYOUTS)
async def test_a_failed_trim_changes_no_key(
    replica: LogReplica, redis_server: RedisServer, layout: str
) -> None:
    await in_use(replica, layout)
    whole = snapshot(redis_server)
    with redis_server.client() as client:
        for name, injure in ALL_INJURIES.items():
            injure(client)
            before = snapshot(redis_server)

            answer = await replica.cut(-1)

            if answer.error_code:
                assert answer.error_code == ErrorCode.KAFKA_STORAGE_ERROR, name
                assert name in INJURIES
                assert snapshot(redis_server) == before, name
            else:
                assert client.xrange(STREAM, max="9999999999998") == [], name
            heal(client, whole)


@pytest.mark.usefixtures("healthy")
@pytest.mark.parametrize(
    "limit", ["retention.bytes=2000", "retention.bytes=0", "retention.ms=1"]
)
@pytest.mark.parametrize("layout", LAYOUTS)
async def test_a_failed_sweep_changes_no_key(
    replica: LogReplica, redis_server: RedisServer, layout: str, limit: str
) -> None:
    await in_use(replica, layout)
    await change_config(replica, *limit.split("="))
    whole = snapshot(redis_server)
    with redis_server.client() as client:
        for name, injure in ALL_INJURIES.items():
            injure(client)
            before = snapshot(redis_server)

            try:
                await replica.apply_retention()
            except hiredis.ReplyError:
                assert name in INJURIES
                assert snapshot(redis_server) == before, name
            else:
                assert_start_is_saved(client, name)
            heal(client, whole)


@pytest.mark.usefixtures("healthy")
@pytest.mark.parametrize("layout", LAYOUTS)
async def test_a_failed_end_of_a_transaction_changes_no_key(
    replica: LogReplica, redis_server: RedisServer, layout: str
) -> None:
    await in_use(replica, layout)
    producer = TransactionalProducer(replica, producer_id=8)
    await producer.begin()
    await producer.written(10)
    # So that the marker deletes something.
    await change_config(replica, "retention.bytes", "2000")
    whole = snapshot(redis_server)
    with redis_server.client() as client:
        for name, injure in ALL_INJURIES.items():
            injure(client)
            before = snapshot(redis_server)

            error = await producer.abort()

            if error:
                assert error is ErrorCode.KAFKA_STORAGE_ERROR, name
                assert name in INJURIES
                assert snapshot(redis_server) == before, name
            else:
                newest = client.xrevrange(STREAM, count=1)[0][0]
                assert client.hget(PARTITION, "last") == newest, name
                assert_start_is_saved(client, name)
            heal(client, whole)


@pytest.mark.usefixtures("healthy")
@pytest.mark.parametrize("layout", LAYOUTS)
async def test_records_can_be_deleted_when_memory_is_full(
    replica: LogReplica, redis_server: RedisServer, layout: str
) -> None:
    await in_use(replica, layout)
    with redis_server.client() as client:
        client.config_set("maxmemory", "1")
        assert (await replica.append(batch_of(1))).error_code == (
            ErrorCode.KAFKA_STORAGE_ERROR
        )

        assert (await replica.cut(-1)).error_code == ErrorCode.NONE

        assert client.xlen(STREAM) == 0
        client.config_set("maxmemory", "0")
    await replica.appended(batch_of(1))


@pytest.mark.parametrize("layout", LAYOUTS)
async def test_an_append_to_another_topic_of_the_name_changes_no_key(
    replica: LogReplica, redis_server: RedisServer, layout: str
) -> None:
    await in_use(replica, layout)
    with redis_server.client() as client:
        client.hset(PARTITION, "id", "somebody else's")
    before = snapshot(redis_server)

    answer = await replica.append(batch_of(700, producer=Producer(7, 0, 1210)))

    assert answer.error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert snapshot(redis_server) == before


@pytest.mark.parametrize("layout", LAYOUTS)
async def test_entries_of_other_programs_do_not_stop_appends(
    replica: LogReplica, redis_server: RedisServer, layout: str
) -> None:
    await replica.create(configs={**LAYOUTS[layout], "retention.bytes": "10"})
    with redis_server.client() as client:
        # At the head of the log, where trimming begins.
        client.xadd(STREAM, {"batch": "too short for one"}, id="0-1")
        for _ in range(3):
            await replica.appended(batch_of(600))

        assert client.xrange(STREAM, max="0-1") == []
        assert client.xlen(STREAM) == 1


async def change_config(replica: LogReplica, name: str, value: str) -> None:
    change = ConfigChange(name, pb.CONFIG_OPERATION_SET, value)
    await replica.catalogue.alter_configs("orders", [change])


def assert_start_is_saved(client: "redis_sync.Redis", name: str) -> None:
    """What has gone is below the log's start."""
    start: Any = client.hget(PARTITION, "start")
    assert start is not None, name
    first: Any = client.xrange(STREAM, count=1)
    assert not first or entry_number(first[0][0]) >= entry_number(start), name


def entry_number(entry_id: bytes) -> tuple[int, int]:
    left, _, right = entry_id.partition(b"-")
    return int(left), int(right)
