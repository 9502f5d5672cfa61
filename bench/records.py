"""PURE: the records of a measurement, and what became of them.

Record i of a run is the same bytes in every process that asks for it, so the one that
reads a topic back can compare each byte with what the other sent.
"""

import random
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

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


class Deal(NamedTuple):
    """Who sends which record where.

    Chunks go round the producers, and a chunk's records round the partitions. Records of
    one producer in one partition are a lane: those, and no others, must keep their order.
    """

    chunk: int = 1
    producers: int = 1
    partitions: int = 1
    # How many records in a row go to the same partition.
    turn: int = 1

    def producer(self, number: int) -> int:
        return number // self.chunk % self.producers

    def partition(self, number: int) -> int:
        return number // self.turn % self.partitions

    def lane(self, number: int) -> tuple[int, int]:
        return self.producer(number), self.partition(number)

    def parts(self, count: int) -> Iterator["Part"]:
        """All records up to `count`, cut so that each part has one lane."""
        for start in range(0, count, self.chunk):
            end = min(start + self.chunk, count)
            if self.turn == 1:
                firsts = range(start, min(start + self.partitions, end))
                slices = [slice(first, end, self.partitions) for first in firsts]
            else:
                slices = [
                    slice(first, min(first + self.turn, end))
                    for first in range(start, end, self.turn)
                ]
            for numbers in slices:
                yield Part(*self.lane(numbers.start), numbers)


class Part(NamedTuple):
    producer: int
    partition: int
    numbers: slice


ONE_LANE = Deal()


def values(count: int, size: int, *, soft: bool = False) -> list[bytes]:
    """`count` different values of `size` bytes.

    No codec makes them smaller, unless they are soft: then half of each is like the others.
    """
    if soft:
        half = size // 2
        return [value(number, half).ljust(size, b".") for number in range(count)]
    return [value(number, size) for number in range(count)]


def value(number: int, size: int) -> bytes:
    start = number * 7919 % (len(_NOISE) - size)
    return number.to_bytes(_NUMBER_BYTES) + _NOISE[start : start + size - _NUMBER_BYTES]


def headers(number: int, count: int) -> list[tuple[str, bytes]]:
    """Short ones, as tracing and routing add them."""
    return [(f"header-{place}", b"%016d" % (number + place)) for place in range(count)]


def key(number: int, size: int) -> bytes:
    """One of a thousand keys of `size` bytes."""
    return b"%0*d" % (size, number % 1000)


def number(value: bytes) -> int:
    """Which record of its run a value is."""
    return int.from_bytes(value[:_NUMBER_BYTES])


def compare(
    sent: Sequence[bytes], received: Sequence[bytes], deal: Deal = ONE_LANE
) -> Losses:
    if sent == received:
        return Losses(0, 0, 0, 0)
    wanted, got = Counter(sent), Counter(received)
    known = [value for value in received if value in wanted]
    lanes: defaultdict[tuple[int, int], list[int]] = defaultdict(list)
    for value in known:
        lanes[deal.lane(number(value))].append(number(value))
    return Losses(
        lost=(wanted - got).total(),
        duplicated=len(known) - len(set(known)),
        foreign=len(received) - len(known),
        out_of_order=sum(a > b for lane in lanes.values() for a, b in pairwise(lane)),
    )
