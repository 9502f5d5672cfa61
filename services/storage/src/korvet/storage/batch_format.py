"""PURE: one stream entry a record batch, kept as the producer sent it.

An entry's id is its last offset's, so that a range from X finds the batch that holds X.
Base offset, leader epoch and LogAppendTime are known only after the producer has made the
batch; they are stamped on when it is read.
"""

from collections.abc import Iterable, Sequence
from typing import NamedTuple

from korvet.kafka.errors import DecodeError, KafkaError
from korvet.kafka.records import Record, read_header, read_records, stamp
from korvet.storage.append_rules import MAX_DECOMPRESSED
from korvet.storage.epochs import Epoch, epoch_at
from korvet.storage.isolation import NONE_ABORTED, AbortedRecords
from korvet.storage.offsets import OffsetEncoding
from korvet.storage.record_format import Entry, plain_size


class StoredBatch(NamedTuple):
    base_offset: int
    last_offset: int
    data: bytes


def read_batches(
    entries: Iterable[Entry],
    encoding: OffsetEncoding,
    epochs: Sequence[Epoch],
    max_bytes: int,
) -> list[StoredBatch]:
    """The batches of these entries, up to the limit but at least one.

    What another program has put there and is no batch is passed over.
    """
    found: list[StoredBatch] = []
    room = max_bytes
    for entry_id, fields in entries:
        batch = fields[1]
        try:
            last = encoding.offset(entry_id)
            header = read_header(batch)
        except (ValueError, DecodeError):
            continue
        if fields[0] != b"batch" or header.size != len(batch):
            continue
        room -= len(batch)
        if room < 0 and found:
            break
        base = last - header.last_offset_delta
        appended = int(fields[3]) if len(fields) > 3 and fields[2] == b"appended" else None
        data = stamp(
            batch,
            base_offset=base,
            leader_epoch=epoch_at(epochs, base),
            log_append_time=appended,
        )
        found.append(StoredBatch(base, last, data))
    return found


class UnreadableBatchError(KafkaError):
    """A batch whose records nobody looked at when it was appended, and nobody can read."""

    def __init__(self, why: KafkaError, next_offset: int) -> None:
        super().__init__(why.code, why.detail)
        # Where reading can go on.
        self.next_offset = next_offset


class DecodedRecords(NamedTuple):
    records: Sequence[Record]
    # Where to read on.
    next_offset: int
    # Of the records, uncompressed.
    size: int


def decode_batches(
    batches: Iterable[StoredBatch],
    from_offset: int,
    max_bytes: int,
    aborted: AbortedRecords = NONE_ABORTED,
) -> DecodedRecords:
    """The records from an offset on, up to the limit but at least one, without markers and
    what was aborted.

    No batch behind the limit is decoded: a few bytes may be many records. They end before
    a batch that cannot be read; if that is the first, it is an error.
    """
    records: list[Record] = []
    next_offset, size = from_offset, 0
    for batch in batches:
        if size >= max_bytes and records:
            break
        header = read_header(batch.data)
        if header.is_control or aborted.has(header.producer_id, batch.base_offset):
            next_offset = batch.last_offset + 1
            continue
        try:
            found = read_records(batch.data, MAX_DECOMPRESSED)
        except KafkaError as error:
            if records:
                break
            raise UnreadableBatchError(error, batch.last_offset + 1) from error
        for record in found:
            if record.offset < from_offset:
                continue
            more = plain_size((record,))
            if size + more > max_bytes and records:
                return DecodedRecords(records, record.offset, size)
            records.append(record)
            size += more
        next_offset = batch.last_offset + 1
    return DecodedRecords(records, next_offset, size)
