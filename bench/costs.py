"""What a server costs before any load: start, memory, topics, connections.

    python -m bench.costs [--quick] [--check] [--only start footprint connections topics]

Each part has fresh servers. Topics are compared in interleaved rounds between two servers
of a system, one of which has a thousand of them.
"""

import argparse
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass
from functools import partial
from math import exp2, log2
from pathlib import Path
from statistics import fmean
from typing import Any, Final

from bench import crowd, footprint, load, machine, startup
from bench.cost_tables import cost_grids
from bench.load import Place
from bench.peer import Peer
from bench.points import Point
from bench.processes import run_apart
from bench.report import RESULTS
from bench.results import keep, result_of
from bench.summary import (
    BATCH,
    CONNECTIONS,
    FOOTPRINT,
    KAFKA,
    METADATA,
    RECORD,
    START,
    TOPICS,
    Sample,
)
from bench.systems import opened, turned
from bench.targets import COST_TARGETS

SYSTEMS: Final = (KAFKA, BATCH, RECORD)
_SIZE: Final = 100
_KEY_SIZE: Final = 16
_SMALLEST_BATCH: Final = 4 << 10
_LARGEST_BATCH: Final = 64 << 10
_CELL_DEADLINE: Final = 240.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """How much is measured."""

    systems: tuple[str, ...]
    starts: int
    # Batch sizes from one to its double, evenly spread: Redis rounds each one up.
    sizes_a_doubling: int
    payload_bytes: int
    connections: int
    idle_seconds: float
    topics: int
    partitions: int
    topic_rounds: int
    topic_records: int

    def batch_sizes(self) -> list[int]:
        steps = self.sizes_a_doubling
        doublings = log2(_LARGEST_BATCH / _SMALLEST_BATCH)
        return [
            round(_SMALLEST_BATCH * exp2(number / steps))
            for number in range(int(doublings * steps) + 1)
        ]


def starts(plan: Plan) -> Iterator[Sample]:
    """How long a start takes; with records of either format the same."""
    systems = _without_record(plan.systems)
    for number in range(plan.starts):
        for system in turned(systems, number):
            yield Sample(number, START, system, asdict(startup.start(system)))


def footprints(plan: Plan) -> Iterator[Sample]:
    """Memory in Redis, over batch sizes."""
    for system in plan.systems:
        if system == KAFKA:
            continue
        with _fresh(system) as peer:
            found = [
                run_apart(
                    _CELL_DEADLINE,
                    footprint.footprint,
                    peer,
                    batch_bytes,
                    plan.payload_bytes,
                    _SIZE,
                    _KEY_SIZE,
                )
                for batch_bytes in plan.batch_sizes()
            ]
        result = {
            "mean_share": fmean(one.share for one in found),
            "most_share": max(one.share for one in found),
            "bytes_a_record": fmean(one.bytes_a_record for one in found),
            "share": {str(one.batch_bytes): one.share for one in found},
        }
        yield Sample(0, FOOTPRINT, system, result)


def connections(plan: Plan) -> Iterator[Sample]:
    """Connections that do nothing; they know no format."""
    for system in _without_record(plan.systems):
        with _fresh(system) as peer:
            step, count = crowd.idle_connections, plan.connections
            found = run_apart(_CELL_DEADLINE, step, peer, count, plan.idle_seconds)
        yield Sample(0, CONNECTIONS, system, asdict(found))


def topics(plan: Plan) -> Iterator[Sample]:
    """One topic alone, one among many, and all of the many."""
    for system in plan.systems:
        with _fresh(system) as alone, _fresh(system) as crowded:
            step = crowd.create_topics
            names, seconds = run_apart(
                _CELL_DEADLINE, step, crowded, plan.topics, plan.partitions
            )
            told = run_apart(_CELL_DEADLINE, crowd.metadata, crowded)
            result = {"create_s": seconds, **asdict(told)}
            yield Sample(0, METADATA, system, result)
            for peer in (alone, crowded):
                _one_topic(peer, plan)
            for number in range(plan.topic_rounds):
                measured = {
                    "alone": partial(_one_topic, alone, plan),
                    "among": partial(_one_topic, crowded, plan),
                    "all": partial(_all_topics, crowded, plan, names, number),
                }
                yield Sample(number, TOPICS, system, _compared(measured, number))


def _compared(
    measured: Mapping[str, Callable[[], dict[str, Any]]], number: int
) -> dict[str, Any]:
    """Every way in an order of its own, and its rates as shares of those alone."""
    found = {way: measured[way]() for way in turned(tuple(measured), number)}
    base = found["alone"]
    for rates in found.values():
        rates["produce_share"] = rates["produce_rate"] / base["produce_rate"]
        rates["consume_share"] = rates["consume_rate"] / base["consume_rate"]
    return found


def _one_topic(peer: Peer, plan: Plan) -> dict[str, Any]:
    with peer.topic(plan.partitions) as topic:
        places = [(topic, partition) for partition in range(plan.partitions)]
        return _rates(peer, places, plan)


def _all_topics(
    peer: Peer, plan: Plan, names: Sequence[str], number: int
) -> dict[str, Any]:
    """One partition of each, another in each round: what is read was written in it."""
    places = [(name, (at + number) % plan.partitions) for at, name in enumerate(names)]
    return _rates(peer, places, plan)


def _rates(peer: Peer, places: Sequence[Place], plan: Plan) -> dict[str, Any]:
    """Batches are as large for many topics as for one: it is not they that are compared."""
    count = plan.topic_records
    point = Point(size=_SIZE, partitions=len(places), turn=count // plan.topics)
    produced = run_apart(_CELL_DEADLINE, load.produce, peer, places, count, point)
    consumed = run_apart(_CELL_DEADLINE, load.consume, peer, places, count, point)
    return {
        "produce_rate": produced.rate,
        "consume_rate": consumed.rate,
        "unreported": produced.unreported,
        "failures": produced.failures,
        "losses": asdict(consumed.losses),
        "produce_cpu_us": produced.cpu_us,
        "consume_cpu_us": consumed.cpu_us,
    }


def _without_record(systems: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(system for system in systems if system != RECORD)


@contextmanager
def _fresh(system: str) -> Iterator[Peer]:
    with ExitStack() as stack:
        folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="korvet-bench-"))
        yield stack.enter_context(opened(system, Path(folder) / system))


PARTS: Final = {
    "start": starts,
    "footprint": footprints,
    "connections": connections,
    "topics": topics,
}


def measure(plan: Plan, parts: Sequence[str]) -> dict[str, Any]:
    begun = machine.provenance()
    samples: list[Sample] = []
    for part in parts:
        for sample in PARTS[part](plan):
            samples.append(sample)
            print(f"{sample.cell:18} {sample.system:14} {_said(sample)}", flush=True)
    return result_of(begun, plan, samples, COST_TARGETS)


def _said(sample: Sample) -> str:
    result = sample.result
    if sample.cell == TOPICS:
        return ", ".join(
            f"{way}: {found['produce_share']:.2f} and {found['consume_share']:.2f}"
            for way, found in result.items()
        )
    return ", ".join(
        f"{name} {value:.2f}" for name, value in result.items() if isinstance(value, float)
    )


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.costs", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="under four minutes")
    parser.add_argument("--check", action="store_true", help="exit 1 if a target is missed")
    parser.add_argument("--systems", nargs="+", choices=SYSTEMS, default=SYSTEMS)
    parser.add_argument("--only", nargs="+", choices=PARTS, default=tuple(PARTS))
    parser.add_argument("--out", type=Path, help="where the JSON goes")
    chosen = parser.parse_args()
    quick = chosen.quick
    plan = Plan(
        systems=tuple(chosen.systems),
        starts=3 if quick else 7,
        sizes_a_doubling=2 if quick else 8,
        payload_bytes=2_000_000 if quick else 4_000_000,
        connections=1000,
        idle_seconds=5.0 if quick else 20.0,
        topics=1000,
        partitions=10,
        topic_rounds=1 if quick else 3,
        topic_records=500_000,
    )
    out: Path = chosen.out or RESULTS / ("quick-costs.json" if quick else "costs.json")
    return keep(partial(measure, plan, chosen.only), cost_grids, out, check=chosen.check)


if __name__ == "__main__":
    sys.exit(main())
