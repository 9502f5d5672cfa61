"""Redis changes between primary and replica: a lost tail shows, and nothing else does."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

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
from tests.support.redis_server import RedisServer

pytestmark = pytest.mark.integration

# A backlog that nobody needs goes after a second, and with it the replication ids.
OPTIONS = {"repl-diskless-sync-delay": "0", "repl-backlog-ttl": "1"}


@pytest.fixture
def server(redis_server_name: str, tmp_path: Path) -> RedisServer:
    return RedisServer(tmp_path / "own", server=redis_server_name, options=OPTIONS)


@pytest.fixture
def other(redis_server_name: str, tmp_path: Path) -> RedisServer:
    return RedisServer(tmp_path / "other", server=redis_server_name, options=OPTIONS)


@pytest.fixture
async def replica(server: RedisServer, other: RedisServer) -> AsyncIterator[LogReplica]:
    with server, other:
        async with log_replica_on(server) as replica:
            yield replica


def replication(server: RedisServer) -> dict[str, object]:
    with server.client() as client:
        info: dict[str, object] = client.info("replication")
        return info


async def follow(server: RedisServer, primary: RedisServer) -> None:
    """Make a server a replica, and wait until it has all that its primary has."""
    with server.client() as client:
        client.replicaof(primary.host, primary.port)
    await eventually(lambda: replication(server).get("master_link_status") == "up")
    await eventually(
        lambda: (
            replication(server)["slave_repl_offset"]
            == replication(primary)["master_repl_offset"]
        )
    )


def promote(server: RedisServer) -> None:
    with server.client() as client:
        client.replicaof("NO", "ONE")


async def lose(server: RedisServer, other: RedisServer) -> None:
    """Take over what the other one has, and be the primary again: the same run of Redis."""
    await follow(server, other)
    promote(server)


async def connect_again(server: RedisServer, replica: LogReplica) -> None:
    """All its connections are lost, and made again."""
    lanes = replica.logs._lanes
    before = [lane._connection for lane in lanes]
    with server.client() as client:
        client.client_kill_filter(_type="normal", skipme=True)
    await eventually(
        lambda: (
            not any(
                lane._connection is connection
                for lane, connection in zip(lanes, before, strict=True)
            )
        )
    )
    await replica.connected()


def epochs_known(replica: LogReplica) -> set[tuple[int, ...]]:
    return {topic.leader_epochs for topic in replica.catalogue.topics()}


async def epoch_is_raised(replica: LogReplica, to: int) -> None:
    await eventually(lambda: epochs_known(replica) == {(to,)}, within=15)


async def epoch_end(replica: LogReplica, epoch: int, topic: str) -> tuple[int, int]:
    question = pb.FindEpochEndsRequest.Question(topic=ref(topic), leader_epoch=epoch)
    request = pb.FindEpochEndsRequest(questions=[question])
    end = (await replica.lookups.find_epoch_ends(request)).ends[0]
    return end.leader_epoch, end.end_offset


async def look_again(replica: LogReplica) -> None:
    """What the replica does with all partitions when it has connected."""
    await replica.logs._histories.observe()


async def test_a_tail_that_was_lost_to_another_primary_shows(
    replica: LogReplica, server: RedisServer, other: RedisServer
) -> None:
    kept, lost = {}, {}
    for layout, configs in LAYOUTS.items():
        await replica.create(layout, configs)
        kept[layout] = await replica.appended(batch_of(3), layout) + 3
    await follow(other, server)
    promote(other)
    for layout in LAYOUTS:
        lost[layout] = await replica.appended(batch_of(5, value=b"lost"), layout) + 5
        assert (await replica.read(0, layout, epoch=0)).high_watermark == lost[layout]
    with server.client() as client:
        run_id = client.info("server")["run_id"]

    await lose(server, other)

    await epoch_is_raised(replica, to=1)
    await replica.connected()
    with server.client() as client:
        assert client.info("server")["run_id"] == run_id
    for layout in LAYOUTS:
        # A consumer that has read the lost records stands at their end.
        refused = await replica.read(lost[layout], layout, epoch=0)
        assert refused.error_code == ErrorCode.FENCED_LEADER_EPOCH
        assert await epoch_end(replica, 0, layout) == (0, kept[layout])
        await replica.appended(batch_of(1, value=b"other"), layout)
        assert await epoch_end(replica, 0, layout) == (0, kept[layout])
        records = await replica.read_all(kept[layout], layout)
        assert [record.value for record in records] == [b"other"]
    await connect_again(server, replica)
    await look_again(replica)
    assert epochs_known(replica) == {(1,)}


async def test_each_promotion_may_have_lost_something(
    replica: LogReplica, server: RedisServer, other: RedisServer
) -> None:
    await replica.create()
    await replica.appended(batch_of(3))
    await follow(other, server)
    promote(other)
    for epoch in (1, 2, 3):
        await lose(server, other)
        await epoch_is_raised(replica, to=epoch)


async def test_one_that_was_away_during_a_promotion_notices_it(
    replica: LogReplica, server: RedisServer, other: RedisServer
) -> None:
    await replica.create(configs={"offset.encoding": "dense"})
    await replica.appended(batch_of(3))
    await follow(other, server)
    promote(other)
    await replica.appended(batch_of(5, value=b"lost"))
    await lose(server, other)

    async with log_replica_on(server) as late:
        await late.catalogue.describe_all()
        await look_again(late)

        assert epochs_known(late) == {(1,)}
        assert await epoch_end(late, 0, "orders") == (0, 3)


async def test_a_history_without_promotions_in_it_is_raised_once(
    replica: LogReplica, server: RedisServer, other: RedisServer
) -> None:
    """As earlier releases have noted it: the run alone."""
    await replica.create()
    await follow(other, server)
    promote(other)
    await lose(server, other)
    await epoch_is_raised(replica, to=1)
    await replica.connected()
    with server.client() as client:
        run_id = client.info("server")["run_id"]
        client.hset(KEYS.partition("orders", 0), "history", run_id)

    for _ in range(3):
        await look_again(replica)
        await replica.appended(batch_of(1))

    assert epochs_known(replica) == {(2,)}


async def test_nothing_is_raised_where_nothing_was_lost(
    replica: LogReplica, server: RedisServer, other: RedisServer
) -> None:
    for layout, configs in LAYOUTS.items():
        await replica.create(layout, configs)

    async def check() -> None:
        await connect_again(server, replica)
        await look_again(replica)
        for layout in LAYOUTS:
            await replica.appended(batch_of(1), layout)
            assert (await replica.read(0, layout, epoch=0)).error_code == ErrorCode.NONE
        assert epochs_known(replica) == {(0,)}

    await check()
    # The first replica, and the end of the last one's backlog, change the replication id.
    for change in (follow, forget_backlog):
        before = replication(server)["master_replid"]
        await change(other, server)
        assert replication(server)["master_replid"] != before
        await check()


async def forget_backlog(other: RedisServer, server: RedisServer) -> None:
    """Take the only replica away, until nothing is kept for its return."""
    await asyncio.to_thread(other.kill)
    await eventually(lambda: replication(server)["repl_backlog_active"] == 0, within=15)


async def test_a_promotion_that_redis_has_forgotten_is_no_other_history(
    replica: LogReplica, server: RedisServer, other: RedisServer
) -> None:
    await replica.create()
    await replica.appended(batch_of(1))
    await follow(other, server)
    promote(other)
    await lose(server, other)
    await epoch_is_raised(replica, to=1)
    promoted = replica.logs.lane.history
    await forget_backlog(other, server)

    await connect_again(server, replica)
    await look_again(replica)
    await replica.appended(batch_of(1))

    assert replica.logs.lane.history != promoted
    assert epochs_known(replica) == {(1,)}
    assert (await replica.read(0, epoch=1)).error_code == ErrorCode.NONE


async def test_a_replica_of_another_is_not_written_to_nor_read(
    replica: LogReplica, server: RedisServer, other: RedisServer
) -> None:
    await replica.create()
    await replica.appended(batch_of(1))
    await follow(server, other)

    await eventually(lambda: not any(lane.connected for lane in replica.logs._lanes))

    assert (await replica.append(batch_of(1))).error_code == ErrorCode.KAFKA_STORAGE_ERROR
    assert (await replica.read(0)).error_code == ErrorCode.KAFKA_STORAGE_ERROR
