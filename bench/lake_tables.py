"""Tables of what the lake's benchmark has measured."""

from collections.abc import Mapping
from typing import Any

from bench.summary import KAFKA
from bench.tables import NONE, Figures, Grid, targets_grid

_FORMATS = ("record", "batch")


def lake_grids(result: Mapping[str, Any]) -> list[Grid]:
    figures = Figures(result)
    archive = [
        [
            format_,
            figures.thousands(f"archive-{format_}/korvet/rate"),
            figures.thousands(f"archive-{format_}/{KAFKA}/rate"),
            figures.plain(f"archive-{format_}/korvet/rate/of/{KAFKA}"),
        ]
        for format_ in _FORMATS
    ]
    replay = [
        [
            format_,
            figures.thousands(f"replay-{format_}/korvet/rate"),
            figures.thousands(f"replay-{format_}/korvet/plain_rate"),
            figures.plain(f"replay-{format_}/korvet/share"),
        ]
        for format_ in _FORMATS
    ]
    grids = [
        Grid(
            "Archiving: median (least to most) over the rounds",
            ["format", "korvet source, k records/s", "Spark's kafka source", "share"],
            archive,
        ),
        Grid(
            "Replay",
            ["format", "replay, k records/s", "plain Python producer", "share"],
            replay,
        ),
    ]
    memory = [
        [
            size,
            *(
                figures.median(f"driver-memory/korvet/{size}/{name}", 0)
                for name in ("live_mb", "python_mb", "heap_mb", "jvm_peak_mb")
            ),
        ]
        for size in ("small", "large")
    ]
    if any(cell != NONE for row in memory for cell in row[1:]):
        header = ["topic", "live in all", "Python's peak", "live heap", "JVM's peak"]
        plan = result["plan"]
        count, factor = plan["memory_records"], plan["factor"]
        title = f"The driver's memory in MB: {count:,} records, and {factor} times as many"
        grids.append(Grid(title, header, memory))
    return [*grids, targets_grid(result)]
