"""PURE: what transactions let a reader of committed records see.

It sees everything below the last stable offset, where the oldest open transaction begins,
but for the records of those that were aborted. What was aborted is kept in a stream of its
own under the ids of the markers (end_transaction.lua).
"""

from bisect import bisect_right
from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple

from korvet.storage.offsets import OffsetEncoding
from korvet.storage.record_format import Entry, StoredRecord


class AbortedTransaction(NamedTuple):
    producer_id: int
    first_offset: int
    # The marker's.
    last_offset: int
    # Below this everything was decided when it was aborted: so no transaction that ends
    # later has begun before it.
    stable_offset: int


def parse_aborted(
    entries: Iterable[Entry], encoding: OffsetEncoding
) -> list[AbortedTransaction]:
    found: list[AbortedTransaction] = []
    for entry_id, fields in entries:
        words = dict(zip(fields[::2], fields[1::2], strict=True))
        found.append(
            AbortedTransaction(
                int(words[b"producer"]),
                encoding.offset(words[b"first"]),
                encoding.offset(entry_id),
                encoding.offset(words[b"stable"]),
            )
        )
    return found


def decided(
    entries: Sequence[Entry], encoding: OffsetEncoding, stable_offset: int
) -> Sequence[Entry]:
    """The entries below the last stable offset. No batch lies across it."""
    end = bisect_right(
        entries, stable_offset, key=lambda entry: encoding.offset_behind(entry[0])
    )
    return entries[:end]


class AbortedRecords:
    """Tells whether a record belongs to one of these transactions."""

    def __init__(self, transactions: Iterable[AbortedTransaction]) -> None:
        self._spans: dict[int, list[tuple[int, int]]] = {}
        for each in transactions:
            span = each.first_offset, each.last_offset
            self._spans.setdefault(each.producer_id, []).append(span)

    def has(self, producer_id: int, offset: int) -> bool:
        spans = self._spans.get(producer_id, ())
        return any(first <= offset <= last for first, last in spans)


NONE_ABORTED: Final = AbortedRecords(())


def visible_records(
    stored: Iterable[StoredRecord], aborted: AbortedRecords
) -> list[StoredRecord]:
    """Without markers, which only the log's own readers need, and what was aborted."""
    return [
        each
        for each in stored
        if each.writer is None
        or (
            each.writer.commits is None
            and not aborted.has(each.writer.producer_id, each.record.offset)
        )
    ]
