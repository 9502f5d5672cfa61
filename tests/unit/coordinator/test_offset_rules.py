"""Which committed offsets have expired."""

import pytest

from korvet.coordinator.committed_offsets import Commit, Committed, TopicPartition
from korvet.coordinator.offset_rules import expired_offsets

RETENTION = 1000


def committed(time_ms: int) -> Committed:
    return Committed(Commit(5, "topic", -1, ""), time_ms)


@pytest.mark.parametrize(
    ("committed_at", "empty_since", "is_expired"),
    [
        (0, 0, True),
        # Not before the whole time has passed, since the later of the two.
        (1001, 0, False),
        (1000, 0, False),
        (999, 0, True),
        (0, 1000, False),
        (0, 999, True),
        # A group with members keeps everything.
        (0, None, False),
    ],
)
def test_an_offset_expires_when_nobody_has_wanted_it_for_long(
    committed_at: int, empty_since: int | None, is_expired: bool
) -> None:
    place = TopicPartition("orders", 0)

    expired = expired_offsets(
        {place: committed(committed_at)},
        empty_since_ms=empty_since,
        now_ms=2000,
        retention_ms=RETENTION,
    )

    assert expired == ([place] if is_expired else [])
