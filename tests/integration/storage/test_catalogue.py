"""Topics in Redis: created, changed and deleted by replicas that hear of each other."""

import asyncio
from collections.abc import AsyncIterator, Awaitable

import pytest

from korvet.kafka.errors import ErrorCode, KafkaError
from korvet.proto.storage.v1 import storage_service_pb2 as pb
from korvet.storage.topic import Deletion, Topic
from korvet.storage.topic_cache import Change
from korvet.storage.topic_configs import ConfigChange
from tests.support.eventually import eventually
from tests.support.redis_server import RedisServer
from tests.support.replica import Replica, everything, replica_on

pytestmark = pytest.mark.integration

SET = pb.CONFIG_OPERATION_SET


@pytest.fixture
async def replica(redis_server: RedisServer) -> AsyncIterator[Replica]:
    async with replica_on(redis_server) as replica:
        yield replica


@pytest.fixture
async def other(redis_server: RedisServer) -> AsyncIterator[Replica]:
    async with replica_on(redis_server) as replica:
        yield replica


async def code_of(change: Awaitable[object]) -> ErrorCode:
    with pytest.raises(KafkaError) as refused:
        await change
    return refused.value.code


# --- creating ---


async def test_a_created_topic_has_the_keys_of_the_seeds(
    replica: Replica, redis_server: RedisServer
) -> None:
    topic = await replica.catalogue.create(
        "orders",
        partitions=2,
        configs={"retention.ms": "86400000", "storage.compression": "zstd"},
    )

    with redis_server.client() as client:
        assert client.smembers("korvet:topics") == {b"orders"}
        assert client.hgetall("korvet:topic-ids") == {topic.id_text.encode(): b"orders"}
        fields = client.hgetall("korvet:topic:orders")
        assert fields == {
            b"id": topic.id_text.encode(),
            b"name": b"orders",
            b"partitions": b"2",
            b"retentionTime": b"86400000",
            b"retentionBytes": b"-1",
            b"compression": b"none",
            b"valueType": b"BYTES",
            b"offsetSequenceBits": b"10",
            b"messageBytes": b"0",
            b"offset.encoding": b"time",
            b"storage.format": b"record",
            b"storage.compression": b"zstd",
            b"configs": b"retention.ms,storage.compression",
            b"version": str(topic.version).encode(),
        }
        for partition in range(2):
            key = f"korvet:partition:orders:{partition}"
            assert client.hgetall(key) == {
                b"id": topic.id_text.encode(),
                b"history": client.info("server")["run_id"].encode(),
            }
        assert not client.exists("korvet:stream:orders:0")


async def test_a_created_topic_is_known_at_once_by_name_and_id(replica: Replica) -> None:
    topic = await replica.catalogue.create("orders", partitions=3)

    assert len(topic.id) == 16
    assert len(topic.id_text) == 22
    assert topic.partitions == 3
    assert replica.catalogue.by_name("orders") == topic
    assert replica.catalogue.by_id(topic.id) == topic


async def test_without_a_partition_count_the_server_decides(replica: Replica) -> None:
    assert (await replica.catalogue.create("orders")).partitions == 1


@pytest.mark.parametrize(
    ("name", "partitions", "configs", "code"),
    [
        ("__x", 1, {}, ErrorCode.INVALID_TOPIC_EXCEPTION),
        ("a:b", 1, {}, ErrorCode.INVALID_TOPIC_EXCEPTION),
        ("orders", 0, {}, ErrorCode.INVALID_PARTITIONS),
        ("orders", -1, {}, ErrorCode.INVALID_PARTITIONS),
        ("orders", 10_001, {}, ErrorCode.POLICY_VIOLATION),
        ("orders", 1, {"retention.ms": "x"}, ErrorCode.INVALID_CONFIG),
        ("orders", 1, {"no.such": "x"}, ErrorCode.INVALID_CONFIG),
    ],
)
@pytest.mark.parametrize("validate_only", [True, False])
async def test_an_invalid_topic_is_refused_and_nothing_is_written(
    replica: Replica,
    redis_server: RedisServer,
    name: str,
    partitions: int,
    configs: dict[str, str],
    code: ErrorCode,
    validate_only: bool,
) -> None:
    before = everything(redis_server)

    refusal = await code_of(
        replica.catalogue.create(
            name, partitions=partitions, configs=configs, validate_only=validate_only
        )
    )

    assert refusal is code
    assert everything(redis_server) == before


async def test_a_name_that_exists_is_refused(replica: Replica, other: Replica) -> None:
    await replica.catalogue.create("orders")

    assert await code_of(other.catalogue.create("orders")) is ErrorCode.TOPIC_ALREADY_EXISTS
    refusal = await code_of(other.catalogue.create("orders", validate_only=True))
    assert refusal is ErrorCode.TOPIC_ALREADY_EXISTS


async def test_a_name_that_collides_in_metrics_is_refused_as_by_kafka(
    replica: Replica,
) -> None:
    await replica.catalogue.create("a.b")

    with pytest.raises(KafkaError, match=r"collides with existing topic: a\.b") as refused:
        await replica.catalogue.create("a_b")

    assert refused.value.code is ErrorCode.INVALID_TOPIC_EXCEPTION
    await replica.catalogue.create("a-b")


async def test_of_many_that_create_one_name_at_once_exactly_one_wins(
    replica: Replica, other: Replica, redis_server: RedisServer
) -> None:
    outcomes = await asyncio.gather(
        *(each.catalogue.create("orders") for each in (replica, other) for _ in range(20)),
        return_exceptions=True,
    )

    created = [outcome for outcome in outcomes if isinstance(outcome, Topic)]
    refused = [outcome for outcome in outcomes if isinstance(outcome, KafkaError)]
    assert len(created) == 1
    assert {error.code for error in refused} == {ErrorCode.TOPIC_ALREADY_EXISTS}
    assert len(refused) == 39
    with redis_server.client() as client:
        assert client.hget("korvet:topic:orders", "id") == created[0].id_text.encode()
        assert client.hlen("korvet:topic-ids") == 1


async def test_validate_only_says_what_would_be_and_changes_nothing(
    replica: Replica, redis_server: RedisServer
) -> None:
    await replica.catalogue.create("orders", partitions=2)
    before = everything(redis_server)

    new = await replica.catalogue.create(
        "payments", partitions=4, configs={"retention.ms": "5"}, validate_only=True
    )
    grown = await replica.catalogue.add_partitions("orders", 5, validate_only=True)
    altered = await replica.catalogue.alter_configs(
        "orders", [ConfigChange("retention.ms", SET, "7")], validate_only=True
    )

    assert (new.partitions, new.config.retention_ms) == (4, 5)
    assert (grown.partitions, altered.config.retention_ms) == (5, 7)
    assert everything(redis_server) == before
    assert replica.catalogue.by_name("payments") is None
    assert _partitions(replica, "orders") == 2
    assert _retention(replica, "orders") == 604800000


# --- changing ---


async def test_partitions_are_added_with_the_topics_id(
    replica: Replica, redis_server: RedisServer
) -> None:
    topic = await replica.catalogue.create("orders", partitions=2)

    grown = await replica.catalogue.add_partitions("orders", 4)

    assert grown.partitions == 4
    assert grown.id == topic.id
    assert grown.version > topic.version
    with redis_server.client() as client:
        assert client.hget("korvet:topic:orders", "partitions") == b"4"
        assert client.hget("korvet:partition:orders:3", "id") == topic.id_text.encode()


@pytest.mark.parametrize(
    ("count", "code"),
    [
        (1, ErrorCode.INVALID_PARTITIONS),
        (2, ErrorCode.INVALID_PARTITIONS),
        (-1, ErrorCode.INVALID_PARTITIONS),
        (10_001, ErrorCode.POLICY_VIOLATION),
    ],
)
async def test_partitions_are_never_removed_nor_too_many(
    replica: Replica, redis_server: RedisServer, count: int, code: ErrorCode
) -> None:
    await replica.catalogue.create("orders", partitions=2)
    before = everything(redis_server)

    assert await code_of(replica.catalogue.add_partitions("orders", count)) is code

    assert everything(redis_server) == before


async def test_configs_are_altered_in_redis_and_put_back(
    replica: Replica, redis_server: RedisServer
) -> None:
    await replica.catalogue.create("orders", configs={"segment.ms": "5"})

    altered = await replica.catalogue.alter_configs(
        "orders",
        [
            ConfigChange("retention.ms", SET, "7"),
            ConfigChange("segment.ms", pb.CONFIG_OPERATION_DELETE),
            ConfigChange("cleanup.policy", pb.CONFIG_OPERATION_APPEND, "compact"),
        ],
    )

    assert altered.config.retention_ms == 7
    with redis_server.client() as client:
        fields = client.hgetall("korvet:topic:orders")
        assert fields[b"retentionTime"] == b"7"
        assert fields[b"cleanup.policy"] == b"delete,compact"
        assert fields[b"configs"] == b"cleanup.policy,retention.ms"
        assert b"segment.ms" not in fields

    back = await replica.catalogue.alter_configs("orders", [], replace_all=True)

    assert back.config.retention_ms == 604800000
    with redis_server.client() as client:
        assert client.hget("korvet:topic:orders", "retentionTime") == b"604800000"
        assert not client.hexists("korvet:topic:orders", "cleanup.policy")


async def test_concurrent_changes_of_one_topic_are_all_kept(
    replica: Replica, other: Replica
) -> None:
    await replica.catalogue.create("orders")
    names = ["retention.ms", "retention.bytes", "segment.ms", "flush.ms", "segment.bytes"]

    await asyncio.gather(
        *(
            each.catalogue.alter_configs("orders", [ConfigChange(name, SET, "2000000")])
            for each, name in zip([replica, other] * 3, names, strict=False)
        )
    )

    topic = await replica.catalogue.refresh(name="orders")
    assert topic is not None
    assert topic.configs.own == dict.fromkeys(names, "2000000")


async def test_an_unknown_topic_is_refused_by_name_and_by_id(replica: Replica) -> None:
    catalogue = replica.catalogue
    unknown = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION

    assert await code_of(catalogue.delete(name="orders")) is unknown
    assert await code_of(catalogue.delete(name="a:b")) is unknown
    assert await code_of(catalogue.add_partitions("orders", 2)) is unknown
    assert await code_of(catalogue.alter_configs("orders", [])) is unknown
    refusal = await code_of(catalogue.delete(topic_id=b"x" * 16))
    assert refusal is ErrorCode.UNKNOWN_TOPIC_ID


# --- hearing of each other ---


async def test_replicas_hear_of_each_others_changes(
    replica: Replica, other: Replica
) -> None:
    topic = await replica.catalogue.create("orders")
    await eventually(lambda: other.catalogue.by_id(topic.id) is not None)

    await other.catalogue.add_partitions("orders", 3)
    await eventually(lambda: _partitions(replica, "orders") == 3)

    await replica.catalogue.alter_configs(
        "orders", [ConfigChange("retention.ms", SET, "7")]
    )
    await eventually(lambda: _retention(other, "orders") == 7)

    await other.catalogue.delete(name="orders")
    await eventually(lambda: replica.catalogue.by_name("orders") is None)
    assert replica.catalogue.by_id(topic.id) is None


async def test_what_is_there_before_a_replica_starts_is_known_to_it(
    replica: Replica, redis_server: RedisServer
) -> None:
    names = [f"topic-{number}" for number in range(450)]
    for name in names:
        await replica.catalogue.create(name, partitions=2)

    async with replica_on(redis_server) as late:
        known = {topic.name: topic.partitions for topic in late.catalogue.topics()}

    assert known == dict.fromkeys(names, 2)


async def test_versions_grow_with_every_change_of_any_topic(
    replica: Replica, other: Replica
) -> None:
    first = await replica.catalogue.create("a")
    second = await other.catalogue.create("b")
    third = await replica.catalogue.add_partitions("a", 2)
    fourth = await other.catalogue.delete(name="b")

    versions = [first.version, second.version, third.version, fourth.version]
    assert versions == sorted(set(versions))


async def test_refresh_finds_what_was_not_heard_of(
    replica: Replica, redis_server: RedisServer
) -> None:
    # It follows nothing.
    deaf = Replica(redis_server.url)
    topic = await replica.catalogue.create("orders")

    assert deaf.catalogue.by_name("orders") is None
    assert await deaf.catalogue.refresh(name="orders") is not None
    assert deaf.catalogue.by_id(topic.id) is not None
    await deaf.redis.aclose()


async def test_a_topic_made_again_is_another_one(replica: Replica, other: Replica) -> None:
    first = await replica.catalogue.create("orders", partitions=3)
    await eventually(lambda: other.catalogue.by_id(first.id) is not None)
    heard: list[Change] = []
    other.catalogue.subscribe(lambda changes: heard.extend(changes or ()))

    await replica.catalogue.delete(name="orders")
    second = await replica.catalogue.create("orders", partitions=1)

    assert first.id != second.id
    await eventually(lambda: other.catalogue.by_id(second.id) is not None)
    assert other.catalogue.by_id(first.id) is None
    assert await other.catalogue.refresh(topic_id=first.id) is None
    assert [type(change) for change in heard] == [Deletion, Topic]


async def test_leader_epochs_are_read_from_the_partitions(
    replica: Replica, redis_server: RedisServer
) -> None:
    await replica.catalogue.create("orders", partitions=3)
    with redis_server.client() as client:
        client.hset("korvet:partition:orders:1", "epochs", "0:0-0,1:1700-0,12:1800-3")

    topic = await replica.catalogue.refresh(name="orders")

    assert topic is not None
    assert topic.leader_epochs == (0, 12, 0)


async def test_a_hash_that_is_no_topic_does_not_hide_the_others(
    replica: Replica, redis_server: RedisServer
) -> None:
    await replica.catalogue.create("orders")
    with redis_server.client() as client:
        client.sadd("korvet:topics", "broken", "a:b")
        client.hset("korvet:topic:broken", "id", "no id")

    async with replica_on(redis_server) as late:
        assert [topic.name for topic in late.catalogue.topics()] == ["orders"]


def _partitions(replica: Replica, name: str) -> int:
    topic = replica.catalogue.by_name(name)
    return topic.partitions if topic else 0


def _retention(replica: Replica, name: str) -> int:
    topic = replica.catalogue.by_name(name)
    return topic.config.retention_ms if topic else 0
