"""PURE: which committed offsets have expired."""

from collections.abc import Mapping

from korvet.coordinator.committed_offsets import Committed, TopicPartition


def expired_offsets(
    offsets: Mapping[TopicPartition, Committed],
    *,
    empty_since_ms: int | None,
    now_ms: int,
    retention_ms: int,
) -> list[TopicPartition]:
    """Those that nobody has wanted for too long: counted from the commit, or from when the
    group lost its last member; a group with members keeps everything."""
    if empty_since_ms is None:
        return []
    return [
        place
        for place, committed in offsets.items()
        if now_ms - max(committed.time_ms, empty_since_ms) > retention_ms
    ]
