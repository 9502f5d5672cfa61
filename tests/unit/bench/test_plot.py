import json
from pathlib import Path
from typing import Any

from matplotlib.image import imread

from bench.plot import LOOKS, Span, draw, span
from bench.summary import BATCH, KAFKA


def result(**medians: float) -> dict[str, Any]:
    return {
        "figures": {
            path: {"median": median, "least": 0.9 * median, "most": 1.1 * median}
            for path, median in medians.items()
        }
    }


def test_a_span_is_of_the_rounds_in_the_unit_of_the_plot() -> None:
    kept = {"figures": {"a": {"median": 2000.0, "least": 1000.0, "most": 4000.0}}}

    found = span(kept, "a", 1e3)

    assert found == Span(2.0, 1.0, 4.0)
    assert found.errors == ([1.0], [2.0])
    assert span(kept, "b") is None


def test_systems_differ_by_more_than_their_colours() -> None:
    assert len({look.marker for look in LOOKS.values()}) == len(LOOKS)


def test_only_results_that_are_there_are_drawn(tmp_path: Path) -> None:
    rates = {f"produce/{system}/rate": 1e6 for system in (KAFKA, BATCH)}
    (tmp_path / "speed.json").write_text(json.dumps(result(**rates)))

    drawn = draw(tmp_path, tmp_path / "plots")

    assert {file.name for file in drawn} == {
        "throughput.png",
        "axes.png",
        "latency.png",
        "cpu.png",
    }
    for file in drawn:
        assert imread(file).shape[1] > 500


def test_the_same_figures_make_the_same_file(tmp_path: Path) -> None:
    path = "footprint/korvet-batch/share/4096"
    (tmp_path / "costs.json").write_text(json.dumps(result(**{path: 1.2})))

    (first,) = draw(tmp_path, tmp_path / "first")
    (second,) = draw(tmp_path, tmp_path / "second")

    assert first.read_bytes() == second.read_bytes()
