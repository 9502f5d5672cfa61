"""What offsets tell of when their records were appended."""

import pytest

from korvet.pipeline.offset_times import sequence_bits

NOW_MS = 1_795_000_000_000
DAY_MS = 86_400_000


@pytest.mark.parametrize("bits", range(1, 21))
@pytest.mark.parametrize("days_before", [0, 1, 400, 4_000])
def test_every_width_is_told_by_an_offset(bits: int, days_before: int) -> None:
    offset = ((NOW_MS - days_before * DAY_MS) << bits) | 1

    assert sequence_bits(offset, NOW_MS + DAY_MS) == bits


@pytest.mark.parametrize("offset", [0, 1, 1_000_000, 1_000_000_000_000])
def test_a_dense_offset_is_no_time(offset: int) -> None:
    assert sequence_bits(offset, NOW_MS) is None
