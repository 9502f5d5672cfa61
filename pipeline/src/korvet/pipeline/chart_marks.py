"""PURE: what all charts of a report are made of: a frame, axes, columns, texts."""

from collections.abc import Callable, Iterable, Sequence
from html import escape
from typing import Final, NamedTuple

from korvet.pipeline.chart_scales import Scale, duration, moment, moments, time_ticks
from korvet.pipeline.report_model import Silence

WIDTH: Final = 560
HEIGHT: Final = 224
LEFT, RIGHT, TOP, BOTTOM = 68, 14, 26, 28
BOTTOM_EDGE: Final = HEIGHT - BOTTOM
RIGHT_EDGE: Final = WIDTH - RIGHT


class Span(NamedTuple):
    """The stretch of time that all charts of a topic show."""

    first_ms: int
    last_ms: int
    bucket_ms: int

    def scale(self, right: float = RIGHT_EDGE) -> Scale:
        start = self.first_ms // self.bucket_ms * self.bucket_ms
        end = (self.last_ms // self.bucket_ms + 1) * self.bucket_ms
        return Scale(start, end, LEFT, right)


def columns(
    values: Sequence[tuple[int, float]],
    span: Span,
    ticks_for: Callable[[float], list[float]],
    written: Callable[[float], str],
) -> list[str]:
    most = max(value for _, value in values)
    ticks = ticks_for(most)
    y = Scale(0, ticks[-1], BOTTOM_EDGE, TOP)
    x = span.scale()
    width = x(x.low + span.bucket_ms) - x.start
    marks = grid((y(tick), written(tick) if tick else "0") for tick in ticks)
    for start, value in values:
        marks.append(
            column(x(start), width, y(value), f"{moment(start)}: {written(value)}")
        )
    marks += time_axis(x)
    at, peak = max(values, key=lambda pair: pair[1])
    middle = x(at) + width / 2
    anchor = "start" if middle < 140 else "end" if middle > RIGHT_EDGE - 90 else "middle"
    place = {"start": x(at), "end": x(at) + width, "middle": middle}[anchor]
    text = f"most: {written(peak)} at {_moment_in(span, at)}"
    marks.append(text_mark(place, y(peak) - 7, text, "mark", anchor))
    return marks


def _moment_in(span: Span, at_ms: int) -> str:
    """With the day, where the chart shows several."""
    is_one_day = span.last_ms - span.first_ms < 86_400_000
    day, clock = moments([at_ms, at_ms + 86_400_000])[0], moments([at_ms, at_ms + 1])[0]
    shown = clock if span.bucket_ms < 60_000 else clock.removesuffix(":00")
    return shown if is_one_day else f"{day}, {shown}"


def column(left: float, width: float, top: float, told: str) -> str:
    gap = 1.0 if width > 4 else 0.0
    # What there is must be seen, however little it is beside the most.
    top = min(top, BOTTOM_EDGE - 1.2)
    return (
        f'<rect class="bar" x="{left + gap / 2:.1f}" y="{top:.1f}"'
        f' width="{max(width - gap, 0.8):.1f}" height="{BOTTOM_EDGE - top:.1f}">'
        f"{title(told)}</rect>"
    )


def grid(lines: Iterable[tuple[float, str]]) -> list[str]:
    marks = []
    for place, label in lines:
        marks.append(f'<path class="grid" d="M{LEFT} {place:.1f}H{RIGHT_EDGE}"/>')
        marks.append(text_mark(LEFT - 7, place + 4, label, "tick", "end"))
    return marks


def baseline() -> str:
    return f'<path class="axis" d="M{LEFT} {BOTTOM_EDGE}H{RIGHT_EDGE}"/>'


def time_axis(x: Scale) -> list[str]:
    ticks = time_ticks(int(x.low), int(x.high))
    marks = [baseline()]
    for tick, label in zip(ticks, moments(ticks), strict=True):
        place = x(tick)
        marks.append(f'<path class="axis" d="M{place:.1f} {BOTTOM_EDGE}v4"/>')
        anchor = "start" if place < LEFT + 14 else "middle"
        anchor = "end" if place > RIGHT_EDGE - 14 else anchor
        marks.append(text_mark(place, BOTTOM_EDGE + 18, label, "tick", anchor))
    return marks


def silence_marks(silences: Sequence[Silence], span: Span) -> list[str]:
    """A hatched stretch with its length, where there is room for it."""
    x = span.scale()
    marks = []
    for each in silences:
        left, right = x(each.start_ms), x(each.end_ms)
        told = f"nothing from {moment(each.start_ms)} for {duration(each.length_ms)}"
        marks.append(
            f'<rect class="silence" x="{left:.1f}" y="{BOTTOM_EDGE - 16}"'
            f' width="{right - left:.1f}" height="16">{title(told)}</rect>'
        )
        if right - left > 74:
            text = f"silent {duration(each.length_ms)}"
            middle = (left + right) / 2
            marks.append(text_mark(middle, BOTTOM_EDGE - 21, text, "mark silent", "middle"))
    return marks


def text_mark(x: float, y: float, text: str, kind: str, anchor: str) -> str:
    return (
        f'<text class="{kind}" x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">'
        f"{escape(text)}</text>"
    )


def title(text: str) -> str:
    return f"<title>{escape(text)}</title>"


def svg(label: str, marks: Iterable[str], *, height: int = HEIGHT) -> str:
    return (
        f'<svg viewBox="0 0 {WIDTH} {height}" role="img" aria-label="{escape(label)}">'
        f"{''.join(marks)}</svg>"
    )
