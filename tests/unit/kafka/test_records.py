"""Record batches that are as they should be."""

from pathlib import Path
from typing import Any

import pytest
from aiokafka.record.default_records import DefaultRecordBatch, DefaultRecordBatchBuilder
from hypothesis import given, settings
from hypothesis import strategies as st
from kafka.record import MemoryRecords, MemoryRecordsBuilder

from korvet.kafka.records import (
    CODEC_NAMES,
    CODECS,
    Record,
    build_batch,
    check_batch,
    read_header,
    read_records,
    split_batches,
    stamp,
)

MEBIBYTE = 1024 * 1024
JAVA_BATCHES = Path(__file__).parent / "golden/java_record_batches.txt"
JAVA_RECORDS = [
    Record(0, 1700000000000, b"key", b"value", [("h", b"1"), ("h", None), ("ä", b"")]),
    Record(1, 1700000000005, None, b"x" * 300, []),
    Record(2, 1699999999999, b"", None, []),
    Record(3, 1700000000001, b"k", b"", []),
]

byte_strings = st.none() | st.binary(max_size=200)
headers = st.lists(st.tuples(st.text(max_size=20), byte_strings), max_size=4)


@st.composite
def record_lists(draw: st.DrawFn, gaps: bool = False) -> list[Record]:
    offset = draw(st.integers(0, 2**62))
    records = []
    for _ in range(draw(st.integers(1, 20))):
        timestamp = draw(st.just(-1) | st.integers(0, 2**45))
        key, value = draw(byte_strings), draw(byte_strings)
        records.append(Record(offset, timestamp, key, value, draw(headers)))
        offset += draw(st.integers(1, 1000)) if gaps else 1
    return records


@settings(max_examples=60, deadline=None)
@given(record_lists(), st.sampled_from(range(5)))
def test_what_is_built_is_read_back(records: list[Record], codec: int) -> None:
    batch = build_batch(records, base_offset=records[0].offset, codec=codec)

    assert check_batch(batch).codec == codec
    assert read_records(batch, MEBIBYTE) == records


@settings(max_examples=60, deadline=None)
@given(record_lists(gaps=True), st.integers(0, 1000))
def test_offsets_may_have_gaps(records: list[Record], before: int) -> None:
    base = max(0, records[0].offset - before)

    batch = build_batch(records, base_offset=base)

    assert read_records(batch, MEBIBYTE) == records
    assert read_header(batch).base_offset == base
    assert read_header(batch).last_offset == records[-1].offset


@pytest.mark.parametrize("line", JAVA_BATCHES.read_text().splitlines()[9:])
def test_batches_of_the_java_client_are_read(line: str) -> None:
    name, data = line.split()
    batch = bytes.fromhex(data)

    header = check_batch(batch)

    assert header.codec == CODECS[name]
    assert (header.producer_id, header.producer_epoch, header.base_sequence) == (7, 1, 42)
    assert (header.base_timestamp, header.max_timestamp) == (1700000000000, 1700000000005)
    assert read_records(batch, 1000) == JAVA_RECORDS


def test_uncompressed_batches_are_those_of_the_java_client_to_the_byte() -> None:
    expected = bytes.fromhex(JAVA_BATCHES.read_text().splitlines()[9].split()[1])

    batch = build_batch(
        JAVA_RECORDS,
        base_offset=0,
        leader_epoch=0,
        producer_id=7,
        producer_epoch=1,
        base_sequence=42,
    )

    assert batch == expected


@settings(max_examples=40, deadline=None)
@given(record_lists(), st.sampled_from(range(5)))
def test_kafka_python_and_aiokafka_read_what_we_build(
    records: list[Record], codec: int
) -> None:
    batch = build_batch(records, base_offset=records[0].offset, codec=codec)

    [theirs] = MemoryRecords(batch)

    assert [_plain(record) for record in theirs] == records
    assert [_plain(record) for record in DefaultRecordBatch(batch)] == records


def _plain(record: Any) -> Record:
    timestamp = -1 if record.timestamp is None else record.timestamp
    return Record(record.offset, timestamp, record.key, record.value, list(record.headers))


@pytest.mark.parametrize("codec", range(5))
def test_batches_of_kafka_python_are_read(codec: int) -> None:
    builder = MemoryRecordsBuilder(magic=2, compression_type=codec, batch_size=MEBIBYTE)
    for record in JAVA_RECORDS:
        builder.append(record.timestamp, record.key, record.value, list(record.headers))
    builder.close()

    batch = builder.buffer()

    check_batch(batch)
    assert read_records(batch, MEBIBYTE) == JAVA_RECORDS


@pytest.mark.parametrize("codec", range(5))
def test_batches_of_aiokafka_are_read(codec: int) -> None:
    builder = DefaultRecordBatchBuilder(2, codec, 0, -1, -1, -1, MEBIBYTE)
    for record in JAVA_RECORDS:
        builder.append(*record)

    batch = bytes(builder.build())

    check_batch(batch)
    assert read_records(batch, MEBIBYTE) == JAVA_RECORDS


def test_header_fields_are_those_asked_for() -> None:
    batch = build_batch(
        JAVA_RECORDS,
        base_offset=0,
        leader_epoch=9,
        codec=CODECS["lz4"],
        producer_id=1,
        producer_epoch=2,
        base_sequence=3,
        log_append_time=1800000000000,
        transactional=True,
        control=True,
    )

    header = read_header(batch)

    assert header.size == len(batch)
    assert header.partition_leader_epoch == 9
    assert (header.producer_id, header.producer_epoch, header.base_sequence) == (1, 2, 3)
    assert (header.last_offset_delta, header.record_count) == (3, 4)
    assert header.is_log_append_time
    assert header.is_transactional
    assert header.is_control
    assert {record.timestamp for record in read_records(batch, MEBIBYTE)} == {1800000000000}


def test_stamping_gives_a_batch_its_place_and_keeps_its_crc() -> None:
    batch = build_batch(JAVA_RECORDS, base_offset=0)

    stamped = stamp(batch, base_offset=2**40, leader_epoch=3)

    header = check_batch(stamped)
    assert (header.base_offset, header.partition_leader_epoch) == (2**40, 3)
    assert header.crc == read_header(batch).crc
    assert [r.offset for r in read_records(stamped, MEBIBYTE)] == [
        2**40 + i for i in range(4)
    ]


@pytest.mark.parametrize("codec", range(5))
def test_stamping_an_append_time_gives_it_to_every_record(codec: int) -> None:
    batch = build_batch(JAVA_RECORDS, base_offset=0, codec=codec)

    stamped = stamp(batch, base_offset=5, leader_epoch=0, log_append_time=123)

    assert DefaultRecordBatch(stamped).validate_crc()
    assert read_header(stamped).max_timestamp == 123
    assert {record.timestamp for record in read_records(stamped, MEBIBYTE)} == {123}


def test_a_missing_first_timestamp_stays_missing() -> None:
    records = [Record(i, time, None, b"", []) for i, time in enumerate((-1, 7, -1, 0))]

    batch = build_batch(records, base_offset=0)

    assert read_records(batch, MEBIBYTE) == records
    assert read_header(batch).base_timestamp == -1
    assert read_header(batch).max_timestamp == 7


def test_headers_may_be_any_sequence() -> None:
    batch = build_batch([(0, 1, None, b"v", (("a", b"1"),))], base_offset=0)

    assert read_records(batch, MEBIBYTE)[0].headers == [("a", b"1")]


def test_offsets_that_do_not_fit_a_batch_are_refused() -> None:
    with pytest.raises(ValueError, match="offsets"):
        build_batch([(2**31, 1, None, None, [])], base_offset=0)
    with pytest.raises(ValueError, match="offsets"):
        build_batch([(4, 1, None, None, [])], base_offset=5)


def test_fetched_records_are_split_into_batches_without_the_cut_one() -> None:
    first = build_batch(JAVA_RECORDS, base_offset=0)
    second = build_batch([(9, 1, None, b"v", [])], base_offset=9, codec=1)

    for cut in range(len(second)):
        found = list(split_batches(first + second[:cut]))
        assert [bytes(batch) for _, batch in found] == [first]
    whole = list(split_batches(first + second))

    assert [header.base_offset for header, _ in whole] == [0, 9]
    assert [len(read_records(batch, MEBIBYTE)) for _, batch in whole] == [4, 1]


def test_a_compacted_batch_may_have_lost_its_last_records() -> None:
    batch = bytearray(build_batch([(0, 1, b"k", b"v", [])], base_offset=0))
    batch[23:27] = (7).to_bytes(4, "big")

    assert read_header(batch).last_offset == 7
    assert [record.offset for record in read_records(bytes(batch), MEBIBYTE)] == [0]


def test_codecs_have_kafkas_names_and_numbers() -> None:
    assert CODECS == {"none": 0, "gzip": 1, "snappy": 2, "lz4": 3, "zstd": 4}
    assert [CODECS[name] for name in CODEC_NAMES] == list(range(5))
