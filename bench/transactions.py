"""Transactions: Korvet beside Apache Kafka, in interleaved rounds.

    python -m bench.transactions [--quick] [--check]

What transactions cost a producer, and how long a commit takes. All systems stay up for the
whole run, as in bench.speed.
"""

import argparse
import json
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

from bench import machine, summary, transactional_load
from bench.kafka_peer import kafka
from bench.korvet_peer import korvet
from bench.peer import Peer
from bench.processes import PeerError, run_apart
from bench.report import RESULTS, print_grids
from bench.speed import turned
from bench.summary import BATCH, KAFKA, RECORD, TRANSACTIONS, Sample
from bench.targets import TRANSACTION_TARGETS
from bench.transaction_tables import transaction_grids

SYSTEMS: Final = (KAFKA, BATCH, RECORD)
_SIZE: Final = 100
_CELL_DEADLINE: Final = 180.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """How much is measured."""

    systems: tuple[str, ...]
    rounds: int
    # The least of each: until there are as many of both.
    records: int
    commits: int
    # Sent to each system once before the first round.
    warm_up_records: int


def rounds(plan: Plan, peers: Mapping[str, Peer]) -> Iterator[Sample]:
    for peer in peers.values():
        _compare(peer, plan.warm_up_records, 1)
    for number in range(plan.rounds):
        for system in turned(tuple(peers), number):
            found = asdict(_compare(peers[system], plan.records, plan.commits))
            yield Sample(number, TRANSACTIONS, system, found)


def _compare(peer: Peer, count: int, commits: int) -> transactional_load.Transactional:
    return run_apart(
        _CELL_DEADLINE, transactional_load.compare, peer, count, _SIZE, commits
    )


def measure(plan: Plan) -> dict[str, Any]:
    """Start the systems, run the rounds, return the result as it is kept."""
    begun = machine.provenance()
    with ExitStack() as stack:
        temporary = tempfile.TemporaryDirectory(prefix="korvet-bench-")
        folder = Path(stack.enter_context(temporary))
        peers = {
            system: stack.enter_context(
                kafka(folder / system)
                if system == KAFKA
                else korvet(folder / system, system.partition("-")[2])
            )
            for system in plan.systems
        }
        samples: list[Sample] = []
        for sample in rounds(plan, peers):
            samples.append(sample)
            _say(sample, plan)
    found = summary.figures(samples)
    verdicts = summary.judge(TRANSACTION_TARGETS, samples, found)
    return {
        **begun,
        "plan": asdict(plan),
        "targets": [verdict._asdict() for verdict in verdicts],
        "figures": {path: figure._asdict() for path, figure in found.items()},
        "samples": [sample._asdict() for sample in samples],
    }


def _say(sample: Sample, plan: Plan) -> None:
    result = sample.result
    print(
        f"round {sample.round + 1}/{plan.rounds}  {sample.system:14}"
        f"{result['rate']:>10,.0f} records/s, {result['share']:.2f} of those without; "
        f"commit p50 {result['commit']['p50_ms']:.1f} ms",
        flush=True,
    )


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m bench.transactions", description=__doc__
    )
    parser.add_argument("--quick", action="store_true", help="under two minutes")
    parser.add_argument("--check", action="store_true", help="exit 1 if a target is missed")
    parser.add_argument("--systems", nargs="+", choices=SYSTEMS, default=SYSTEMS)
    parser.add_argument("--rounds", type=int)
    parser.add_argument("--out", type=Path, help="where the JSON goes")
    return parser.parse_args()


def main() -> int:
    chosen = _arguments()
    plan = Plan(
        systems=tuple(chosen.systems),
        rounds=chosen.rounds or (2 if chosen.quick else 3),
        records=200_000 if chosen.quick else 500_000,
        commits=15 if chosen.quick else 50,
        warm_up_records=100_000 if chosen.quick else 300_000,
    )
    name = "quick-transactions.json" if chosen.quick else "transactions.json"
    out: Path = chosen.out or RESULTS / name
    try:
        result = measure(plan)
    except PeerError as error:
        print(error, file=sys.stderr)
        return 2
    out.parent.mkdir(exist_ok=True)
    out.write_text(json.dumps(result, indent=1, ensure_ascii=False) + "\n")
    print_grids(transaction_grids(result))
    print(f"written to {out}")
    missed = [target for target in result["targets"] if not target["met"]]
    return 1 if chosen.check and missed else 0


if __name__ == "__main__":
    sys.exit(main())
