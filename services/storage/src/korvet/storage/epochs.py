"""PURE: a partition's leader epochs, as the scripts keep them.

"1:1700-0,2:1800-3" says that epoch 1 began with the entry 1700-0 and epoch 2 with
1800-3; epoch 0, which began with the log, is implied.
"""

from collections.abc import Sequence
from typing import NamedTuple

from korvet.storage.offsets import OffsetEncoding


class Epoch(NamedTuple):
    number: int
    first_offset: int


class EpochEnd(NamedTuple):
    number: int
    end_offset: int


def parse_epochs(text: bytes | None, encoding: OffsetEncoding) -> tuple[Epoch, ...]:
    """The epochs in order; never empty."""
    epochs: list[Epoch] = []
    for part in (text or b"").split(b","):
        number, _, entry_id = part.partition(b":")
        if number:
            # The log's very start is spelled 0-0 on either encoding.
            first = 0 if entry_id == b"0-0" else encoding.offset(entry_id)
            epochs.append(Epoch(int(number), first))
    if not epochs or epochs[0].number != 0:
        epochs.insert(0, Epoch(0, 0))
    return tuple(epochs)


def epoch_at(epochs: Sequence[Epoch], offset: int) -> int:
    """The epoch in which the record at this offset was appended."""
    for epoch in reversed(epochs):
        if epoch.first_offset <= offset:
            return epoch.number
    return epochs[0].number


def find_epoch_end(
    epochs: Sequence[Epoch], wanted: int, high_watermark: int
) -> EpochEnd | None:
    """Where the largest epoch not above the wanted one ends; None if there is none."""
    if wanted > epochs[-1].number:
        return None
    for epoch, following in zip(reversed(epochs), (None, *reversed(epochs)), strict=False):
        if epoch.number <= wanted:
            end = high_watermark if following is None else following.first_offset
            return EpochEnd(epoch.number, end)
    return None
