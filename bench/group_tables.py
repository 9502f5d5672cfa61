"""Tables of what consumer groups cost: rebalances, idle members, commits."""

from collections.abc import Iterable, Mapping
from typing import Any

from bench.summary import COMMITS, IDLE, IDLE_FEWER, KAFKA, death_cell, join_cell
from bench.tables import NONE, Figures, Grid, targets_grid


def group_grids(result: Mapping[str, Any]) -> list[Grid]:
    systems: list[str] = result["plan"]["systems"]
    sizes: list[int] = result["plan"]["sizes"]
    figures = Figures(result)
    return [
        _rebalances(figures, systems, sizes, result["session_seconds"]),
        _idle(figures, systems),
        _commits(figures, systems),
        targets_grid(result),
    ]


def _rebalances(
    figures: Figures, systems: Iterable[str], sizes: Iterable[int], session: float
) -> Grid:
    header = ["system"]
    for size in sizes:
        header += [
            f"join, group of {size}: s",
            "of Kafka's",
            f"death, group of {size}: s",
            f"without the session's {session:g} s",
            "of Kafka's",
        ]
    rows = []
    for system in systems:
        row = [system]
        for size in sizes:
            join, death = (f"{cell(size)}/{system}" for cell in (join_cell, death_cell))
            row += [figures.plain(f"{join}/again_s"), _share(figures, f"{join}/again_s")]
            row.append(figures.plain(f"{death}/again_s"))
            beyond = f"{death}/beyond_s"
            row += [figures.plain(beyond), _share(figures, beyond)]
        rows.append(row)
    title = "Until the whole group consumes again: median (least to most) over the rounds"
    return Grid(title, header, rows)


def _share(figures: Figures, path: str) -> str:
    return figures.plain(f"{path}/of/{KAFKA}")


def _idle(figures: Figures, systems: Iterable[str]) -> Grid:
    rows = [
        [
            system,
            figures.median(f"{cell}/{system}/members", 0),
            figures.median(f"{cell}/{system}/server_cores", 3),
            figures.by_role(f"{cell}/{system}/cores", 3),
            figures.median(f"{cell}/{system}/joins", 0),
        ]
        for system in systems
        for cell in (IDLE_FEWER, IDLE)
        if figures.median(f"{cell}/{system}/members", 0) != NONE
    ]
    header = ["system", "members", "cores, gateway and coordinator", "cores by role"]
    title = "Members that only send heartbeats, in groups of 20"
    return Grid(title, [*header, "joins meanwhile"], rows)


def _commits(figures: Figures, systems: Iterable[str]) -> Grid:
    rows = [
        [
            system,
            figures.plain(f"{COMMITS}/{system}/rate", 0),
            figures.plain(f"{COMMITS}/{system}/rate/of/{KAFKA}"),
            figures.plain(f"{COMMITS}/{system}/latency/p50_ms"),
            figures.plain(f"{COMMITS}/{system}/latency/p99_ms"),
            figures.by_role(f"{COMMITS}/{system}/cpu_us", 0),
        ]
        for system in systems
    ]
    header = ["system", "commits/s", "share of Kafka", "p50 ms", "p99 ms"]
    return Grid("Offset commits", [*header, "CPU µs a commit"], rows)
