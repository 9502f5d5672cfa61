"""PURE: which committed offsets a group uses, and which have expired."""

from collections.abc import Mapping, Set

from korvet.coordinator.committed_offsets import Committed, TopicPartition
from korvet.coordinator.group import Group, State
from korvet.kafka.consumer_protocol import subscribed_topics
from korvet.kafka.errors import DecodeError, ErrorCode, KafkaError

_CONSUMER = "consumer"


def expired_offsets(
    offsets: Mapping[TopicPartition, Committed],
    group: Group,
    *,
    empty_since_ms: int | None,
    now_ms: int,
    retention_ms: int,
) -> list[TopicPartition]:
    """Those that nobody has wanted for too long: counted from the commit, or from when the
    group lost its last member. A group with members keeps what they are subscribed to, and
    everything where nobody can tell."""
    wanted: Set[str] = frozenset()
    if empty_since_ms is None:
        known = _subscriptions(group) if group.state is State.STABLE else None
        if known is None:
            return []
        wanted = known
    return [
        place
        for place, committed in offsets.items()
        if place.topic not in wanted
        and now_ms - max(committed.time_ms, empty_since_ms or 0) > retention_ms
    ]


def topics_in_use(group: Group, topics: Set[str]) -> Set[str]:
    """Those that a group's members are subscribed to, or may be where nobody can tell;
    NON_EMPTY_GROUP where its members are no consumers."""
    if group.state is State.EMPTY:
        return frozenset()
    if group.protocol_type != _CONSUMER:
        raise KafkaError(ErrorCode.NON_EMPTY_GROUP)
    known = _subscriptions(group)
    return topics if known is None else topics & known


def _subscriptions(group: Group) -> Set[str] | None:
    """The topics of all members; None where nobody can tell."""
    if group.protocol_type != _CONSUMER:
        return None
    try:
        return {
            topic
            for member in group.members.values()
            for protocol in member.protocols
            for topic in subscribed_topics(protocol.metadata)
        }
    except DecodeError:
        return None
