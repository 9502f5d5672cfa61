"""One stream entry a record: what is written, and what is read from whatever is there."""

from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from korvet.kafka.compression import CODECS, decompress
from korvet.kafka.errors import ErrorCode, KafkaError
from korvet.kafka.records import Record, read_records, split_batches
from korvet.storage.epochs import Epoch
from korvet.storage.offsets import DENSE, OffsetEncoding
from korvet.storage.record_format import (
    MAX_TIMESTAMP,
    Entry,
    StoredRecord,
    plain_size,
    read_entries,
    read_entry,
    to_arguments,
    to_batches,
)

FIRST_EPOCH = (Epoch(0, 0),)
NO_LIMIT = 1 << 40

RECORDS = st.builds(
    Record,
    offset=st.just(0),
    timestamp=st.integers(-(1 << 63), MAX_TIMESTAMP),
    key=st.none() | st.binary(max_size=20),
    value=st.none() | st.binary(max_size=20) | st.just(b"large" * 500),
    headers=st.lists(
        st.tuples(
            st.text(st.characters(codec="ascii"), max_size=5),
            st.none() | st.binary(max_size=5),
        ),
        max_size=4,
    ),
)


# What append.lua puts before each of a record's words, by their shape.
NAMES: dict[str, tuple[str, ...]] = {
    "value": ("value", "timestamp"),
    "key value": ("key", "value", "timestamp"),
}


def entries_of(arguments: Sequence[bytes | str | int], first: int = 0) -> list[Entry]:
    """What Redis has after append.lua was given these, on a dense topic."""
    entries: list[Entry] = []
    shape, position = arguments[0], 1
    while position < len(arguments):
        if names := NAMES.get(str(shape)):
            values = arguments[position : position + len(names)]
            words = [word for pair in zip(names, values, strict=True) for word in pair]
            position += len(names)
        else:
            count = arguments[position]
            assert isinstance(count, int)
            words = list(arguments[position + 1 : position + 1 + count])
            position += count + 1
        fields = [w if isinstance(w, bytes) else str(w).encode() for w in words]
        entries.append((DENSE.entry_id(first + len(entries)).encode(), fields))
    return entries


def stored(*offsets: int, appended: int | None = None) -> list[StoredRecord]:
    return [
        StoredRecord(Record(offset, 1000, None, b"v", []), appended, 13, None)
        for offset in offsets
    ]


def batch_bounds(batches: bytes) -> list[tuple[int, int, int]]:
    """Base offset, last offset and epoch of each batch."""
    return [
        (header.base_offset, header.last_offset, header.partition_leader_epoch)
        for header, _ in split_batches(batches)
    ]


# --- writing ---


def test_a_record_is_written_in_the_documented_fields_and_order() -> None:
    headers = [("b", b"2"), ("a", None), ("b", b"")]
    record = Record(0, 1234, b"k", b"v", headers)

    assert to_arguments([record], CODECS["lz4"]) == [
        "any",
        12,
        "key", b"k", "value", b"v", "timestamp", 1234,
        "header.b", b"2", "nullheader.a", b"", "header.b", b"",
    ]  # fmt: skip


def test_null_is_an_absent_field_and_empty_an_empty_one() -> None:
    records = [Record(0, 1, None, None, []), Record(1, 1, b"", b"", [])]

    assert to_arguments(records, 0) == [
        "any",
        2, "timestamp", 1,
        6, "key", b"", "value", b"", "timestamp", 1,
    ]  # fmt: skip


def test_records_alike_are_written_without_the_names_of_their_fields() -> None:
    plain = [Record(0, 1, None, b"a", []), Record(1, 2, None, b"", [])]
    keyed = [Record(0, 1, b"k", b"a", []), Record(1, 2, b"", b"b", [])]

    assert to_arguments(plain, 0) == ["value", b"a", 1, b"", 2]
    assert to_arguments(keyed, 0) == ["key value", b"k", b"a", 1, b"", b"b", 2]


@pytest.mark.parametrize(
    "other",
    [
        Record(1, 2, b"k", b"v", []),
        Record(1, 2, None, None, []),
        Record(1, 2, None, b"v", [("h", b"1")]),
        Record(1, 2, None, b"v" * 1024, []),
    ],
    ids=["key", "tombstone", "headers", "compressed"],
)
def test_one_record_of_another_shape_makes_all_name_their_fields(other: Record) -> None:
    words = to_arguments([Record(0, 1, None, b"v", []), other], CODECS["lz4"])

    assert words[:6] == ["any", 4, "value", b"v", "timestamp", 1]


def test_records_that_get_their_time_from_redis_name_their_fields() -> None:
    words = to_arguments([Record(0, 1, None, b"v", [])], 0, stamped=True)

    assert words == ["any", 4, "value", b"v", "timestamp", 1]


@pytest.mark.parametrize("codec", ["gzip", "snappy", "lz4", "zstd"])
def test_large_values_are_compressed_where_that_makes_them_smaller(codec: str) -> None:
    smallest, just_below = b"x" * 1024, b"x" * 1023
    records = [Record(0, 1, None, value, []) for value in (smallest, just_below)]

    (_, large), (_, small) = entries_of(to_arguments(records, CODECS[codec]))

    assert large[2:4] == [b"codec", codec.encode()]
    packed = memoryview(large[1])
    assert len(packed) < 1024
    assert decompress(CODECS[codec], packed, 2000, 0, 0) == smallest
    assert small == [b"value", just_below, b"timestamp", b"1"]


def test_what_does_not_get_smaller_is_written_as_it_is() -> None:
    noise = bytes((n * n * 7919 + n * 104729) >> 8 & 255 for n in range(1100))
    (_, fields) = entries_of(to_arguments([Record(0, 1, None, noise, [])], 3))[0]

    assert b"codec" not in fields
    assert fields[1] == noise


def test_a_record_with_more_headers_than_a_script_can_take_is_refused() -> None:
    fits = Record(0, 1, b"k", b"v" * 2000, [("h", b"")] * 3000)
    assert len(to_arguments([fits], 3)) == 6010

    with pytest.raises(KafkaError) as refused:
        to_arguments([fits, fits._replace(headers=[("h", b"")] * 3001)], 3)

    assert refused.value.code is ErrorCode.INVALID_RECORD
    assert "record 1 " in str(refused.value)


def test_a_batch_of_more_records_than_a_command_can_take_is_refused() -> None:
    record = Record(0, 1, b"k", b"v", [("h", b"")] * 10)

    with pytest.raises(KafkaError) as refused:
        to_arguments([record] * 40_000, 0)

    assert refused.value.code is ErrorCode.MESSAGE_TOO_LARGE


# --- reading ---


@given(records=st.lists(RECORDS, min_size=1, max_size=5), codec=st.sampled_from([0, 3]))
def test_what_was_written_is_read(records: list[Record], codec: int) -> None:
    entries = entries_of(to_arguments(records, codec), first=100)

    found = read_entries(entries, DENSE, NO_LIMIT)

    expected = [r._replace(offset=100 + index) for index, r in enumerate(records)]
    assert [one.record for one in found] == expected
    assert all(one.appended is None for one in found)
    assert [read_entry(entry, DENSE) for entry in entries] == found


@given(records=st.lists(RECORDS, min_size=1, max_size=5))
def test_sizes_are_those_of_the_records_without_compression(records: list[Record]) -> None:
    found = read_entries(entries_of(to_arguments(records, 3)), DENSE, NO_LIMIT)

    assert sum(one.size for one in found) == plain_size(records)


def test_a_limit_is_kept_but_for_the_first_record() -> None:
    records = [Record(0, 1, None, b"v" * 100, [])] * 5
    entries = entries_of(to_arguments(records, 0))

    assert len(read_entries(entries, DENSE, 1)) == 1
    assert len(read_entries(entries, DENSE, 250)) == 2
    assert len(read_entries(entries, DENSE, NO_LIMIT)) == 5
    assert read_entries([], DENSE, NO_LIMIT) == []


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ([b"other", b"x"], Record(4, -1, None, None, [])),
        ([b"timestamp", b"12", b"value", b"v"], Record(4, 12, None, b"v", [])),
        ([b"value", b"v", b"timestamp", b"x"], Record(4, -1, None, b"v", [])),
        ([b"value", b"v", b"timestamp", b"9" * 19], Record(4, -1, None, b"v", [])),
        ([b"value", b"v", b"timestamp", b"-5"], Record(4, -5, None, b"v", [])),
        ([b"value", b"v", b"timestamp", b"-" + b"9" * 19], Record(4, -1, None, b"v", [])),
        ([b"value", b"v", b"codec", b"lz4"], Record(4, -1, None, b"v", [])),
        ([b"value", b"v", b"codec", b"?"], Record(4, -1, None, b"v", [])),
        ([b"codec", b"lz4"], Record(4, -1, None, None, [])),
        ([b"header.\xff", b"x"], Record(4, -1, None, None, [("\ufffd", b"x")])),
        ([b"header.", b"x"], Record(4, -1, None, None, [("", b"x")])),
    ],
)
def test_entries_of_other_programs_are_taken_as_far_as_they_go(
    fields: list[bytes], expected: Record
) -> None:
    found = read_entries([(b"5-0", fields)], DENSE, NO_LIMIT)

    assert [one.record for one in found] == [expected]
    # A consumer can have it.
    batches = to_batches(found, FIRST_EPOCH, 0)
    assert read_records(batches, NO_LIMIT)[0].offset == 4


def test_entries_whose_id_is_no_offset_are_passed_over() -> None:
    plain = [b"value", b"v", b"timestamp", b"1"]
    entries = [(b"5-3", plain), (b"5-9", plain), (b"6-0", [b"x", b"y"])]

    found = read_entries(entries, OffsetEncoding(3), NO_LIMIT)

    assert [one.record.offset for one in found] == [43, 48]


def test_the_time_of_the_append_is_what_consumers_see() -> None:
    fields = [b"appended", b"2000", b"value", b"v", b"timestamp", b"1000"]

    (found,) = read_entries([(b"5-0", fields)], DENSE, NO_LIMIT)

    assert (found.appended, found.timestamp) == (2000, 2000)
    assert found.record == Record(4, 1000, None, b"v", [])


# --- batches for consumers ---


def test_records_of_one_epoch_are_one_batch() -> None:
    batches = to_batches(stored(3, 4, 9), FIRST_EPOCH, 0)

    assert batch_bounds(batches) == [(3, 9, 0)]
    assert [r.offset for r in read_records(batches, NO_LIMIT)] == [3, 4, 9]


def test_a_batch_ends_before_its_deltas_overflow() -> None:
    largest = 0x7FFF_FFFF

    assert batch_bounds(to_batches(stored(5, 5 + largest), FIRST_EPOCH, 0)) == [
        (5, 5 + largest, 0)
    ]
    assert batch_bounds(to_batches(stored(5, 6 + largest), FIRST_EPOCH, 0)) == [
        (5, 5, 0),
        (6 + largest, 6 + largest, 0),
    ]


def test_a_batch_has_one_epoch() -> None:
    epochs = (Epoch(0, 0), Epoch(2, 10), Epoch(3, 20))

    assert batch_bounds(to_batches(stored(8, 9, 10, 15, 21), epochs, 0)) == [
        (8, 9, 0),
        (10, 15, 2),
        (21, 21, 3),
    ]
    assert batch_bounds(to_batches(stored(20, 25), epochs, 0)) == [(20, 25, 3)]


def test_a_batch_has_one_time_of_append() -> None:
    records = [
        *stored(1, 2),
        *stored(3, 4, appended=2000),
        *stored(5, appended=3000),
        *stored(6),
    ]

    headers = [header for header, _ in split_batches(to_batches(records, FIRST_EPOCH, 0))]

    assert [(h.base_offset, h.is_log_append_time, h.max_timestamp) for h in headers] == [
        (1, False, 1000),
        (3, True, 2000),
        (5, True, 3000),
        (6, False, 1000),
    ]


@pytest.mark.parametrize("codec", range(5))
def test_batches_have_the_codec_that_is_wanted(codec: int) -> None:
    batches = to_batches(stored(*range(50)), FIRST_EPOCH, codec)

    assert [header.codec for header, _ in split_batches(batches)] == [codec]
    assert len(read_records(batches, NO_LIMIT)) == 50
