"""Topics that callers name: from the cache, unless that is known to be wrong."""

from collections.abc import Collection, Mapping

import pytest

from korvet.kafka.errors import ErrorCode, KafkaError
from korvet.proto.storage.v1 import storage_service_pb2 as pb
from korvet.redis.topic_ids import topic_id_text
from korvet.storage.topic import Topic
from korvet.storage.topic_configs import StoredConfigs, TopicConfigs
from korvet.storage.topic_lookup import TopicLookup

NAME = pb.TopicRef(name="orders")


def topic(id_byte: bytes, partitions: int = 1) -> Topic:
    topic_id = id_byte * 16
    return Topic(
        name="orders",
        id=topic_id,
        version=1,
        changed_at=1,
        leader_epochs=(0,) * partitions,
        configs=StoredConfigs(),
        config=TopicConfigs({}).view(StoredConfigs()),
        id_text=topic_id_text(topic_id),
    )


class Topics:
    """A cache that is never told, and a Redis that can be asked."""

    def __init__(self, cached: Topic | None, current: Topic | None) -> None:
        self._cached = cached
        self._current = current
        self.questions = 0

    def by_name(self, name: str) -> Topic | None:
        return self._cached

    def by_id(self, topic_id: bytes) -> Topic | None:
        return self._cached if self._cached and self._cached.id == topic_id else None

    async def describe(self, names: Collection[str]) -> Mapping[str, Topic | None]:
        self.questions += bool(names)
        return dict.fromkeys(names, self._current)

    async def describe_ids(
        self, topic_ids: Collection[bytes]
    ) -> Mapping[bytes, Topic | None]:
        self.questions += bool(topic_ids)
        current = self._current
        return {i: current if current and current.id == i else None for i in topic_ids}


async def refusal(lookup: TopicLookup, ref: pb.TopicRef, partition: int = 0) -> ErrorCode:
    with pytest.raises(KafkaError) as refused:
        await lookup.find(ref, partition)
    return refused.value.code


async def test_what_is_cached_is_not_asked_for() -> None:
    known = topic(b"a")
    topics = Topics(known, None)
    lookup = TopicLookup(topics)

    assert await lookup.find(NAME, 0) is known
    assert await lookup.find(pb.TopicRef(id=known.id), 0) is known
    assert lookup.cached(NAME, 0) is known
    assert topics.questions == 0


async def test_what_is_not_cached_is_asked_for() -> None:
    current = topic(b"a")
    lookup = TopicLookup(Topics(None, current))

    assert lookup.cached(NAME, 0) is None
    assert await lookup.find(NAME, 0) is current
    assert await lookup.find(pb.TopicRef(id=current.id), 0) is current


async def test_a_partition_that_is_not_known_may_have_been_added() -> None:
    grown = topic(b"a", partitions=3)
    lookup = TopicLookup(Topics(topic(b"a"), grown))

    assert await lookup.find(NAME, 2) is grown
    assert await refusal(lookup, NAME, 3) is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert await refusal(lookup, NAME, -1) is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


async def test_a_stale_topic_is_asked_for_until_the_cache_knows_better() -> None:
    old, new = topic(b"a"), topic(b"b")
    topics = Topics(old, new)
    lookup = TopicLookup(topics)

    lookup.is_stale(old)

    for _ in range(3):
        assert lookup.cached(NAME, 0) is None
        assert await lookup.find(NAME, 0) is new
    assert topics.questions == 3
    gone = await refusal(lookup, pb.TopicRef(id=old.id))
    assert gone is ErrorCode.UNKNOWN_TOPIC_ID


async def test_a_topic_that_is_there_after_all_is_believed_again() -> None:
    same = topic(b"a")
    topics = Topics(same, same)
    lookup = TopicLookup(topics)
    lookup.is_stale(same)

    await lookup.find(NAME, 0)

    assert lookup.cached(NAME, 0) is same


async def test_what_is_nowhere_is_unknown_by_what_it_was_asked_by() -> None:
    lookup = TopicLookup(Topics(None, None))

    assert await refusal(lookup, NAME) is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    by_id = pb.TopicRef(id=b"x" * 16, name="orders")
    assert await refusal(lookup, by_id) is ErrorCode.UNKNOWN_TOPIC_ID


async def test_many_are_asked_for_at_once() -> None:
    current = topic(b"a")
    topics = Topics(None, current)
    lookup = TopicLookup(topics)
    unknown = pb.TopicRef(id=b"x" * 16)
    places = [(pb.TopicRef(name=f"orders-{number}"), 0) for number in range(5000)]

    found = await lookup.find_all([*places, (unknown, 0), (NAME, 7)])

    assert found[:5000] == [current] * 5000
    codes = [error.code for error in found[5000:] if isinstance(error, KafkaError)]
    assert codes == [ErrorCode.UNKNOWN_TOPIC_ID, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION]
    # By name, and by id.
    assert topics.questions == 2


async def test_what_is_cached_is_not_asked_for_with_the_rest() -> None:
    known = topic(b"a")
    topics = Topics(known, None)
    lookup = TopicLookup(topics)

    found = await lookup.find_all([(NAME, 0), (pb.TopicRef(id=b"x" * 16), 0)])

    assert found[0] is known
    assert isinstance(found[1], KafkaError)
    assert topics.questions == 1
