"""Where gateway and storage spend their time under load, sampled by py-spy.

    python -m bench.profile [--quick]

Self time: the function that was running, in Python or in C, as shares of the samples in
which the process did anything: a thread that waits for work is asleep, and no sample. Needs
the right to trace processes.
"""

import argparse
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any, Final

from bench import load, machine
from bench.load import Place
from bench.peer import Peer
from bench.points import BASE
from bench.processes import PeerError, run_apart
from bench.profile_tables import profile_grids
from bench.report import RESULTS
from bench.results import keep
from bench.summary import BATCH, CONSUME, PRODUCE, RECORD
from bench.systems import opened

SYSTEMS: Final = (BATCH, RECORD)
ROLES: Final = ("gateway", "storage")
_PY_SPY: Final = Path(sys.executable).parent / "py-spy"
_SAMPLES_A_SECOND: Final = 100
# Of the C library: what a thread without work is in, which py-spy may take for work.
_WAITS: Final = frozenset(
    {
        *("epoll_wait", "epoll_pwait", "poll", "select"),
        *("pthread_cond_wait", "pthread_cond_timedwait", "sem_wait", "sem_timedwait"),
    }
)
_SHOWN: Final = 12
_CELL_DEADLINE: Final = 180.0
_GRACE: Final = 60.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    seconds: float
    records: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Hot:
    function: str
    share: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Profile:
    system: str
    kind: str
    role: str
    samples: int
    # CPU of this role for a record, in the same load.
    cpu_us: float
    hottest: list[Hot]


def hottest(stacks: str) -> tuple[int, list[Hot]]:
    """PURE: lines of "frame;frame count" -> how many samples, and the top functions."""
    counts: Counter[str] = Counter()
    for line in stacks.splitlines():
        frames, _, count = line.rpartition(" ")
        function = frames.rpartition(";")[2]
        name, _, where = function.partition(" (")
        if name in _WAITS:
            continue
        # Code without symbols is told apart by its library only.
        known = not name.startswith("0x")
        counts[function if known else f"in {where.rstrip(')')}"] += int(count)
    total = counts.total()
    top = counts.most_common(_SHOWN)
    return total, [Hot(function=name, share=count / total) for name, count in top]


def profile(peer: Peer, plan: Plan) -> Iterator[Profile]:
    """Sample both services while a topic is filled, and again while it is read."""
    with peer.topic() as topic:
        places = load.places(topic, BASE)
        produce = partial(_load, load.produce, peer, places, plan.records)
        consume = partial(_load, load.consume, peer, places, plan.records)
        yield from _sampled(peer, plan, PRODUCE, produce)
        yield from _sampled(peer, plan, CONSUME, consume)


def _load(
    step: Callable[..., Any], peer: Peer, places: Sequence[Place], count: int
) -> dict[str, float]:
    """CPU microseconds a record, by role."""
    done = run_apart(_CELL_DEADLINE, step, peer, places, count, BASE)
    cpu_us: dict[str, float] = done.cpu_us
    return cpu_us


def _sampled(
    peer: Peer, plan: Plan, kind: str, load_once: Callable[[], dict[str, float]]
) -> Iterator[Profile]:
    # The first is not sampled: it imports, connects and warms up.
    costs = [load_once()]
    with ThreadPoolExecutor(len(ROLES)) as pool:
        sampling = [pool.submit(_stacks, peer, role, plan.seconds) for role in ROLES]
        # Pauses between the loads are no samples, since nothing runs in them.
        while not all(one.done() for one in sampling):
            costs.append(load_once())
    for role, one in zip(ROLES, sampling, strict=True):
        samples, top = hottest(one.result())
        yield Profile(
            system=peer.name,
            kind=kind,
            role=role,
            samples=samples,
            cpu_us=median(cost[role] for cost in costs),
            hottest=top,
        )


def _stacks(peer: Peer, role: str, seconds: float) -> str:
    (pid,) = peer.roles[role]
    with tempfile.TemporaryDirectory(prefix="korvet-bench-") as folder:
        out = Path(folder) / "stacks"
        command: list[str | Path] = [
            *(_PY_SPY, "record", "--pid", str(pid), "--duration", f"{seconds:.0f}"),
            *("--rate", str(_SAMPLES_A_SECOND), "--format", "raw", "--function"),
            "--native",
            *("--output", out),
        ]
        done = subprocess.run(
            command, capture_output=True, timeout=seconds + _GRACE, check=False
        )
        if done.returncode:
            raise PeerError(done.stderr.decode(errors="replace")[-2000:])
        return out.read_text()


def measure(plan: Plan) -> dict[str, Any]:
    begun = machine.provenance()
    profiles: list[Profile] = []
    for system in SYSTEMS:
        with ExitStack() as stack:
            temporary = tempfile.TemporaryDirectory(prefix="korvet-bench-")
            folder = Path(stack.enter_context(temporary))
            peer = stack.enter_context(opened(system, folder / system))
            for one in profile(peer, plan):
                profiles.append(one)
                print(f"{one.kind:8} {one.system:14} {one.role:8} {one.samples} samples")
    return {
        **begun,
        "plan": asdict(plan),
        "targets": [],
        "profiles": [asdict(one) for one in profiles],
    }


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.profile", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="under two minutes")
    parser.add_argument("--out", type=Path, help="where the JSON goes")
    chosen = parser.parse_args()
    plan = Plan(seconds=6.0 if chosen.quick else 20.0, records=500_000)
    name = "quick-profile.json" if chosen.quick else "profile.json"
    out: Path = chosen.out or RESULTS / name
    return keep(partial(measure, plan), profile_grids, out)


if __name__ == "__main__":
    sys.exit(main())
