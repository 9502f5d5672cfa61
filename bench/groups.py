"""Consumer groups: Korvet beside Apache Kafka, in interleaved rounds.

    python -m bench.groups [--quick] [--check]

Rebalances after a join and a death, what idle members cost, and commits a second. All
systems stay up for the whole run, as in bench.speed.
"""

import argparse
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from statistics import fmean
from typing import Any, Final

from bench import commits, idle_members, machine, rebalance, summary
from bench.group_tables import group_grids
from bench.peer import Peer
from bench.processes import run_apart
from bench.rebalance import SERVER_SETTINGS, SESSION_SECONDS
from bench.report import RESULTS
from bench.results import keep, result_of
from bench.summary import (
    BATCH,
    COMMITS,
    IDLE,
    IDLE_FEWER,
    KAFKA,
    RECORD,
    Sample,
    death_cell,
    join_cell,
)
from bench.systems import opened, turned
from bench.targets import GROUP_SIZES, GROUP_TARGETS

SYSTEMS: Final = (KAFKA, BATCH, RECORD)
_COMMITTERS: Final = 16
_IDLE_GROUP_SIZE: Final = 20
_CELL_DEADLINE: Final = 300.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """How much is measured."""

    systems: tuple[str, ...]
    rounds: int
    sizes: tuple[int, ...]
    # How often a member comes and goes in each round, for each size.
    churns: int
    commit_seconds: float
    # Of commits, before the first round.
    warm_up_seconds: float
    idle_groups: int
    idle_seconds: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Bench:
    """The systems, running, and the plan."""

    plan: Plan
    peers: dict[str, Peer]

    def rounds(self) -> Iterator[Sample]:
        for peer in self.peers.values():
            # The JVM compiles, pools fill, and Kafka creates its topic of offsets.
            for size in self.plan.sizes:
                run_apart(_CELL_DEADLINE, rebalance.churn, peer, size, 1)
            self._commit(peer, self.plan.warm_up_seconds)
        for number in range(self.plan.rounds):
            for system in turned(tuple(self.peers), number):
                yield from self._churn(number, self.peers[system])
            for system in turned(tuple(self.peers), number):
                seconds = self.plan.commit_seconds
                found = asdict(self._commit(self.peers[system], seconds))
                yield Sample(number, COMMITS, system, found)
        # Once: it is a long stretch, and a sum over it already.
        for system, peer in self.peers.items():
            if system != RECORD:
                groups = self.plan.idle_groups
                yield Sample(0, IDLE_FEWER, system, self._idle(peer, groups // 4))
                yield Sample(0, IDLE, system, self._idle(peer, groups))

    def _churn(self, number: int, peer: Peer) -> Iterator[Sample]:
        for size in self.plan.sizes:
            found = run_apart(_CELL_DEADLINE, rebalance.churn, peer, size, self.plan.churns)
            # Most of it is waiting for a heartbeat, as long as chance has it; of times that
            # are spread so evenly the mean says more than the median does.
            joined, died = fmean(found.joins), fmean(found.deaths)
            result: dict[str, Any] = {"again_s": joined, "each": found.joins}
            yield Sample(number, join_cell(size), peer.name, result)
            beyond = died - SESSION_SECONDS
            result = {"again_s": died, "beyond_s": beyond, "each": found.deaths}
            yield Sample(number, death_cell(size), peer.name, result)

    def _commit(self, peer: Peer, seconds: float) -> commits.Commits:
        return run_apart(_CELL_DEADLINE, commits.commit, peer, _COMMITTERS, seconds)

    def _idle(self, peer: Peer, groups: int) -> dict[str, Any]:
        step, seconds = idle_members.idle, self.plan.idle_seconds
        return asdict(
            run_apart(_CELL_DEADLINE, step, peer, groups, _IDLE_GROUP_SIZE, seconds)
        )


def measure(plan: Plan) -> dict[str, Any]:
    """Start the systems, run the rounds, return the result as it is kept."""
    begun = machine.provenance()
    with ExitStack() as stack:
        temporary = tempfile.TemporaryDirectory(prefix="korvet-bench-")
        folder = Path(stack.enter_context(temporary))
        peers = {
            system: stack.enter_context(opened(system, folder / system, SERVER_SETTINGS))
            for system in plan.systems
        }
        samples: list[Sample] = []
        for sample in Bench(plan=plan, peers=peers).rounds():
            samples.append(sample)
            _say(sample, plan)
    result = result_of(begun, plan, samples, GROUP_TARGETS, summary.GROUP_FAULTS)
    return {**result, "session_seconds": SESSION_SECONDS}


def _say(sample: Sample, plan: Plan) -> None:
    result = sample.result
    text = {
        "again_s": "{:.2f} s to consuming",
        "rate": "{:,.0f} commits/s",
        "server_cores": "{:.3f} cores",
    }
    said = "".join(
        line.format(result[name]) for name, line in text.items() if name in result
    )
    where = f"round {sample.round + 1}/{plan.rounds}"
    print(f"{where}  {sample.cell:16} {sample.system:14} {said}", flush=True)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench.groups", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="under five minutes")
    parser.add_argument("--check", action="store_true", help="exit 1 if a target is missed")
    parser.add_argument("--systems", nargs="+", choices=SYSTEMS, default=SYSTEMS)
    parser.add_argument("--rounds", type=int)
    parser.add_argument("--out", type=Path, help="where the JSON goes")
    return parser.parse_args()


def main() -> int:
    chosen = _arguments()
    plan = Plan(
        systems=tuple(chosen.systems),
        rounds=chosen.rounds or (1 if chosen.quick else 2),
        sizes=GROUP_SIZES,
        churns=3 if chosen.quick else 8,
        commit_seconds=2.0 if chosen.quick else 5.0,
        warm_up_seconds=15.0 if chosen.quick else 20.0,
        idle_groups=100,
        idle_seconds=20.0,
    )
    name = "quick-groups.json" if chosen.quick else "groups.json"
    out: Path = chosen.out or RESULTS / name
    return keep(partial(measure, plan), group_grids, out, check=chosen.check)


if __name__ == "__main__":
    sys.exit(main())
