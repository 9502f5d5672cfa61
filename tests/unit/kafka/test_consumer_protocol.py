import struct
from contextlib import suppress

import pytest
from aiokafka.coordinator.protocol import (
    ConsumerProtocolMemberAssignment,
    ConsumerProtocolMemberMetadata,
)
from hypothesis import given
from hypothesis import strategies as st
from kafka.protocol.consumer.metadata import (
    ConsumerProtocolAssignment,
    ConsumerProtocolSubscription,
)

from korvet.kafka.consumer_protocol import assigned_partitions, subscribed_topics
from korvet.kafka.errors import DecodeError

ASSIGNED = {"orders": [0, 2], "bills": [1]}


def subscription(version: int, topics: list[str], tail: bytes = b"") -> bytes:
    names = b"".join(struct.pack(">h", len(name)) + name.encode() for name in topics)
    return struct.pack(">hi", version, len(topics)) + names + tail


def assignment(version: int, partitions: dict[str, list[int]], tail: bytes = b"") -> bytes:
    topics = b"".join(
        struct.pack(">h", len(name))
        + name.encode()
        + struct.pack(f">i{len(numbers)}i", len(numbers), *numbers)
        for name, numbers in partitions.items()
    )
    return struct.pack(">hi", version, len(partitions)) + topics + tail


def test_what_aiokafka_writes_is_read() -> None:
    metadata = ConsumerProtocolMemberMetadata(0, ["orders", "bills"], b"mine").encode()
    assigned = ConsumerProtocolMemberAssignment(0, list(ASSIGNED.items()), b"").encode()

    assert subscribed_topics(metadata) == ["orders", "bills"]
    assert assigned_partitions(assigned) == ASSIGNED


@pytest.mark.parametrize("version", range(4))
def test_what_kafka_python_writes_is_read(version: int) -> None:
    partitions = ConsumerProtocolAssignment.TopicPartition
    metadata = ConsumerProtocolSubscription(
        topics=["orders"],
        user_data=b"mine",
        owned_partitions=[],
        generation_id=-1,
        rack_id=None,
    )
    assigned = ConsumerProtocolAssignment(
        assigned_partitions=[
            partitions(topic=topic, partitions=numbers)
            for topic, numbers in ASSIGNED.items()
        ],
        user_data=b"",
    )

    assert subscribed_topics(metadata.encode(version=version)) == ["orders"]
    assert assigned_partitions(assigned.encode(version=version)) == ASSIGNED


# User data; then owned partitions (1), the generation (2), the rack (3), something new (9).
TAILS = [
    (0, b"\0\0\0\0"),
    (1, b"\xff\xff\xff\xff" + b"\0\0\0\0"),
    (2, b"\0\0\0\x01u" + b"\0\0\0\0" + b"\0\0\0\x07"),
    (3, b"\0\0\0\0" + b"\0\0\0\0" + b"\0\0\0\x07" + b"\0\x01r"),
    (9, b"something new"),
]


@pytest.mark.parametrize(("version", "tail"), TAILS)
def test_every_version_is_read_and_so_are_later_ones(version: int, tail: bytes) -> None:
    assert subscribed_topics(subscription(version, ["a", "b"], tail)) == ["a", "b"]
    assert assigned_partitions(assignment(version, ASSIGNED, tail)) == ASSIGNED


def test_a_topic_that_is_assigned_in_parts_is_put_together() -> None:
    twice = assignment(0, {"orders": [0]})[:2] + struct.pack(">i", 2)
    part = assignment(0, {"orders": [0]})[6:]
    other = assignment(0, {"orders": [3]})[6:]

    assert assigned_partitions(twice + part + other) == {"orders": [0, 3]}


def test_no_bytes_are_no_assignment() -> None:
    assert assigned_partitions(b"") == {}


@pytest.mark.parametrize(
    "garbage",
    [
        b"\0",
        b"\xff\xff\0\0\0\0",
        b"\0\0\xff\xff\xff\xff",
        b"\0\0\x7f\xff\xff\xff",
        b"\0\0\0\0\0\x01\0\x02\xff\xfe",
    ],
    ids=["cut", "negative version", "null", "a lie about the length", "not UTF-8"],
)
def test_garbage_is_refused(garbage: bytes) -> None:
    with pytest.raises(DecodeError):
        subscribed_topics(garbage)
    with pytest.raises(DecodeError):
        assigned_partitions(garbage)


def test_a_subscription_has_bytes() -> None:
    with pytest.raises(DecodeError):
        subscribed_topics(b"")


@given(st.binary(max_size=64))
def test_whatever_comes_is_read_or_refused(data: bytes) -> None:
    for read in (subscribed_topics, assigned_partitions):
        with suppress(DecodeError):
            read(data)
