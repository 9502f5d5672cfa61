"""acks.fsync: an acknowledgement of acks=all means that the record is on disk."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from korvet.kafka.errors import ErrorCode
from korvet.proto.storage.v1 import storage_service_pb2 as pb
from tests.support.eventually import eventually
from tests.support.log_replica import KEYS, LogReplica, batch_of, log_replica_on, ref
from tests.support.redis_server import VALKEY, RedisServer

pytestmark = pytest.mark.integration

DURABLE = {"appendonly": "yes", "appendfsync": "everysec", "repl-diskless-sync-delay": "0"}
PATIENT_MS = 30_000
ON_DISK = {"acks.fsync": "true"}


@pytest.fixture
def server(tmp_path: Path) -> RedisServer:
    return RedisServer(tmp_path / "primary", server=VALKEY, options=DURABLE)


@pytest.fixture
async def storage(server: RedisServer) -> AsyncIterator[LogReplica]:
    with server:
        async with log_replica_on(server) as storage:
            yield storage


async def append(
    storage: LogReplica,
    acks: "pb.Acks.ValueType" = pb.ACKS_ALL,
    timeout_ms: int = PATIENT_MS,
) -> pb.PartitionAppended:
    item = pb.PartitionAppend(topic=ref("orders"), batch=batch_of(1))
    request = pb.AppendRequest(partitions=[item], acks=acks, timeout_ms=timeout_ms)
    return (await storage.appends.append(request)).partitions[0]


def questions(server: RedisServer) -> int:
    """How often Redis was asked what is on disk."""
    with server.client() as client:
        stats = client.info("commandstats")
        return int(stats.get("cmdstat_waitaof", {"calls": 0})["calls"])


async def test_acks_all_waits_for_the_disk_and_others_do_not(
    storage: LogReplica, server: RedisServer
) -> None:
    await storage.create(configs=ON_DISK)
    await storage.create("plain")

    assert (await append(storage, pb.ACKS_LEADER)).error_code == ErrorCode.NONE
    await storage.appended(batch_of(1), "plain")
    assert questions(server) == 0

    assert (await append(storage)).error_code == ErrorCode.NONE
    assert questions(server) == 1


async def test_what_was_acknowledged_is_there_after_a_crash(
    storage: LogReplica, server: RedisServer
) -> None:
    await storage.create(configs=ON_DISK)
    answers = await asyncio.gather(*(append(storage) for _ in range(50)))
    assert {answer.error_code for answer in answers} == {ErrorCode.NONE}

    await asyncio.to_thread(server.kill)
    await asyncio.to_thread(server.start)

    with server.client() as client:
        assert client.xlen(KEYS.stream("orders", 0)) == 50


async def test_replicas_must_have_it_on_disk_too(
    storage: LogReplica, server: RedisServer, tmp_path: Path
) -> None:
    await storage.create(configs={**ON_DISK, "min.insync.replicas": "2"})
    with RedisServer(tmp_path / "replica", server=VALKEY, options=DURABLE) as replica:
        with replica.client() as client:
            client.replicaof(server.host, server.port)

        async def is_confirmed() -> bool:
            return (await append(storage)).error_code == ErrorCode.NONE

        await eventually(is_confirmed, within=60)

        with replica.paused():
            answer = await append(storage, timeout_ms=200)
        assert answer.error_code == ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND


async def test_a_redis_without_an_append_only_file_is_told_of(tmp_path: Path) -> None:
    with RedisServer(tmp_path, server=VALKEY) as server:
        await is_refused(server, "append-only file")


async def test_an_older_redis_is_told_of(redis_server: RedisServer) -> None:
    await is_refused(redis_server, "")


async def is_refused(server: RedisServer, why: str) -> None:
    async with log_replica_on(server) as storage:
        await storage.create(configs=ON_DISK)

        # The very first append: it waits until Redis was asked what it can do.
        answer = await append(storage)

        assert answer.error_code == ErrorCode.INVALID_CONFIG
        assert "acks.fsync" in answer.error_message
        assert why in answer.error_message
        with server.client() as client:
            assert client.xlen(KEYS.stream("orders", 0)) == 0
        assert (await append(storage, pb.ACKS_LEADER)).error_code == ErrorCode.NONE
