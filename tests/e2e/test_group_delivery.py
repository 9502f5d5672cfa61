"""Topics with group.delivery=redis: what members read is pending until they commit it."""

import uuid
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from functools import partial
from typing import Any

import pytest
from confluent_kafka import Consumer, Message, TopicPartition

from korvet.kafka.errors import ErrorCode
from tests.support.client_contract import PATIENCE
from tests.support.eventually import eventually_true
from tests.support.group_wire import GroupWire
from tests.support.korvet_process import KorvetCluster
from tests.support.topic_admin import create_topic
from tests.support.wire_client import batch_of

pytestmark = pytest.mark.e2e

_RECORDS = 10


@pytest.fixture
def group() -> str:
    """A name that no other test has."""
    return f"group-{uuid.uuid4().hex[:12]}"


@pytest.fixture(params=["time", "dense"])
def delivered(request: pytest.FixtureRequest, korvet: KorvetCluster, topic: str) -> str:
    """A topic of two partitions that delivers through Redis."""
    configs = {"group.delivery": "redis", "offset.encoding": request.param}
    create_topic(korvet.bootstrap, topic, partitions=2, configs=configs)
    return topic


@pytest.fixture
def wire(korvet: KorvetCluster) -> Iterator[GroupWire]:
    with GroupWire(korvet.gateways[0].address) as client:
        yield client


def subscribed(
    korvet: KorvetCluster, group: str, topic: str, name: str, strategy: str = "range"
) -> Consumer:
    consumer = Consumer(
        {
            "bootstrap.servers": korvet.bootstrap,
            "group.id": group,
            # By which a Fetch, which names no group, is known to be a member's.
            "client.id": name,
            "auto.offset.reset": "earliest",
            "enable.auto.commit": False,
            "heartbeat.interval.ms": 200,
            "fetch.wait.max.ms": 100,
            "partition.assignment.strategy": strategy,
        }
    )
    consumer.subscribe([topic])
    return consumer


def share(*consumers: Consumer) -> None:
    """Until each has one of the two partitions."""

    def is_shared() -> bool:
        for consumer in consumers:
            consumer.poll(0.05)
        return all(len(consumer.assignment()) == 1 for consumer in consumers)

    eventually_true(is_shared, PATIENCE)


def write(wire: GroupWire, topic: str) -> None:
    for partition in range(2):
        values = [b"%d" % number for number in range(_RECORDS)]
        answer = wire.produce(topic, batch_of(values), partition=partition)
        assert answer.error is ErrorCode.NONE


def read(consumer: Consumer, count: int) -> list[Message]:
    found: list[Message] = []

    def is_enough() -> bool:
        if (message := consumer.poll(0.1)) is not None:
            assert message.error() is None, message.error()
            found.append(message)
        return len(found) == count

    eventually_true(is_enough, PATIENCE)
    return found


def pending(
    korvet: KorvetCluster, topic: str, partition: int, group: str
) -> dict[str, int]:
    """What XPENDING shows: how many of the stream's entries are pending, by consumer."""
    with korvet.redis.client() as client:
        found: Any = client.xpending(f"korvet:stream:{topic}:{partition}", group)
    return {each["name"].decode(): each["pending"] for each in found["consumers"]}


def eventually_is(shown: Callable[[], dict[str, int]], expected: dict[str, int]) -> None:
    eventually_true(lambda: shown() == expected)


def test_what_each_member_has_read_is_pending_until_it_commits(
    korvet: KorvetCluster, wire: GroupWire, delivered: str, group: str
) -> None:
    names = ("ada", "grace")
    with ExitStack() as stack:
        consumers = [
            stack.enter_context(closing(subscribed(korvet, group, delivered, name)))
            for name in names
        ]
        share(*consumers)
        write(wire, delivered)
        for name, consumer in zip(names, consumers, strict=True):
            (assigned,) = consumer.assignment()
            messages = read(consumer, _RECORDS)
            shown = partial(pending, korvet, delivered, assigned.partition, group)
            (member_id,) = shown()
            assert member_id.startswith(name)
            assert shown() == {member_id: _RECORDS}

            consumer.commit(message=messages[3], asynchronous=False)
            eventually_is(shown, {member_id: _RECORDS - 4})
            consumer.commit(message=messages[-1], asynchronous=False)
            eventually_is(shown, {})


@pytest.mark.parametrize("strategy", ["range", "cooperative-sticky"])
def test_what_a_member_inherits_and_reads_at_once_is_pending_for_it(
    korvet: KorvetCluster, wire: GroupWire, delivered: str, group: str, strategy: str
) -> None:
    heir = subscribed(korvet, group, delivered, "ada", strategy)
    with closing(heir):
        with closing(subscribed(korvet, group, delivered, "grace", strategy)) as leaving:
            share(heir, leaving)
            (inherited,) = leaving.assignment()
            leaving.pause([inherited])
            write(wire, delivered)
            # It fetches all the time, so that what is known of it is never old.
            read(heir, _RECORDS)
            heir.commit(asynchronous=False)
            leaving.poll(0)

        messages = read(heir, _RECORDS)

        assert {each.partition() for each in messages} == {inherited.partition}
        shown = pending(korvet, delivered, inherited.partition, group)
    (member_id,) = shown
    assert member_id.startswith("ada")
    assert shown == {member_id: _RECORDS}


def test_a_member_that_goes_back_reads_everything_again(
    korvet: KorvetCluster, wire: GroupWire, delivered: str, group: str
) -> None:
    write(wire, delivered)
    with closing(subscribed(korvet, group, delivered, "ada")) as consumer:
        first = read(consumer, 2 * _RECORDS)
        consumer.commit(asynchronous=False)
        starts: dict[int, int] = {}
        for message in first:
            partition, offset = message.partition(), message.offset()
            assert partition is not None
            assert offset is not None
            starts[partition] = min(offset, starts.get(partition, offset))
        for partition, offset in starts.items():
            consumer.seek(TopicPartition(delivered, partition, offset))
        again = read(consumer, 2 * _RECORDS)

    def places(messages: list[Message]) -> list[tuple[object, object]]:
        return sorted((each.partition() or 0, each.offset() or 0) for each in messages)

    assert places(again) == places(first)


def test_deleting_the_group_destroys_its_redis_groups_with_what_is_pending(
    korvet: KorvetCluster, wire: GroupWire, delivered: str, group: str
) -> None:
    write(wire, delivered)
    with closing(subscribed(korvet, group, delivered, "ada")) as consumer:
        read(consumer, 2 * _RECORDS)

    assert wire.delete_group(group) is ErrorCode.NONE

    with korvet.redis.client() as client:
        for partition in range(2):
            assert client.xinfo_groups(f"korvet:stream:{delivered}:{partition}") == []
