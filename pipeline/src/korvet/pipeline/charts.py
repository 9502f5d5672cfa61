"""PURE: a report's charts as inline SVG.

Every colour is a CSS variable of the page, so that one drawing serves light and dark; the
marks differ in place and shape too, never by colour alone. What matters is labelled where
it is; the rest is in the tooltip (`<title>`) of each mark.
"""

from collections.abc import Sequence
from typing import Final

from korvet.pipeline.chart_marks import (
    BOTTOM_EDGE,
    LEFT,
    RIGHT_EDGE,
    TOP,
    Span,
    baseline,
    column,
    columns,
    grid,
    silence_marks,
    svg,
    text_mark,
    time_axis,
    title,
)
from korvet.pipeline.chart_scales import (
    Scale,
    byte_ticks,
    duration,
    log_ticks,
    moment,
    nice_ticks,
    number,
    percent,
    readable_size,
)
from korvet.pipeline.report_model import (
    Bucket,
    KeyShare,
    PartitionShare,
    Silence,
    SizeClass,
)

# Where lines end whose names are behind them.
_LINES_EDGE: Final = RIGHT_EDGE - 40
# Characters of a label beside a bar, which is as wide as this in the font's average.
_LABEL_CHARACTERS: Final = 22
_MOST_PARTITION_LABELS: Final = 24


def rate_chart(buckets: Sequence[Bucket], span: Span, silences: Sequence[Silence]) -> str:
    seconds = span.bucket_ms / 1000
    values = [(each.start_ms, each.records / seconds) for each in buckets]
    marks = columns(values, span, nice_ticks, lambda value: f"{number(value)}/s")
    return svg("Records a second over time", marks + silence_marks(silences, span))


def volume_chart(buckets: Sequence[Bucket], span: Span) -> str:
    seconds = span.bucket_ms / 1000
    values = [(each.start_ms, each.size_bytes / seconds) for each in buckets]
    marks = columns(values, span, byte_ticks, lambda value: f"{readable_size(value)}/s")
    return svg("Bytes a second over time", marks)


def latency_chart(buckets: Sequence[Bucket], span: Span) -> str:
    """Half of the records are below the lower line, all but one in a hundred below both."""
    known = [(each.start_ms, each.latency) for each in buckets if each.latency]
    least = max(min(latency.p50 for _, latency in known), 1.0)
    most = max(max(latency.p99 for _, latency in known), least)
    ticks = log_ticks(least, most)
    y = Scale(ticks[0], ticks[-1], BOTTOM_EDGE, TOP, is_log=True)
    x = span.scale(_LINES_EDGE)
    half = span.bucket_ms / 2
    marks = grid((y(tick), duration(tick)) for tick in ticks)
    marks += time_axis(x)
    for name, label in (("p99", "99 %"), ("p50", "half")):
        points = [
            (start, x(start + half), y(max(getattr(latency, name), ticks[0])))
            for start, latency in known
        ]
        for stretch in _stretches(points, span.bucket_ms):
            path = "L".join(f"{px:.1f} {py:.1f}" for _, px, py in stretch)
            # A single point is drawn as one, by a line without length and with round ends.
            alone = " alone" if len(stretch) == 1 else ""
            marks.append(f'<path class="line {name}{alone}" d="M{path}h0"/>')
        for (_, px, py), (start, latency) in zip(points, known, strict=True):
            value = duration(getattr(latency, name))
            marks.append(
                f'<circle class="dot {name}" cx="{px:.1f}" cy="{py:.1f}" r="5">'
                f"{title(f'{moment(start)}: {label} within {value}')}</circle>"
            )
        _, px, py = points[-1]
        marks.append(text_mark(px + 8, py + 4, label, f"mark {name}", "start"))
    return svg("Latency from timestamp to append over time", marks)


def size_chart(sizes: Sequence[SizeClass]) -> str:
    total = sum(each.records for each in sizes)
    most = max(each.records for each in sizes)
    y = Scale(0, most, BOTTOM_EDGE, TOP + 8)
    width = (RIGHT_EDGE - LEFT) / len(sizes)
    marks = [baseline()]
    for index, each in enumerate(sizes):
        left, top = LEFT + index * width, y(each.records)
        share = percent(each.records / total)
        bound = "empty" if each.at_most == 0 else f"≤ {readable_size(each.at_most)}"
        marks.append(
            column(left, width, top, f"{bound}: {each.records:,} records, {share}")
        )
        if each.records:
            marks.append(text_mark(left + width / 2, top - 6, share, "value", "middle"))
        # Every class cannot be named where there are many of them.
        if len(sizes) <= 9 or index % 2 == (len(sizes) - 1) % 2:
            middle = left + width / 2
            marks.append(text_mark(middle, BOTTOM_EDGE + 18, bound, "tick", "middle"))
    return svg("Records by the size of their values", marks)


def partition_chart(partitions: Sequence[PartitionShare]) -> str:
    total = sum(each.records for each in partitions)
    even = total / len(partitions)
    most = max(each.records for each in partitions)
    y = Scale(0, max(most, even), BOTTOM_EDGE, TOP + 8)
    # Two or three columns need not fill the width.
    width = min((RIGHT_EDGE - LEFT) / len(partitions), 72.0)
    every = -(-len(partitions) // _MOST_PARTITION_LABELS)
    marks, values = [baseline()], []
    for index, each in enumerate(partitions):
        left, top = LEFT + index * width, y(each.records)
        share = percent(each.records / total)
        told = f"partition {each.partition}: {each.records:,} records, {share}"
        marks.append(column(left, width, top, told))
        middle = left + width / 2
        if width >= 36:
            values.append(text_mark(middle, top - 6, share, "value", "middle"))
        if index % every == 0:
            label = str(each.partition)
            marks.append(text_mark(middle, BOTTOM_EDGE + 18, label, "tick", "middle"))
    level, right = y(even), LEFT + width * len(partitions)
    if len(partitions) > 1:
        marks.append(
            f'<path class="even" d="M{LEFT} {level:.1f}H{right:.1f}">'
            f"{title(f'an even share: {even:,.0f} records')}</path>"
        )
    if len(partitions) > 1 and right < RIGHT_EDGE - 90:
        marks.append(text_mark(right + 6, level + 4, "an even share", "tick", "start"))
    # Over the line, which would strike them out.
    return svg("Records by partition", marks + values)


def key_chart(keys: Sequence[KeyShare], keyed: int) -> str:
    """The most frequent keys, each with its share of all records that have a key."""
    height, left = 24, 178
    most = keys[0].records
    x = Scale(0, most, left, RIGHT_EDGE - 100)
    marks = []
    for index, each in enumerate(keys):
        top = 4 + index * height
        name = shown_key(each.key)
        told = f"{each.records:,} records, {percent(each.records / keyed)}"
        marks.append(text_mark(left - 8, top + 15, name, "label", "end"))
        width = max(x(each.records) - left, 1.5)
        marks.append(
            f'<rect class="bar" x="{left}" y="{top + 3}" width="{width:.1f}" height="17"'
            f' rx="2">{title(f"{name}: {told}")}</rect>'
        )
        share = percent(each.records / keyed)
        text = f"{share} · {number(each.records)}"
        marks.append(text_mark(left + width + 7, top + 15, text, "value", "start"))
    return svg("The most frequent keys", marks, height=8 + len(keys) * height)


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
