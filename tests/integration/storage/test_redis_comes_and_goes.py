"""Redis is restarted, loses a tail, or is away: what clients are told, and what is kept."""

import asyncio
from collections.abc import AsyncIterator
from functools import partial
from pathlib import Path

import pytest

from korvet.kafka.errors import ErrorCode
from korvet.kafka.records import split_batches
from korvet.proto.storage.v1 import storage_service_pb2 as pb
from korvet.storage.find_offsets import Special
from tests.support.eventually import eventually
from tests.support.log_replica import (
    KEYS,
    LAYOUTS,
    LogReplica,
    Producer,
    batch_of,
    log_replica_on,
    records_in,
    ref,
)
from tests.support.redis_server import RedisServer

pytestmark = pytest.mark.integration

DURABLE = {"appendonly": "yes", "appendfsync": "always"}


@pytest.fixture
def server(redis_server_name: str, tmp_path: Path) -> RedisServer:
    """A server of the test's own that forgets nothing it has answered."""
    return RedisServer(tmp_path, server=redis_server_name, options=DURABLE)


@pytest.fixture
async def replica(server: RedisServer) -> AsyncIterator[LogReplica]:
    with server:
        async with log_replica_on(server) as replica:
            yield replica


async def restart(server: RedisServer, *replicas: LogReplica) -> None:
    """Crash, come back, and be noticed by everybody."""
    histories = {replica.logs.lane.history for replica in replicas}
    await asyncio.to_thread(server.kill)
    await asyncio.to_thread(server.start)
    await eventually(
        lambda: all(
            replica.logs.connected and replica.logs.lane.history not in histories
            for replica in replicas
        )
    )


async def epoch_end(
    replica: LogReplica, epoch: int, topic: str = "orders", current: int | None = None
) -> pb.FindEpochEndsResponse.EpochEnd:
    question = pb.FindEpochEndsRequest.Question(
        topic=ref(topic), leader_epoch=epoch, current_leader_epoch=current
    )
    request = pb.FindEpochEndsRequest(questions=[question])
    return (await replica.lookups.find_epoch_ends(request)).ends[0]


def epochs_in(batches: bytes) -> list[int]:
    return [header.partition_leader_epoch for header, _ in split_batches(batches)]


# --- leader epochs ---


async def test_each_run_of_redis_is_an_epoch_of_its_own(
    replica: LogReplica, server: RedisServer
) -> None:
    for layout, configs in LAYOUTS.items():
        await replica.create(layout, configs)
    first = {name: await replica.appended(batch_of(3), name) for name in LAYOUTS}

    async with log_replica_on(server) as other:
        await other.catalogue.describe_all()
        await restart(server, replica, other)
        second = {name: await other.appended(batch_of(3), name) for name in LAYOUTS}
        await eventually(lambda: epochs_known(replica) == {(1,)})
        await eventually(lambda: epochs_known(other) == {(1,)})

    for name in LAYOUTS:
        data = await replica.read(0, name)
        assert epochs_in(data.batches) == [0, 1]
        assert [h.base_offset for h, _ in split_batches(data.batches)] == [
            first[name],
            second[name],
        ]
        assert (await replica.find(Special.LATEST, name)).leader_epoch == 1
        assert (await replica.find(Special.EARLIEST, name)).leader_epoch == 0
        assert (await replica.find(Special.MAX_TIMESTAMP, name)).leader_epoch == 0
        end = await epoch_end(replica, 0, name)
        assert (end.leader_epoch, end.end_offset) == (0, first[name] + 3)
        end = await epoch_end(replica, 1, name)
        assert (end.leader_epoch, end.end_offset) == (1, second[name] + 3)
        end = await epoch_end(replica, 2, name)
        assert (end.leader_epoch, end.end_offset) == (-1, -1)


def epochs_known(replica: LogReplica) -> set[tuple[int, ...]]:
    return {topic.leader_epochs for topic in replica.catalogue.topics()}


def has_epoch(replica: LogReplica, epoch: int) -> bool:
    topic = replica.catalogue.by_name("orders")
    return topic is not None and topic.leader_epochs == (epoch,)


async def test_a_wrong_epoch_is_fenced_or_unknown(
    replica: LogReplica, server: RedisServer
) -> None:
    await replica.create()
    await replica.appended(batch_of(1))
    await restart(server, replica)
    await eventually(lambda: epochs_known(replica) == {(1,)})

    for epoch, code in (
        (0, ErrorCode.FENCED_LEADER_EPOCH),
        (1, ErrorCode.NONE),
        (2, ErrorCode.UNKNOWN_LEADER_EPOCH),
        (-1, ErrorCode.NONE),
    ):
        read = await replica.read(0, epoch=epoch)
        assert read.error_code == code, epoch
        assert not code or read.leader_epoch == 1
        assert (await replica.find(Special.LATEST, epoch=epoch)).error_code == code
        assert (await epoch_end(replica, 0, current=epoch)).error_code == code


async def test_a_run_of_redis_without_records_leaves_no_epoch_behind(
    replica: LogReplica, server: RedisServer
) -> None:
    await replica.create(configs={"offset.encoding": "dense"})
    await replica.create("unused")
    await replica.appended(batch_of(3))
    for run in range(1, 4):
        await restart(server, replica)
        # A run that ends before anybody has looked at it is no epoch.
        await eventually(partial(has_epoch, replica, run))

    await replica.appended(batch_of(3))

    assert epochs_in((await replica.read(0)).batches) == [0, 3]
    end = await epoch_end(replica, 2)
    assert (end.leader_epoch, end.end_offset) == (0, 3)


@pytest.mark.parametrize("layout", LAYOUTS)
async def test_a_lost_tail_shows(
    redis_server_name: str, tmp_path: Path, layout: str
) -> None:
    # It keeps what is saved by hand, and loses the rest in a crash.
    server = RedisServer(tmp_path, server=redis_server_name)
    with server:
        async with log_replica_on(server) as replica:
            await replica.create(configs=LAYOUTS[layout])
            kept = await replica.appended(batch_of(3)) + 3
            with server.client() as client:
                client.save()
            lost = await replica.appended(batch_of(5, value=b"lost")) + 5
            assert (await replica.read(0, epoch=0)).high_watermark == lost

            await restart(server, replica)

            # A consumer that has read the lost records stands at their end.
            refused = await replica.read(lost, epoch=0)
            assert refused.error_code == ErrorCode.FENCED_LEADER_EPOCH
            await eventually(lambda: epochs_known(replica) == {(1,)})
            end = await epoch_end(replica, 0)
            assert (end.leader_epoch, end.end_offset) == (0, kept)
            base = await replica.appended(batch_of(1, value=b"other"))
            assert (await epoch_end(replica, 0)).end_offset == kept
            assert [r.value for r in await replica.read_all(kept)] == [b"other"]
            assert base >= kept


@pytest.mark.parametrize("layout", LAYOUTS)
async def test_a_tail_that_is_all_of_the_log_shows(
    redis_server_name: str, tmp_path: Path, layout: str
) -> None:
    server = RedisServer(tmp_path, server=redis_server_name)
    with server:
        async with log_replica_on(server) as replica:
            await replica.create(configs=LAYOUTS[layout])
            with server.client() as client:
                client.save()
            lost = await replica.appended(batch_of(5, value=b"lost")) + 5

            await restart(server, replica)
            await replica.appended(batch_of(9, value=b"other"))

            refused = await replica.read(lost, epoch=0)
            assert refused.error_code == ErrorCode.FENCED_LEADER_EPOCH
            end = await epoch_end(replica, 0)
            assert (end.leader_epoch, end.end_offset) == (0, 0)


@pytest.mark.parametrize("append_first", [True, False])
async def test_an_epoch_that_was_lost_with_the_tail_is_not_given_again(
    redis_server_name: str, tmp_path: Path, append_first: bool
) -> None:
    server = RedisServer(tmp_path, server=redis_server_name)
    with server:
        async with log_replica_on(server) as replica:
            await replica.create(configs={"offset.encoding": "dense"})
            await replica.appended(batch_of(3))
            with server.client() as client:
                client.save()
            snapshot = (tmp_path / "dump.rdb").read_bytes()
            await restart(server, replica)
            await eventually(lambda: epochs_known(replica) == {(1,)})
            await replica.appended(batch_of(5, value=b"lost"))
            with server.client() as client:
                client.save()

            (tmp_path / "dump.rdb").write_bytes(snapshot)
            await restart(server, replica)
            if append_first:
                await replica.appended(batch_of(9, value=b"other"))
            await eventually(lambda: epochs_known(replica) == {(2,)})

            # A consumer that has read the lost records of epoch 1 stands at 8.
            refused = await replica.read(8, epoch=1)
            assert refused.error_code == ErrorCode.FENCED_LEADER_EPOCH
            end = await epoch_end(replica, 1, current=2)
            assert (end.leader_epoch, end.end_offset) == (0, 3)


@pytest.mark.parametrize("raised_by_another", [True, False])
async def test_before_an_epoch_is_raised_a_lost_one_passes_nowhere_for_the_newest(
    replica: LogReplica, server: RedisServer, raised_by_another: bool
) -> None:
    topic = await replica.create(configs={"offset.encoding": "dense"})
    await replica.appended(batch_of(3))
    # Redis has just come back without epoch 1: its hash is that of an earlier run, or was
    # brought up to this one by a replica that had never heard of epoch 1.
    replica.catalogue.set_epochs(topic, [1])
    if not raised_by_another:
        with server.client() as client:
            client.hset(KEYS.partition("orders", 0), "history", "an earlier run")

    refused = await replica.read(8, epoch=1)
    assert (refused.error_code, refused.leader_epoch) == (ErrorCode.FENCED_LEADER_EPOCH, 2)
    latest = await replica.find(Special.LATEST, epoch=1)
    assert latest.error_code == ErrorCode.FENCED_LEADER_EPOCH
    assert (await replica.find(Special.LATEST)).leader_epoch == 2
    end = await epoch_end(replica, 1)
    assert (end.leader_epoch, end.end_offset) == (0, 3)

    await replica.appended(batch_of(9, value=b"other"))

    assert epochs_in((await replica.read(0)).batches) == [0, 2]
    end = await epoch_end(replica, 1, current=2)
    assert (end.leader_epoch, end.end_offset) == (0, 3)


# --- Redis is away ---


async def test_without_redis_appends_certainly_did_not_run(
    replica: LogReplica, server: RedisServer
) -> None:
    await replica.create()
    await replica.appended(batch_of(1))
    await asyncio.to_thread(server.kill)
    await eventually(lambda: not any(lane.connected for lane in replica.logs._lanes))

    assert (await replica.append(batch_of(1))).error_code == ErrorCode.KAFKA_STORAGE_ERROR
    assert (await replica.read(0)).error_code == ErrorCode.KAFKA_STORAGE_ERROR
    assert (await replica.find(0)).error_code == ErrorCode.KAFKA_STORAGE_ERROR
    assert (await replica.find(0, epoch=0)).error_code == ErrorCode.KAFKA_STORAGE_ERROR
    assert (await epoch_end(replica, 0)).error_code == ErrorCode.KAFKA_STORAGE_ERROR
    assert (await replica.cut(-1)).error_code == ErrorCode.KAFKA_STORAGE_ERROR
    unknown = await replica.append(batch_of(1), "unheard-of")
    assert unknown.error_code == ErrorCode.KAFKA_STORAGE_ERROR
    unread = await replica.read(0, "unheard-of")
    assert unread.error_code == ErrorCode.KAFKA_STORAGE_ERROR

    await asyncio.to_thread(server.start)
    await replica.connected()
    await replica.appended(batch_of(1))
    assert len(await replica.read_all(0)) == 2


async def test_of_appends_under_way_when_redis_goes_the_outcome_is_unknown(
    replica: LogReplica, server: RedisServer
) -> None:
    await replica.create()
    await replica.appended(batch_of(1))
    with server.paused():
        under_way = [asyncio.create_task(replica.append(batch_of(1))) for _ in range(3)]
        # They are written once the loop has turned.
        await asyncio.sleep(0.01)
        await asyncio.to_thread(server.kill)
        server.start()

    answers = await asyncio.gather(*under_way)

    assert {a.error_code for a in answers} == {ErrorCode.REQUEST_TIMED_OUT}


async def test_nothing_acknowledged_is_lost_and_nothing_is_there_twice(
    replica: LogReplica, server: RedisServer
) -> None:
    """Idempotent producers go on over crashes of Redis, trying again whatever failed."""
    partitions = 4
    await replica.create(configs={"storage.format": "batch"}, partitions=partitions)
    done = asyncio.Event()

    async def produce(partition: int) -> int:
        number = 0
        is_open = False
        # What may have been appended is tried until that is certain.
        while is_open or not done.is_set():
            batch = batch_of(1, timestamp=number, producer=Producer(partition, 0, number))
            answer = await replica.append(batch, partition=partition)
            is_open = answer.error_code != ErrorCode.NONE
            if answer.error_code == ErrorCode.NONE:
                number += 1
            else:
                assert answer.error_code in (
                    ErrorCode.KAFKA_STORAGE_ERROR,
                    ErrorCode.REQUEST_TIMED_OUT,
                )
                await replica.connected()
        return number

    async def counted() -> bool:
        with server.client() as client:
            return all(
                client.xlen(f"korvet:stream:orders:{p}") > before[p] + 10
                for p in range(partitions)
            )

    producing = [asyncio.create_task(produce(p)) for p in range(partitions)]
    for _ in range(3):
        with server.client() as client:
            before = [client.xlen(f"korvet:stream:orders:{p}") for p in range(partitions)]
        await eventually(counted)
        await restart(server, replica)
    done.set()

    for partition, acknowledged in enumerate(await asyncio.gather(*producing)):
        records = await replica.read_all(0, partition=partition)
        assert [r.timestamp for r in records] == [*range(acknowledged)]


async def test_a_parked_read_survives_a_restart_of_redis(
    replica: LogReplica, server: RedisServer
) -> None:
    await replica.create()
    end = await replica.appended(batch_of(1)) + 1
    waiting = asyncio.create_task(replica.read(end, max_wait_ms=20_000))
    with server.client() as client:
        await eventually(lambda: bool(client.pubsub_channels()))

    await restart(server, replica)
    base = await replica.appended(batch_of(1))

    data = await waiting
    if data.error_code == ErrorCode.NONE:
        assert [r.offset for r in records_in(data.batches)] == [base]
    else:
        # It was just reading when Redis went.
        assert data.error_code == ErrorCode.KAFKA_STORAGE_ERROR
