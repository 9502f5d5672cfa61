"""Record batches, format v2: check, read, build and stamp them.

Owns the batch header; the records inside go through aiokafka's compiled codec, which no
other module imports. That codec trusts its input in places, so a batch reaches it only
behind a checked header, decompressed within a bound, and with readable bytes after its end.
"""

import struct
from collections.abc import Iterator, Sequence
from functools import partial
from operator import attrgetter
from typing import Final, NamedTuple, TypeAlias

from aiokafka.errors import CorruptRecordException
from aiokafka.record.default_records import DefaultRecordBatch, DefaultRecordBatchBuilder
from crc32c import crc32c

from korvet.kafka.compression import CODEC_NAMES, CODECS, compress, decompress
from korvet.kafka.errors import DecodeError, ErrorCode, KafkaError
from korvet.kafka.header_count import check_headers
from korvet.kafka.primitives import Buffer

__all__ = [
    "CODECS",
    "CODEC_NAMES",
    "HEADER_SIZE",
    "BatchHeader",
    "Headers",
    "Record",
    "build_batch",
    "check_batch",
    "read_header",
    "read_records",
    "split_batches",
    "stamp",
]

Headers: TypeAlias = Sequence[tuple[str, bytes | None]]

_HEADER: Final = struct.Struct(">qiibIhiqqqhii")
_PREFIX: Final = struct.Struct(">qii")
_CRC: Final = struct.Struct(">I")

HEADER_SIZE: Final = _HEADER.size
# What batch_length does not count: the base offset and itself.
_LENGTH_FROM: Final = 12
_EPOCH_END: Final = 16
_CRC_AT: Final = 17
_CRC_FROM: Final = 21
# Record format v0 and v1 have their size and magic at the same places, and less overhead.
_MIN_BATCH_LENGTH: Final = 14

_CODEC_MASK: Final = 0x07
_LOG_APPEND_TIME: Final = 0x08
_TRANSACTIONAL: Final = 0x10
_CONTROL: Final = 0x20

_MAX_INT32: Final = 0x7FFF_FFFF
# Seven one-byte fields: no record is shorter.
_MIN_RECORD_SIZE: Final = 7
# What librdkafka puts into a batch at most. A few kilobytes can decompress to twenty times
# as many, each of which is an object here.
_MAX_RECORDS: Final = 1_000_000
# A varint that claims to go on past the end is read for up to ten bytes too far.
_READABLE_AFTER: Final = 16


class BatchHeader(NamedTuple):
    base_offset: int
    batch_length: int
    partition_leader_epoch: int
    magic: int
    crc: int
    attributes: int
    last_offset_delta: int
    base_timestamp: int
    max_timestamp: int
    producer_id: int
    producer_epoch: int
    base_sequence: int
    record_count: int

    @property
    def size(self) -> int:
        """Bytes of the whole batch."""
        return _LENGTH_FROM + self.batch_length

    @property
    def last_offset(self) -> int:
        return self.base_offset + self.last_offset_delta

    @property
    def codec(self) -> int:
        return self.attributes & _CODEC_MASK

    @property
    def is_log_append_time(self) -> bool:
        return bool(self.attributes & _LOG_APPEND_TIME)

    @property
    def is_transactional(self) -> bool:
        return bool(self.attributes & _TRANSACTIONAL)

    @property
    def is_control(self) -> bool:
        return bool(self.attributes & _CONTROL)


class Record(NamedTuple):
    offset: int
    timestamp: int
    key: bytes | None
    value: bytes | None
    headers: Headers


_record_fields: Final = attrgetter(*Record._fields)
# What Record._make does, without a Python frame for each record.
_make_record: Final = partial(tuple.__new__, Record)


def read_header(data: Buffer, position: int = 0) -> BatchHeader:
    """Read the header of the batch that starts at `position`."""
    try:
        return BatchHeader._make(_HEADER.unpack_from(data, position))
    except struct.error as error:
        raise DecodeError(f"record batch: {error}") from error


def split_batches(data: Buffer) -> Iterator[tuple[BatchHeader, memoryview]]:
    """Split the records of a fetch response into batches.

    A broker may cut the last batch at the byte limit of a fetch; as in every Kafka client,
    that one is left out.
    """
    view = memoryview(data)
    position = 0
    while len(view) - position >= HEADER_SIZE:
        header = read_header(view, position)
        if header.size < HEADER_SIZE:
            raise DecodeError(f"a record batch of {header.size} bytes")
        end = position + header.size
        if end > len(view):
            return
        yield header, view[position:end]
        position = end


def check_batch(data: Buffer) -> BatchHeader:
    """Check that `data` is one batch as a producer may send it, and read its header.

    The codes are those of Apache Kafka for Produce v3 and up. The records inside are not
    looked at; that is what `read_records` does.
    """
    if len(data) > _EPOCH_END:
        _, batch_length, _ = _PREFIX.unpack_from(data)
        magic = data[_EPOCH_END]
        if batch_length < _MIN_BATCH_LENGTH or magic > 2:
            raise KafkaError(
                ErrorCode.CORRUPT_MESSAGE, f"length {batch_length}, magic {magic}"
            )
        if magic < 2:
            raise _invalid(f"magic {magic}; produce requests carry magic 2")
    if len(data) < HEADER_SIZE:
        raise _invalid("no whole record batch")
    header = read_header(data)
    if header.size < HEADER_SIZE:
        raise KafkaError(ErrorCode.CORRUPT_MESSAGE, f"length {header.batch_length}")
    if header.size > len(data):
        raise _invalid("no whole record batch")
    if header.size < len(data):
        raise _invalid("more than one record batch")
    if crc32c(memoryview(data)[_CRC_FROM:]) != header.crc:
        raise KafkaError(ErrorCode.CORRUPT_MESSAGE, "CRC does not match")
    _check_fields(header)
    return header


def _check_fields(header: BatchHeader) -> None:
    count = header.record_count
    if count < 1:
        raise _invalid(f"a batch of {count} records")
    if header.last_offset_delta != count - 1:
        raise _invalid(f"{count} records, but last offset delta {header.last_offset_delta}")
    _check_count(header)
    if header.attributes & _CONTROL:
        raise _invalid("clients may not write control records")
    if header.codec >= len(CODEC_NAMES):
        raise _invalid(f"unknown codec {header.codec}")
    if header.producer_id >= 0 and header.base_sequence < 0:
        raise _invalid(f"sequence {header.base_sequence} of producer {header.producer_id}")
    if header.attributes & _LOG_APPEND_TIME:
        raise KafkaError(ErrorCode.INVALID_TIMESTAMP, "only the broker sets LogAppendTime")


def _check_count(header: BatchHeader) -> None:
    """Refuse counts that cannot be true, or would take too much memory if they are."""
    count = header.record_count
    if header.codec == 0 and count > (header.size - HEADER_SIZE) // _MIN_RECORD_SIZE:
        raise _invalid(f"{count} records do not fit into the batch")
    if count > _MAX_RECORDS:
        raise KafkaError(
            ErrorCode.MESSAGE_TOO_LARGE,
            f"{count} records in one batch; at most {_MAX_RECORDS}",
        )


def read_records(batch: Buffer, max_decompressed_bytes: int) -> list[Record]:
    """Read the records of one batch.

    Offsets must grow, and end within the header's last offset delta; so a batch that
    passed `check_batch` has exactly the offsets 0 .. n-1 from its base. Raises KafkaError
    and nothing else.
    """
    try:
        header = read_header(batch)
    except DecodeError as error:
        raise _invalid(str(error)) from error
    if header.size != len(batch) or header.magic != 2:
        raise _invalid(f"{len(batch)} bytes are not one batch of format v2")
    _check_count(header)
    plain = _plain(batch, header, max_decompressed_bytes)
    count = header.record_count
    if not 0 <= count <= (len(plain) - HEADER_SIZE) // _MIN_RECORD_SIZE:
        raise _invalid(f"{count} records do not fit into the batch")
    check_headers(plain[HEADER_SIZE:], count, len(batch))
    try:
        codec = DefaultRecordBatch(plain)
        records: list[Record] = list(map(_make_record, map(_record_fields, codec)))
    except (CorruptRecordException, ValueError, OverflowError, MemoryError) as error:
        raise _invalid(f"malformed record: {error}") from error
    _check_offsets(records, header)
    return records


def _plain(batch: Buffer, header: BatchHeader, limit: int) -> memoryview:
    """The batch with its records uncompressed, and readable bytes after the end."""
    if header.codec == 0:
        padded = b"".join((batch, bytes(_READABLE_AFTER)))
        return memoryview(padded)[: len(batch)]
    if header.codec >= len(CODEC_NAMES):
        raise _invalid(f"unknown codec {header.codec}")
    out = decompress(
        header.codec, memoryview(batch)[HEADER_SIZE:], limit, HEADER_SIZE, _READABLE_AFTER
    )
    plain_header = header._replace(attributes=header.attributes & ~_CODEC_MASK)
    _HEADER.pack_into(out, 0, *plain_header)
    return memoryview(out)[: len(out) - _READABLE_AFTER]


def _check_offsets(records: list[Record], header: BatchHeader) -> None:
    previous = header.base_offset - 1
    for record in records:
        if record[0] <= previous:
            raise _invalid(f"offset {record[0]} after {previous}")
        previous = record[0]
    if previous > header.last_offset:
        raise _invalid(f"offset {previous} after the batch's last, {header.last_offset}")


def build_batch(
    records: Sequence[tuple[int, int, bytes | None, bytes | None, Headers]],
    *,
    base_offset: int,
    leader_epoch: int = -1,
    codec: int = 0,
    producer_id: int = -1,
    producer_epoch: int = -1,
    base_sequence: int = -1,
    log_append_time: int | None = None,
    transactional: bool = False,
    control: bool = False,
) -> bytes:
    """Build a batch from (offset, timestamp, key, value, headers), in order of offsets.

    Offsets may have gaps. They are stored as 32 bits from `base_offset`: one that is
    further away is a ValueError, so split before.
    """
    first_offset, first_timestamp = records[0][:2]
    last_delta = records[-1][0] - base_offset
    if first_offset < base_offset or last_delta > _MAX_INT32:
        raise ValueError(f"offsets do not fit a batch from {base_offset}")
    # The codec takes a first timestamp of -1, Kafka's "none", for one that is not set yet.
    shift = 1 if first_timestamp == -1 else 0
    builder = DefaultRecordBatchBuilder(
        2, 0, transactional, producer_id, producer_epoch, base_sequence, _MAX_INT32
    )
    append = builder.append
    for offset, timestamp, key, value, headers in records:
        if type(headers) is not list:
            headers = list(headers)
        append(offset - base_offset, timestamp + shift, key, value, headers)
    built = builder.build()
    header = read_header(built)
    attributes = header.attributes | codec
    if control:
        attributes |= _CONTROL
    max_timestamp = header.max_timestamp - shift
    if log_append_time is not None:
        attributes |= _LOG_APPEND_TIME
        max_timestamp = log_append_time
    payload: bytes | memoryview = memoryview(built)[HEADER_SIZE:]
    if codec:
        payload = compress(codec, bytes(payload))
    return _assemble(
        header._replace(
            base_offset=base_offset,
            batch_length=HEADER_SIZE - _LENGTH_FROM + len(payload),
            partition_leader_epoch=leader_epoch,
            attributes=attributes,
            base_timestamp=first_timestamp,
            max_timestamp=max_timestamp,
        ),
        payload,
    )


def stamp(
    batch: Buffer,
    *,
    base_offset: int,
    leader_epoch: int,
    log_append_time: int | None = None,
) -> bytes:
    """Give a batch its place in the log. Only `log_append_time` changes the CRC."""
    header = read_header(batch)
    view = memoryview(batch)
    if log_append_time is None:
        prefix = _PREFIX.pack(base_offset, header.batch_length, leader_epoch)
        return b"".join((prefix, view[_EPOCH_END:]))
    return _assemble(
        header._replace(
            base_offset=base_offset,
            partition_leader_epoch=leader_epoch,
            attributes=header.attributes | _LOG_APPEND_TIME,
            max_timestamp=log_append_time,
        ),
        view[HEADER_SIZE:],
    )


def _assemble(header: BatchHeader, payload: bytes | memoryview) -> bytes:
    """Join header and payload, with the CRC made right."""
    head = bytearray(_HEADER.pack(*header))
    crc = crc32c(payload, crc32c(memoryview(head)[_CRC_FROM:]))
    _CRC.pack_into(head, _CRC_AT, crc)
    return b"".join((head, payload))


def _invalid(detail: str) -> KafkaError:
    return KafkaError(ErrorCode.INVALID_RECORD, detail)
