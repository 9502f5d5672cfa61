"""PURE: what a producer's payload must be, and what becomes of it in the script.

Whatever a topic does not allow is refused here, before Redis is asked.
"""

import json
from collections.abc import Sequence
from typing import Final, NamedTuple

from korvet.kafka.compression import CODECS, NONE
from korvet.kafka.errors import ErrorCode, KafkaError
from korvet.kafka.records import (
    BatchHeader,
    Headers,
    Record,
    build_batch,
    check_batch,
    read_records,
)
from korvet.storage.record_arguments import MAX_RECORDS, Word, to_arguments
from korvet.storage.record_format import MAX_TIMESTAMP, plain_size
from korvet.storage.topic_configs import TopicConfig

# A small batch may decompress to much; this is what one may ask of our memory.
MAX_DECOMPRESSED: Final = 128 << 20
_MAX_EPOCH: Final = 0x7FFF
# Of a record that has none. Other negative ones are times before 1970, as in Kafka.
_NO_TIMESTAMP: Final = -1


class InvalidRecords(KafkaError):
    """Some records of a batch break the topic's rules; so none is appended (KIP-467)."""

    def __init__(self, errors: Sequence[tuple[int, str]]) -> None:
        super().__init__(ErrorCode.INVALID_RECORD, errors[0][1])
        self.errors = errors


class NewRecord(NamedTuple):
    """A record that a gRPC client appends. Its timestamp is None where it has none."""

    timestamp: int | None
    key: bytes | None
    value: bytes | None
    headers: Headers


class ProducerSequence(NamedTuple):
    producer_id: int
    producer_epoch: int
    base_sequence: int


class Prepared(NamedTuple):
    """One append, ready for the script."""

    record_count: int
    size: int
    latest_timestamp: int
    producer_id: int
    producer_epoch: int
    base_sequence: int
    is_transactional: bool
    payload: Sequence[Word]
    # Of the stream, that the payload makes.
    entry_count: int
    # Whether each transaction of the producer has an epoch of its own (KIP-890).
    epoch_per_transaction: bool = False


def prepare_batch(batch: bytes, config: TopicConfig, now_ms: int) -> Prepared:
    """Check a producer's batch for a topic."""
    _check_size(batch, config)
    header = check_batch(batch)
    if header.is_transactional and header.producer_id < 0:
        raise KafkaError(ErrorCode.INVALID_RECORD, "a transaction without a producer id")
    if header.producer_id >= 0 and header.producer_epoch < 0:
        raise KafkaError(
            ErrorCode.INVALID_PRODUCER_EPOCH,
            f"{header.producer_epoch} of producer {header.producer_id}",
        )
    _check_times((header.base_timestamp, header.max_timestamp), config, now_ms)
    if config.batch_format:
        return _prepare_opaque(batch, header, config, now_ms)
    if header.record_count > MAX_RECORDS:
        # Known now, and not only when memory was taken for all of them.
        raise KafkaError(
            ErrorCode.MESSAGE_TOO_LARGE, f"{header.record_count} records in one batch"
        )
    records = _walk(batch, config, now_ms)
    codec = CODECS[config.storage_compression]
    # Reads count what they return, which is not compressed as the producer's batch was.
    size = plain_size(records) if header.codec else len(batch)
    words = to_arguments(records, codec)
    return _prepared(header, records, size, words, len(records))


def prepare_records(
    records: Sequence[NewRecord],
    producer: ProducerSequence | None,
    config: TopicConfig,
    now_ms: int,
) -> Prepared:
    """Check records that come without a batch, by making one of them."""
    if not records:
        raise KafkaError(ErrorCode.INVALID_RECORD, "no records")
    producer_id, epoch, sequence = producer or (-1, -1, -1)
    if not -1 <= epoch <= _MAX_EPOCH:
        raise KafkaError(ErrorCode.INVALID_PRODUCER_EPOCH, f"{epoch} is no epoch")
    times = [now_ms if record[0] is None else record[0] for record in records]
    # Not every batch can be built.
    _check_times(times, config, now_ms)
    batch = build_batch(
        [
            (index, time, *record[1:])
            for index, (time, record) in enumerate(zip(times, records, strict=True))
        ],
        base_offset=0,
        producer_id=producer_id,
        producer_epoch=epoch,
        base_sequence=sequence,
    )
    return prepare_batch(batch, config, now_ms)


def _prepare_opaque(
    batch: bytes, header: BatchHeader, config: TopicConfig, now_ms: int
) -> Prepared:
    """A batch that is kept as it is, unless the topic wants it compressed otherwise."""
    codec = _stored_codec(config.compression_type, header.codec)
    recode = codec != header.codec
    records: Sequence[Record] = ()
    if recode or config.json_values or config.compacted or config.full_validation:
        records = _walk(batch, config, now_ms)
        if recode:
            batch = build_batch(
                records,
                base_offset=header.base_offset,
                codec=codec,
                producer_id=header.producer_id,
                producer_epoch=header.producer_epoch,
                base_sequence=header.base_sequence,
                transactional=header.is_transactional,
            )
            # Kafka looks once more, too: it may be much larger without its codec.
            _check_size(batch, config)
    return _prepared(header, records, len(batch), (batch,), 1)


def _stored_codec(compression_type: str, sent: int) -> int:
    if compression_type in ("none", "producer"):
        return sent
    return NONE if compression_type == "uncompressed" else CODECS[compression_type]


def _check_size(batch: bytes, config: TopicConfig) -> None:
    if len(batch) > config.max_message_bytes:
        raise KafkaError(
            ErrorCode.MESSAGE_TOO_LARGE,
            f"{len(batch)} bytes; max.message.bytes is {config.max_message_bytes}",
        )


def _prepared(
    header: BatchHeader,
    records: Sequence[Record],
    size: int,
    payload: Sequence[Word],
    entry_count: int,
) -> Prepared:
    return Prepared(
        record_count=header.record_count,
        size=size,
        # Of records that were not looked at, the header's word is all there is.
        latest_timestamp=max(
            (record[1] for record in records), default=header.max_timestamp
        ),
        producer_id=header.producer_id,
        producer_epoch=header.producer_epoch,
        base_sequence=header.base_sequence,
        is_transactional=header.is_transactional,
        payload=payload,
        entry_count=entry_count,
    )


def _check_times(times: Sequence[int], config: TopicConfig, now_ms: int) -> None:
    if config.log_append_time:
        return
    latest = max(times)
    if latest > min(now_ms + config.message_timestamp_after_max_ms, MAX_TIMESTAMP):
        raise KafkaError(
            ErrorCode.INVALID_TIMESTAMP,
            f"{latest} is in the future (message.timestamp.after.max.ms)",
        )
    oldest = min((time for time in times if time != _NO_TIMESTAMP), default=now_ms)
    if oldest < now_ms - config.message_timestamp_before_max_ms:
        raise KafkaError(
            ErrorCode.INVALID_TIMESTAMP,
            f"{oldest} is too long ago (message.timestamp.before.max.ms)",
        )


def _walk(batch: bytes, config: TopicConfig, now_ms: int) -> list[Record]:
    records = read_records(batch, MAX_DECOMPRESSED)
    # What the header says of them need not be true.
    _check_times([record[1] for record in records], config, now_ms)
    errors: list[tuple[int, str]] = []
    if config.compacted:
        errors += [
            (index, "a compacted topic needs keys")
            for index, record in enumerate(records)
            if record.key is None
        ]
    if config.json_values:
        errors += [
            (index, "the value is not JSON (value.type=JSON)")
            for index, record in enumerate(records)
            if record.value is not None and not _is_json(record.value)
        ]
    if errors:
        raise InvalidRecords(errors)
    return records


def _is_json(value: bytes) -> bool:
    try:
        # Numbers are not made into any: they may be of any length.
        json.loads(value, parse_int=len, parse_float=len, parse_constant=_refuse)
    except (ValueError, RecursionError):
        return False
    return True


def _refuse(constant: str) -> None:
    """Python takes NaN and Infinity for JSON."""
    raise ValueError(constant)
