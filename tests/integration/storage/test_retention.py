"""Retention, at each append and by the sweeper."""

import asyncio
from collections.abc import AsyncIterator

import pytest

from korvet.kafka.errors import ErrorCode
from korvet.proto.storage.v1 import storage_service_pb2 as pb
from korvet.storage.topic_configs import ConfigChange
from tests.support.eventually import eventually
from tests.support.log_replica import (
    KEYS,
    LAYOUTS,
    LogReplica,
    Producer,
    batch_of,
    log_replica_on,
)
from tests.support.redis_server import RedisServer

pytestmark = pytest.mark.integration

STREAM = KEYS.stream("orders", 0)
INDEX = KEYS.index("orders", 0)


@pytest.fixture
async def replica(redis_server: RedisServer) -> AsyncIterator[LogReplica]:
    async with log_replica_on(redis_server) as replica:
        yield replica


@pytest.mark.parametrize("approximate", ["true", "false"])
@pytest.mark.parametrize("layout", LAYOUTS)
async def test_an_append_deletes_what_is_too_old(
    replica: LogReplica, layout: str, approximate: str
) -> None:
    await replica.create(
        configs={
            **LAYOUTS[layout],
            "retention.ms": "80",
            "approximate.trimming": approximate,
        }
    )
    # The age is that of the append, so that old records are not deleted on arrival.
    old = await replica.appended(batch_of(600, timestamp=1000))
    assert len(await replica.read_all(0)) == 600
    await asyncio.sleep(0.1)

    new = await replica.appended(batch_of(3, timestamp=1000))

    assert [r.offset for r in await replica.read_all(new)] == [new, new + 1, new + 2]
    log = await replica.describe()
    assert (log.log_start_offset, log.record_count) == (old + 600, 3)
    assert (await replica.read(old)).error_code == ErrorCode.OFFSET_OUT_OF_RANGE


@pytest.mark.parametrize("approximate", ["true", "false"])
@pytest.mark.parametrize("layout", LAYOUTS)
async def test_an_append_deletes_what_is_too_much(
    replica: LogReplica, layout: str, approximate: str
) -> None:
    configs = {"retention.bytes": "100000", "approximate.trimming": approximate}
    await replica.create(configs={**LAYOUTS[layout], **configs})

    for _ in range(100):
        await replica.appended(batch_of(50, value=b"v" * 90))

    log = await replica.describe()
    # A block of these has about 60 kB; exactly, it is a batch or a record too many.
    surplus = 6000 if approximate == "false" else 66_000
    assert 100_000 <= log.size_bytes <= 100_000 + surplus
    live = len(await replica.read_all(log.log_start_offset))
    assert live == pytest.approx(log.record_count, abs=60)
    assert live * 100 == pytest.approx(log.size_bytes, rel=0.15)


@pytest.mark.parametrize("layout", LAYOUTS)
async def test_sizes_that_change_do_not_delete_too_much(
    replica: LogReplica, layout: str
) -> None:
    """By the mean size of all records, small new ones would take large old ones along."""
    configs = {"retention.bytes": "2000000", "storage.compression": "none"}
    await replica.create(configs={**LAYOUTS[layout], **configs})
    for _ in range(10):
        await replica.appended(batch_of(1, value=b"v" * 300_000))
    for _ in range(10):
        await replica.appended(batch_of(500, value=b"v"))

    log = await replica.describe()

    large = [
        r for r in await replica.read_all(log.log_start_offset) if len(r.value or b"") > 9
    ]
    assert 2_000_000 <= log.size_bytes <= 2_400_000
    assert len(large) in (6, 7)


@pytest.mark.parametrize("layout", LAYOUTS)
async def test_the_last_entry_stays_however_large_it_is(
    replica: LogReplica, redis_server: RedisServer, layout: str
) -> None:
    await replica.create(configs={**LAYOUTS[layout], "retention.bytes": "0"})
    for _ in range(3):
        last = await replica.appended(batch_of(1, value=b"v" * 300))

    assert [r.offset for r in await replica.read_all(last)] == [last]
    with redis_server.client() as client:
        assert client.xlen(STREAM) == 1


async def test_compacted_topics_keep_everything(replica: LogReplica) -> None:
    configs = {"cleanup.policy": "compact", "retention.bytes": "1", "retention.ms": "0"}
    await replica.create(configs=configs)
    for _ in range(3):
        await replica.appended(batch_of(2))
    await replica.logs._sweeper.sweep()

    assert len(await replica.read_all(0)) == 6
    assert (await replica.cut(-1)).error_code == ErrorCode.POLICY_VIOLATION


async def test_the_sweeper_deletes_where_nobody_writes(redis_server: RedisServer) -> None:
    async with log_replica_on(
        redis_server, sweep_interval=0.05, producer_expiry=0.05
    ) as replica:
        for name, configs in LAYOUTS.items():
            await replica.create(name, {**configs, "retention.ms": "100"}, partitions=2)
            batch = batch_of(600, producer=Producer(7, 0, 0))
            await replica.appended(batch, name, partition=1)

        with redis_server.client() as client:
            left = [
                *(KEYS.stream(name, 1) for name in LAYOUTS),
                *(KEYS.index(name, 1) for name in LAYOUTS),
            ]
            await eventually(lambda: not any(client.xlen(key) for key in left))
            producers = [KEYS.producers(name, 1) for name in LAYOUTS]
            await eventually(lambda: not client.exists(*producers))
        for name in LAYOUTS:
            log = await replica.describe(name)
            assert (log.record_count, log.size_bytes) == (0, 0)


async def test_what_the_sweeper_cannot_do_for_one_topic_it_does_for_the_others(
    replica: LogReplica, redis_server: RedisServer
) -> None:
    names = ("a", "orders", "z")
    for name in names:
        await replica.create(name, partitions=2)
        await replica.appended(batch_of(5), name, partition=1)
        change = ConfigChange("retention.bytes", pb.CONFIG_OPERATION_SET, "0")
        await replica.catalogue.alter_configs(name, [change])
    with redis_server.client() as client:
        client.set(KEYS.stream("orders", 0), "no stream")
        client.set(KEYS.producers("orders", 0), "no hash")
        client.hset(KEYS.producers("a", 0), "7", "nonsense")
        client.hset(KEYS.partition("orders", 0), "last", "1-1")

        await replica.logs._sweeper.sweep()

        assert [client.xlen(KEYS.stream(name, 1)) for name in names] == [1, 1, 1]


async def test_a_sweep_that_deletes_nothing_writes_nothing(
    replica: LogReplica, redis_server: RedisServer
) -> None:
    await replica.create(configs={"retention.bytes": "1000000"}, partitions=3)
    await replica.appended(batch_of(3))
    with redis_server.client() as client:
        before = client.info("persistence")["rdb_changes_since_last_save"]

        await replica.logs._sweeper.sweep()

        assert client.info("persistence")["rdb_changes_since_last_save"] == before
