"""Tables of what transactions cost."""

from collections.abc import Mapping
from typing import Any

from bench.summary import TRANSACTIONS
from bench.tables import Figures, Grid, targets_grid


def transaction_grids(result: Mapping[str, Any]) -> list[Grid]:
    figures = Figures(result)
    rows = [
        [
            system,
            figures.thousands(f"{TRANSACTIONS}/{system}/plain_rate"),
            figures.thousands(f"{TRANSACTIONS}/{system}/rate"),
            figures.plain(f"{TRANSACTIONS}/{system}/share"),
            figures.plain(f"{TRANSACTIONS}/{system}/commit/p50_ms", 1),
            figures.plain(f"{TRANSACTIONS}/{system}/commit/p99_ms", 1),
        ]
        for system in result["plan"]["systems"]
    ]
    header = ["system", "without, k records/s", "with transactions", "share"]
    header += ["commit p50 ms", "p99 ms"]
    title = "A producer with transactions of 100 ms: median (least to most) over the rounds"
    return [Grid(title, header, rows), targets_grid(result)]
