"""What commands write: results on standard output, everything else on standard error.

With --json, results are JSON and nothing else is on standard output.
"""

import json
import sys
from collections.abc import Iterable, Sequence
from itertools import groupby
from typing import Annotated, Any, Final, NamedTuple

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from korvet.cli.failure import Failure

# In a pipe nothing may be cut to the width of a terminal that is not there.
_UNLIMITED: Final = 100_000

# Paths and commands are there to be copied: nothing is wrapped, or coloured by guesswork.
console: Final = Console(
    highlight=False,
    emoji=False,
    soft_wrap=True,
    width=None if sys.stdout.isatty() else _UNLIMITED,
)
errors: Final = Console(stderr=True, highlight=False, emoji=False, soft_wrap=True)

JsonOption = Annotated[bool, typer.Option("--json", help="Write JSON instead of text.")]


class Column(NamedTuple):
    title: str
    is_number: bool = False


def print_json(value: Any) -> None:
    sys.stdout.write(json.dumps(value, indent=2, ensure_ascii=False) + "\n")
    # Here a pipe that was closed is still handled; at the interpreter's exit it is not.
    sys.stdout.flush()


def print_table(columns: Sequence[Column], rows: Iterable[Sequence[object]]) -> None:
    console.print(table_of(columns, rows), soft_wrap=False)


def table_of(columns: Sequence[Column], rows: Iterable[Sequence[object]]) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold")
    for column in columns:
        table.add_column(
            column.title,
            justify="right" if column.is_number else "left",
            overflow="fold",
        )
    for row in rows:
        table.add_row(*(plain(str(cell)) for cell in row))
    return table


def plain(text: str) -> str:
    """Text from elsewhere, for a console that reads markup; escape sequences are spelt out.

    Any client can name a group or itself, and must not steer the terminal by it.
    """
    return escape("".join(map(_spelt, text)))


def print_failure(failure: Failure) -> None:
    errors.print(f"[bold red]Error:[/] {escape(failure.problem)}")
    if failure.advice:
        errors.print(escape(failure.advice))


def _spelt(character: str) -> str:
    if character.isprintable():
        return character
    return character.encode("unicode_escape").decode()


def cut(name: str, longest: int) -> str:
    return name if len(name) <= longest else f"{name[: longest - 1]}…"


def readable_bytes(count: int) -> str:
    size, unit = float(count), "B"
    for larger in ("KiB", "MiB", "GiB", "TiB"):
        if size < 1024:
            break
        size, unit = size / 1024, larger
    return f"{count} B" if unit == "B" else f"{size:.1f} {unit}"


def seconds(length: float) -> str:
    """A length of time as people read it, as in "7.5 s", "12 min" or "3 h 20 min"."""
    if length < 60:
        return f"{length:.1f} s"
    minutes = round(length / 60)
    return f"{minutes} min" if minutes < 60 else f"{minutes // 60} h {minutes % 60} min"


def ranges(numbers: Sequence[int]) -> str:
    """Sorted numbers with neighbours together, as in "0-3, 7"."""
    runs = groupby(enumerate(numbers), key=lambda pair: pair[1] - pair[0])
    spans = [[number for _, number in run] for _, run in runs]
    return ", ".join(
        f"{span[0]}" if len(span) == 1 else f"{span[0]}-{span[-1]}" for span in spans
    )
