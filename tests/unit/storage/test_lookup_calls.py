"""Lookups of many positions: all answered, but only some at a time."""

import asyncio
from collections.abc import Collection, Mapping
from typing import cast

from korvet.proto.storage.v1 import storage_service_pb2 as pb
from korvet.redis.keys import Keys
from korvet.redis.lane import Lane, Reply
from korvet.redis.topic_ids import topic_id_text
from korvet.storage.lookup_calls import LookupCalls
from korvet.storage.topic import Topic
from korvet.storage.topic_configs import StoredConfigs, TopicConfigs
from korvet.storage.topic_lookup import TopicLookup
from korvet.storage.trimmer import Trimmer

TOPIC = Topic(
    name="orders",
    id=b"a" * 16,
    version=1,
    changed_at=1,
    leader_epochs=(0,),
    configs=StoredConfigs(),
    config=TopicConfigs({}).view(StoredConfigs()),
    id_text=topic_id_text(b"a" * 16),
)
MANY = 5_000
MOST_AT_ONCE = 500


class Topics:
    def by_name(self, name: str) -> Topic | None:
        return TOPIC

    def by_id(self, topic_id: bytes) -> Topic | None:
        return TOPIC

    async def describe(self, names: Collection[str]) -> Mapping[str, Topic | None]:
        return dict.fromkeys(names, TOPIC)

    async def describe_ids(
        self, topic_ids: Collection[bytes]
    ) -> Mapping[bytes, Topic | None]:
        return dict.fromkeys(topic_ids, TOPIC)


class CountingLane:
    """Answers a moment later, and counts what it has not answered yet."""

    history = "run"

    def __init__(self) -> None:
        self.most = 0
        self._open = 0

    def send(self, *arguments: object) -> "asyncio.Future[Reply]":
        loop = asyncio.get_running_loop()
        future: asyncio.Future[Reply] = loop.create_future()
        self._open += 1
        self.most = max(self.most, self._open)
        loop.call_soon(self._answer, arguments, future)
        return future

    def _answer(
        self, arguments: tuple[object, ...], future: "asyncio.Future[Reply]"
    ) -> None:
        self._open -= 1
        if arguments[0] == "INFO":
            future.set_result(b"maxmemory:0\r\nused_memory:1\r\n")
        else:
            future.set_result([TOPIC.id_text.encode(), *[None] * 9])


def calls_on(lane: CountingLane) -> LookupCalls:
    keys = Keys()
    real = cast(Lane, lane)
    return LookupCalls(real, keys, TopicLookup(Topics()), Trimmer(real, keys))


async def test_a_request_of_many_positions_is_answered_some_at_a_time() -> None:
    lane = CountingLane()
    position = pb.FindOffsetsRequest.Position(
        topic=pb.TopicRef(name="orders"), timestamp_ms=-1
    )

    answer = await calls_on(lane).find_offsets(
        pb.FindOffsetsRequest(positions=[position] * MANY)
    )

    assert [found.offset for found in answer.found] == [0] * MANY
    assert lane.most <= MOST_AT_ONCE


async def test_a_request_for_many_partitions_sizes_is_answered_some_at_a_time() -> None:
    lane = CountingLane()
    selection = pb.DescribeLogsRequest.Selection(
        topic=pb.TopicRef(name="orders"), partitions=[0] * MANY
    )

    answer = await calls_on(lane).describe_logs(
        pb.DescribeLogsRequest(topics=[selection]), ()
    )

    assert len(answer.logs) == MANY
    assert lane.most <= MOST_AT_ONCE
