"""How `korvet top` looks: as much as fits the terminal, the busiest first."""

from collections.abc import Callable, Sequence
from typing import Final, TypeVar

from rich.console import Group, RenderableType
from rich.table import Table

from korvet.cli.terminal import Column, cut, plain, readable_bytes, seconds, table_of
from korvet.cli.top_model import Api, Lag, Process, Topic, View

# From here on tables stand side by side.
_WIDE: Final = 160
# What is shown above the tables beside the processes, and their heads and distances.
_LINES_ABOVE: Final = 4
_LINES_A_TABLE: Final = 2
_FEWEST_ROWS: Final = 3
# Of names, which clients may make 249 characters long.
_LONGEST_NAME: Final = 22
_LONGEST_NAME_IF_WIDE: Final = 40

_Item = TypeVar("_Item")

_APIS: Final = [
    Column("REQUESTS"),
    Column("per s", is_number=True),
    Column("p50", is_number=True),
    Column("p99", is_number=True),
    Column("errors/s", is_number=True),
]
_TOPICS: Final = [
    Column("TOPICS"),
    Column("in/s", is_number=True),
    Column("out/s", is_number=True),
    Column("bytes in/s", is_number=True),
    Column("out/s", is_number=True),
    Column("records", is_number=True),
    Column("size", is_number=True),
]
_LAGS: Final = [
    Column("GROUPS"),
    Column("topic"),
    Column("partitions", is_number=True),
    Column("behind", is_number=True),
]


def rendered(view: View, width: int, height: int) -> RenderableType:
    is_wide = width >= _WIDE
    longest = _LONGEST_NAME_IF_WIDE if is_wide else _LONGEST_NAME
    room = height - _LINES_ABOVE - len(view.processes)
    # The tables below each other share it.
    rows = max(_FEWEST_ROWS, room // (2 if is_wide else 3) - _LINES_A_TABLE)
    beside = max(_FEWEST_ROWS, room - _LINES_A_TABLE) if is_wide else rows
    apis = _table(_APIS, view.apis, lambda each: _api(each, longest), rows)
    topics = _table(_TOPICS, view.topics, lambda each: _topic(each, longest), beside)
    lags = _table(_LAGS, view.lags, lambda each: _lag(each, longest), rows)
    head = _head(view)
    if not is_wide:
        return Group(head, "", apis, "", topics, "", lags)
    tables = Table.grid(padding=(0, 4))
    tables.add_row(Group(apis, "", lags), topics)
    return Group(head, "", tables)


def _head(view: View) -> RenderableType:
    memory = readable_bytes(view.memory_used)
    if view.memory_limit:
        share = view.memory_used / view.memory_limit
        memory += f" of {readable_bytes(view.memory_limit)} ({share:.0%})"
    facts = [
        f"Connections {view.connections}",
        f"requests under way {view.requests_under_way}",
        f"records/s in {rate(view.records_in)}, out {rate(view.records_out)}",
        f"Redis {memory}, {rate(view.commands_per_second)} commands/s",
    ]
    if view.transactions_open:
        facts.append(f"open transactions {view.transactions_open}")
    return Group(
        *map(_process, view.processes), " · ".join(facts[:3]), " · ".join(facts[3:])
    )


def _process(process: Process) -> str:
    state = "[green]ready[/]" if process.is_ready else "[bold red]waits[/]"
    return (
        f"{plain(process.name):<12} {state}  {process.cpu:>4.0%} CPU"
        f"  {readable_bytes(process.memory):>9}  up {seconds(process.uptime)}"
    )


def _table(
    columns: Sequence[Column],
    items: Sequence[_Item],
    row: Callable[[_Item], Sequence[object]],
    most: int,
) -> Table:
    # One row may be for those that have no room.
    shown = items if len(items) <= most else items[: most - 1]
    table = table_of(columns, map(row, shown))
    for column in table.columns:
        # A row that takes two lines would push another one out.
        column.no_wrap, column.overflow = True, "ellipsis"
    if left_out := len(items) - len(shown):
        table.add_row(f"[dim]and {left_out} more[/]")
    return table


def _api(api: Api, longest: int) -> Sequence[object]:
    return (
        cut(api.name, longest),
        rate(api.per_second),
        duration(api.median),
        duration(api.p99),
        rate(api.errors_per_second) if api.errors_per_second else "",
    )


def _topic(topic: Topic, longest: int) -> Sequence[object]:
    return (
        cut(topic.name, longest),
        rate(topic.records_in),
        rate(topic.records_out),
        readable_bytes(round(topic.bytes_in)),
        readable_bytes(round(topic.bytes_out)),
        f"{topic.records:,}",
        readable_bytes(topic.bytes),
    )


def _lag(lag: Lag, longest: int) -> Sequence[object]:
    return (
        cut(lag.group, longest),
        cut(lag.topic, longest),
        lag.partitions,
        f"{lag.records:,}",
    )


def rate(per_second: float) -> str:
    """With as many digits as mean something."""
    if per_second >= 100_000:
        return f"{per_second / 1000:,.0f}k"
    return f"{per_second:,.0f}" if per_second >= 10 else f"{per_second:.1f}"


def duration(length: float | None) -> str:
    if length is None:
        return ""
    if length >= 1:
        return f"{length:.1f} s"
    return f"{length * 1000:.0f} ms" if length >= 0.01 else f"{length * 1000:.1f} ms"
