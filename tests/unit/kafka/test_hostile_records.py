"""Record batches that a client should not have sent."""

import gzip
import struct
import tracemalloc
from collections.abc import Callable

import cramjam
import pytest
from crc32c import crc32c
from hypothesis import example, given, settings
from hypothesis import strategies as st

from korvet.kafka.errors import DecodeError, ErrorCode, KafkaError
from korvet.kafka.records import (
    CODECS,
    HEADER_SIZE,
    build_batch,
    check_batch,
    read_header,
    read_records,
    split_batches,
)

LIMIT = 64 * 1024
BATCH = build_batch(
    [(0, 5, b"k", b"v", [("h", b"x")]), (1, 6, None, None, [])], base_offset=0
)
REFUSALS = {
    ErrorCode.CORRUPT_MESSAGE,
    ErrorCode.INVALID_RECORD,
    ErrorCode.MESSAGE_TOO_LARGE,
}


def refusal(call: Callable[[], object]) -> ErrorCode:
    with pytest.raises(KafkaError) as caught:
        call()
    return caught.value.code


def patched(position: int, layout: str, value: int, batch: bytes = BATCH) -> bytes:
    """The batch with one header field changed, and its CRC right for it."""
    data = bytearray(batch)
    struct.pack_into(layout, data, position, value)
    struct.pack_into(">I", data, 17, crc32c(bytes(data[21:])))
    return bytes(data)


def with_payload(payload: bytes, *, count: int = 1, codec: int = 0) -> bytes:
    """A batch around any bytes, whose header and CRC are right."""
    length = HEADER_SIZE - 12 + len(payload)
    batch = patched(8, ">i", length, BATCH[:HEADER_SIZE] + payload)
    batch = patched(21, ">h", codec, batch)
    return patched(57, ">i", count, patched(23, ">i", count - 1, batch))


def varint(value: int) -> bytes:
    value = (value << 1) ^ (value >> 63)
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def test_a_cut_batch_is_refused_at_any_byte() -> None:
    for cut in range(len(BATCH)):
        assert refusal(lambda: check_batch(BATCH[:cut])) is ErrorCode.INVALID_RECORD  # noqa: B023
        assert refusal(lambda: read_records(BATCH[:cut], LIMIT)) in REFUSALS  # noqa: B023


def test_the_header_of_a_cut_batch_is_a_decode_error() -> None:
    for cut in range(HEADER_SIZE):
        with pytest.raises(DecodeError):
            read_header(BATCH[:cut])


@pytest.mark.parametrize("position", range(21, len(BATCH)))
def test_a_changed_byte_is_a_wrong_crc(position: int) -> None:
    data = bytearray(BATCH)
    data[position] ^= 0x40

    assert refusal(lambda: check_batch(bytes(data))) is ErrorCode.CORRUPT_MESSAGE


@pytest.mark.parametrize(
    ("batch", "code"),
    [
        pytest.param(b"", ErrorCode.INVALID_RECORD, id="nothing"),
        pytest.param(BATCH + BATCH, ErrorCode.INVALID_RECORD, id="two batches"),
        pytest.param(BATCH + b"\0", ErrorCode.INVALID_RECORD, id="trailing byte"),
        pytest.param(patched(16, ">b", 0), ErrorCode.INVALID_RECORD, id="magic 0"),
        pytest.param(patched(16, ">b", 1), ErrorCode.INVALID_RECORD, id="magic 1"),
        pytest.param(patched(16, ">b", 3), ErrorCode.CORRUPT_MESSAGE, id="magic 3"),
        pytest.param(patched(16, ">b", -1), ErrorCode.CORRUPT_MESSAGE, id="magic -1"),
        pytest.param(patched(8, ">i", 5), ErrorCode.CORRUPT_MESSAGE, id="length 5"),
        pytest.param(patched(8, ">i", 20), ErrorCode.CORRUPT_MESSAGE, id="length 20"),
        pytest.param(patched(8, ">i", -1), ErrorCode.CORRUPT_MESSAGE, id="length -1"),
        pytest.param(patched(57, ">i", 0), ErrorCode.INVALID_RECORD, id="no records"),
        pytest.param(patched(57, ">i", -2), ErrorCode.INVALID_RECORD, id="count -2"),
        pytest.param(patched(57, ">i", 3), ErrorCode.INVALID_RECORD, id="count 3"),
        pytest.param(patched(23, ">i", 5), ErrorCode.INVALID_RECORD, id="last delta"),
        pytest.param(patched(21, ">h", 0x20), ErrorCode.INVALID_RECORD, id="control"),
        pytest.param(patched(21, ">h", 5), ErrorCode.INVALID_RECORD, id="codec 5"),
        pytest.param(patched(21, ">h", 8), ErrorCode.INVALID_TIMESTAMP, id="append time"),
        pytest.param(patched(43, ">q", 7), ErrorCode.INVALID_RECORD, id="no sequence"),
    ],
)
def test_a_batch_that_no_producer_may_send_is_refused(
    batch: bytes, code: ErrorCode
) -> None:
    assert refusal(lambda: check_batch(batch)) is code


def test_fetched_batches_of_impossible_length_are_a_decode_error() -> None:
    with pytest.raises(DecodeError):
        list(split_batches(patched(8, ">i", 3)))
    with pytest.raises(DecodeError):
        list(split_batches(patched(8, ">i", -12)))


@pytest.mark.parametrize("deltas", [(1, 2), (0, 2), (0, 0), (1, 0), (-1, 0), (0, 2**40)])
def test_offsets_other_than_one_after_the_other_are_refused(
    deltas: tuple[int, int],
) -> None:
    records = [b"\0" + varint(0) + varint(delta) + b"\x01\x01\0" for delta in deltas]
    payload = b"".join(varint(len(record)) + record for record in records)

    batch = with_payload(payload, count=2)

    check_batch(batch)
    assert refusal(lambda: read_records(batch, LIMIT)) is ErrorCode.INVALID_RECORD


@pytest.mark.parametrize(
    "record",
    [
        pytest.param(b"", id="no bytes"),
        pytest.param(b"\0\0\0\x01\x01", id="no header count"),
        pytest.param(b"\0\0\0\x01\x01\x01", id="header count -1"),
        pytest.param(b"\0\0\0\x01\x01\x02\x01\x01", id="null header name"),
        pytest.param(b"\0\0\0\x01\x01\x02\x02\xff\x01", id="header name not UTF-8"),
        pytest.param(b"\0\0\0\x01\x01\x02", id="header missing"),
        pytest.param(b"\0\0\0\x01\x01\x82", id="header count runs over the end"),
        pytest.param(b"\0\0\0\x01\x01\x02\0\x81", id="header value runs over the end"),
        pytest.param(b"\0\0\0\x20\x01\0", id="key longer than the rest"),
        pytest.param(b"\0\0\0" + varint(2**62) + b"\x01\0", id="key of 2^62 bytes"),
        pytest.param(b"\0\0\0" + varint(2**63 - 1) + b"\x01\0", id="key of 2^63 bytes"),
        pytest.param(b"\0\0\0\x01" + varint(2**31) + b"\0", id="value of 2^31 bytes"),
        pytest.param(b"\0\0\0\x01\x01" + varint(2**40), id="2^40 headers"),
        pytest.param(b"\0" + b"\xff" * 11 + b"\0\0\x01\x01\0", id="endless varint"),
        pytest.param(b"\0\0\0\x01\x01\0\0\0\0", id="more bytes than fields"),
    ],
)
def test_a_malformed_record_is_refused(record: bytes) -> None:
    batch = with_payload(varint(len(record)) + record)

    assert refusal(lambda: read_records(batch, LIMIT)) is ErrorCode.INVALID_RECORD


def test_a_count_that_cannot_be_true_is_refused_before_reading() -> None:
    batch = with_payload(b"\x0c\0\0\0\x01\x01\0", count=2**31 - 1)

    tracemalloc.start()
    code = refusal(lambda: read_records(batch, LIMIT))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()

    assert code is ErrorCode.INVALID_RECORD
    assert peak < 100_000


@pytest.mark.parametrize("count", [1, 3])
def test_another_count_than_there_are_records_is_refused(count: int) -> None:
    batch = with_payload(BATCH[HEADER_SIZE:], count=count)

    assert refusal(lambda: read_records(batch, LIMIT)) is ErrorCode.INVALID_RECORD


XERIAL = b"\x82SNAPPY\x00" + struct.pack(">ii", 1, 1)


def _xerial(data: bytes, block: int = 64 * 1024) -> bytes:
    parts = [XERIAL]
    for start in range(0, len(data), block):
        compressed = bytes(cramjam.snappy.compress_raw(data[start : start + block]))
        parts += [struct.pack(">i", len(compressed)), compressed]
    return b"".join(parts)


def _lz4(data: bytes) -> bytes:
    return bytes(cramjam.lz4.compress(data))


COMPRESSORS = [
    pytest.param(CODECS["gzip"], gzip.compress, id="gzip"),
    pytest.param(CODECS["snappy"], cramjam.snappy.compress_raw, id="snappy"),
    pytest.param(CODECS["snappy"], _xerial, id="xerial"),
    pytest.param(CODECS["lz4"], _lz4, id="lz4"),
    pytest.param(CODECS["zstd"], cramjam.zstd.compress, id="zstd"),
]


@pytest.mark.parametrize(("codec", "compressor"), COMPRESSORS)
def test_a_compression_bomb_is_refused_without_its_memory(
    codec: int, compressor: Callable[[bytes], bytes]
) -> None:
    batch = with_payload(bytes(compressor(bytes(50_000_000))), codec=codec)

    tracemalloc.start()
    code = refusal(lambda: read_records(batch, LIMIT))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()

    assert code is ErrorCode.MESSAGE_TOO_LARGE
    assert peak < len(batch) + 10 * LIMIT


@pytest.mark.parametrize(("codec", "compressor"), COMPRESSORS)
def test_the_limit_is_exact(codec: int, compressor: Callable[[bytes], bytes]) -> None:
    record = b"\0\0\0\x01" + varint(200_000) + bytes(200_000) + b"\0"
    payload = varint(len(record)) + record
    batch = with_payload(bytes(compressor(payload)), codec=codec)

    [read] = read_records(batch, len(payload))

    assert read.value == bytes(200_000)
    too_small = len(payload) - 1
    assert refusal(lambda: read_records(batch, too_small)) is ErrorCode.MESSAGE_TOO_LARGE


@pytest.mark.parametrize(("codec", "compressor"), COMPRESSORS)
def test_cut_or_changed_compressed_records_are_refused(
    codec: int, compressor: Callable[[bytes], bytes]
) -> None:
    whole = bytes(compressor(BATCH[HEADER_SIZE:] * 1))
    for cut in range(len(whole)):
        batch = with_payload(whole[:cut], count=2, codec=codec)
        assert refusal(lambda: read_records(batch, LIMIT)) in REFUSALS  # noqa: B023
    garbage = with_payload(b"\xff" * 100, count=2, codec=codec)
    assert refusal(lambda: read_records(garbage, LIMIT)) is ErrorCode.CORRUPT_MESSAGE


@pytest.mark.parametrize("length", [-1, 2**31 - 1, 5])
def test_snappy_blocks_of_impossible_length_are_refused(length: int) -> None:
    batch = with_payload(XERIAL + struct.pack(">i", length) + b"ab", codec=2)

    assert refusal(lambda: read_records(batch, LIMIT)) is ErrorCode.CORRUPT_MESSAGE


def test_a_declared_snappy_length_is_not_trusted() -> None:
    batch = with_payload(b"\xff\xff\xff\xff\x0f" + b"ab", codec=2)

    assert refusal(lambda: read_records(batch, LIMIT)) is ErrorCode.MESSAGE_TOO_LARGE


def test_a_second_gzip_member_is_refused() -> None:
    payload = gzip.compress(BATCH[HEADER_SIZE:]) + gzip.compress(b"")

    batch = with_payload(payload, count=2, codec=1)

    assert refusal(lambda: read_records(batch, LIMIT)) is ErrorCode.CORRUPT_MESSAGE


@settings(max_examples=400, deadline=None)
@given(st.binary(max_size=200), st.integers(0, 5), st.integers(-1, 20))
@example(b"", 1, 1)
def test_any_payload_is_read_or_refused(payload: bytes, codec: int, count: int) -> None:
    try:
        records = read_records(with_payload(payload, count=count, codec=codec), LIMIT)
    except KafkaError as error:
        assert error.code in REFUSALS  # noqa: PT017 - both outcomes are right
    else:
        assert len(records) == count


@settings(max_examples=300, deadline=None)
@given(st.data())
def test_any_changed_bytes_are_read_or_refused(data: st.DataObject) -> None:
    batch = bytearray(
        build_batch(
            [(i, i, b"key", b"value" * i, [("n", b"v")]) for i in range(5)],
            base_offset=0,
            codec=data.draw(st.integers(0, 4)),
        )
    )
    for _ in range(data.draw(st.integers(1, 4))):
        batch[data.draw(st.integers(0, len(batch) - 1))] = data.draw(st.integers(0, 255))

    for call in (check_batch, lambda batch: read_records(batch, LIMIT)):
        try:
            call(bytes(batch))
        except KafkaError as error:
            assert error.code in REFUSALS | {ErrorCode.INVALID_TIMESTAMP}  # noqa: PT017 - as above


def test_a_small_batch_does_not_become_millions_of_records() -> None:
    one = varint(6) + bytes(3) + varint(-1) * 2 + bytes(1)
    payload = bytes(cramjam.zstd.compress(one * 4_000_000))
    batch = with_payload(payload, count=4_000_000, codec=CODECS["zstd"])

    tracemalloc.start()
    code = refusal(lambda: read_records(batch, 128 << 20))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()

    assert refusal(lambda: check_batch(batch)) is ErrorCode.MESSAGE_TOO_LARGE
    assert code is ErrorCode.MESSAGE_TOO_LARGE
    assert peak < 64 << 20


@pytest.mark.parametrize(
    ("records", "headers"), [(1, 8_000_000), (1, 300_000), (1000, 400), (5, 60_000)]
)
def test_a_small_batch_does_not_become_a_great_many_headers(
    records: int, headers: int
) -> None:
    fields = varint(-1) * 2 + varint(headers) + (varint(0) + varint(-1)) * headers
    plain = b""
    for offset in range(records):
        record = bytes(2) + varint(offset) + fields
        plain += varint(len(record)) + record
    compressed = bytes(cramjam.zstd.compress(plain))
    batch = with_payload(compressed, count=records, codec=CODECS["zstd"])
    assert len(batch) < 10_000

    tracemalloc.start()
    code = refusal(lambda: read_records(batch, 128 << 20))
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()

    assert code is ErrorCode.MESSAGE_TOO_LARGE
    assert peak < 256 << 20


def test_a_record_that_lies_about_its_length_hides_no_headers() -> None:
    fields = varint(-1) * 2 + varint(3_000_000) + (varint(0) + varint(-1)) * 3_000_000
    plain = varint(9) + bytes(3) + fields
    batch = with_payload(bytes(cramjam.zstd.compress(plain)), codec=CODECS["zstd"])

    assert refusal(lambda: read_records(batch, 128 << 20)) is ErrorCode.MESSAGE_TOO_LARGE


def test_headers_that_compress_well_are_read() -> None:
    headers = [("traceparent", b"00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01")]
    records = [(n, 5, b"k", b"v", headers * 8) for n in range(10_000)]
    batch = build_batch(records, base_offset=0, codec=CODECS["zstd"])
    assert len(batch) < 100_000

    assert len(read_records(batch, 128 << 20)) == 10_000


def test_a_large_batch_of_honest_records_is_read() -> None:
    value = bytes(1 << 20)
    batch = build_batch(
        [(n, 5, b"k", value, [("h", b"x"), ("h", None)]) for n in range(9)],
        base_offset=0,
        codec=CODECS["zstd"],
    )

    assert [record.value for record in read_records(batch, 128 << 20)] == [value] * 9


def test_a_batch_may_not_claim_more_records_than_fit() -> None:
    code = refusal(lambda: check_batch(with_payload(bytes(70), count=11)))

    assert code is ErrorCode.INVALID_RECORD
