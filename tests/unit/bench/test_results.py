import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from bench.processes import PeerError
from bench.results import keep, result_of
from bench.summary import KAFKA, PRODUCE, Sample, Target
from bench.tables import Grid, targets_grid


@dataclass(frozen=True)
class Plan:
    rounds: int


def grids(result: Mapping[str, Any]) -> list[Grid]:
    return [targets_grid(result)]


def measured(rate: float) -> dict[str, Any]:
    target = Target(label="fast", path=f"{PRODUCE}/{KAFKA}/rate", at_least=10.0)
    samples = [Sample(0, PRODUCE, KAFKA, {"rate": rate})]
    return result_of({"commit": "abc"}, Plan(rounds=1), samples, [target])


def test_a_result_is_kept_with_its_origin_plan_and_samples(tmp_path: Path) -> None:
    out = tmp_path / "new" / "speed.json"

    status = keep(lambda: measured(20.0), grids, out, check=True)

    kept = json.loads(out.read_text())
    assert status == 0
    assert (kept["commit"], kept["plan"]) == ("abc", {"rounds": 1})
    assert kept["samples"][0]["result"] == {"rate": 20.0}
    assert kept["figures"]["produce/kafka/rate"]["median"] == 20.0


def test_a_missed_target_fails_a_run_that_is_checked(tmp_path: Path) -> None:
    out = tmp_path / "speed.json"

    assert keep(lambda: measured(5.0), grids, out, check=True) == 1
    assert keep(lambda: measured(5.0), grids, out) == 0


def test_a_system_that_does_not_start_leaves_no_result(tmp_path: Path) -> None:
    def measure() -> dict[str, Any]:
        raise PeerError("no Java")

    assert keep(measure, grids, tmp_path / "speed.json") == 2
    assert not (tmp_path / "speed.json").exists()
