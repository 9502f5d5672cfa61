"""Topics that callers name: found in the cache or in Redis, or refused in Kafka's terms."""

from pathlib import Path

import pytest

from korvet.kafka.errors import ErrorCode, KafkaError
from korvet.proto.storage.v1 import storage_service_pb2 as pb
from korvet.storage.topic_lookup import TopicLookup
from tests.support.redis_server import RedisServer
from tests.support.replica import Replica

pytestmark = pytest.mark.integration


async def refusal(lookup: TopicLookup, ref: pb.TopicRef, partition: int = 0) -> ErrorCode:
    with pytest.raises(KafkaError) as refused:
        await lookup.find(ref, partition)
    return refused.value.code


async def test_a_topic_is_found_though_nothing_was_heard_of_it(
    redis_server: RedisServer,
) -> None:
    replica, deaf = Replica(redis_server.url), Replica(redis_server.url)
    topic = await replica.catalogue.create("orders", partitions=2)
    lookup = TopicLookup(deaf.catalogue)

    assert (await lookup.find(pb.TopicRef(name="orders"), 1)).id == topic.id
    assert (await lookup.find(pb.TopicRef(id=topic.id), 0)).name == "orders"
    await replica.catalogue.add_partitions("orders", 3)
    assert (await lookup.find(pb.TopicRef(name="orders"), 2)).partitions == 3

    unknown = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert await refusal(lookup, pb.TopicRef(name="orders"), 3) is unknown
    assert await refusal(lookup, pb.TopicRef(name="orders"), -1) is unknown
    assert await refusal(lookup, pb.TopicRef(name="none")) is unknown
    assert await refusal(lookup, pb.TopicRef(id=b"x" * 16)) is ErrorCode.UNKNOWN_TOPIC_ID
    await replica.redis.aclose()
    await deaf.redis.aclose()


async def test_a_topic_known_to_be_stale_is_asked_for_again(
    redis_server: RedisServer,
) -> None:
    replica, deaf = Replica(redis_server.url), Replica(redis_server.url)
    first = await replica.catalogue.create("orders")
    lookup = TopicLookup(deaf.catalogue)
    stale = await lookup.find(pb.TopicRef(name="orders"), 0)
    await replica.catalogue.delete(name="orders")
    second = await replica.catalogue.create("orders")

    assert await lookup.find(pb.TopicRef(name="orders"), 0) is stale
    lookup.is_stale(stale)

    assert (await lookup.find(pb.TopicRef(name="orders"), 0)).id == second.id
    gone = pb.TopicRef(id=first.id)
    assert await refusal(lookup, gone) is ErrorCode.UNKNOWN_TOPIC_ID
    await replica.redis.aclose()
    await deaf.redis.aclose()


async def test_without_redis_an_unknown_topic_is_a_storage_error(tmp_path: Path) -> None:
    replica = Replica(RedisServer(tmp_path).url)
    lookup = TopicLookup(replica.catalogue)

    code = await refusal(lookup, pb.TopicRef(name="orders"))

    assert code is ErrorCode.KAFKA_STORAGE_ERROR
    await replica.redis.aclose()
