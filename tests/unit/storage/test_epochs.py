"""Leader epochs: which one a record has, and where they end."""

import pytest

from korvet.storage.epochs import (
    Epoch,
    EpochEnd,
    epoch_at,
    find_epoch_end,
    parse_epochs,
)
from korvet.storage.offsets import DENSE, OffsetEncoding

EPOCHS = (Epoch(0, 0), Epoch(1, 100), Epoch(4, 250))


@pytest.mark.parametrize("text", [None, b"", b"0:0-0"])
def test_a_partition_begins_with_epoch_zero(text: bytes | None) -> None:
    assert parse_epochs(text, DENSE) == (Epoch(0, 0),)
    assert parse_epochs(text, OffsetEncoding(10)) == (Epoch(0, 0),)


def test_epochs_are_read_in_their_order() -> None:
    assert parse_epochs(b"1:1700-0,2:1800-3", OffsetEncoding(10)) == (
        Epoch(0, 0),
        Epoch(1, 1700 << 10),
        Epoch(2, (1800 << 10) + 3),
    )
    assert parse_epochs(b"0:0-0,3:8-0", DENSE) == (Epoch(0, 0), Epoch(3, 7))


def test_an_epoch_may_begin_before_anything_was_written() -> None:
    assert parse_epochs(b"1:0-0", DENSE) == (Epoch(0, 0), Epoch(1, 0))
    assert epoch_at(parse_epochs(b"1:0-0", DENSE), 0) == 1


@pytest.mark.parametrize(
    ("offset", "epoch"), [(0, 0), (99, 0), (100, 1), (249, 1), (250, 4), (10**15, 4)]
)
def test_a_record_has_the_epoch_in_which_it_was_appended(offset: int, epoch: int) -> None:
    assert epoch_at(EPOCHS, offset) == epoch


@pytest.mark.parametrize(
    ("wanted", "end"),
    [
        (0, EpochEnd(0, 100)),
        (1, EpochEnd(1, 250)),
        # Without records of their own: the largest below them.
        (2, EpochEnd(1, 250)),
        (3, EpochEnd(1, 250)),
        (4, EpochEnd(4, 300)),
        (5, None),
        (-1, None),
    ],
)
def test_an_epoch_ends_where_the_next_one_begins(wanted: int, end: EpochEnd | None) -> None:
    assert find_epoch_end(EPOCHS, wanted, 300) == end
