"""A transactional id as the commands show it. Pure: times are arguments."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final, Self

from korvet.proto.coordinator.v1 import coordinator_service_pb2 as pb

# Kafka's names.
STATES: Final = (
    "Empty",
    "Ongoing",
    "PrepareCommit",
    "PrepareAbort",
    "CompleteCommit",
    "CompleteAbort",
)
_ONGOING: Final = "Ongoing"
_ENDING: Final = frozenset({"PrepareCommit", "PrepareAbort"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Transaction:
    transactional_id: str
    state: str
    producer_id: int
    producer_epoch: int
    timeout_ms: int
    # None where no transaction is open.
    started_ms: int | None
    partitions: Mapping[str, Sequence[int]]
    groups: Sequence[str]
    # Empty where nobody owns it.
    coordinator: str

    @classmethod
    def of(cls, described: pb.DescribeTransactionsResponse.Transaction) -> Self:
        is_open = described.state == _ONGOING or described.state in _ENDING
        return cls(
            transactional_id=described.transactional_id,
            state=described.state,
            producer_id=described.producer_id,
            producer_epoch=described.producer_epoch,
            timeout_ms=described.timeout_ms,
            started_ms=(
                described.started_ms if is_open and described.started_ms >= 0 else None
            ),
            partitions={
                topic.topic: sorted(topic.partitions)
                for topic in sorted(described.topics, key=lambda each: each.topic)
            },
            groups=sorted(described.groups),
            coordinator=described.coordinator_address,
        )

    @property
    def partition_count(self) -> int:
        return sum(map(len, self.partitions.values()))

    def open_for(self, now_ms: int) -> float | None:
        """Seconds; None where no transaction is open."""
        if self.started_ms is None:
            return None
        return max(now_ms - self.started_ms, 0) / 1000

    def aborted_in(self, now_ms: int) -> float | None:
        """Seconds until its time is over; None where that no longer matters."""
        if self.started_ms is None or self.state != _ONGOING:
            return None
        return max(self.started_ms + self.timeout_ms - now_ms, 0) / 1000
