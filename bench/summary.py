"""PURE: samples of many rounds -> medians, ratios with their spread, targets met or missed.

A figure goes by a path, "cell/system/field" ("produce/kafka/rate",
"consume/korvet-batch/cpu_us/storage"). A ratio is taken inside each round, between
neighbours in time, and only then is the median taken: on a noisy machine that is steadier
than a ratio of medians. Its path ends in the system it is a share of
("produce/korvet-batch/rate/of/kafka").
"""

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from statistics import median
from typing import Any, Final, NamedTuple

from bench.points import shape_cells

KAFKA: Final = "kafka"
# Plain Redis, adding and reading.
XADD: Final = "xadd"
XRANGE: Final = "xrange"
BATCH: Final = "korvet-batch"
RECORD: Final = "korvet-record"

# With what differs from the base point behind it (bench.points).
PRODUCE: Final = "produce"
CONSUME: Final = "consume"
END_TO_END: Final = "end-to-end"
# The same with one record a request, at a higher rate.
SMALL: Final = "small-requests"

IDLE: Final = "idle-members"
# A quarter of the groups: what each of them costs.
IDLE_FEWER: Final = "idle-members-fewer"
COMMITS: Final = "offset-commits"

TRANSACTIONS: Final = "transactions"

# Kafka's own perf tools as the client.
JAVA_PRODUCE: Final = "java-produce"
JAVA_CONSUME: Final = "java-consume"

START: Final = "start"
FOOTPRINT: Final = "footprint"
CONNECTIONS: Final = "idle-connections"
METADATA: Final = "metadata"
TOPICS: Final = "topics"

# Fields that a round's other systems are compared in.
_COMPARED: Final = ("rate", "again_s", "beyond_s")
# The cells in which plain Redis adds, and reads, the same records.
_ADDED: Final = shape_cells((PRODUCE, CONSUME), PRODUCE)
_READ: Final = shape_cells((CONSUME,), CONSUME)


# What must not happen, by the name under which a result counts it.
RECORD_FAULTS: Final = {
    "lost": "records acknowledged and not read back",
    "unreported": "records without a delivery report",
    "foreign": "values read that nobody sent",
    "duplicated": "records read twice",
    "out_of_order": "records read out of order",
    "timeouts": "requests that timed out",
    "retries": "requests sent again",
    "failures": "records whose delivery failed",
}
GROUP_FAULTS: Final = {
    "lost": "partitions whose last acknowledged commit was not read back",
    "joins": "joins of members that were idle",
}


def join_cell(size: int) -> str:
    """A member joins, and the group has this many."""
    return f"join-{size}"


def death_cell(size: int) -> str:
    """A member dies of a group of this many."""
    return f"death-{size}"


class Sample(NamedTuple):
    """What one cell gave for one system in one round."""

    round: int
    cell: str
    system: str
    result: Mapping[str, Any]


class Figure(NamedTuple):
    """One number over all rounds."""

    median: float
    least: float
    most: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    label: str
    path: str
    at_least: float | None = None
    at_most: float | None = None


class Verdict(NamedTuple):
    label: str
    path: str
    # None: the run did not measure it.
    value: float | None
    bound: str
    met: bool


def figures(samples: Sequence[Sample]) -> dict[str, Figure]:
    rounds: defaultdict[str, dict[int, float]] = defaultdict(dict)
    for sample in samples:
        for path, value in _numbers(sample.result):
            rounds[f"{sample.cell}/{sample.system}/{path}"][sample.round] = value
    for path, ratios in list(_ratios(rounds)):
        rounds[path] = ratios
    return {path: _figure(by_round.values()) for path, by_round in rounds.items()}


def judge(
    targets: Iterable[Target],
    samples: Sequence[Sample],
    found: Mapping[str, Figure],
    faults: Mapping[str, str] = RECORD_FAULTS,
) -> list[Verdict]:
    """Every target's verdict, and at the end that nothing went wrong in any run."""
    verdicts = [_verdict(target, found) for target in targets]
    return [*verdicts, *_faults(samples, faults)]


def _verdict(target: Target, found: Mapping[str, Figure]) -> Verdict:
    figure = found.get(target.path)
    if target.at_least is not None:
        bound = f"≥ {target.at_least:g}"
        met = figure is not None and figure.median >= target.at_least
    else:
        assert target.at_most is not None
        bound = f"≤ {target.at_most:g}"
        met = figure is not None and figure.median <= target.at_most
    value = None if figure is None else figure.median
    return Verdict(target.label, target.path, value, bound, met)


def _faults(samples: Sequence[Sample], faults: Mapping[str, str]) -> Iterator[Verdict]:
    for name, label in faults.items():
        count = sum(
            value
            for sample in samples
            for path, value in _numbers(sample.result)
            if name in path.split("/")
        )
        yield Verdict(f"{label}, in all runs", f"*/{name}", count, "= 0", count == 0)


def _ratios(
    rounds: Mapping[str, Mapping[int, float]],
) -> Iterator[tuple[str, dict[int, float]]]:
    for path, values in rounds.items():
        cell, system, field = path.split("/", 2)
        if field not in _COMPARED or system in (KAFKA, XADD, XRANGE):
            continue
        # What plain Redis adds is the measure for reading too.
        bases = {
            KAFKA: cell,
            XADD: _ADDED.get(cell, cell),
            XRANGE: _READ.get(cell, cell),
        }
        for base, base_cell in bases.items():
            below = rounds.get(f"{base_cell}/{base}/{field}", {})
            shared = values.keys() & below.keys()
            if shared:
                ratios = {one: values[one] / below[one] for one in shared}
                yield f"{path}/of/{base}", ratios


def _numbers(result: Mapping[str, Any], above: str = "") -> Iterator[tuple[str, float]]:
    for name, value in result.items():
        if isinstance(value, Mapping):
            yield from _numbers(value, f"{above}{name}/")
        elif isinstance(value, int | float):
            yield f"{above}{name}", float(value)


def _figure(values: Iterable[float]) -> Figure:
    ranked = sorted(values)
    return Figure(median(ranked), ranked[0], ranked[-1])
