"""What consumers tell each other through their group: subscriptions and assignments.

A group's coordinator passes these bytes on without looking; they are only read to show
them, and to know which topics a group uses. Later versions only add fields behind those
that are read here, so that any version is understood.
"""

from korvet.kafka.errors import DecodeError
from korvet.kafka.primitives import Reader


def subscribed_topics(metadata: bytes) -> list[str]:
    """The topics of a ConsumerProtocolSubscription."""
    reader = _reader(metadata)
    return [reader.string() for _ in range(reader.array_length())]


def assigned_partitions(assignment: bytes) -> dict[str, list[int]]:
    """Topic -> partitions, of a ConsumerProtocolAssignment; no bytes are no partitions."""
    if not assignment:
        return {}
    reader = _reader(assignment)
    assigned: dict[str, list[int]] = {}
    for _ in range(reader.array_length()):
        topic = reader.string()
        partitions = [reader.int32() for _ in range(reader.array_length())]
        assigned.setdefault(topic, []).extend(partitions)
    return assigned


def _reader(data: bytes) -> Reader:
    reader = Reader(data)
    if (version := reader.int16()) < 0:
        raise DecodeError(f"version {version} of the consumer protocol")
    return reader
