"""Results -> plots, so that no figure is drawn by hand.

    python -m bench.plot

Draws docs/benchmarks/*.png from bench/results/*.json. Colours are those of Okabe and Ito,
which differ for all kinds of colour vision; systems differ by their markers, too.
"""

import json
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, NamedTuple

import matplotlib

matplotlib.use("Agg")

from matplotlib import pyplot
from matplotlib.axes import Axes
from matplotlib.figure import Figure as Plot
from matplotlib.lines import Line2D
from matplotlib.patches import Rectangle

from bench.points import AXES, BASE, PAIRS, Point
from bench.report import RESULTS, ROOT
from bench.summary import (
    BATCH,
    CONSUME,
    END_TO_END,
    FOOTPRINT,
    KAFKA,
    PRODUCE,
    RECORD,
    SMALL,
    XADD,
    XRANGE,
)

PLOTS: Final = ROOT / "docs/benchmarks"


class Look(NamedTuple):
    label: str
    colour: str
    marker: str


LOOKS: Final = {
    KAFKA: Look("Apache Kafka", "#555555", "s"),
    BATCH: Look("Korvet, batch format", "#0072B2", "o"),
    RECORD: Look("Korvet, record format", "#D55E00", "D"),
    XADD: Look("plain Redis, XADD", "#009E73", "^"),
    XRANGE: Look("plain Redis, XRANGE", "#009E73", "v"),
}
_ROLES: Final = {
    "client": "#BBBBBB",
    "broker": "#555555",
    "gateway": "#56B4E9",
    "storage": "#0072B2",
    "redis": "#D55E00",
}
_STYLE: Final[Any] = {
    "figure.dpi": 130,
    "font.size": 9,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": "#E5E5E5",
    "legend.frameon": False,
    "savefig.bbox": "tight",
    "figure.constrained_layout.use": True,
}


class Span(NamedTuple):
    """A median with its least and most."""

    median: float
    least: float
    most: float

    @property
    def errors(self) -> tuple[list[float], list[float]]:
        return [self.median - self.least], [self.most - self.median]


def span(result: Mapping[str, Any], path: str, unit: float = 1.0) -> Span | None:
    found = result["figures"].get(path)
    if found is None:
        return None
    return Span(*(found[name] / unit for name in ("median", "least", "most")))


def throughput(speed: Mapping[str, Any]) -> Plot:
    """Rates at the points that the targets name."""
    plot, panels = pyplot.subplots(1, 2, figsize=(9, 4.2), sharey=True)
    for panel, kind in zip(panels, (PRODUCE, CONSUME), strict=True):
        systems = (KAFKA, BATCH, RECORD, XADD if kind == PRODUCE else XRANGE)
        _rows(panel, [point.label for point in PAIRS])
        for row, point in enumerate(PAIRS):
            for place, system in enumerate(systems):
                rate = span(speed, f"{point.cell(kind)}/{system}/rate", 1e3)
                _dot(panel, system, rate, row + (place - 1.5) * 0.17)
        panel.set_xscale("log")
        panel.set_xticks([100, 200, 500, 1000, 2000, 5000])
        panel.xaxis.set_major_formatter("{x:,.0f}")
        panel.minorticks_off()
        panel.set_xlabel("thousand records a second (logarithmic)")
        panel.set_title(kind.capitalize(), loc="left")
    _legend(plot, (KAFKA, BATCH, RECORD, XADD, XRANGE))
    return plot


def axes(speed: Mapping[str, Any]) -> Plot:
    """Shares of Kafka's rate, each axis varied from the base."""
    points = (BASE, *PAIRS[1:], *AXES)
    plot, panels = pyplot.subplots(1, 2, figsize=(9, 5), sharex=True, sharey=True)
    for panel, kind in zip(panels, (PRODUCE, CONSUME), strict=True):
        _rows(panel, [_difference(point) for point in points])
        for row, point in enumerate(points):
            for place, system in enumerate((BATCH, RECORD)):
                path = f"{point.cell(kind)}/{system}/rate/of/{KAFKA}"
                _dot(panel, system, span(speed, path), row + (place - 0.5) * 0.3)
        panel.axvline(1.0, color=LOOKS[KAFKA].colour, linewidth=1)
        panel.set_xscale("log")
        panel.set_xticks([0.1, 0.2, 0.5, 1, 2, 5])
        panel.xaxis.set_major_formatter("{x:g}")
        panel.minorticks_off()
        panel.set_xlabel("share of Apache Kafka's rate (logarithmic)")
        panel.set_title(kind.capitalize(), loc="left")
    _legend(plot, (BATCH, RECORD))
    return plot


def _difference(point: Point) -> str:
    """What differs from the base."""
    if point == BASE:
        return f"base: {BASE.label}"
    words, base = point.label.split(", "), BASE.label.split(", ")
    return ", ".join(word for word in words if word not in base)


def latency(speed: Mapping[str, Any]) -> Plot:
    """Percentiles from due to consumed."""
    loads = ((END_TO_END, "500 records/s"), (SMALL, "5,000/s, one record a request"))
    shares = ("p50", "p90", "p99", "max")
    plot, panels = pyplot.subplots(1, 2, figsize=(9, 3.6), sharey=True)
    for panel, (cell, title) in zip(panels, loads, strict=True):
        for system in (KAFKA, BATCH, RECORD):
            look = LOOKS[system]
            found = [span(speed, f"{cell}/{system}/latency/{one}_ms") for one in shares]
            heights = [one.median for one in found if one is not None]
            if len(heights) == len(shares):
                panel.plot(
                    shares, heights, color=look.colour, marker=look.marker, label=look.label
                )
        panel.set_yscale("log")
        panel.yaxis.set_major_formatter("{x:g}")
        panel.set_title(title, loc="left")
    panels[0].set_ylabel("ms from due to consumed (logarithmic)")
    _legend(plot, (KAFKA, BATCH, RECORD))
    return plot


def cpu(speed: Mapping[str, Any]) -> Plot:
    """CPU of every process for a record of 100 bytes."""
    plot, panels = pyplot.subplots(1, 2, figsize=(9, 2.8), sharey=True)
    for panel, kind in zip(panels, (PRODUCE, CONSUME), strict=True):
        systems = (KAFKA, BATCH, RECORD)
        _rows(panel, [LOOKS[system].label for system in systems])
        for row, system in enumerate(systems):
            left = 0.0
            for role, colour in _ROLES.items():
                part = span(speed, f"{kind}/{system}/cpu_us/{role}")
                if part is not None:
                    panel.barh(row, part.median, 0.6, left, color=colour)
                    left += part.median
        panel.set_xlabel("CPU µs a record of 100 B")
        panel.set_title(kind.capitalize(), loc="left")
    handles = [Rectangle((0, 0), 1, 1, color=colour) for colour in _ROLES.values()]
    plot.legend(handles, list(_ROLES), loc="outside lower center", ncols=len(_ROLES))
    return plot


def footprint(costs: Mapping[str, Any]) -> Plot:
    """Memory in Redis over batch sizes."""
    plot, panel = pyplot.subplots(figsize=(6.5, 3.4))
    for system, bound in ((BATCH, 1.2), (RECORD, 1.6)):
        look = LOOKS[system]
        path = f"{FOOTPRINT}/{system}/share/"
        found = [
            (int(name.removeprefix(path)) / 1024, figure["median"])
            for name, figure in costs["figures"].items()
            if name.startswith(path)
        ]
        if not found:
            continue
        sizes, shares = zip(*sorted(found), strict=True)
        panel.plot(
            sizes,
            shares,
            color=look.colour,
            marker=look.marker,
            markersize=4,
            label=look.label,
        )
        panel.axhline(bound, color=look.colour, linestyle=":", linewidth=1)
        said = "target, of the mean" if system == BATCH else "target"
        beside = panel.get_yaxis_transform()
        panel.text(1.01, bound, said, transform=beside, va="center", color=look.colour)
    panel.set_xscale("log", base=2)
    panel.set_xticks([4, 8, 16, 32, 64])
    panel.xaxis.set_major_formatter("{x:g}")
    panel.set_ylim(1.0, 1.7)
    panel.set_xlabel("size of a batch, KiB (logarithmic)")
    panel.set_ylabel("bytes in Redis a byte of payload")
    _legend(plot, (BATCH, RECORD))
    return plot


def _rows(panel: Axes, labels: Sequence[str]) -> None:
    panel.set_yticks(range(len(labels)), labels)
    panel.set_ylim(len(labels) - 0.5, -0.5)
    panel.grid(axis="y", visible=False)


def _dot(panel: Axes, system: str, found: Span | None, height: float) -> None:
    """A median, with whiskers to the least and the most."""
    if found is not None:
        look = LOOKS[system]
        panel.errorbar(
            found.median,
            height,
            xerr=found.errors,
            color=look.colour,
            marker=look.marker,
            markersize=5,
            linewidth=1.2,
        )


def _legend(plot: Plot, systems: Sequence[str]) -> None:
    handles = [
        Line2D([], [], color=look.colour, marker=look.marker, linestyle="none")
        for look in (LOOKS[system] for system in systems)
    ]
    labels = [LOOKS[system].label for system in systems]
    plot.legend(handles, labels, loc="outside lower center", ncols=len(systems))


_PLOTS: Final[Mapping[str, tuple[str, Callable[[Mapping[str, Any]], Plot]]]] = {
    "throughput": ("speed", throughput),
    "axes": ("speed", axes),
    "latency": ("speed", latency),
    "cpu": ("speed", cpu),
    "footprint": ("costs", footprint),
}


def draw(results: Path, folder: Path) -> list[Path]:
    """Every plot whose result is there."""
    drawn = []
    folder.mkdir(exist_ok=True)
    with matplotlib.rc_context(_STYLE):
        for name, (source, make) in _PLOTS.items():
            file = results / f"{source}.json"
            if file.exists():
                plot = make(json.loads(file.read_text()))
                # No date and version in it: the same figures make the same file.
                plot.savefig(folder / f"{name}.png", metadata={"Software": None})
                pyplot.close(plot)
                drawn.append(folder / f"{name}.png")
    return drawn


def main() -> int:
    for file in draw(RESULTS, PLOTS):
        print(f"drawn: {file}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
