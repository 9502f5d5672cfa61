"""A trace as a waterfall: who did what, when, and for how long."""

from collections.abc import Iterable
from datetime import datetime
from typing import Final

from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from korvet.cli.terminal import cut, plain
from korvet.cli.top_views import duration
from korvet.cli.trace_model import Row, Span, Trace

# From here on there is room for what spans have to tell.
_WIDE: Final = 140
_BAR: Final = 24
_BAR_IF_WIDE: Final = 60
_SERVICE: Final = 11
_DURATION: Final = 8
_TOLD_IF_WIDE: Final = 36
_GAPS: Final = 3
# A time, a duration and an error.
_BESIDE_NAME: Final = 50
_EIGHTHS: Final = " ▏▎▍▌▋▊▉█"


def waterfalls(traces: Iterable[Trace], width: int) -> RenderableType:
    return Group(*(part for trace in traces for part in (_waterfall(trace, width), "")))


def _waterfall(trace: Trace, width: int) -> RenderableType:
    is_wide = width >= _WIDE
    bar = _BAR_IF_WIDE if is_wide else _BAR
    name = width - _SERVICE - bar - _DURATION - _GAPS
    if is_wide:
        name -= _TOLD_IF_WIDE + 1
    table = Table.grid(padding=(0, 1))
    for column_width in (_SERVICE, name, bar):
        table.add_column(width=column_width, no_wrap=True, overflow="ellipsis")
    table.add_column(width=_DURATION, no_wrap=True, justify="right")
    if is_wide:
        table.add_column(width=_TOLD_IF_WIDE, no_wrap=True, overflow="ellipsis")
    for row in trace.rows:
        cells: list[RenderableType] = [
            f"[dim]{plain(row.span.service)}[/]",
            _name(row),
            _bar(trace.root, row.span, bar),
            duration(row.span.seconds),
        ]
        if is_wide:
            cells.append(f"[dim]{plain(row.span.told)}[/]")
        table.add_row(*cells)
    return Group(_head(trace, width), table)


def _head(trace: Trace, width: int) -> RenderableType:
    began = datetime.fromtimestamp(trace.root.start_ns / 1e9).astimezone()
    moment = f"{began:%H:%M:%S}.{began.microsecond // 1000:03}"
    error = f"  [bold red]{plain(trace.root.error)}[/]" if trace.root.error else ""
    name = plain(cut(trace.root.name, width - _BESIDE_NAME))
    # Its id is there to be copied, and must not be cut.
    return Text.from_markup(
        f"[bold]{name}[/]  {moment}"
        f"  {duration(trace.root.seconds)}{error}\n[dim]{trace.trace_id}[/]"
    )


def _name(row: Row) -> str:
    # Of an RPC, the service is told by who serves it.
    name = plain(row.span.name.rpartition("/")[2])
    text = f"{'  ' * row.depth}{name}"
    return f"[red]{text}[/]" if row.span.error else text


def _bar(root: Span, span: Span, width: int) -> Text:
    """From its begin to its end within the root; what is outside of that is cut off."""
    length = max(1, root.end_ns - root.start_ns)
    start = min(max(0.0, (span.start_ns - root.start_ns) / length), 1.0)
    end = min(max(start, (span.end_ns - root.start_ns) / length), 1.0)
    first = min(int(start * width), width - 1)
    # However short, it is seen.
    eighths = max(1, round((end * width - first) * 8))
    whole, rest = divmod(eighths, 8)
    drawn = "█" * whole + (_EIGHTHS[rest] if rest else "")
    return Text(" " * first + drawn[: width - first], style="red" if span.error else "cyan")
