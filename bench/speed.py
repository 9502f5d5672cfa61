"""How fast: Korvet beside Apache Kafka and beside plain Redis, in interleaved rounds.

    python -m bench.speed [--quick] [--check]

All systems stay up for the whole run, and each round measures every one of them, in an
order that turns, so that a slow minute of the machine falls on all alike.
"""

import argparse
import json
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any, Final, TypeVar

from bench import load, machine, paced, redis_limit, summary
from bench.kafka_peer import kafka
from bench.korvet_peer import korvet
from bench.load import Client
from bench.peer import Peer
from bench.processes import PeerError, run_apart
from bench.redis_limit import RedisPeer
from bench.report import print_speed
from bench.summary import BATCH, KAFKA, RECORD, XADD, Sample
from bench.targets import END_TO_END_RATE, SMALL_REQUEST_RATE, TARGETS

RESULTS: Final = Path(__file__).resolve().parent / "results"
SYSTEMS: Final = (XADD, KAFKA, BATCH, RECORD)
_SIZE: Final = 100
_KEY_SIZE: Final = 16
_CELL_DEADLINE: Final = 180.0
# Which client fills and reads which cells.
_CELLS: Final = {
    Client.FAST: (summary.PRODUCE, summary.CONSUME),
    Client.PLAIN: (summary.PLAIN_PRODUCE, summary.PLAIN_CONSUME),
}

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """How much is measured."""

    systems: tuple[str, ...]
    rounds: int
    records: int
    # Sent to each system once before the first round: the JVM compiles, pools fill.
    warm_up_records: int
    paced_seconds: float
    # Also clients with one call a record, and records with keys.
    variants: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Bench:
    """The systems, running, and the plan."""

    plan: Plan
    peers: dict[str, Peer]
    redis: RedisPeer | None

    def rounds(self) -> Iterator[Sample]:
        self._warm_up()
        for number in range(self.plan.rounds):
            for system in turned(self.plan.systems, number):
                yield from self._throughput(number, system)
            for system in turned(tuple(self.peers), number):
                yield from self._paced(number, self.peers[system])

    def _warm_up(self) -> None:
        for peer in self.peers.values():
            with peer.topic() as topic:
                _apart(load.produce, peer, topic, self.plan.warm_up_records, Client.FAST)
                _apart(load.consume, peer, topic, self.plan.warm_up_records, Client.FAST)
                rate, seconds = SMALL_REQUEST_RATE, self.plan.paced_seconds
                run_apart(
                    _CELL_DEADLINE, paced.small_requests, peer, topic, rate, seconds, _SIZE
                )

    def _throughput(self, number: int, system: str) -> Iterator[Sample]:
        count = self.plan.records
        if system == XADD:
            yield from self._xadd(number)
            return
        peer = self.peers[system]
        clients = tuple(Client) if self.plan.variants else (Client.FAST,)
        for client in clients:
            produce, consume = _CELLS[client]
            with peer.topic() as topic:
                produced = _apart(load.produce, peer, topic, count, client)
                yield Sample(number, produce, system, asdict(produced))
                consumed = _apart(load.consume, peer, topic, count, client)
                yield Sample(number, consume, system, asdict(consumed))
        if system == RECORD and self.plan.variants:
            with peer.topic() as topic:
                step = partial(load.produce, key_size=_KEY_SIZE)
                produced = _apart(step, peer, topic, count, Client.FAST)
                yield Sample(number, summary.KEYED_PRODUCE, system, asdict(produced))

    def _xadd(self, number: int) -> Iterator[Sample]:
        assert self.redis is not None
        key_sizes = {summary.PRODUCE: 0}
        if self.plan.variants:
            key_sizes[summary.KEYED_PRODUCE] = _KEY_SIZE
        for cell, key_size in key_sizes.items():
            step = partial(redis_limit.xadd, key_size=key_size)
            added = run_apart(_CELL_DEADLINE, step, self.redis, self.plan.records, _SIZE)
            yield Sample(number, cell, XADD, asdict(added))

    def _paced(self, number: int, peer: Peer) -> Iterator[Sample]:
        seconds = self.plan.paced_seconds
        with peer.topic() as topic:
            ended = run_apart(
                _CELL_DEADLINE,
                paced.end_to_end,
                peer,
                topic,
                END_TO_END_RATE,
                seconds,
                _SIZE,
            )
            yield Sample(number, summary.END_TO_END, peer.name, asdict(ended))
        with peer.topic() as topic:
            rate = SMALL_REQUEST_RATE
            small = run_apart(
                _CELL_DEADLINE, paced.small_requests, peer, topic, rate, seconds, _SIZE
            )
            yield Sample(number, summary.SMALL, peer.name, asdict(small))
            read = _apart(load.consume, peer, topic, int(rate * seconds), Client.FAST)
            losses = {"losses": asdict(read.losses)}
            yield Sample(number, summary.READ_BACK, peer.name, losses)


def _apart(
    step: Callable[[Peer, str, int, int, Client], T],
    peer: Peer,
    topic: str,
    count: int,
    client: Client,
) -> T:
    return run_apart(_CELL_DEADLINE, step, peer, topic, count, _SIZE, client)


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
    found = summary.figures(samples)
    verdicts = summary.judge(TARGETS, samples, found)
    return {
        **begun,
        "plan": asdict(plan),
        "targets": [verdict._asdict() for verdict in verdicts],
        "figures": {path: figure._asdict() for path, figure in found.items()},
        "samples": [sample._asdict() for sample in samples],
    }


def _start(plan: Plan, folder: Path, stack: ExitStack) -> Bench:
    def start(system: str) -> Peer:
        if system == KAFKA:
            return stack.enter_context(kafka(folder / system))
        return stack.enter_context(korvet(folder / system, system.partition("-")[2]))

    redis = None
    if XADD in plan.systems:
        redis = stack.enter_context(redis_limit.redis(folder / XADD))
    peers = {system: start(system) for system in plan.systems if system != XADD}
    return Bench(plan=plan, peers=peers, redis=redis)


def turned(systems: tuple[str, ...], by: int) -> tuple[str, ...]:
    cut = by % len(systems) if systems else 0
    return systems[cut:] + systems[:cut]


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
        rounds=chosen.rounds or (2 if chosen.quick else 7),
        records=chosen.records or (300_000 if chosen.quick else 1_000_000),
        warm_up_records=100_000 if chosen.quick else 500_000,
        paced_seconds=3.0 if chosen.quick else 6.0,
        variants=not chosen.quick,
    )
    out: Path = chosen.out or RESULTS / ("quick.json" if chosen.quick else "speed.json")
    try:
        result = measure(plan)
    except PeerError as error:
        print(error, file=sys.stderr)
        return 2
    out.parent.mkdir(exist_ok=True)
    out.write_text(json.dumps(result, indent=1, ensure_ascii=False) + "\n")
    print_speed(result)
    print(f"written to {out}")
    missed = [target for target in result["targets"] if not target["met"]]
    return 1 if chosen.check and missed else 0


if __name__ == "__main__":
    sys.exit(main())
