"""Every message and version, byte for byte against an independent codec, both ways."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from kio.schema.errors import ErrorCode as KioErrorCode

from korvet.kafka.message import Message
from tests.support import kio_oracle
from tests.support.kafka_messages import ALL_VERSIONS, label
from tests.support.kio_oracle import Pair, Values


class _Single(Values):
    def length(self) -> int:
        return 1


class _Empty(Values):
    """Empty arrays, empty strings, zeros; nulls where they may be."""

    def scalar(self, kafka_type: str, index: int) -> Any:
        return (
            type(super().scalar(kafka_type, index))() if kafka_type != "uuid" else bytes(16)
        )

    def length(self) -> int:
        return 0


class _Nulls(Values):
    def is_null(self) -> bool:
        return True


class _NoTags(Values):
    def is_tag_present(self) -> bool:
        return False


def _assert_alike(pair: Pair, message: type[Message], version: int) -> None:
    expected = kio_oracle.encode(pair.kio)

    assert pair.ours.encode(version) == expected
    assert message.decode(expected, version) == pair.ours
    assert kio_oracle.decode(type(pair.kio), pair.ours.encode(version)) == pair.kio


@pytest.mark.parametrize(("message", "version"), ALL_VERSIONS, ids=label)
def test_bytes_are_those_of_kio(message: type[Message], version: int) -> None:
    for values in (Values(), _Single(), _Empty(), _Nulls(), _NoTags()):
        pair = kio_oracle.build(message, version, values)

        _assert_alike(pair, message, version)


_SCALARS: dict[str, st.SearchStrategy[Any]] = {
    "bool": st.booleans(),
    "string": st.text(max_size=200),
    "bytes": st.binary(max_size=300),
    "records": st.binary(max_size=300),
    "uuid": st.binary(min_size=16, max_size=16),
    "error_code": st.sampled_from([int(code) for code in KioErrorCode]),
    "int8": st.integers(-(2**7), 2**7 - 1),
    "int16": st.integers(-(2**15), 2**15 - 1),
    "uint16": st.integers(0, 2**16 - 1),
    "int32": st.integers(-(2**31), 2**31 - 1),
    "timedelta_i32": st.integers(-(2**31), 2**31 - 1),
    "int64": st.integers(-(2**63), 2**63 - 1),
    "timedelta_i64": st.integers(0, 10**12),
    "datetime_i64": st.integers(0, 10**12),
    "float64": st.floats(allow_nan=False, allow_infinity=False),
}


class _Drawn(Values):
    def __init__(self, data: st.DataObject) -> None:
        self._draw = data.draw

    def scalar(self, kafka_type: str, index: int) -> Any:
        return self._draw(_SCALARS[kafka_type])

    def length(self) -> int:
        return self._draw(st.integers(0, 3))

    def is_null(self) -> bool:
        return self._draw(st.booleans())

    def is_tag_present(self) -> bool:
        return self._draw(st.booleans())


@settings(max_examples=150, deadline=None)
@given(data=st.data(), case=st.sampled_from(ALL_VERSIONS))
def test_any_values_give_the_bytes_of_kio(
    data: st.DataObject, case: tuple[type[Message], int]
) -> None:
    message, version = case
    pair = kio_oracle.build(message, version, _Drawn(data))

    _assert_alike(pair, message, version)
