"""What a topic takes from a producer, and with which code it refuses the rest."""

import struct
from collections.abc import Mapping

import pytest
from crc32c import crc32c

from korvet.kafka.compression import CODEC_NAMES, CODECS
from korvet.kafka.errors import ErrorCode, KafkaError
from korvet.kafka.records import (
    Headers,
    build_batch,
    check_batch,
    read_header,
    read_records,
)
from korvet.storage.append_rules import (
    InvalidRecords,
    NewRecord,
    Prepared,
    ProducerSequence,
    prepare_batch,
    prepare_records,
)
from korvet.storage.topic_configs import TopicConfig, TopicConfigs

NOW = 1_700_000_000_000
HOUR = 3_600_000
FORMATS = ("record", "batch")


def config(configs: Mapping[str, str] | None = None, **more: str) -> TopicConfig:
    given = {**(configs or {}), **more}
    rules = TopicConfigs({})
    return rules.view(rules.create(given))


def batch_of(
    *values: bytes | None,
    key: bytes | None = b"k",
    timestamp: int = NOW,
    headers: Headers = (),
    codec: int = 0,
    transactional: bool = False,
) -> bytes:
    return build_batch(
        [(n, timestamp, key, value, headers) for n, value in enumerate(values)],
        base_offset=0,
        codec=codec,
        transactional=transactional,
    )


def refusal(batch: bytes, configs: Mapping[str, str]) -> KafkaError:
    with pytest.raises(KafkaError) as refused:
        prepare_batch(batch, config(configs), NOW)
    return refused.value


def payload_of(prepared: Prepared) -> bytes:
    (payload,) = prepared.payload
    assert isinstance(payload, bytes)
    return payload


# --- what is taken ---


def test_a_batch_is_kept_as_it_was_sent() -> None:
    batch = build_batch(
        [(n, NOW + n, b"k", b"v", []) for n in range(3)],
        base_offset=0,
        codec=CODECS["zstd"],
        producer_id=7,
        producer_epoch=2,
        base_sequence=40,
    )

    assert prepare_batch(batch, config({"storage.format": "batch"}), NOW) == Prepared(
        record_count=3,
        size=len(batch),
        latest_timestamp=NOW + 2,
        producer_id=7,
        producer_epoch=2,
        base_sequence=40,
        is_transactional=False,
        payload=(batch,),
        entry_count=1,
    )


def test_records_are_taken_out_of_their_batch() -> None:
    prepared = prepare_batch(batch_of(b"a", None), config(), NOW)

    assert prepared.record_count == 2
    assert prepared.payload == [
        "any",
        6, "key", b"k", "value", b"a", "timestamp", NOW,
        4, "key", b"k", "timestamp", NOW,
    ]  # fmt: skip


@pytest.mark.parametrize("codec", CODEC_NAMES)
def test_a_compressed_batch_counts_as_what_its_records_are(codec: str) -> None:
    batch = batch_of(*[b"v" * 1000] * 20, codec=CODECS[codec])

    prepared = prepare_batch(batch, config(), NOW)

    assert prepared.size == pytest.approx(20_500, rel=0.05)


@pytest.mark.parametrize("wanted", CODEC_NAMES)
@pytest.mark.parametrize("sent", CODEC_NAMES)
def test_a_batch_is_recoded_where_the_topic_wants_another_codec(
    sent: str, wanted: str
) -> None:
    batch = build_batch(
        [(n, NOW + n, None, b"v" * 100, [("h", None)]) for n in range(20)],
        base_offset=0,
        codec=CODECS[sent],
        producer_id=7,
        producer_epoch=2,
        base_sequence=40,
    )
    topic = config({"storage.format": "batch", "compression.type": wanted})

    prepared = prepare_batch(batch, topic, NOW)

    stored = payload_of(prepared)
    kept = wanted in ("none", sent)
    assert (stored == batch) == kept
    header = read_header(stored)
    assert header.codec == CODECS[sent if kept else wanted]
    assert (header.producer_id, header.producer_epoch, header.base_sequence) == (7, 2, 40)
    assert read_records(stored, 1 << 20) == read_records(batch, 1 << 20)
    assert prepared.size == len(stored)


@pytest.mark.parametrize("sent", CODEC_NAMES)
def test_an_uncompressed_topic_keeps_no_codec(sent: str) -> None:
    batch = build_batch(
        [(n, NOW + n, b"k", b"v" * 100, [("h", None)]) for n in range(20)],
        base_offset=0,
        codec=CODECS[sent],
        producer_id=7,
        producer_epoch=2,
        base_sequence=40,
    )
    topic = config({"storage.format": "batch", "compression.type": "uncompressed"})

    stored = payload_of(prepare_batch(batch, topic, NOW))

    # Its CRC is that of what is stored.
    assert check_batch(stored).codec == CODECS["none"]
    assert read_header(stored).base_sequence == 40
    assert read_records(stored, 1 << 20) == read_records(batch, 1 << 20)


def test_a_batch_that_is_too_large_without_its_codec_is_refused() -> None:
    batch = batch_of(bytes(100_000), codec=CODECS["zstd"])
    limits = {"storage.format": "batch", "max.message.bytes": "50000"}

    assert prepare_batch(batch, config(limits), NOW).size < 50_000
    with pytest.raises(KafkaError) as refused:
        prepare_batch(batch, config({**limits, "compression.type": "uncompressed"}), NOW)
    assert refused.value.code is ErrorCode.MESSAGE_TOO_LARGE


def test_the_latest_timestamp_is_the_records_own_where_they_are_read() -> None:
    batch = bytearray(batch_of(b"v", timestamp=NOW))
    # A header that claims another one than its records have.
    batch[35:43] = (NOW - 500).to_bytes(8, "big")
    lying = with_right_crc(batch)

    assert prepare_batch(lying, config(), NOW).latest_timestamp == NOW


def with_right_crc(batch: bytearray) -> bytes:
    batch[17:21] = crc32c(bytes(batch[21:])).to_bytes(4, "big")
    return bytes(batch)


# --- what is refused ---


@pytest.mark.parametrize("storage_format", FORMATS)
def test_a_batch_over_the_limit_is_too_large(storage_format: str) -> None:
    batch = batch_of(b"v" * 1000)
    limits = {"storage.format": storage_format, "max.message.bytes": str(len(batch))}
    prepare_batch(batch, config(limits), NOW)

    limits["max.message.bytes"] = str(len(batch) - 1)

    assert refusal(batch, limits).code is ErrorCode.MESSAGE_TOO_LARGE


def test_a_small_batch_that_becomes_huge_is_too_large() -> None:
    bomb = batch_of(*[bytes(1 << 20)] * 130, codec=CODECS["zstd"])
    assert len(bomb) < 100_000

    assert refusal(bomb, {}).code is ErrorCode.MESSAGE_TOO_LARGE


@pytest.mark.parametrize("storage_format", FORMATS)
def test_a_corrupt_batch_is_refused(storage_format: str) -> None:
    batch = batch_of(b"value")[:-1] + b"!"

    assert refusal(batch, {"storage.format": storage_format}).code is (
        ErrorCode.CORRUPT_MESSAGE
    )


@pytest.mark.parametrize("storage_format", FORMATS)
def test_a_transaction_needs_a_producer_id(storage_format: str) -> None:
    batch = batch_of(b"v", transactional=True)

    assert refusal(batch, {"storage.format": storage_format}).code is (
        ErrorCode.INVALID_RECORD
    )


@pytest.mark.parametrize("storage_format", FORMATS)
def test_values_that_are_not_json_are_refused_with_their_index(
    storage_format: str,
) -> None:
    batch = batch_of(b'{"a": 1}', b"{", None, b"NaN", b"5", b"\xff")
    configs = {"storage.format": storage_format, "value.type": "JSON"}

    error = refusal(batch, configs)

    assert isinstance(error, InvalidRecords)
    assert error.code is ErrorCode.INVALID_RECORD
    assert [index for index, _ in error.errors] == [1, 3, 5]


@pytest.mark.parametrize(
    "value", [b"null", b'"text"', b"[1, 2.5e10]", b"1" * 10_000, '"ü"'.encode(), b" {} "]
)
def test_everything_that_is_json_is_taken(value: bytes) -> None:
    prepare_batch(batch_of(value), config({"value.type": "JSON"}), NOW)


@pytest.mark.parametrize("value", [b"", b"Infinity", b"{}{}", b"[" * 100_000])
def test_nothing_that_is_not_json_is_taken(value: bytes) -> None:
    assert refusal(batch_of(value), {"value.type": "JSON"}).code is (
        ErrorCode.INVALID_RECORD
    )


@pytest.mark.parametrize("storage_format", FORMATS)
def test_records_without_a_key_are_refused_on_a_compacted_topic(
    storage_format: str,
) -> None:
    configs = {"storage.format": storage_format, "cleanup.policy": "compact"}
    prepare_batch(batch_of(b"v", key=b""), config(configs), NOW)

    error = refusal(batch_of(b"v", b"w", key=None), configs)

    assert isinstance(error, InvalidRecords)
    assert [index for index, _ in error.errors] == [0, 1]


@pytest.mark.parametrize("storage_format", FORMATS)
def test_timestamps_too_far_from_now_are_refused(storage_format: str) -> None:
    configs = {
        "storage.format": storage_format,
        "message.timestamp.before.max.ms": str(HOUR),
        "message.timestamp.after.max.ms": str(HOUR),
    }
    for accepted in (NOW - HOUR, NOW + HOUR, -1):
        prepare_batch(batch_of(b"v", timestamp=accepted), config(configs), NOW)

    for too_far in (NOW - HOUR - 1, NOW + HOUR + 1, 0):
        code = refusal(batch_of(b"v", timestamp=too_far), configs).code
        assert code is ErrorCode.INVALID_TIMESTAMP

    # -1 is none at all; anything else below zero is as long ago as it says.
    prepare_batch(batch_of(b"v", timestamp=-1), config(configs), NOW)
    for long_ago in (-2, -(1 << 62)):
        code = refusal(batch_of(b"v", timestamp=long_ago), configs).code
        assert code is ErrorCode.INVALID_TIMESTAMP

    configs["message.timestamp.type"] = "LogAppendTime"
    prepare_batch(batch_of(b"v", timestamp=0), config(configs), NOW)


def test_by_default_the_past_is_welcome_and_the_far_future_is_not() -> None:
    prepare_batch(batch_of(b"v", timestamp=0), config(), NOW)

    code = refusal(batch_of(b"v", timestamp=NOW + 2 * HOUR), {}).code
    assert code is ErrorCode.INVALID_TIMESTAMP


@pytest.mark.parametrize("after_max", [HOUR, (1 << 63) - 1])
def test_a_header_cannot_hide_a_record_from_a_time_that_no_batch_can_hold(
    after_max: int,
) -> None:
    records = [(0, NOW, b"k", b"v", ()), (1, (1 << 63) - 1, b"k", b"v", ())]
    batch = bytearray(build_batch(records, base_offset=0))
    batch[35:43] = struct.pack(">q", NOW)  # the header's largest timestamp
    lying = with_right_crc(batch)
    assert read_header(lying).max_timestamp == NOW

    configs = {"message.timestamp.after.max.ms": str(after_max)}

    assert refusal(lying, configs).code is ErrorCode.INVALID_TIMESTAMP


def test_more_headers_than_fit_are_refused() -> None:
    batch = batch_of(b"v", headers=[("h", b"")] * 3001)

    assert refusal(batch, {}).code is ErrorCode.INVALID_RECORD
    prepare_batch(batch, config({"storage.format": "batch"}), NOW)


def test_records_inside_a_batch_are_looked_at_where_that_is_wanted() -> None:
    batch = bytearray(batch_of(b"v" * 50))
    batch[61:] = b"\xff" * (len(batch) - 61)
    nonsense = with_right_crc(batch)

    prepare_batch(nonsense, config({"storage.format": "batch"}), NOW)

    full = {"storage.format": "batch", "batch.validation": "full"}
    assert refusal(nonsense, full).code is ErrorCode.INVALID_RECORD


def test_a_producer_needs_an_epoch() -> None:
    batch = build_batch(
        [(0, NOW, None, b"v", [])], base_offset=0, producer_id=7, base_sequence=0
    )

    assert refusal(batch, {}).code is ErrorCode.INVALID_PRODUCER_EPOCH


# --- records that come without a batch ---


@pytest.mark.parametrize("storage_format", FORMATS)
def test_records_get_the_time_where_they_have_none(storage_format: str) -> None:
    records = [
        NewRecord(None, None, b"now", []),
        NewRecord(NOW - 5, b"k", None, [("h", None)]),
    ]

    prepared = prepare_records(
        records, None, config({"storage.format": storage_format}), NOW
    )

    assert (prepared.record_count, prepared.latest_timestamp) == (2, NOW)
    assert prepared.producer_id == -1
    if storage_format == "batch":
        found = read_records(payload_of(prepared), 1 << 20)
        assert [(r.timestamp, r.key, r.value, r.headers) for r in found] == [
            (NOW, None, b"now", []),
            (NOW - 5, b"k", None, [("h", None)]),
        ]


def test_records_may_have_a_producer() -> None:
    prepared = prepare_records(
        [NewRecord(None, None, b"v", [])], ProducerSequence(7, 1, 40), config(), NOW
    )

    assert (prepared.producer_id, prepared.producer_epoch) == (7, 1)
    assert prepared.base_sequence == 40


@pytest.mark.parametrize("epoch", [-2, 0x8000])
def test_an_epoch_that_is_none_is_refused(epoch: int) -> None:
    with pytest.raises(KafkaError) as refused:
        prepare_records(
            [NewRecord(None, None, b"v", [])], ProducerSequence(7, epoch, 0), config(), NOW
        )

    assert refused.value.code is ErrorCode.INVALID_PRODUCER_EPOCH


def test_no_records_are_refused() -> None:
    with pytest.raises(KafkaError) as refused:
        prepare_records([], None, config(), NOW)

    assert refused.value.code is ErrorCode.INVALID_RECORD


def test_more_records_than_one_command_holds_are_refused_before_they_are_read() -> None:
    batch = bytearray(batch_of(b"v", codec=CODECS["gzip"]))
    count = 400_000
    struct.pack_into(">i", batch, 23, count - 1)
    struct.pack_into(">i", batch, 57, count)
    struct.pack_into(">I", batch, 17, crc32c(bytes(batch[21:])))

    # Read, its one record would be found not to be as many.
    error = refusal(bytes(batch), {"storage.format": "record"})

    assert error.code is ErrorCode.MESSAGE_TOO_LARGE
