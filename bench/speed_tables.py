"""Tables of throughput and latency."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from bench.points import AXES, PAIRS, SHAPES, Point
from bench.summary import (
    BATCH,
    CONSUME,
    END_TO_END,
    JAVA_CONSUME,
    JAVA_PRODUCE,
    KAFKA,
    PRODUCE,
    RECORD,
    SMALL,
    XADD,
    XRANGE,
)
from bench.tables import NONE, Figures, Grid, targets_grid


def speed_grids(result: Mapping[str, Any]) -> list[Grid]:
    systems = [*result["plan"]["systems"], XRANGE]
    figures = Figures(result)
    grids = [
        *(_at(figures, systems, point) for point in PAIRS),
        _shapes(figures),
        _along_the_axes(figures, PRODUCE),
        _along_the_axes(figures, CONSUME),
        _java(figures, systems),
        _cpu(figures, systems),
        _paced(figures, systems),
        _memory(figures, systems),
        targets_grid(result),
    ]
    return [grid for grid in grids if grid.rows]


def _at(figures: Figures, systems: Iterable[str], point: Point) -> Grid:
    rows = []
    for system in systems:
        produce, consume = (
            f"{point.cell(kind)}/{system}/rate" for kind in (PRODUCE, CONSUME)
        )
        row = [
            system,
            figures.thousands(produce),
            *(figures.plain(f"{produce}/of/{base}") for base in (KAFKA, XADD)),
            figures.thousands(consume),
            *(figures.plain(f"{consume}/of/{base}") for base in (KAFKA, XADD, XRANGE)),
        ]
        if row.count(NONE) < len(row) - 1:
            rows.append(row)
    header = ["system", "produce, k records/s", "share of Kafka", "share of XADD"]
    header += ["consume, k records/s", "share of Kafka", "share of XADD", "share of XRANGE"]
    title = f"Throughput, {point.label}: median (least to most) over the rounds"
    return Grid(title, header, rows)


def _shapes(figures: Figures) -> Grid:
    rows = []
    for point in SHAPES:
        added = f"{point.shape.cell(PRODUCE)}/{XADD}/rate"
        rate = f"{point.cell(PRODUCE)}/{RECORD}/rate"
        row = [point.label, figures.thousands(added), figures.thousands(rate)]
        rows.append([*row, figures.plain(f"{rate}/of/{XADD}")])
    header = ["records", "XADD, k records/s", "korvet-record, k records/s", "share"]
    return Grid("Produce with keys and headers, record format", header, rows)


def _along_the_axes(figures: Figures, kind: str) -> Grid:
    rows = []
    for point in AXES:
        rates = [f"{point.cell(kind)}/{system}/rate" for system in (KAFKA, BATCH, RECORD)]
        row = [
            point.label,
            *(figures.thousands(rate) for rate in rates),
            *(figures.plain(f"{rate}/of/{KAFKA}") for rate in rates[1:]),
        ]
        if row.count(NONE) < len(row) - 1:
            rows.append(row)
    header = ["point", f"{KAFKA}, k records/s", BATCH, RECORD]
    header += [f"{BATCH}, share of Kafka", f"{RECORD}, share of Kafka"]
    return Grid(f"{kind.capitalize()}, one axis varied at a time", header, rows)


def _java(figures: Figures, systems: Iterable[str]) -> Grid:
    rows = []
    for system in systems:
        row = [system]
        for cell in (JAVA_PRODUCE, JAVA_CONSUME):
            rate = f"{cell}/{system}/rate"
            row += [figures.thousands(rate), figures.plain(f"{rate}/of/{KAFKA}")]
        if row.count(NONE) < len(row) - 1:
            rows.append(row)
    header = ["system", "ProducerPerformance, k records/s", "share of Kafka"]
    header += ["ConsumerPerformance, k records/s", "share of Kafka"]
    return Grid("Kafka's own perf tools as the client, 100 B, acks=1", header, rows)


def _cpu(figures: Figures, systems: Iterable[str]) -> Grid:
    rows = [
        [
            system,
            cell,
            figures.by_role(f"{cell}/{system}/cpu_us", 2),
            figures.median(f"{cell}/{system}/client_busy", 2),
        ]
        for system in systems
        for cell in (PRODUCE, CONSUME)
        if figures.median(f"{cell}/{system}/rate", 0) != NONE
    ]
    header = ["system", "cell", "CPU µs a record", "busiest client thread"]
    return Grid("Where the CPU goes, 100 B", header, rows)


def _paced(figures: Figures, systems: Sequence[str]) -> Grid:
    header = ["system"]
    for cell in ("500/s", "5,000 one-record requests/s"):
        header += [f"{cell}: p50 ms", "p99 ms", "max ms"]
    header += ["until acknowledged: p50 ms", "p99 ms", "requests/s held", "timed out"]
    ends = ("latency/p50_ms", "latency/p99_ms", "latency/max_ms")
    acknowledged = ("acknowledged/p50_ms", "acknowledged/p99_ms")
    rows = [
        [
            system,
            *(figures.plain(f"{END_TO_END}/{system}/{field}") for field in ends),
            *(figures.plain(f"{SMALL}/{system}/{field}") for field in ends),
            *(figures.plain(f"{SMALL}/{system}/{field}") for field in acknowledged),
            figures.plain(f"{SMALL}/{system}/rate", 0),
            figures.median(f"{SMALL}/{system}/timeouts", 0),
        ]
        for system in systems
        if figures.median(f"{SMALL}/{system}/rate", 0) != NONE
    ]
    return Grid("From when a record was due until it was consumed", header, rows)


def _memory(figures: Figures, systems: Iterable[str]) -> Grid:
    cells = (PRODUCE, CONSUME, SMALL)
    rows = [
        [system, *(figures.by_role(f"{cell}/{system}/peak_rss_mb", 0) for cell in cells)]
        for system in systems
        if figures.by_role(f"{PRODUCE}/{system}/peak_rss_mb", 0) != NONE
    ]
    header = ["system", PRODUCE, CONSUME, "one-record requests"]
    return Grid("Peak memory of the processes, MB", header, rows)
