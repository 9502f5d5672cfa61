"""The types that messages are made of."""

import struct

import pytest
from hypothesis import given
from hypothesis import strategies as st

from korvet.kafka.errors import DecodeError
from korvet.kafka.primitives import Reader, float64, unsigned_varint


@given(st.integers(0, 2**32 - 1))
def test_varints_are_read_back(value: int) -> None:
    data = unsigned_varint(value)

    assert Reader(data).unsigned_varint() == value
    assert len(data) == max(1, -(-value.bit_length() // 7))


@pytest.mark.parametrize(
    ("value", "data"),
    [(0, b"\0"), (127, b"\x7f"), (128, b"\x80\x01"), (2**32 - 1, b"\xff\xff\xff\xff\x0f")],
)
def test_varints_have_kafkas_bytes(value: int, data: bytes) -> None:
    assert unsigned_varint(value) == data


@pytest.mark.parametrize("value", [-1, 2**32])
def test_a_varint_outside_32_bits_is_a_value_error(value: int) -> None:
    with pytest.raises(ValueError, match="varint"):
        unsigned_varint(value)


@pytest.mark.parametrize("data", [b"", b"\x80", b"\xff\xff\xff\xff\x10", b"\x80" * 6])
def test_a_varint_that_is_cut_or_too_long_is_a_decode_error(data: bytes) -> None:
    with pytest.raises(DecodeError):
        Reader(data).unsigned_varint()


@given(st.floats(allow_nan=False))
def test_floats_are_read_back(value: float) -> None:
    assert Reader(float64(value)).float64() == value
    assert float64(value) == struct.pack(">d", value)


def test_any_byte_but_zero_is_true() -> None:
    assert [Reader(bytes([byte])).boolean() for byte in (0, 1, 255)] == [False, True, True]


def test_a_reader_does_not_move_past_what_it_could_not_read() -> None:
    reader = Reader(b"\0\x05ab")

    with pytest.raises(DecodeError):
        reader.string()
    with pytest.raises(DecodeError):
        reader.int64()

    assert reader.remaining == 2
