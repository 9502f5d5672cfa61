"""What a topic's hash says to those who read it at a Redis prompt."""

import pytest

from korvet.proto.storage.v1 import storage_service_pb2 as pb
from korvet.storage.topic_configs import ConfigChange
from korvet.storage.topic_upkeep import TopicUpkeep
from tests.support.redis_server import RedisServer
from tests.support.replica import KEYS, replica_on

pytestmark = pytest.mark.integration


def field(server: RedisServer, name: str) -> object:
    with server.client() as client:
        return client.hget("korvet:topic:orders", name)


async def test_the_mean_size_of_records_is_written(redis_server: RedisServer) -> None:
    async with replica_on(redis_server) as replica:
        await replica.catalogue.create("orders", partitions=2)
        with redis_server.client() as client:
            counters = {
                "records": 10,
                "bytes": 1000,
                "trimmedRecords": 5,
                "trimmedBytes": 1,
            }
            client.hset("korvet:partition:orders:0", mapping=counters)
            client.hset("korvet:partition:orders:1", mapping={"records": 5, "bytes": 11})

        await replica.upkeep.write()

    assert field(redis_server, "messageBytes") == b"101"


async def test_another_server_default_is_written_but_values_of_the_topic_stay(
    redis_server: RedisServer,
) -> None:
    async with replica_on(redis_server, {"storage.format": "batch"}) as replica:
        await replica.catalogue.create("orders", configs={"retention.bytes": "5"})
    defaults = {"retention.ms": "7", "retention.bytes": "8", "offset.encoding": "dense"}

    async with replica_on(redis_server, defaults) as replica:
        topic = replica.catalogue.by_name("orders")
        await replica.upkeep.write()

    assert topic is not None
    assert topic.config.retention_ms == 7
    assert topic.config.batch_format
    assert topic.config.encoding.bits == 10
    assert field(redis_server, "retentionTime") == b"7"
    assert field(redis_server, "retentionBytes") == b"5"
    assert field(redis_server, "storage.format") == b"batch"
    assert field(redis_server, "offset.encoding") == b"time"


async def test_a_topic_that_was_changed_or_deleted_meanwhile_is_left_alone(
    redis_server: RedisServer,
) -> None:
    async with replica_on(redis_server) as replica, replica_on(redis_server) as other:
        stale = await replica.catalogue.create("orders")
        await other.catalogue.alter_configs(
            "orders", [ConfigChange("retention.ms", pb.CONFIG_OPERATION_SET, "5")]
        )
        late = TopicUpkeep(
            replica.redis, KEYS, replica.configs, lambda: [stale], interval=3600
        )

        await late.write()
        assert field(redis_server, "retentionTime") == b"5"

        await other.catalogue.delete(name="orders")
        await late.write()
        assert field(redis_server, "id") is None
