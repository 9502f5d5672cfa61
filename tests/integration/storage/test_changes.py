"""Following changes: what watchers are told, and what happens when Redis goes."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import aclosing, asynccontextmanager
from pathlib import Path

import pytest
from redis.exceptions import RedisError

from korvet.proto.storage.v1 import storage_service_pb2 as pb
from korvet.redis.server_check import UnsuitableRedisError
from korvet.storage.gateways import Gateway
from tests.support.eventually import eventually
from tests.support.redis_server import SERVERS, RedisServer
from tests.support.replica import Replica, replica_on

pytestmark = pytest.mark.integration

ONE = Gateway(node_id=1, host="one", port=9092, rack="")


class Watch:
    def __init__(self, updates: AsyncIterator[pb.ClusterUpdate]) -> None:
        self._updates = updates

    async def next(self) -> pb.ClusterUpdate:
        async with asyncio.timeout(5):
            return await anext(self._updates)


@asynccontextmanager
async def watching(replica: Replica) -> AsyncIterator[Watch]:
    async with aclosing(replica.feed.updates()) as updates:
        yield Watch(updates)


def names(update: pb.ClusterUpdate) -> list[str]:
    return sorted(topic.name for topic in update.topics)


# --- what watchers are told ---


async def test_a_watcher_gets_everything_first_and_then_changes(
    redis_server: RedisServer,
) -> None:
    async with replica_on(redis_server) as replica, replica_on(redis_server) as other:
        await other.catalogue.create("orders", partitions=2)
        await other.gateways.register(ONE, incarnation="x", ttl_ms=60_000)
        await eventually(lambda: replica.gateways.live == (ONE,))
        await eventually(lambda: replica.catalogue.by_name("orders") is not None)

        async with watching(replica) as watch:
            first = await watch.next()
            created = await other.catalogue.create("payments")
            second = await watch.next()
            deletion = await other.catalogue.delete(name="orders")
            third = await watch.next()

    assert first.snapshot
    assert first.cluster_id == replica.check.cluster_id != ""
    assert names(first) == ["orders"]
    assert list(first.topics[0].leader_epochs) == [0, 0]
    assert not first.topics[0].configs
    assert [gateway.host for gateway in first.gateways] == ["one"]
    assert not second.snapshot
    assert names(second) == ["payments"]
    assert second.topics[0].id == created.id
    assert second.topics[0].version >= created.version
    assert [d.name for d in third.deletions] == ["orders"]
    assert third.deletions[0].id == deletion.id
    assert third.deletions[0].version == deletion.version
    assert [gateway.host for gateway in third.gateways] == ["one"]


async def test_whoever_comes_while_the_server_stops_is_not_kept(
    redis_server: RedisServer,
) -> None:
    async with replica_on(redis_server) as replica:
        async with watching(replica) as watch:
            await watch.next()
            replica.feed.close()
            with pytest.raises(StopAsyncIteration):
                await watch.next()
        # A gateway that connects again at that very moment, say.
        async with watching(replica) as late:
            with pytest.raises(StopAsyncIteration):
                await late.next()


async def test_changes_of_gateways_and_of_epochs_are_told(
    redis_server: RedisServer,
) -> None:
    async with replica_on(redis_server) as replica:
        topic = await replica.catalogue.create("orders", partitions=2)
        async with watching(replica) as watch:
            before = await watch.next()

            await replica.gateways.register(ONE, incarnation="x", ttl_ms=60_000)
            assert [g.node_id for g in (await watch.next()).gateways] == [1]

            replica.catalogue.set_epochs(topic, [1, 0])
            changed = await watch.next()

    assert list(changed.topics[0].leader_epochs) == [1, 0]
    assert changed.topics[0].version > before.topics[0].version


async def test_a_watcher_that_does_not_listen_gets_a_snapshot_later(
    redis_server: RedisServer,
) -> None:
    async with replica_on(redis_server) as replica, watching(replica) as watch:
        await watch.next()
        for number in range(1100):
            await replica.catalogue.create(f"topic-{number}")
        late = await watch.next()

        assert late.snapshot
        assert len(late.topics) == 1100
        # A few changes stay changes, and those of one topic are one.
        await replica.catalogue.add_partitions("topic-5", 2)
        await replica.catalogue.add_partitions("topic-5", 3)
        update = await watch.next()
        assert not update.snapshot
        assert [len(topic.leader_epochs) for topic in update.topics] == [3]


async def test_a_topic_made_again_between_two_updates_is_told_as_both(
    redis_server: RedisServer,
) -> None:
    async with replica_on(redis_server) as replica:
        first = await replica.catalogue.create("orders")
        async with watching(replica) as watch:
            await watch.next()
            await replica.catalogue.delete(name="orders")
            second = await replica.catalogue.create("orders")
            update = await watch.next()

    assert [deletion.id for deletion in update.deletions] == [first.id]
    assert [topic.id for topic in update.topics] == [second.id]
    assert update.topics[0].version > update.deletions[0].version


async def test_closing_the_feed_ends_every_watch(redis_server: RedisServer) -> None:
    async with replica_on(redis_server) as replica, watching(replica) as watch:
        await watch.next()
        replica.feed.close()

        with pytest.raises(StopAsyncIteration):
            await watch.next()


# --- when Redis goes and comes back ---


@pytest.mark.parametrize("name", SERVERS)
async def test_a_replica_waits_for_redis_to_come_back_and_goes_on(
    name: str, tmp_path: Path
) -> None:
    with RedisServer(tmp_path, server=name) as server:
        async with replica_on(server) as replica:
            kept = await replica.catalogue.create("kept")
            async with watching(replica) as watch:
                await watch.next()

                await asyncio.to_thread(server.stop, save=True)
                await eventually(lambda: not replica.ready.is_set())
                with pytest.raises(RedisError):
                    await replica.catalogue.create("never")
                assert replica.catalogue.by_name("kept") is not None
                await asyncio.to_thread(server.start)
                await eventually(lambda: replica.ready.is_set())

                update = await watch.next()
                assert update.snapshot
                assert names(update) == ["kept"]
            assert replica.catalogue.by_id(kept.id) is not None
            # It listens again, too.
            other = Replica(server.url)
            await other.catalogue.create("others")
            await eventually(lambda: replica.catalogue.by_name("others") is not None)
            await other.redis.aclose()


async def test_what_happens_while_a_subscription_is_lost_is_not_missed(
    redis_server: RedisServer,
) -> None:
    async with replica_on(redis_server) as replica:
        await replica.catalogue.create("kept")
        await replica.catalogue.create("gone")
        async with watching(replica) as watch:
            await watch.next()
            with redis_server.client() as client:
                # In one go, so that the replica cannot be back in between.
                lost = client.pipeline(transaction=True)
                lost.client_kill_filter(_type="pubsub")
                lost.delete("korvet:topic:gone")
                lost.srem("korvet:topics", "gone")
                lost.execute()

            update = await watch.next()

    assert update.snapshot
    assert names(update) == ["kept"]
    assert replica.catalogue.by_name("gone") is None


@pytest.mark.parametrize("name", SERVERS)
async def test_a_redis_that_has_lost_everything_is_believed(
    name: str, tmp_path: Path
) -> None:
    with RedisServer(tmp_path, server=name) as server:
        async with replica_on(server) as replica:
            old = await replica.catalogue.create("orders")

            await asyncio.to_thread(server.kill)
            await eventually(lambda: not replica.ready.is_set())
            await asyncio.to_thread(server.start)
            await eventually(lambda: replica.ready.is_set())

            assert replica.catalogue.by_name("orders") is None
            new = await replica.catalogue.create("orders")
            assert new.id != old.id
            assert new.version > old.version


@pytest.mark.parametrize("name", SERVERS)
async def test_a_replica_waits_for_a_redis_that_is_not_there_yet(
    name: str, tmp_path: Path
) -> None:
    server = RedisServer(tmp_path, server=name)
    replica = Replica(server.url)
    following = asyncio.create_task(replica.follower.run())
    try:
        await asyncio.sleep(0.2)
        assert not replica.ready.is_set()

        with server:
            await eventually(lambda: replica.ready.is_set())
    finally:
        following.cancel()
        await asyncio.gather(following, return_exceptions=True)
        await replica.redis.aclose()


async def test_what_strangers_publish_is_ignored(redis_server: RedisServer) -> None:
    async with replica_on(redis_server) as replica:
        with redis_server.client() as client:
            for text in ("", "x", "topic:", "topic:a:b", "deleted:1:2", b"\xff\xfe"):
                client.publish("korvet:changes", text)
        topic = await replica.catalogue.create("orders")

        other = Replica(redis_server.url)
        await other.catalogue.add_partitions("orders", 2)

        def has_grown() -> bool:
            known = replica.catalogue.by_id(topic.id)
            return known is not None and known.partitions == 2

        await eventually(has_grown)
        await other.redis.aclose()


# --- which Redis is accepted ---


async def test_the_layout_and_the_cluster_id_are_written_once(
    redis_server: RedisServer,
) -> None:
    async with replica_on(redis_server) as replica, replica_on(redis_server) as other:
        assert replica.check.cluster_id == other.check.cluster_id
        assert len(replica.check.cluster_id) == 22

    with redis_server.client() as client:
        assert client.get("korvet:layout") == b"1"
        assert client.get("korvet:cluster-id").decode() == replica.check.cluster_id


@pytest.mark.parametrize("layout", ["2", "", "x"])
async def test_another_layout_is_refused(redis_server: RedisServer, layout: str) -> None:
    with redis_server.client() as client:
        client.set("korvet:layout", layout)
    replica = Replica(redis_server.url)

    with pytest.raises(UnsuitableRedisError, match="korvet:layout"):
        await replica.follower.run()

    await replica.redis.aclose()


@pytest.mark.parametrize("name", SERVERS)
async def test_an_evicting_redis_is_refused_unless_allowed(
    name: str, tmp_path: Path
) -> None:
    options = {"maxmemory": "50mb", "maxmemory-policy": "allkeys-lru"}
    with RedisServer(tmp_path, server=name, options=options) as server:
        replica = Replica(server.url)

        with pytest.raises(UnsuitableRedisError, match=r"allkeys-lru.*noeviction"):
            await replica.follower.run()

        await replica.redis.aclose()
        lenient = Replica(server.url, allow_eviction=True)
        await lenient.check.run()
        assert lenient.check.cluster_id
        await lenient.redis.aclose()
