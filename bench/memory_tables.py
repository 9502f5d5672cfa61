"""Tables of what servers hold under pressure."""

from collections.abc import Mapping
from typing import Any

from bench.tables import NONE, Grid, targets_grid


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
