"""Results as tables: on the terminal after a run, and in docs/benchmarks.md.

    python -m bench.report [--targets] [--check]

Every number on that page stands between two marks and is written there by this module from
bench/results/*.json, so that none is typed by hand.
"""

import argparse
import json
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final

from rich.console import Console
from rich.table import Table

from bench.cost_tables import cost_grids
from bench.group_tables import group_grids
from bench.memory_tables import memory_grids
from bench.profile_tables import profile_grids
from bench.speed_tables import speed_grids
from bench.tables import TARGETS_HEADER, TARGETS_TITLE, Grid, targets_grid
from bench.transaction_tables import transaction_grids

ROOT: Final = Path(__file__).resolve().parent.parent
PAGE: Final = ROOT / "docs/benchmarks.md"
RESULTS: Final = ROOT / "bench/results"


def print_grids(grids: Iterable[Grid]) -> None:
    found = Console()
    # Where the output is no terminal, rich assumes 80 columns, and these tables are wider.
    console = found if found.is_terminal else Console(width=150)
    for grid in grids:
        table = Table(title=grid.title, title_justify="left")
        for column, name in enumerate(grid.header):
            table.add_column(name, justify="left" if column == 0 else "right")
        for row in grid.rows:
            table.add_row(*row, style="bold red" if row[-1] == "MISSED" else None)
        console.print(table)


def markdown(grids: Iterable[Grid]) -> str:
    def line(cells: Sequence[str]) -> str:
        return f"| {' | '.join(cells)} |"

    parts = []
    for grid in grids:
        rule = "|".join("---" for _ in grid.header)
        lines = [line(grid.header), f"|{rule}|", *(line(row) for row in grid.rows)]
        parts.append(f"**{grid.title}**\n\n" + "\n".join(lines))
    return "\n\n".join(parts)


def origin(result: Mapping[str, Any]) -> str:
    """One paragraph: what, where and when."""
    host, versions = result["machine"], result["versions"]
    dirty = " with uncommitted changes" if result["uncommitted_changes"] else ""
    return (
        f"`{result['command']}` at commit `{result['commit'][:10]}`{dirty}, "
        f"{result['when'][:10]}, on {host['cores']} cores of {host['cpu']}, "
        f"{host['memory_gb']} GB, Linux {host['kernel']}, load average "
        f"{host['load_average']:.2f} at the start; Python {versions['python']}, "
        f"librdkafka {versions['librdkafka']}, {versions['java']}, {versions['redis']}."
    )


def filled(text: str, sections: Mapping[str, str]) -> str:
    """The text with each section's content between its marks."""
    for name, content in sections.items():
        begin, end = f"<!-- {name} -->\n", f"<!-- /{name} -->"
        if text.count(begin) != 1 or text.count(end) != 1:
            raise ValueError(f"the page has not one section {name!r}")
        before, _, rest = text.partition(begin)
        after = rest.partition(end)[2]
        text = f"{before}{begin}{content}\n{end}{after}"
    return text


def kept_results() -> dict[str, Mapping[str, Any]]:
    """The results in bench/results, by the name of their section."""
    return {
        name: json.loads(file.read_text())
        for name in _SECTIONS
        if (file := RESULTS / f"{name}.json").exists()
    }


def sections(results: Mapping[str, Mapping[str, Any]]) -> dict[str, str]:
    """What stands between the marks: each result's tables, and the targets of all."""
    return {"targets": markdown([_all_targets(results)])} | {
        name: f"{origin(result)}\n\n{markdown(_without_targets(name, result))}"
        for name, result in results.items()
    }


def _without_targets(name: str, result: Mapping[str, Any]) -> list[Grid]:
    return [grid for grid in _SECTIONS[name](result) if grid.title != TARGETS_TITLE]


def _all_targets(results: Mapping[str, Mapping[str, Any]]) -> Grid:
    """Every run's targets; the kinds of fault that did not happen in one row each run."""
    rows = []
    for name, result in results.items():
        none = [one for one in result["targets"] if one["bound"] == "= 0" and one["met"]]
        shown = [one for one in result["targets"] if one not in none]
        rows += [[name, *row] for row in targets_grid({"targets": shown}).rows]
        if none:
            kinds = f"{len(none)} kinds of fault that were looked for, in all measurements"
            rows.append([name, kinds, "= 0", "0", "met"])
    return Grid(TARGETS_TITLE, ["run", *TARGETS_HEADER], rows)


_SECTIONS: Final[Mapping[str, Callable[[Mapping[str, Any]], list[Grid]]]] = {
    "speed": speed_grids,
    "costs": cost_grids,
    "profile": profile_grids,
    "groups": group_grids,
    "transactions": transaction_grids,
    "memory": memory_grids,
}


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.report", description=__doc__)
    parser.add_argument(
        "--targets", action="store_true", help="exit 1 if a kept result misses a target"
    )
    parser.add_argument(
        "--check", action="store_true", help="write nothing; exit 1 if the page is stale"
    )
    chosen = parser.parse_args()
    results = kept_results()
    old = PAGE.read_text()
    new = filled(old, sections(results))
    if not chosen.check:
        PAGE.write_text(new)
    elif new != old:
        print("docs/benchmarks.md is out of date: run python -m bench.report")
        return 1
    missed = [
        target["label"]
        for result in results.values()
        for target in result["targets"]
        if not target["met"]
    ]
    for label in missed:
        print(f"missed: {label}")
    return 1 if chosen.targets and missed else 0


if __name__ == "__main__":
    sys.exit(main())
