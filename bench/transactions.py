"""Transactions: Korvet beside Apache Kafka, in interleaved rounds.

    python -m bench.transactions [--quick] [--check]

What transactions cost a producer, and how long a commit takes. All systems stay up for the
whole run, as in bench.speed.
"""

import argparse
import sys
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any, Final

from bench import machine, transactional_load
from bench.peer import Peer
from bench.processes import run_apart
from bench.report import RESULTS
from bench.results import keep, result_of
from bench.summary import BATCH, KAFKA, RECORD, TRANSACTIONS, Sample
from bench.systems import opened, turned
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
            system: stack.enter_context(opened(system, folder / system))
            for system in plan.systems
        }
        samples: list[Sample] = []
        for sample in rounds(plan, peers):
            samples.append(sample)
            _say(sample, plan)
    return result_of(begun, plan, samples, TRANSACTION_TARGETS)


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
    return keep(partial(measure, plan), transaction_grids, out, check=chosen.check)


if __name__ == "__main__":
    sys.exit(main())
