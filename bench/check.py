"""Has Korvet become slower: a short fresh run beside the ratios that are committed.

    python -m bench.check

Only ratios are compared, what Korvet does in a round as a share of what Kafka or plain
Redis does in the same round: rates of two machines, or of two days, say little.
"""

import json
import sys
from collections.abc import Mapping
from functools import partial
from typing import Any, Final, NamedTuple

from bench import speed
from bench.report import RESULTS
from bench.results import keep
from bench.summary import KAFKA, RECORD
from bench.tables import Grid

# Of what is committed.
LARGEST_FALL: Final = 0.25
_RATIO: Final = "/rate/of/"
_PLAN: Final = speed.Plan(
    systems=speed.SYSTEMS,
    rounds=3,
    axis_rounds=0,
    records=300_000,
    warm_up_records=300_000,
    paced_seconds=0.0,
    java=False,
)


class Comparison(NamedTuple):
    path: str
    committed: float
    fresh: float

    @property
    def change(self) -> float:
        return self.fresh / self.committed - 1

    @property
    def has_fallen(self) -> bool:
        return self.change < -LARGEST_FALL


def compare(committed: Mapping[str, Any], fresh: Mapping[str, Any]) -> list[Comparison]:
    """PURE: every ratio that both results have, the deepest fall first."""
    old, new = committed["figures"], fresh["figures"]
    shared = [path for path in new if _says_something(path) and path in old]
    if not shared:
        raise ValueError("the two results have no ratio in common")
    found = [Comparison(path, old[path]["median"], new[path]["median"]) for path in shared]
    return sorted(found, key=lambda one: one.change)


def _says_something(path: str) -> bool:
    """Whether it is a ratio of like to like: a batch is no entry a record."""
    return _RATIO in path and (path.endswith(f"/{KAFKA}") or f"/{RECORD}/" in path)


def _grids(committed: Mapping[str, Any], fresh: Mapping[str, Any]) -> list[Grid]:
    rows = [
        [
            one.path,
            f"{one.committed:.2f}",
            f"{one.fresh:.2f}",
            f"{one.change:+.0%}",
            "FALLEN" if one.has_fallen else "",
        ]
        for one in compare(committed, fresh)
    ]
    header = ["ratio", "committed", "fresh", "change", ""]
    return [Grid("Ratios of a fresh run beside those committed", header, rows)]


def main() -> int:
    committed = json.loads((RESULTS / "speed.json").read_text())
    out = RESULTS / "quick-check.json"
    if status := keep(partial(speed.measure, _PLAN), partial(_grids, committed), out):
        return status
    found = compare(committed, json.loads(out.read_text()))
    fallen = [one for one in found if one.has_fallen]
    bound = f"{LARGEST_FALL:.0%}"
    print(f"{len(found)} ratios compared, {len(fallen)} fell by more than {bound}")
    return 1 if fallen else 0


if __name__ == "__main__":
    sys.exit(main())
