"""How records are told to the script that writes them."""

import pytest

from korvet.kafka.compression import CODECS, decompress
from korvet.kafka.errors import ErrorCode, KafkaError
from korvet.kafka.records import Headers, Record
from korvet.storage.record_arguments import to_arguments
from tests.support.written_entries import entries_of


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


def test_what_records_share_is_written_once() -> None:
    plain = [Record(n, 7, None, b"%d" % n, []) for n in range(3)]
    keyed = [Record(0, 1, b"k", b"a", []), Record(1, 2, b"", b"b", [])]
    with_headers = [
        Record(n, n // 2, None, b"v", [("b", b"%d" % n), ("a", b""), ("b", b"x")])
        for n in range(4)
    ]

    assert to_arguments(plain, 0) == [
        "alike", 2, 2, "value", "timestamp", 1, 7, 3, b"0", b"1", b"2",
    ]  # fmt: skip
    assert to_arguments(keyed, 0) == [
        "alike", 3, 0, "key", "value", "timestamp", 0, b"k", b"a", 1, b"", b"b", 2,
    ]  # fmt: skip
    assert to_arguments(with_headers, 0) == [
        "alike", 5, 2, "value", "timestamp", "header.b", "header.a", "header.b",
        2, 0, 2, 1, 2,
        *(b"v", b"0", b"", b"x"), *(b"v", b"1", b"", b"x"),
        *(b"v", b"2", b"", b"x"), *(b"v", b"3", b"", b"x"),
    ]  # fmt: skip


@pytest.mark.parametrize(
    "other",
    [
        Record(1, 2, b"k", b"v", []),
        Record(1, 2, None, None, []),
        Record(1, 2, None, b"v" * 1024, []),
        Record(1, 2, None, b"v", [("h", b"1")]),
    ],
    ids=["key", "tombstone", "compressed", "headers"],
)
def test_one_record_with_other_fields_makes_all_name_them(other: Record) -> None:
    words = to_arguments([Record(0, 1, None, b"v", []), other], CODECS["lz4"])

    assert words[:6] == ["any", 4, "value", b"v", "timestamp", 1]


@pytest.mark.parametrize(
    "headers",
    [[], [("i", b"1")], [("h", None)], [("h", b"1"), ("h", b"1")]],
    ids=["none", "another", "null", "one more"],
)
def test_other_headers_are_other_fields(headers: Headers) -> None:
    records = [Record(0, 1, None, b"v", [("h", b"1")]), Record(1, 1, None, b"v", headers)]

    assert to_arguments(records, 0)[0] == "any"
    assert to_arguments(records[::-1], 0)[0] == "any"


def test_a_single_record_names_its_fields() -> None:
    words = to_arguments([Record(0, 1, None, b"v", [])], 0)

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
    plain = Record(0, 1, b"k", b"v", [])
    alike = plain._replace(headers=[("h", b"")] * 30)
    unlike = plain._replace(headers=[("h", None)] * 12)

    for record in (alike, unlike):
        assert to_arguments([record] * 30_000, 0)
        with pytest.raises(KafkaError) as refused:
            to_arguments([record] * 40_000, 0)
        assert refused.value.code is ErrorCode.MESSAGE_TOO_LARGE
