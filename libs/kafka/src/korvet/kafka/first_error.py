"""Finds the error in an answer, wherever its API has a place for one."""

import typing
from collections.abc import Sequence
from functools import cache
from typing import Final, NamedTuple

from korvet.kafka.message import Struct

_CODES: Final = ("error_code", "partition_error_code")


class _Places(NamedTuple):
    """Where a struct has errors: its own, and those of lists of it."""

    codes: Sequence[str]
    lists: Sequence[str]


def first_error(struct: Struct) -> int:
    """The first error code in it that is not 0; 0 where there is none."""
    places = _places(type(struct))
    for name in places.codes:
        if code := getattr(struct, name):
            return int(code)
    for name in places.lists:
        for each in getattr(struct, name) or ():
            if code := first_error(each):
                return code
    return 0


@cache
def _places(kind: type[Struct]) -> _Places:
    hints = typing.get_type_hints(kind)
    return _Places(
        codes=[name for name in _CODES if name in hints],
        lists=[name for name, hint in hints.items() if any(map(_has_errors, _items(hint)))],
    )


def _items(hint: object) -> list[type[Struct]]:
    """What a list, or a list that may be missing, is a list of."""
    kinds = typing.get_args(hint)
    if typing.get_origin(hint) is not list:
        return [item for kind in kinds for item in _items(kind)]
    return [kind for kind in kinds if isinstance(kind, type) and issubclass(kind, Struct)]


def _has_errors(kind: type[Struct]) -> bool:
    return any(_places(kind))
