"""PURE: from numbers to places on a chart, and to words a person reads at a glance."""

import math
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Final, NamedTuple

_SECOND, _MINUTE, _HOUR, _DAY = 1_000, 60_000, 3_600_000, 86_400_000
_TIME_STEPS: Final = (
    *(_SECOND * n for n in (1, 2, 5, 10, 15, 30)),
    *(_MINUTE * n for n in (1, 2, 5, 10, 15, 30)),
    *(_HOUR * n for n in (1, 2, 3, 6, 12)),
    *(_DAY * n for n in (1, 2, 4, 7, 14, 28, 91, 182, 365)),
)


class Scale(NamedTuple):
    """Values between `low` and `high` lie between the places `start` and `end`."""

    low: float
    high: float
    start: float
    end: float
    is_log: bool = False

    def __call__(self, value: float) -> float:
        low, high = self.low, self.high
        if self.is_log:
            low, high, value = math.log(low), math.log(high), math.log(max(value, low))
        share = (value - low) / (high - low)
        return self.start + share * (self.end - self.start)


def nice_ticks(most: float, count: int = 4) -> list[float]:
    """Round numbers from 0 to at least `most`, about `count` steps of them."""
    if most <= 0:
        return [0.0, 1.0]
    raw = most / count
    magnitude = 10.0 ** math.floor(math.log10(raw))
    step = next(m * magnitude for m in (1, 2, 2.5, 5, 10) if m * magnitude >= raw * 0.999)
    return [step * number for number in range(math.ceil(most / step - 1e-9) + 1)]


def byte_ticks(most: float, count: int = 4) -> list[float]:
    """Likewise, in steps that are round in binary units."""
    unit = 1024.0 ** max(0, int(math.log(max(most, 1), 1024)))
    return [tick * unit for tick in nice_ticks(most / unit, count)]


def log_ticks(least: float, most: float) -> list[float]:
    """Powers of ten around the values."""
    low = math.floor(math.log10(least))
    high = max(math.ceil(math.log10(most)), low + 1)
    return [10.0**power for power in range(low, high + 1)]


def time_ticks(first_ms: int, last_ms: int, count: int = 6) -> list[int]:
    """Round moments between first and last."""
    span = max(last_ms - first_ms, 1)
    wide = (step for step in _TIME_STEPS if span / step <= count)
    step = next(wide, _TIME_STEPS[-1])
    return list(range(-(-first_ms // step) * step, last_ms + 1, step))


def moments(ticks: Sequence[int]) -> list[str]:
    """How ticks are written: no more of the date than tells them apart."""
    step = ticks[1] - ticks[0] if len(ticks) > 1 else _DAY
    labels, previous = [], None
    for tick in ticks:
        at = datetime.fromtimestamp(tick / 1000, UTC)
        day = f"{at.day} {at:%b}"
        if step >= _DAY:
            labels.append(day)
        else:
            clock = f"{at:%H:%M:%S}" if step < _MINUTE else f"{at:%H:%M}"
            is_new_day = previous is not None and at.date() != previous
            labels.append(day if is_new_day and clock.startswith("00:00") else clock)
        previous = at.date()
    return labels


def moment(at_ms: int, *, seconds: bool = False) -> str:
    at = datetime.fromtimestamp(at_ms / 1000, UTC)
    return f"{at:%Y-%m-%d %H:%M:%S}" if seconds else f"{at:%Y-%m-%d %H:%M}"


def number(value: float) -> str:
    """Three digits are enough: 7, 850, 12.3k, 4.56M."""
    size, unit = abs(value), ""
    for larger in ("k", "M", "G", "T"):
        if size < 999.5:
            break
        size, unit = size / 1000, larger
    return f"{'-' if value < 0 else ''}{_digits(size)}{unit}"


def readable_size(count: float) -> str:
    size, unit = count, "B"
    for larger in ("KiB", "MiB", "GiB", "TiB"):
        if size < 1023.5:
            break
        size, unit = size / 1024, larger
    return f"{_digits(size)} {unit}"


def duration(length_ms: float) -> str:
    """As people say it: 0.4 ms, 35 ms, 2.5 s, 12 min, 3.2 h, 5 days."""
    size = abs(length_ms)
    sign = "-" if length_ms < 0 else ""
    for limit, unit, name in (
        (1_000, 1, "ms"),
        (_MINUTE, _SECOND, "s"),
        (_HOUR, _MINUTE, "min"),
        (2 * _DAY, _HOUR, "h"),
    ):
        if size < limit:
            return f"{sign}{_digits(size / unit)} {name}"
    return f"{sign}{_digits(size / _DAY)} days"


def percent(share: float) -> str:
    value = share * 100
    if 0 < value < 0.1:
        return "< 0.1 %"
    return f"{value:.0f} %" if value >= 9.95 else f"{value:.1f} %"


def _digits(size: float) -> str:
    if size >= 99.95 or size == int(size):
        return f"{size:.0f}"
    text = f"{size:.1f}" if size >= 9.995 else f"{size:.2f}"
    return text.rstrip("0").rstrip(".")
