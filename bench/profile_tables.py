"""Tables of where gateway and storage spend their time."""

from collections.abc import Mapping
from itertools import zip_longest
from typing import Any

from bench.tables import Grid


def profile_grids(result: Mapping[str, Any]) -> list[Grid]:
    """For each load the hottest functions of its processes, side by side."""
    loads: dict[tuple[str, str], list[Mapping[str, Any]]] = {}
    for one in result["profiles"]:
        loads.setdefault((one["system"], one["kind"]), []).append(one)
    return [_load(f"{kind}, {system}", found) for (system, kind), found in loads.items()]


def _load(title: str, profiles: list[Mapping[str, Any]]) -> Grid:
    header: list[str] = []
    for one in profiles:
        header += [f"{one['role']}, {one['cpu_us']:.2f} µs a record", "self"]
    columns = [
        [(hot["function"], f"{hot['share']:.0%}") for hot in one["hottest"]]
        for one in profiles
    ]
    rows = [
        [word for hot in row for word in hot]
        for row in zip_longest(*columns, fillvalue=("", ""))
    ]
    return Grid(f"Self time, {title}", header, rows)
