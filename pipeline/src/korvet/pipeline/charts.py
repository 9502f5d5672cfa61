"""PURE: a report's charts as inline SVG.

Every colour is a CSS variable of the page, so that one drawing serves light and dark; the
marks differ in place and shape too, never by colour alone. What matters is labelled where
it is; the rest is in the tooltip (`<title>`) of each mark.
"""

from collections.abc import Callable, Iterable, Sequence
from html import escape
from typing import Final, NamedTuple

from korvet.pipeline.chart_scales import (
    Scale,
    byte_ticks,
    duration,
    log_ticks,
    moment,
    moments,
    nice_ticks,
    number,
    percent,
    readable_size,
    time_ticks,
)
from korvet.pipeline.report_model import (
    Bucket,
    KeyShare,
    PartitionShare,
    Silence,
    SizeClass,
)

_WIDTH: Final = 560
_HEIGHT: Final = 224
_LEFT, _RIGHT, _TOP, _BOTTOM = 68, 14, 26, 28
_BOTTOM_EDGE: Final = _HEIGHT - _BOTTOM
_RIGHT_EDGE: Final = _WIDTH - _RIGHT
# Where lines end whose names are behind them.
_LINES_EDGE: Final = _RIGHT_EDGE - 40
# Characters of a label beside a bar, which is as wide as this in the font's average.
_LABEL_CHARACTERS: Final = 22
_MOST_PARTITION_LABELS: Final = 24


class Span(NamedTuple):
    """The stretch of time that all charts of a topic show."""

    first_ms: int
    last_ms: int
    bucket_ms: int

    def scale(self, right: float = _RIGHT_EDGE) -> Scale:
        start = self.first_ms // self.bucket_ms * self.bucket_ms
        end = (self.last_ms // self.bucket_ms + 1) * self.bucket_ms
        return Scale(start, end, _LEFT, right)


def rate_chart(buckets: Sequence[Bucket], span: Span, silences: Sequence[Silence]) -> str:
    seconds = span.bucket_ms / 1000
    values = [(each.start_ms, each.records / seconds) for each in buckets]
    marks = _columns(values, span, nice_ticks, lambda value: f"{number(value)}/s")
    return _svg("Records a second over time", marks + _silences(silences, span))


def volume_chart(buckets: Sequence[Bucket], span: Span) -> str:
    seconds = span.bucket_ms / 1000
    values = [(each.start_ms, each.size_bytes / seconds) for each in buckets]
    marks = _columns(values, span, byte_ticks, lambda value: f"{readable_size(value)}/s")
    return _svg("Bytes a second over time", marks)


def latency_chart(buckets: Sequence[Bucket], span: Span) -> str:
    """Half of the records are below the lower line, all but one in a hundred below both."""
    known = [(each.start_ms, each.latency) for each in buckets if each.latency]
    least = max(min(latency.p50 for _, latency in known), 1.0)
    most = max(max(latency.p99 for _, latency in known), least)
    ticks = log_ticks(least, most)
    y = Scale(ticks[0], ticks[-1], _BOTTOM_EDGE, _TOP, is_log=True)
    x = span.scale(_LINES_EDGE)
    half = span.bucket_ms / 2
    marks = _grid((y(tick), duration(tick)) for tick in ticks)
    marks += _time_axis(x)
    for name, label in (("p99", "99 %"), ("p50", "half")):
        points = [
            (start, x(start + half), y(max(getattr(latency, name), ticks[0])))
            for start, latency in known
        ]
        for stretch in _stretches(points, span.bucket_ms):
            path = "L".join(f"{px:.1f} {py:.1f}" for _, px, py in stretch)
            # A single point is drawn as one, by a line without length and with round ends.
            marks.append(f'<path class="line {name}" d="M{path}h0"/>')
        for (_, px, py), (start, latency) in zip(points, known, strict=True):
            value = duration(getattr(latency, name))
            marks.append(
                f'<circle class="dot {name}" cx="{px:.1f}" cy="{py:.1f}" r="5">'
                f"{_title(f'{moment(start)}: {label} within {value}')}</circle>"
            )
        _, px, py = points[-1]
        marks.append(_text(px + 8, py + 4, label, f"mark {name}", "start"))
    return _svg("Latency from timestamp to append over time", marks)


def size_chart(sizes: Sequence[SizeClass]) -> str:
    total = sum(each.records for each in sizes)
    most = max(each.records for each in sizes)
    y = Scale(0, most, _BOTTOM_EDGE, _TOP + 8)
    width = (_RIGHT_EDGE - _LEFT) / len(sizes)
    marks = [_baseline()]
    for index, each in enumerate(sizes):
        left, top = _LEFT + index * width, y(each.records)
        share = percent(each.records / total)
        bound = "empty" if each.at_most == 0 else f"≤ {readable_size(each.at_most)}"
        marks.append(
            _column(left, width, top, f"{bound}: {each.records:,} records, {share}")
        )
        if each.records:
            marks.append(_text(left + width / 2, top - 6, share, "value", "middle"))
        # Every class cannot be named where there are many of them.
        if len(sizes) <= 9 or index % 2 == (len(sizes) - 1) % 2:
            middle = left + width / 2
            marks.append(_text(middle, _BOTTOM_EDGE + 18, bound, "tick", "middle"))
    return _svg("Records by the size of their values", marks)


def partition_chart(partitions: Sequence[PartitionShare]) -> str:
    total = sum(each.records for each in partitions)
    even = total / len(partitions)
    most = max(each.records for each in partitions)
    y = Scale(0, max(most, even), _BOTTOM_EDGE, _TOP + 8)
    # Two or three columns need not fill the width.
    width = min((_RIGHT_EDGE - _LEFT) / len(partitions), 72.0)
    every = -(-len(partitions) // _MOST_PARTITION_LABELS)
    marks, values = [_baseline()], []
    for index, each in enumerate(partitions):
        left, top = _LEFT + index * width, y(each.records)
        share = percent(each.records / total)
        told = f"partition {each.partition}: {each.records:,} records, {share}"
        marks.append(_column(left, width, top, told))
        middle = left + width / 2
        if width >= 36:
            values.append(_text(middle, top - 6, share, "value", "middle"))
        if index % every == 0:
            label = str(each.partition)
            marks.append(_text(middle, _BOTTOM_EDGE + 18, label, "tick", "middle"))
    level, right = y(even), _LEFT + width * len(partitions)
    if len(partitions) > 1:
        marks.append(
            f'<path class="even" d="M{_LEFT} {level:.1f}H{right:.1f}">'
            f"{_title(f'an even share: {even:,.0f} records')}</path>"
        )
    if len(partitions) > 1 and right < _RIGHT_EDGE - 90:
        marks.append(_text(right + 6, level + 4, "an even share", "tick", "start"))
    # Over the line, which would strike them out.
    return _svg("Records by partition", marks + values)


def key_chart(keys: Sequence[KeyShare], keyed: int) -> str:
    """The most frequent keys, each with its share of all records that have a key."""
    height, left = 24, 178
    most = keys[0].records
    x = Scale(0, most, left, _RIGHT_EDGE - 100)
    marks = []
    for index, each in enumerate(keys):
        top = 4 + index * height
        name = shown_key(each.key)
        told = f"{each.records:,} records, {percent(each.records / keyed)}"
        marks.append(_text(left - 8, top + 15, name, "label", "end"))
        width = max(x(each.records) - left, 1.5)
        marks.append(
            f'<rect class="bar" x="{left}" y="{top + 3}" width="{width:.1f}" height="17"'
            f' rx="2">{_title(f"{name}: {told}")}</rect>'
        )
        share = percent(each.records / keyed)
        text = f"{share} · {number(each.records)}"
        marks.append(_text(left + width + 7, top + 15, text, "value", "start"))
    return _svg("The most frequent keys", marks, height=8 + len(keys) * height)


def sparkline(buckets: Sequence[Bucket], span: Span) -> str:
    """The rate's course, for a cell of a table."""
    width, height = 132.0, 26.0
    x = Scale(span.scale().low, span.scale().high, 0, width)
    most = max((each.records for each in buckets), default=1)
    column = max(width * span.bucket_ms / (span.scale().high - span.scale().low) - 0.4, 0.8)
    parts = []
    for each in buckets:
        tall = max(each.records / most * (height - 2), 0.8)
        parts.append(
            f'<rect class="bar" x="{x(each.start_ms):.1f}" y="{height - tall:.1f}"'
            f' width="{column:.1f}" height="{tall:.1f}"/>'
        )
    return (
        f'<svg class="spark" viewBox="0 0 {width:.0f} {height:.0f}" role="img"'
        f' aria-label="records over time">{"".join(parts)}</svg>'
    )


def shown_key(key: bytes) -> str:
    """A key as text where it is text, else its first bytes."""
    try:
        text = key.decode()
    except UnicodeDecodeError:
        text = f"0x{key.hex()}"
    if not text.isprintable():
        text = f"0x{key.hex()}"
    if not text:
        return "(empty)"
    short = text[: _LABEL_CHARACTERS - 1]
    return text if len(text) <= _LABEL_CHARACTERS else f"{short}…"


# ---------------------------------------------------------------- parts of a chart


def _columns(
    values: Sequence[tuple[int, float]],
    span: Span,
    ticks_for: Callable[[float], list[float]],
    written: Callable[[float], str],
) -> list[str]:
    most = max(value for _, value in values)
    ticks = ticks_for(most)
    y = Scale(0, ticks[-1], _BOTTOM_EDGE, _TOP)
    x = span.scale()
    width = x(x.low + span.bucket_ms) - x.start
    marks = _grid((y(tick), written(tick) if tick else "0") for tick in ticks)
    for start, value in values:
        marks.append(
            _column(x(start), width, y(value), f"{moment(start)}: {written(value)}")
        )
    marks += _time_axis(x)
    at, peak = max(values, key=lambda pair: pair[1])
    middle = x(at) + width / 2
    anchor = "start" if middle < 140 else "end" if middle > _RIGHT_EDGE - 90 else "middle"
    place = {"start": x(at), "end": x(at) + width, "middle": middle}[anchor]
    text = f"most: {written(peak)} at {_moment_in(span, at)}"
    marks.append(_text(place, y(peak) - 7, text, "mark", anchor))
    return marks


def _moment_in(span: Span, at_ms: int) -> str:
    """With the day, where the chart shows several."""
    is_one_day = span.last_ms - span.first_ms < 86_400_000
    day, clock = moments([at_ms, at_ms + 86_400_000])[0], moments([at_ms, at_ms + 1])[0]
    shown = clock if span.bucket_ms < 60_000 else clock.removesuffix(":00")
    return shown if is_one_day else f"{day}, {shown}"


def _column(left: float, width: float, top: float, told: str) -> str:
    gap = 1.0 if width > 4 else 0.0
    # What there is must be seen, however little it is beside the most.
    top = min(top, _BOTTOM_EDGE - 1.2)
    return (
        f'<rect class="bar" x="{left + gap / 2:.1f}" y="{top:.1f}"'
        f' width="{max(width - gap, 0.8):.1f}" height="{_BOTTOM_EDGE - top:.1f}">'
        f"{_title(told)}</rect>"
    )


def _grid(lines: Iterable[tuple[float, str]]) -> list[str]:
    marks = []
    for place, label in lines:
        marks.append(f'<path class="grid" d="M{_LEFT} {place:.1f}H{_RIGHT_EDGE}"/>')
        marks.append(_text(_LEFT - 7, place + 4, label, "tick", "end"))
    return marks


def _baseline() -> str:
    return f'<path class="axis" d="M{_LEFT} {_BOTTOM_EDGE}H{_RIGHT_EDGE}"/>'


def _time_axis(x: Scale) -> list[str]:
    ticks = time_ticks(int(x.low), int(x.high))
    marks = [_baseline()]
    for tick, label in zip(ticks, moments(ticks), strict=True):
        place = x(tick)
        marks.append(f'<path class="axis" d="M{place:.1f} {_BOTTOM_EDGE}v4"/>')
        anchor = "start" if place < _LEFT + 14 else "middle"
        anchor = "end" if place > _RIGHT_EDGE - 14 else anchor
        marks.append(_text(place, _BOTTOM_EDGE + 18, label, "tick", anchor))
    return marks


def _silences(silences: Sequence[Silence], span: Span) -> list[str]:
    """A hatched stretch with its length, where there is room for it."""
    x = span.scale()
    marks = []
    for each in silences:
        left, right = x(each.start_ms), x(each.end_ms)
        told = f"nothing from {moment(each.start_ms)} for {duration(each.length_ms)}"
        marks.append(
            f'<rect class="silence" x="{left:.1f}" y="{_BOTTOM_EDGE - 16}"'
            f' width="{right - left:.1f}" height="16">{_title(told)}</rect>'
        )
        if right - left > 74:
            text = f"silent {duration(each.length_ms)}"
            middle = (left + right) / 2
            marks.append(_text(middle, _BOTTOM_EDGE - 21, text, "mark silent", "middle"))
    return marks


def _stretches(
    points: Sequence[tuple[int, float, float]], bucket_ms: int
) -> list[list[tuple[int, float, float]]]:
    """Points that follow each other without an empty bucket in between."""
    found: list[list[tuple[int, float, float]]] = []
    for point in points:
        if found and point[0] - found[-1][-1][0] <= bucket_ms:
            found[-1].append(point)
        else:
            found.append([point])
    return found


def _text(x: float, y: float, text: str, kind: str, anchor: str) -> str:
    return (
        f'<text class="{kind}" x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">'
        f"{escape(text)}</text>"
    )


def _title(text: str) -> str:
    return f"<title>{escape(text)}</title>"


def _svg(label: str, marks: Iterable[str], *, height: int = _HEIGHT) -> str:
    return (
        f'<svg viewBox="0 0 {_WIDTH} {height}" role="img" aria-label="{escape(label)}">'
        f"{''.join(marks)}</svg>"
    )
