"""How a run becomes a result, and how results are kept and shown."""

import json
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bench import summary
from bench.processes import PeerError, unwind_on_sigterm
from bench.report import print_grids
from bench.summary import RECORD_FAULTS, Sample, Target
from bench.tables import Grid

if TYPE_CHECKING:
    from _typeshed import DataclassInstance


def result_of(
    begun: Mapping[str, Any],
    plan: "DataclassInstance",
    samples: Sequence[Sample],
    targets: Iterable[Target],
    faults: Mapping[str, str] = RECORD_FAULTS,
) -> dict[str, Any]:
    """A run as it is kept."""
    found = summary.figures(samples)
    verdicts = summary.judge(targets, samples, found, faults)
    return {
        **begun,
        "plan": asdict(plan),
        "targets": [verdict._asdict() for verdict in verdicts],
        "figures": {path: figure._asdict() for path, figure in found.items()},
        "samples": [sample._asdict() for sample in samples],
    }


def keep(
    measure: Callable[[], Mapping[str, Any]],
    grids: Callable[[Mapping[str, Any]], Iterable[Grid]],
    out: Path,
    *,
    check: bool = False,
) -> int:
    """Measure, write and show; the exit status, 1 if a target to be checked is missed."""
    unwind_on_sigterm()
    try:
        result = measure()
    except PeerError as error:
        print(error, file=sys.stderr)
        return 2
    out.parent.mkdir(exist_ok=True)
    out.write_text(json.dumps(result, indent=1, ensure_ascii=False) + "\n")
    print_grids(grids(result))
    print(f"written to {out}")
    missed = [target for target in result["targets"] if not target["met"]]
    return 1 if check and missed else 0
