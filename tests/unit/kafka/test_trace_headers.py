"""Trace contexts are found in records of every codec, and never more than asked for."""

import pytest

from korvet.kafka.records import CODEC_NAMES, CODECS, build_batch
from korvet.kafka.trace_headers import HEADER, find_traceparents


def traceparent(number: int) -> str:
    return f"00-{number:032x}-{number:016x}-01"


def batch(*numbers: int, codec: str = "none", value: bytes = b"value") -> bytes:
    records = [
        (offset, 0, None, value, [("other", b"x"), (HEADER, traceparent(number).encode())])
        for offset, number in enumerate(numbers)
    ]
    return build_batch(records, base_offset=0, codec=CODECS[codec])


@pytest.mark.parametrize("codec", CODEC_NAMES)
def test_contexts_are_found_in_every_codec(codec: str) -> None:
    found = find_traceparents([batch(1, 2, codec=codec)], 10)

    assert found == [traceparent(1), traceparent(2)]


def test_a_context_is_told_once_however_many_records_have_it() -> None:
    assert find_traceparents([batch(1, 1), batch(2, 1)], 10) == [
        traceparent(1),
        traceparent(2),
    ]


def test_no_more_than_the_limit_are_told() -> None:
    assert len(find_traceparents([batch(*range(1, 50))], 32)) == 32


def test_several_batches_in_one_piece_are_looked_through() -> None:
    assert find_traceparents([batch(1) + batch(2)], 10) == [traceparent(1), traceparent(2)]


def test_a_batch_that_is_too_large_when_decompressed_is_left_alone() -> None:
    large = batch(1, codec="gzip", value=bytes(2 << 20))

    assert find_traceparents([large, batch(2)], 10) == [traceparent(2)]


@pytest.mark.parametrize(
    "value",
    [
        b"",
        b"00-zz",
        b"00-" + b"A" * 32 + b"-" + b"1" * 16 + b"-01",
        b"ff-" + b"1" * 32 + b"-" + b"1" * 16 + b"-01-more",
    ],
)
def test_a_header_that_is_no_context_is_passed_over(value: bytes) -> None:
    records = [(0, 0, None, b"value", [(HEADER, value)])]

    assert find_traceparents([build_batch(records, base_offset=0)], 10) == []


@pytest.mark.parametrize(
    "data", [b"", b"no batch", bytes(200), batch(1)[:70], batch(1, codec="zstd")[:-9]]
)
def test_what_cannot_be_read_is_somebody_elses_to_refuse(data: bytes) -> None:
    assert find_traceparents([data], 10) == []


def test_a_batch_whose_compressed_records_are_broken_is_passed_over() -> None:
    broken = bytearray(batch(1, 2, 3, codec="zstd"))
    broken[-20:] = bytes(20)

    assert find_traceparents([bytes(broken), batch(4)], 10) == [traceparent(4)]
