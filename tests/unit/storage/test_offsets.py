"""Offsets and stream ids are two spellings of one number."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from korvet.storage.offsets import DENSE, OffsetEncoding

BITS = st.integers(1, 20)
OFFSETS = st.integers(0, (1 << 63) - 2)


def as_id(entry_id: str) -> tuple[int, int]:
    """An id as Redis compares it."""
    left, right = entry_id.split("-")
    return int(left), int(right)


def test_an_offset_is_milliseconds_and_sequence() -> None:
    encoding = OffsetEncoding(10)

    assert encoding.offset(b"1234567890123-0") == 1264197519485952
    assert encoding.offset(b"1234567890123-5") == 1264197519485957
    assert encoding.entry_id(1264197519485957) == "1234567890123-5"


def test_dense_offsets_begin_with_the_first_id_that_redis_has() -> None:
    assert DENSE.entry_id(0) == "1-0"
    assert DENSE.offset(b"1-0") == 0
    assert DENSE.entry_id(41) == "42-0"


@given(bits=BITS, offset=OFFSETS)
def test_every_offset_comes_back_from_its_id(bits: int, offset: int) -> None:
    for encoding in (OffsetEncoding(bits), DENSE):
        assert encoding.offset(encoding.entry_id(offset).encode()) == offset


@given(bits=BITS, milliseconds=st.integers(0, 1 << 42), data=st.data())
def test_every_id_comes_back_from_its_offset(
    bits: int, milliseconds: int, data: st.DataObject
) -> None:
    sequence = data.draw(st.integers(0, (1 << bits) - 1))
    entry_id = f"{milliseconds}-{sequence}"
    encoding = OffsetEncoding(bits)

    assert encoding.entry_id(encoding.offset(entry_id.encode())) == entry_id


@given(bits=BITS, offsets=st.tuples(OFFSETS, OFFSETS))
def test_ids_sort_as_their_offsets_do(bits: int, offsets: tuple[int, int]) -> None:
    one, other = offsets
    for encoding in (OffsetEncoding(bits), DENSE):
        one_id, other_id = map(as_id, map(encoding.entry_id, offsets))
        assert (one < other) == (one_id < other_id)


@given(bits=BITS, milliseconds=st.integers(0, 1 << 42))
def test_after_the_last_sequence_comes_the_next_millisecond(
    bits: int, milliseconds: int
) -> None:
    encoding = OffsetEncoding(bits)
    last = f"{milliseconds}-{encoding.sequences - 1}"

    assert encoding.entry_id(encoding.offset(last.encode()) + 1) == f"{milliseconds + 1}-0"


def test_ids_that_no_offset_has_are_refused() -> None:
    with pytest.raises(ValueError, match="10 sequence bits"):
        OffsetEncoding(10).offset(b"5-1024")
    with pytest.raises(ValueError, match="dense"):
        DENSE.offset(b"5-1")


def test_how_many_ids_share_a_millisecond() -> None:
    assert OffsetEncoding(10).sequences == 1024
    assert DENSE.sequences == 0


@given(bits=BITS, offset=OFFSETS)
def test_a_group_stands_just_before_its_next_record(bits: int, offset: int) -> None:
    for encoding in (OffsetEncoding(bits), DENSE):
        assert encoding.id_before(0) == "0-0"
        assert encoding.offset(encoding.id_before(offset + 1).encode()) == offset


@given(bits=BITS, left=st.integers(1, 1 << 42), right=st.integers(0, 1 << 62))
def test_behind_any_id_comes_the_first_offset_with_a_larger_one(
    bits: int, left: int, right: int
) -> None:
    for encoding in (OffsetEncoding(bits), DENSE):
        behind = encoding.offset_behind(f"{left}-{right}".encode())

        assert as_id(encoding.entry_id(behind)) > (left, right)
        assert as_id(encoding.id_before(behind)) <= (left, right)
