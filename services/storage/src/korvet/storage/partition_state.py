"""PURE: what a partition's hash says, as the scripts write it (`ids.lua`)."""

from collections.abc import Sequence
from typing import Final, NamedTuple

from korvet.redis.history import is_same_history
from korvet.storage.epochs import Epoch, parse_epochs
from korvet.storage.offsets import OffsetEncoding

# HMGET's arguments for `parse_state`.
STATE_FIELDS: Final = (
    "id", "last", "start", "history", "epochs", "records", "bytes",
    "trimmedRecords", "trimmedBytes", "open",
)  # fmt: skip


class PartitionState(NamedTuple):
    # The high watermark: one more than the last offset, 0 where nothing was ever written.
    end_offset: int
    # Below it everything has been deleted; 0 until something was.
    start_offset: int
    # Which history of Redis the last append saw.
    history: str
    epochs: tuple[Epoch, ...]
    # From the partition's creation on, and of that what was trimmed.
    records: int
    bytes: int
    trimmed_records: int
    trimmed_bytes: int
    # Where the oldest open transaction begins; None where none is open.
    first_unstable: int | None
    # Whether there was ever one.
    has_transactions: bool

    @property
    def last_stable_offset(self) -> int:
        """Below it everything is decided."""
        if self.first_unstable is None:
            return self.end_offset
        return max(self.first_unstable, self.start_offset)

    def epochs_in(self, history: str, heard: int) -> tuple[Epoch, ...]:
        """The leader epochs, as one sees them who is connected to this history of Redis and
        has heard of the epoch `heard`.

        A history that the partition has not seen yet, or one that has lost an epoch, is an
        epoch that is just coming: the one that `observe_history` (epochs.lua) will write.
        """
        newest = self.epochs[-1].number
        is_known = not self.history or is_same_history(self.history, history)
        if is_known and newest >= heard:
            return self.epochs
        coming = Epoch(max(newest, heard) + 1, self.end_offset)
        first, *later = self.epochs
        return (
            first,
            *(epoch for epoch in later if epoch.first_offset < self.end_offset),
            coming,
        )

    def epoch_in(self, history: str, heard: int) -> int:
        return self.epochs_in(history, heard)[-1].number


def parse_state(
    values: Sequence[bytes | None], topic_id: str, encoding: OffsetEncoding
) -> PartitionState | None:
    """The state, or None if the partition belongs to another topic or to none."""
    id_, last, start, history, epochs, *counters, open_ = values
    if id_ is None or id_.decode() != topic_id:
        return None
    records, bytes_, trimmed_records, trimmed_bytes = (
        int(value or 0) for value in counters
    )
    return PartitionState(
        end_offset=encoding.offset(last) + 1 if last else 0,
        start_offset=encoding.offset(start) if start else 0,
        history=(history or b"").decode(),
        epochs=parse_epochs(epochs, encoding),
        records=records,
        bytes=bytes_,
        trimmed_records=trimmed_records,
        trimmed_bytes=trimmed_bytes,
        first_unstable=_first(open_, encoding) if open_ else None,
        has_transactions=open_ is not None,
    )


def open_producers(open_: bytes) -> frozenset[bytes]:
    """Whose open transactions have written here, of what `_first` reads."""
    return frozenset(entry.partition(b":")[0] for entry in open_.split())


def _first(open_: bytes, encoding: OffsetEncoding) -> int:
    """Of "producer:first id …", oldest first (transactions.lua)."""
    return encoding.offset(open_.split(b" ", 1)[0].partition(b":")[2])
