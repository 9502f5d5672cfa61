"""PURE: Kafka offsets and Redis stream ids are two spellings of one number.

    time    offset = (ms << bits) | seq        id = {ms}-{seq}
    dense   offset = 0, 1, 2 ...               id = {offset + 1}-0   (Redis has no 0-0)

Both sort alike, so that a range of offsets is a range of ids. On time encoding, adding
one to an offset carries from seq into ms by itself, so that the records of a batch keep
consecutive offsets. Nothing else in the code may shift or mask; the scripts, which must
not compute offsets since their numbers are doubles, step ids by `sequences`.
"""

from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True)
class OffsetEncoding:
    """How one topic's offsets are spelled. Dense where bits is None."""

    bits: int | None

    @property
    def sequences(self) -> int:
        """How many ids share one left half; 0 where the right half is always 0."""
        return 0 if self.bits is None else 1 << self.bits

    def entry_id(self, offset: int) -> str:
        if self.bits is None:
            return f"{offset + 1}-0"
        return f"{offset >> self.bits}-{offset & ((1 << self.bits) - 1)}"

    def id_before(self, offset: int) -> str:
        """Where a Redis group stands whose next record is this one; 0-0 at the start."""
        return "0-0" if offset <= 0 else self.entry_id(offset - 1)

    def offset(self, entry_id: bytes) -> int:
        left, _, right = entry_id.partition(b"-")
        if self.bits is None:
            if right != b"0":
                raise ValueError(f"{entry_id!r} is not a dense id")
            return int(left) - 1
        sequence = int(right)
        if sequence >> self.bits:
            raise ValueError(f"{entry_id!r} does not fit {self.bits} sequence bits")
        return (int(left) << self.bits) | sequence

    def offset_behind(self, entry_id: bytes) -> int:
        """The first offset whose id comes after this one, be that an offset's or not."""
        left, _, right = entry_id.partition(b"-")
        if self.bits is None:
            return int(left)
        return (int(left) << self.bits) + min(int(right) + 1, self.sequences)


DENSE: Final = OffsetEncoding(None)
