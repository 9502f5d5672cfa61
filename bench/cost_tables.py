"""Tables of what a server costs before any load."""

from collections.abc import Iterable, Mapping
from typing import Any

from bench.summary import CONNECTIONS, FOOTPRINT, METADATA, START, TOPICS
from bench.tables import NONE, Figures, Grid, targets_grid


def cost_grids(result: Mapping[str, Any]) -> list[Grid]:
    systems: list[str] = result["plan"]["systems"]
    figures = Figures(result)
    grids = [
        _starts(figures, systems),
        _footprints(figures, systems),
        _connections(figures, systems),
        _metadata(figures, systems),
        _topics(figures, systems),
        targets_grid(result),
    ]
    return [grid for grid in grids if grid.rows]


def _starts(figures: Figures, systems: Iterable[str]) -> Grid:
    rows = _measured(
        [system, figures.plain(f"{START}/{system}/ready_s")] for system in systems
    )
    return Grid("Start, until the first answered request", ["system", "s"], rows)


def _footprints(figures: Figures, systems: Iterable[str]) -> Grid:
    fields = ("mean_share", "most_share")
    rows = _measured(
        [
            system,
            *(figures.median(f"{FOOTPRINT}/{system}/{field}", 2) for field in fields),
            figures.median(f"{FOOTPRINT}/{system}/bytes_a_record", 0),
        ]
        for system in systems
    )
    header = ["system", "of the payload, mean over batch sizes", "most", "bytes a record"]
    title = "Memory in Redis, records of 100 B with a key of 16 B, batches of 4 to 64 KiB"
    return Grid(title, header, rows)


def _connections(figures: Figures, systems: Iterable[str]) -> Grid:
    rows = _measured(
        [
            system,
            figures.median(f"{CONNECTIONS}/{system}/connections", 0),
            figures.median(f"{CONNECTIONS}/{system}/server_mb", 1),
            figures.median(f"{CONNECTIONS}/{system}/server_cores", 4),
        ]
        for system in systems
    )
    header = ["system", "connections", "gateway or broker: MB more", "cores"]
    return Grid("Connections that do nothing", header, rows)


def _metadata(figures: Figures, systems: Iterable[str]) -> Grid:
    digits = {
        "topics": 0,
        "partitions": 0,
        "create_s": 1,
        "answer_mb": 2,
        "median_ms": 1,
        "max_ms": 1,
    }
    rows = _measured(
        [
            system,
            *(
                figures.median(f"{METADATA}/{system}/{field}", count)
                for field, count in digits.items()
            ),
        ]
        for system in systems
    )
    header = ["system", "topics", "partitions", "created in s", "answer MB", "median ms"]
    return Grid("Metadata for all topics", [*header, "max ms"], rows)


def _topics(figures: Figures, systems: Iterable[str]) -> Grid:
    rows = []
    for system in systems:
        row = [system]
        for kind in ("produce", "consume"):
            at = f"{TOPICS}/{system}"
            row.append(figures.thousands(f"{at}/alone/{kind}_rate"))
            row += [figures.plain(f"{at}/{way}/{kind}_share") for way in ("among", "all")]
        rows.append(row)
    header = ["system"]
    for kind in ("produce", "consume"):
        header += [f"{kind}: one topic alone, k records/s", "one among 1,000", "all 1,000"]
    return Grid(
        "Rates beside 1,000 topics, as shares of one topic's", header, _measured(rows)
    )


def _measured(rows: Iterable[list[str]]) -> list[list[str]]:
    return [row for row in rows if any(cell != NONE for cell in row[1:])]
