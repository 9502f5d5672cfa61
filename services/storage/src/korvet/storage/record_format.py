"""PURE: one stream entry a record, in fields that any Redis client can read.

    key         absent: null
    value       absent: null, a tombstone
    timestamp   milliseconds
    header.NAME, nullheader.NAME, in the record's order, duplicates kept
    codec       how the value is compressed, where it is
    appended    the time of the append, on LogAppendTime topics
    producer    ID:EPOCH, of records in transactions
    control     commit or abort, on a marker that ends one; with its coordinator's epoch

Plain records have exactly the first four kinds. Other programs may add entries of their
own making, so reading takes whatever is there. How entries are written is in
`record_arguments` and entries.lua.
"""

import contextlib
from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from typing import Final, NamedTuple, TypeAlias

from korvet.kafka.compression import CODECS, decompress
from korvet.kafka.control_records import MARKER_SIZE, build_marker
from korvet.kafka.errors import KafkaError
from korvet.kafka.records import Record, build_batch
from korvet.storage.epochs import Epoch, epoch_at
from korvet.storage.offsets import OffsetEncoding

Entry: TypeAlias = tuple[bytes, Sequence[bytes]]

_MAX_VALUE: Final = 128 << 20
_MAX_DELTA: Final = 0x7FFF_FFFF
_MAX_TIME_DELTA: Final = (1 << 63) - 1
# The difference to a record that has none (-1) must fit into an int64 too, since one batch
# may be made of both.
MAX_TIMESTAMP: Final = (1 << 63) - 2
_MIN_TIMESTAMP: Final = -(1 << 63)
# So many are certainly an int64.
_MAX_DIGITS: Final = 18
# What a record costs in a batch besides key, value and headers.
_RECORD_OVERHEAD: Final = 12

_TIME: Final = b"timestamp"


def plain_size(records: Sequence[Record]) -> int:
    """The bytes of these records in a batch, uncompressed."""
    return sum(
        _RECORD_OVERHEAD
        + len(key or b"")
        + len(value or b"")
        + sum(len(name) + len(header or b"") for name, header in headers)
        for _, _, key, value, headers in records
    )


class Writer(NamedTuple):
    """Whose transaction a record belongs to, or ends."""

    producer_id: int
    producer_epoch: int
    # Of a marker: whether it commits, and which coordinator's it is.
    commits: bool | None = None
    coordinator_epoch: int = -1


class StoredRecord(NamedTuple):
    """A record as it stands in the log."""

    record: Record
    # Of the append, on LogAppendTime topics.
    appended: int | None
    size: int
    # Of records in transactions, and of markers.
    writer: Writer | None

    @property
    def timestamp(self) -> int:
        """What consumers see as the record's."""
        return self.record.timestamp if self.appended is None else self.appended


# What `_make` does, without a Python frame for each record.
_make_record: Final = partial(tuple.__new__, Record)
_make_stored: Final = partial(tuple.__new__, StoredRecord)


def read_entry(entry: Entry, encoding: OffsetEncoding) -> StoredRecord:
    entry_id, fields = entry
    key = value = codec = appended = writer = None
    timestamp = -1
    headers: list[tuple[str, bytes | None]] = []
    size = _RECORD_OVERHEAD
    words = iter(fields)
    for name, word in zip(words, words, strict=True):
        if name == b"value":
            value = word
            size += len(word)
        elif name == b"timestamp":
            timestamp = _integer(word)
        elif name == b"key":
            key = word
            size += len(word)
        elif name.startswith(b"header."):
            headers.append((name[7:].decode(errors="replace"), word))
            size += len(name) - 7 + len(word)
        elif name.startswith(b"nullheader."):
            headers.append((name[11:].decode(errors="replace"), None))
            size += len(name) - 11
        elif name == b"codec":
            codec = CODECS.get(word.decode(errors="replace"))
        elif name == b"appended":
            appended = _integer(word)
        elif name == b"producer":
            writer = _writer(word, fields)
            if writer is not None and writer.commits is not None:
                size = MARKER_SIZE
    if codec and value is not None:
        packed = len(value)
        # Another program may say that it is compressed when it is not.
        with contextlib.suppress(KafkaError):
            value = bytes(decompress(codec, memoryview(value), _MAX_VALUE, 0, 0))
        size += len(value) - packed
    offset = encoding.offset(entry_id)
    record = Record(offset, timestamp, key, value, headers)
    return StoredRecord(record, appended, size, writer)


def _writer(word: bytes, fields: Sequence[bytes]) -> Writer | None:
    producer, _, epoch = word.partition(b":")
    if not (producer.isdigit() and epoch.isdigit()):
        return None
    writer = Writer(int(producer), int(epoch))
    if fields[0] != b"control":
        return writer
    words = dict(zip(fields[::2], fields[1::2], strict=True))
    return writer._replace(
        commits=words[b"control"] == b"commit",
        coordinator_epoch=_integer(words.get(b"coordinator", b"")),
    )


def _integer(word: bytes) -> int:
    try:
        number = int(word)
    except ValueError:
        return -1
    return number if _MIN_TIMESTAMP <= number <= MAX_TIMESTAMP else -1


def read_entries(
    entries: Iterable[Entry], encoding: OffsetEncoding, max_bytes: int
) -> list[StoredRecord]:
    """The records of these entries, up to the limit but at least one."""
    found: list[StoredRecord] = []
    room = max_bytes
    for entry in entries:
        try:
            stored = _read_plain(entry, encoding) or read_entry(entry, encoding)
        except ValueError:
            # Another program's id, which is no offset on this topic.
            continue
        room -= stored[2]
        if room < 0 and found:
            break
        found.append(stored)
    return found


def read_times(
    entries: Iterable[Entry], encoding: OffsetEncoding
) -> Iterator[tuple[int, int]]:
    """Offset and timestamp of each of these records; their values are left alone."""
    for entry_id, fields in entries:
        try:
            offset = encoding.offset(entry_id)
        except ValueError:
            continue
        words = dict(zip(fields[::2], fields[1::2], strict=True))
        if b"control" in words:
            continue
        word = words.get(b"appended", words.get(_TIME, b""))
        yield offset, _integer(word)


def _read_plain(entry: Entry, encoding: OffsetEncoding) -> StoredRecord | None:
    """Most records have no headers and are not compressed: those, in half the time."""
    entry_id, fields = entry
    words = len(fields)
    if words == 4 and fields[0] == b"value" and fields[2] == _TIME:
        key, (_, value, _, timestamp) = None, fields
        size = _RECORD_OVERHEAD + len(value)
    elif (
        words == 6 and fields[0] == b"key" and fields[2] == b"value" and fields[4] == _TIME
    ):
        _, key, _, value, _, timestamp = fields
        size = _RECORD_OVERHEAD + len(key) + len(value)
    else:
        return None
    if not timestamp.isdigit() or len(timestamp) > _MAX_DIGITS:
        return None
    record = _make_record((encoding.offset(entry_id), int(timestamp), key, value, []))
    return _make_stored((record, None, size, None))


def to_batches(
    stored: Sequence[StoredRecord], epochs: Sequence[Epoch], codec: int
) -> bytes:
    """Kafka batches of these records. A batch has one epoch, append time and writer."""
    batches: list[bytes] = []
    first = 0
    for end in _batch_ends(stored, epochs):
        batches.append(_to_batch(stored[first:end], epochs, codec))
        first = end
    return b"".join(batches) if len(batches) != 1 else batches[0]


def _to_batch(stored: Sequence[StoredRecord], epochs: Sequence[Epoch], codec: int) -> bytes:
    (_, timestamp, *_), appended, _, writer = stored[0]
    base = stored[0].record.offset
    leader_epoch = epoch_at(epochs, base)
    if writer is not None and writer.commits is not None:
        return build_marker(
            base_offset=base,
            leader_epoch=leader_epoch,
            timestamp=timestamp,
            producer_id=writer.producer_id,
            producer_epoch=writer.producer_epoch,
            coordinator_epoch=writer.coordinator_epoch,
            commit=writer.commits,
        )
    return build_batch(
        [each[0] for each in stored],
        base_offset=base,
        leader_epoch=leader_epoch,
        codec=codec,
        producer_id=-1 if writer is None else writer.producer_id,
        producer_epoch=-1 if writer is None else writer.producer_epoch,
        log_append_time=appended,
        transactional=writer is not None,
    )


def _batch_ends(stored: Sequence[StoredRecord], epochs: Sequence[Epoch]) -> list[int]:
    """After which records a batch has to end."""
    first, last = stored[0], stored[-1]
    if (
        all(
            appended is None and writer is None and record[1] >= -1
            for record, appended, _, writer in stored
        )
        and last.record.offset - first.record.offset <= _MAX_DELTA
        and epochs[-1].first_offset <= first.record.offset
    ):
        return [len(stored)]
    ends: list[int] = []
    start = 0
    for index in range(1, len(stored)):
        offset, time = stored[index].record[:2]
        base, base_time = stored[start].record[:2]
        if (
            stored[index].appended != stored[start].appended
            or stored[index].writer != stored[start].writer
            or offset - base > _MAX_DELTA
            or abs(time - base_time) > _MAX_TIME_DELTA
            or epoch_at(epochs, offset) != epoch_at(epochs, base)
        ):
            ends.append(index)
            start = index
    return [*ends, len(stored)]
