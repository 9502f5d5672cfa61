"""How fast: Korvet beside Apache Kafka and beside plain Redis, in interleaved rounds.

    python -m bench.speed [--quick] [--check]

All systems stay up for the whole run, and each round measures every one of them at each
point, in an order that turns, so that a slow minute of the machine falls on all alike.
"""

import argparse
import shutil
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any, Final

from bench import kafka_tools, load, machine, paced, redis_limit, summary
from bench.peer import Peer
from bench.points import AXES, BASE, PAIRS, SHAPES, Point
from bench.processes import run_apart
from bench.redis_limit import RedisPeer
from bench.report import RESULTS
from bench.results import keep, result_of
from bench.speed_tables import speed_grids
from bench.summary import BATCH, CONSUME, KAFKA, PRODUCE, RECORD, XADD, XRANGE, Sample
from bench.systems import opened, turned
from bench.targets import END_TO_END_RATE, SMALL_REQUEST_RATE, TARGETS

SYSTEMS: Final = (XADD, KAFKA, BATCH, RECORD)
_CELL_DEADLINE: Final = 180.0
# An entry a record: where a key and headers are fields of their own.
_BY_RECORD: Final = (XADD, RECORD)
# So many records of the larger sizes that a measurement moves about as many bytes.
_MOST_BYTES: Final = 250_000_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """How much is measured."""

    systems: tuple[str, ...]
    rounds: int
    # How many of the rounds also measure the points along the axes.
    axis_rounds: int
    # Along the axes, half as many.
    records: int
    # Sent to each system once before the first round: the JVM compiles, pools fill.
    warm_up_records: int
    # None of it where this is 0.
    paced_seconds: float
    # Kafka's own perf tools, too.
    java: bool

    def points(self, number: int) -> tuple[Point, ...]:
        along_the_axes = AXES if number < self.axis_rounds else ()
        return (*PAIRS, *SHAPES, *along_the_axes)

    def count(self, point: Point) -> int:
        records = self.records // 2 if point in AXES else self.records
        return min(records, _MOST_BYTES // point.size)


@dataclass(frozen=True, slots=True, kw_only=True)
class Bench:
    """The systems, running, and the plan."""

    plan: Plan
    peers: dict[str, Peer]
    redis: RedisPeer | None

    def rounds(self) -> Iterator[Sample]:
        self._warm_up()
        for number in range(self.plan.rounds):
            for point in self.plan.points(number):
                for system in turned(measured_at(point, self.plan.systems), number):
                    yield from self._throughput(number, system, point)
            for system in turned(tuple(self.peers), number):
                yield from self._paced(number, self.peers[system])
                if number < self.plan.axis_rounds and self.plan.java:
                    yield from self._java(number, self.peers[system])

    def _warm_up(self) -> None:
        for peer in self.peers.values():
            self._fill_and_read(peer, BASE, self.plan.warm_up_records)
            for point in AXES if self.plan.axis_rounds else ():
                # What the first of them compiles would be the others' advantage.
                self._fill_and_read(peer, point, self.plan.count(point) // 10)
            for _ in self._paced(0, peer):
                pass

    def _throughput(self, number: int, system: str, point: Point) -> Iterator[Sample]:
        count = self.plan.count(point)
        if system == XADD:
            yield from self._plain_redis(number, point, count)
            return
        produced, consumed = self._fill_and_read(self.peers[system], point, count)
        yield Sample(number, point.cell(PRODUCE), system, asdict(produced))
        yield Sample(number, point.cell(CONSUME), system, asdict(consumed))

    def _fill_and_read(
        self, peer: Peer, point: Point, count: int
    ) -> tuple[load.Produced, load.Consumed]:
        with peer.topic(point.partitions) as topic:
            places = load.places(topic, point)
            produced = run_apart(_CELL_DEADLINE, load.produce, peer, places, count, point)
            consumed = run_apart(_CELL_DEADLINE, load.consume, peer, places, count, point)
        return produced, consumed

    def _plain_redis(self, number: int, point: Point, count: int) -> Iterator[Sample]:
        assert self.redis is not None
        added = run_apart(_CELL_DEADLINE, redis_limit.xadd, self.redis, count, point)
        yield Sample(number, point.cell(PRODUCE), XADD, asdict(added))
        read = run_apart(_CELL_DEADLINE, redis_limit.xrange, self.redis, count, point)
        yield Sample(number, point.cell(CONSUME), XRANGE, asdict(read))

    def _paced(self, number: int, peer: Peer) -> Iterator[Sample]:
        if not self.plan.paced_seconds:
            return
        for cell, rate in (
            (summary.END_TO_END, END_TO_END_RATE),
            (summary.SMALL, SMALL_REQUEST_RATE),
        ):
            with peer.topic() as topic:
                ended = run_apart(
                    _CELL_DEADLINE,
                    paced.end_to_end,
                    peer,
                    topic,
                    rate,
                    self.plan.paced_seconds,
                    BASE.size,
                    one_a_request=cell == summary.SMALL,
                )
            yield Sample(number, cell, peer.name, asdict(ended))

    def _java(self, number: int, peer: Peer) -> Iterator[Sample]:
        count = self.plan.records
        with peer.topic() as topic:
            produced = kafka_tools.produce(peer, topic, count, BASE.size)
            yield Sample(number, summary.JAVA_PRODUCE, peer.name, asdict(produced))
            consumed = kafka_tools.consume(peer, topic, count)
            yield Sample(number, summary.JAVA_CONSUME, peer.name, asdict(consumed))


def measured_at(point: Point, systems: Sequence[str]) -> tuple[str, ...]:
    """Plain Redis knows only the shapes of records; some shapes only matter there."""
    if point in SHAPES:
        return tuple(system for system in systems if system in _BY_RECORD)
    if point != point.shape:
        return tuple(system for system in systems if system != XADD)
    return tuple(systems)


def measure(plan: Plan) -> dict[str, Any]:
    """Start the systems, run the rounds, return the result as it is kept."""
    begun = machine.provenance()
    with ExitStack() as stack:
        folder = Path(
            stack.enter_context(tempfile.TemporaryDirectory(prefix="korvet-bench-"))
        )
        bench = _start(plan, folder, stack)
        samples: list[Sample] = []
        for sample in bench.rounds():
            samples.append(sample)
            _say(sample, plan)
    return result_of(begun, plan, samples, TARGETS)


def _start(plan: Plan, folder: Path, stack: ExitStack) -> Bench:
    redis = None
    if XADD in plan.systems:
        redis = stack.enter_context(redis_limit.redis(folder / XADD))
    peers = {
        system: stack.enter_context(opened(system, folder / system))
        for system in plan.systems
        if system != XADD
    }
    return Bench(plan=plan, peers=peers, redis=redis)


def _say(sample: Sample, plan: Plan) -> None:
    result = sample.result
    text = f"{result['rate']:>12,.0f} records/s" if "rate" in result else ""
    if latency := result.get("latency"):
        text += f"   p50 {latency['p50_ms']:.2f} ms, p99 {latency['p99_ms']:.2f} ms"
    where = f"round {sample.round + 1}/{plan.rounds}"
    print(f"{where}  {sample.cell:24} {sample.system:14}{text}", flush=True)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench.speed", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="under three minutes")
    parser.add_argument("--check", action="store_true", help="exit 1 if a target is missed")
    parser.add_argument("--systems", nargs="+", choices=SYSTEMS, default=SYSTEMS)
    parser.add_argument("--rounds", type=int)
    parser.add_argument("--records", type=int, help="in each throughput measurement")
    parser.add_argument("--out", type=Path, help="where the JSON goes")
    return parser.parse_args()


def main() -> int:
    chosen = _arguments()
    plan = Plan(
        systems=tuple(chosen.systems),
        rounds=chosen.rounds or (1 if chosen.quick else 3),
        axis_rounds=0 if chosen.quick else 2,
        records=chosen.records or (300_000 if chosen.quick else 600_000),
        warm_up_records=100_000 if chosen.quick else 300_000,
        paced_seconds=2.0 if chosen.quick else 5.0,
        java=not chosen.quick and shutil.which("java") is not None,
    )
    out: Path = chosen.out or RESULTS / ("quick.json" if chosen.quick else "speed.json")
    return keep(partial(measure, plan), speed_grids, out, check=chosen.check)


if __name__ == "__main__":
    sys.exit(main())
