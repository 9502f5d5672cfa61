"""One stream entry a record: what is read from whatever is there."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from korvet.kafka.records import Record, read_records, split_batches
from korvet.storage.epochs import Epoch
from korvet.storage.offsets import DENSE, OffsetEncoding
from korvet.storage.record_arguments import to_arguments
from korvet.storage.record_format import (
    MAX_TIMESTAMP,
    StoredRecord,
    plain_size,
    read_entries,
    read_entry,
    to_batches,
)
from tests.support.written_entries import entries_of

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
