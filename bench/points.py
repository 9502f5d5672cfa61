"""PURE: the points at which throughput is measured.

The full product of the axes would take hours and mostly say the same twice. So there is one
base point; the pairs that the targets name, which every round measures; and each axis
varied from the base alone, in fewer rounds.
"""

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from bench.records import Deal

_KIB: Final = 1024
# What a client hands over at a time, and has under way at most: enough that librdkafka
# always has full batches to send, little enough that its queue stays in the processor's
# caches.
_CHUNK_BYTES: Final = 500_000
_CHUNKS_UNDER_WAY: Final = 20


class Client(StrEnum):
    """How a program hands records over and takes them."""

    FAST = "many records a call"
    PLAIN = "one record a call"


@dataclass(frozen=True, slots=True, kw_only=True)
class Point:
    """What is sent, and how."""

    size: int = 100
    partitions: int = 1
    producers: int = 1
    acks: str = "1"
    compression: str = "none"
    key_size: int = 0
    headers: int = 0
    client: Client = Client.FAST
    # How many records in a row go to the same partition.
    turn: int = 1

    @property
    def name(self) -> str:
        """What differs from the base, as it stands in the paths of figures."""
        parts = [
            _size_name(self.size) if self.size != BASE_SIZE else "",
            f"key-{self.key_size}" if self.key_size else "",
            f"headers-{self.headers}" if self.headers else "",
            f"partitions-{self.partitions}" if self.partitions > 1 else "",
            f"producers-{self.producers}" if self.producers > 1 else "",
            f"acks-{self.acks}" if self.acks != "1" else "",
            self.compression if self.compression != "none" else "",
            "plain" if self.client is Client.PLAIN and not self.headers else "",
        ]
        return "-".join(part for part in parts if part)

    @property
    def label(self) -> str:
        """The same for people; what is not said is one, or none."""
        parts = [
            _size_label(self.size),
            f"{self.key_size} B key" if self.key_size else "",
            f"{self.headers} headers" if self.headers else "",
            f"{self.partitions} partitions" if self.partitions > 1 else "",
            f"{self.producers} producers" if self.producers > 1 else "",
            f"acks={self.acks}",
            self.compression if self.compression != "none" else "",
            self.client if self.client is Client.PLAIN else "",
        ]
        return ", ".join(part for part in parts if part)

    @property
    def shape(self) -> "Point":
        """The same record with nothing of Kafka's around it, as plain Redis takes it."""
        return Point(size=self.size, key_size=self.key_size, headers=self.headers)

    @property
    def soft(self) -> bool:
        """Whether records can be compressed at all."""
        return self.compression != "none"

    @property
    def deal(self) -> Deal:
        chunk = max(1, _CHUNK_BYTES // self.size)
        return Deal(chunk, self.producers, self.partitions, self.turn)

    @property
    def under_way(self) -> int:
        """Records that a client has handed over and has no report of, at most."""
        return _CHUNKS_UNDER_WAY * self.deal.chunk

    def cell(self, kind: str) -> str:
        return f"{kind}-{self.name}" if self.name else kind


BASE_SIZE: Final = 100
BASE: Final = Point()
# In every round, on every system.
PAIRS: Final = (
    BASE,
    Point(acks="all"),
    Point(size=_KIB),
    Point(size=_KIB, acks="all"),
)
# In every round, and only where an entry a record is: in record format and plain Redis.
SHAPES: Final = (
    Point(key_size=16),
    Point(key_size=16, headers=2, client=Client.PLAIN),
)
# One at a time, in fewer rounds.
AXES: Final = (
    Point(size=10 * _KIB),
    Point(partitions=4),
    Point(partitions=16),
    Point(partitions=100),
    Point(producers=8),
    Point(producers=8, partitions=16),
    Point(compression="lz4"),
    Point(client=Client.PLAIN),
)
POINTS: Final = (*PAIRS, *SHAPES, *AXES)


def shape_cells(kinds: tuple[str, ...], plain: str) -> dict[str, str]:
    """Each cell of these kinds -> the cell of plain Redis with the same records."""
    return {point.cell(kind): point.shape.cell(plain) for point in POINTS for kind in kinds}


def _size_name(size: int) -> str:
    return f"{size // _KIB}k" if size >= _KIB else f"{size}b"


def _size_label(size: int) -> str:
    return f"{size // _KIB} KB" if size >= _KIB else f"{size} B"
