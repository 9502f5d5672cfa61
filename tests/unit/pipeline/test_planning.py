"""How the log is cut by counts, on logs whose offsets have gaps."""

from bisect import bisect_left
from collections.abc import Sequence
from itertools import accumulate, pairwise

from hypothesis import given
from hypothesis import strategies as st

from korvet.pipeline.planning import Range, first_records, group, shares, split

distances = st.lists(st.integers(1, 1 << 40), min_size=1, max_size=300)


class Log:
    """Partition 0 of a topic, whose records are at these offsets."""

    def __init__(self, distances: Sequence[int]) -> None:
        self.offsets = list(accumulate(distances))
        self.rounds = 0

    def range(self) -> Range:
        end = self.offsets[-1] + 1
        return Range("orders", b"id", 0, 0, end, len(self.offsets))

    def count(self, parts: Sequence[Range]) -> list[int]:
        self.rounds += 1
        return [
            bisect_left(self.offsets, part.end) - bisect_left(self.offsets, part.start)
            for part in parts
        ]


@given(distances, st.integers(1, 400))
def test_the_first_records_are_exactly_so_many(steps: list[int], wanted: int) -> None:
    log = Log(steps)

    (found,) = first_records([(log.range(), wanted)], log.count)

    assert log.count([found]) == [found.records]
    assert found.records == min(wanted, len(steps))


@given(distances, st.integers(1, 100))
def test_pieces_follow_each_other_and_have_the_records_that_they_say(
    steps: list[int], each: int
) -> None:
    log = Log(steps)
    whole = log.range()

    pieces = split([whole], each, log.count)

    assert (pieces[0].start, pieces[-1].end) == (whole.start, whole.end)
    assert all(left.end == right.start for left, right in pairwise(pieces))
    assert log.count(pieces) == [piece.records for piece in pieces]
    assert max(piece.records for piece in pieces) <= each * 1.2 + 1


def test_even_offsets_need_few_questions() -> None:
    log = Log([1000] * 100_000)

    pieces = split([log.range()], 1000, log.count)

    assert len(pieces) == 100
    assert log.rounds <= 2


@given(st.lists(st.integers(0, 1000), min_size=1, max_size=20), st.integers(1, 5000))
def test_shares_are_the_limit_or_all_there_is(available: list[int], limit: int) -> None:
    taken = shares(available, limit)

    assert sum(taken) == min(limit, sum(available))
    assert all(0 <= share <= there for share, there in zip(taken, available, strict=True))


def test_small_ranges_share_a_task() -> None:
    parts = [Range("orders", b"id", number, 0, 9, 3) for number in range(7)]

    groups = group(parts, 10)

    assert [[part.partition for part in each] for each in groups] == [
        [0, 1, 2],
        [3, 4, 5],
        [6],
    ]
