"""Deleted topics: gone at once, cleaned up whatever happens to the one who cleans."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
from redis.exceptions import ConnectionError as RedisConnectionError
from redis.exceptions import OutOfMemoryError

from korvet.kafka.errors import ErrorCode, KafkaError
from korvet.storage.deletion import DeletionCleaner
from korvet.storage.topic import Topic
from tests.support.eventually import eventually
from tests.support.redis_server import SERVERS, RedisServer
from tests.support.replica import KEYS, Replica, replica_on

pytestmark = pytest.mark.integration

PARTITIONS = 45


@pytest.fixture
async def replica(redis_server: RedisServer) -> AsyncIterator[Replica]:
    async with replica_on(redis_server) as replica:
        yield replica


async def written_topic(replica: Replica, server: RedisServer, name: str) -> Topic:
    """A topic in whose partitions there is something of each kind."""
    topic = await replica.catalogue.create(name, partitions=PARTITIONS)
    with server.client() as client:
        for partition in range(PARTITIONS):
            client.xadd(KEYS.stream(name, partition), {"value": "paid"})
            client.xgroup_create(KEYS.stream(name, partition), "billing")
            client.xadd(KEYS.index(name, partition), {"records": "1"})
            client.hset(KEYS.producers(name, partition), "1", "0")
    return topic


def keys_left(server: RedisServer, pattern: str) -> list[bytes]:
    with server.client() as client:
        return sorted(client.keys(pattern))


class Stopped(RedisConnectionError):
    pass


class Stops:
    """A connection to Redis that lets so many commands through and then is lost."""

    def __init__(self, replica: Replica, commands: int) -> None:
        self._redis = replica.redis
        self._left = commands

    def __getattr__(self, name: str) -> object:
        if self._left == 0:
            raise Stopped
        self._left -= 1
        return getattr(self._redis, name)


async def test_a_deleted_topic_is_gone_and_its_keys_are_retired(
    replica: Replica, redis_server: RedisServer
) -> None:
    topic = await written_topic(replica, redis_server, "orders")
    await written_topic(replica, redis_server, "orders-2")
    kept = keys_left(redis_server, "korvet:*:orders-2*")

    deletion = await replica.catalogue.delete(name="orders")

    assert deletion.id == topic.id
    assert replica.catalogue.by_name("orders") is None
    assert keys_left(redis_server, "korvet:*:orders") == []
    assert keys_left(redis_server, "korvet:*:orders:*") == []
    retired = keys_left(redis_server, f"korvet:deleted:{topic.id_text}:*")
    assert len(retired) == 4 * PARTITIONS
    with redis_server.client() as client:
        assert client.smembers("korvet:topics") == {b"orders-2"}
        assert not client.hexists("korvet:topic-ids", topic.id_text)
        pending = client.hget("korvet:deletions", topic.id_text)
    assert pending == f"{PARTITIONS}:orders".encode()
    assert keys_left(redis_server, "korvet:*:orders-2*") == kept


async def test_the_name_is_free_at_once_and_starts_clean(
    replica: Replica, redis_server: RedisServer
) -> None:
    first = await written_topic(replica, redis_server, "orders")
    await replica.catalogue.delete(topic_id=first.id)

    second = await replica.catalogue.create("orders", partitions=1)
    await replica.cleaner.clean()

    assert second.id != first.id
    assert keys_left(redis_server, "korvet:*:orders:*") == [b"korvet:partition:orders:0"]
    assert keys_left(redis_server, "korvet:deleted:*") == []
    with redis_server.client() as client:
        assert client.hget("korvet:partition:orders:0", "id") == second.id_text.encode()
    with pytest.raises(KafkaError) as refused:
        await replica.catalogue.delete(topic_id=first.id)
    assert refused.value.code is ErrorCode.UNKNOWN_TOPIC_ID
    assert replica.catalogue.by_name("orders") is not None


async def test_wherever_the_clean_up_is_stopped_another_one_completes_it(
    replica: Replica, redis_server: RedisServer
) -> None:
    # HGETALL, one UNLINK for each 20 partitions, HDEL.
    commands = 1 + 3 + 1
    for allowed in range(commands):
        await written_topic(replica, redis_server, "orders")
        await replica.catalogue.delete(name="orders")
        stopped = DeletionCleaner(Stops(replica, allowed), KEYS)  # type: ignore[arg-type]

        with pytest.raises(Stopped):
            await stopped.clean()
        with redis_server.client() as client:
            assert client.hlen("korvet:deletions") == 1

        await DeletionCleaner(replica.redis, KEYS).clean()

        assert keys_left(redis_server, "korvet:deleted:*") == []
        assert keys_left(redis_server, "korvet:deletions") == []

    await written_topic(replica, redis_server, "orders")
    await replica.catalogue.delete(name="orders")
    await DeletionCleaner(Stops(replica, commands), KEYS).clean()  # type: ignore[arg-type]
    assert keys_left(redis_server, "korvet:deletions") == []


async def test_a_replica_cleans_up_what_another_one_deletes(
    replica: Replica, redis_server: RedisServer
) -> None:
    async with replica_on(redis_server) as other:
        other.catalogue.subscribe(other.cleaner.topics_changed)
        topic = await written_topic(replica, redis_server, "orders")
        await eventually(lambda: other.catalogue.by_id(topic.id) is not None)
        cleaning = asyncio.create_task(other.cleaner.run())

        await replica.catalogue.delete(name="orders")

        await eventually(lambda: keys_left(redis_server, "korvet:deletions") == [])
        assert keys_left(redis_server, "korvet:deleted:*") == []
        cleaning.cancel()
        await asyncio.gather(cleaning, return_exceptions=True)


@pytest.mark.parametrize("name", SERVERS)
async def test_a_topic_can_be_deleted_when_redis_is_full(name: str, tmp_path: Path) -> None:
    with RedisServer(tmp_path, server=name) as server:
        async with replica_on(server) as replica:
            topic = await written_topic(replica, server, "orders")
            with server.client() as client:
                client.config_set("maxmemory", "1")
                with pytest.raises(OutOfMemoryError):
                    client.set("more", "x")

            await replica.catalogue.delete(name="orders")
            await replica.cleaner.clean()

            assert replica.catalogue.by_id(topic.id) is None
            assert keys_left(server, "korvet:*orders*") == []
            assert keys_left(server, "korvet:deleted:*") == []


async def test_the_largest_topic_is_created_and_deleted_in_one_go(
    replica: Replica, redis_server: RedisServer
) -> None:
    await replica.catalogue.create("orders", partitions=10_000)

    await replica.catalogue.delete(name="orders")
    await replica.cleaner.clean()

    assert keys_left(redis_server, "korvet:*orders*") == []
    assert keys_left(redis_server, "korvet:deleted:*") == []
