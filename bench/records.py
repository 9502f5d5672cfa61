"""PURE: the records of a measurement, and what became of them.

Record i of a run is the same bytes in every process that asks for it, so the one that
reads a topic back can compare each byte with what the other sent.
"""

import random
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

_NUMBER_BYTES = 8
_NOISE = random.Random(20).randbytes(1 << 16)


@dataclass(frozen=True, slots=True)
class Losses:
    """How what was read differs from what was acknowledged; all zero is right."""

    lost: int
    duplicated: int
    # Neither sent, nor a repetition of what was sent.
    foreign: int
    out_of_order: int


def values(count: int, size: int) -> list[bytes]:
    """`count` different values of `size` bytes that no codec makes smaller."""
    return [value(number, size) for number in range(count)]


def value(number: int, size: int) -> bytes:
    start = number * 7919 % (len(_NOISE) - size)
    return number.to_bytes(_NUMBER_BYTES) + _NOISE[start : start + size - _NUMBER_BYTES]


def key(number: int, size: int) -> bytes:
    """One of a thousand keys of `size` bytes."""
    return b"%0*d" % (size, number % 1000)


def number(value: bytes) -> int:
    """Which record of its run a value is."""
    return int.from_bytes(value[:_NUMBER_BYTES])


def compare(sent: Sequence[bytes], received: Sequence[bytes]) -> Losses:
    if sent == received:
        return Losses(0, 0, 0, 0)
    wanted, got = Counter(sent), Counter(received)
    known = [value for value in received if value in wanted]
    ranks = [number(value) for value in known]
    return Losses(
        lost=(wanted - got).total(),
        duplicated=len(known) - len(set(known)),
        foreign=len(received) - len(known),
        out_of_order=sum(a > b for a, b in pairwise(ranks)),
    )
