"""Results as tables: on the terminal after a run, and in README.md.

    python -m bench.report [--targets] [--check]

Every number in README.md stands between two marks and is written there by this module from
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

from bench.group_tables import group_grids
from bench.summary import (
    CONSUME,
    END_TO_END,
    KAFKA,
    KEYED_PRODUCE,
    PLAIN_CONSUME,
    PLAIN_PRODUCE,
    PRODUCE,
    SMALL,
    XADD,
)
from bench.tables import NONE, Figures, Grid, targets_grid
from bench.transaction_tables import transaction_grids

_HERE: Final = Path(__file__).resolve().parent
README: Final = _HERE / "README.md"
RESULTS: Final = _HERE / "results"


def speed_grids(result: Mapping[str, Any]) -> list[Grid]:
    systems: list[str] = result["plan"]["systems"]
    figures = Figures(result)
    grids = [
        _throughput(figures, systems, "Throughput", (PRODUCE, CONSUME)),
        _throughput(
            figures,
            systems,
            "Throughput, a client with one call a record",
            (PLAIN_PRODUCE, PLAIN_CONSUME),
        ),
        _keyed(figures, systems),
        _cpu(figures, systems),
        _paced(figures, systems),
        _memory(figures, systems),
        targets_grid(result),
    ]
    return [grid for grid in grids if _says_something(grid)]


def _says_something(grid: Grid) -> bool:
    return any(cell != NONE for row in grid.rows for cell in row[1:])


def _throughput(
    figures: Figures, systems: Iterable[str], title: str, cells: Sequence[str]
) -> Grid:
    header = ["system"]
    for what in ("produce", "consume"):
        header += [f"{what}, k records/s", "share of Kafka", "share of XADD"]
    rows = []
    for system in systems:
        row = [system]
        for cell in cells:
            rate = f"{cell}/{system}/rate"
            row.append(figures.thousands(rate))
            row += [figures.plain(f"{rate}/of/{base}") for base in (KAFKA, XADD)]
        rows.append(row)
    return Grid(f"{title}: median (least to most) over the rounds", header, rows)


def _keyed(figures: Figures, systems: Iterable[str]) -> Grid:
    rows = [
        [system, figures.thousands(rate), figures.plain(f"{rate}/of/{XADD}")]
        for system in systems
        for rate in [f"{KEYED_PRODUCE}/{system}/rate"]
        if figures.median(rate, 0) != NONE
    ]
    header = ["system", "produce, k records/s", "share of XADD with a key"]
    return Grid("Throughput with 16-byte keys", header, rows)


def _cpu(figures: Figures, systems: Iterable[str]) -> Grid:
    rows = [
        [
            system,
            cell,
            figures.by_role(f"{cell}/{system}/cpu_us", 2),
            figures.median(f"{cell}/{system}/client_busy", 2),
        ]
        for system in systems
        for cell in (PRODUCE, CONSUME)
        if figures.median(f"{cell}/{system}/rate", 0) != NONE
    ]
    header = ["system", "cell", "CPU µs a record", "busiest client thread"]
    return Grid("Where the CPU goes", header, rows)


def _paced(figures: Figures, systems: Iterable[str]) -> Grid:
    header = ["system"]
    for cell in ("end to end at 500/s", "5,000 one-record requests/s"):
        header += [f"{cell}: p50 ms", "p99 ms", "max ms"]
    header.append("requests/s held")
    rows = [
        [
            system,
            *(
                figures.plain(f"{cell}/{system}/latency/{share}_ms")
                for cell in (END_TO_END, SMALL)
                for share in ("p50", "p99", "max")
            ),
            figures.plain(f"{SMALL}/{system}/rate", 0),
        ]
        for system in systems
        if system != XADD
    ]
    return Grid("Latency from when a record was due", header, rows)


def _memory(figures: Figures, systems: Iterable[str]) -> Grid:
    rows = [
        [system, *(figures.by_role(f"{cell}/{system}/peak_rss_mb", 0) for cell in cells)]
        for cells in [(PRODUCE, CONSUME, SMALL)]
        for system in systems
        if system != XADD
    ]
    header = ["system", PRODUCE, CONSUME, "one-record requests"]
    return Grid("Peak memory, MB", header, rows)


def memory_grids(result: Mapping[str, Any]) -> list[Grid]:
    rows = [
        [
            outcome["system"],
            outcome["pressure"],
            *(_course(outcome["memory"].get(role)) for role in ("gateway", "storage")),
            _rounded(outcome["bystander_max_ms"]),
            f"{outcome['acknowledged']:,}",
            f"{outcome['lost']}, {outcome['duplicated']}, {outcome['failed']}",
        ]
        for outcome in result["outcomes"]
    ]
    course = "start, peak in the first half, in the second, after"
    header = ["system", "pressure", f"gateway: {course}", f"storage: {course}"]
    header += [
        "slowest answer to another client, ms",
        "acknowledged",
        "lost, doubled, failed",
    ]
    return [Grid("Memory under pressure, MB", header, rows), targets_grid(result)]


def _course(memory: Mapping[str, float] | None) -> str:
    if memory is None:
        return NONE
    steps = ("start", "first_half_peak", "second_half_peak", "after")
    return ", ".join(f"{memory[step]:.0f}" for step in steps)


def _rounded(value: float | None) -> str:
    return NONE if value is None else f"{value:.0f}"


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


def print_speed(result: Mapping[str, Any]) -> None:
    print_grids(speed_grids(result))


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
            raise ValueError(f"README.md has not one section {name!r}")
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
    return {
        name: f"{origin(result)}\n\n{markdown(_SECTIONS[name](result))}"
        for name, result in results.items()
    }


_SECTIONS: Final[Mapping[str, Callable[[Mapping[str, Any]], list[Grid]]]] = {
    "speed": speed_grids,
    "memory": memory_grids,
    "groups": group_grids,
    "transactions": transaction_grids,
}


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.report", description=__doc__)
    parser.add_argument(
        "--targets", action="store_true", help="exit 1 if a kept result misses a target"
    )
    parser.add_argument(
        "--check", action="store_true", help="write nothing; exit 1 if README.md is stale"
    )
    chosen = parser.parse_args()
    results = kept_results()
    old = README.read_text()
    new = filled(old, sections(results))
    if not chosen.check:
        README.write_text(new)
    elif new != old:
        print("bench/README.md is out of date: run python -m bench.report")
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
