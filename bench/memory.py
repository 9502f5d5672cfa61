"""Does memory stay bounded: gateway and storage under clients that would like it not to.

    python -m bench.memory [--quick] [--check]

Each pressure is kept up for some seconds on a fresh Korvet. A server that only grows until
the pressure ends has no bound; one with a bound reaches it early and stays: so besides the
peak the result shows how much of it came in the second half.
"""

import argparse
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import Any, Final

from confluent_kafka import Producer

from bench import load, machine, pressure
from bench.korvet_peer import korvet
from bench.memory_tables import memory_grids
from bench.peer import Peer
from bench.points import Point
from bench.processes import PeerError, Roles, rss_mb, run_apart
from bench.report import RESULTS
from bench.results import keep

# What gateway and storage may take on top of what they start with.
BOUND_MB: Final = 512.0
WATCHED: Final = ("gateway", "storage")
FORMATS: Final = ("batch", "record")
_SIZE: Final = 1000
_FILLED: Final = Point(size=_SIZE)
_DEADLINE: Final = 180.0
_READERS: Final = 20
_REQUESTS_EACH: Final = 100
_PAUSED: Final = 6
_PRODUCERS: Final = 4
# Until every producer is at full speed.
_LEAD_IN: Final = 4.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    seconds: float
    # In the topic that nobody reads to its end.
    records: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Memory:
    """MB of one role through one pressure."""

    start: float
    first_half_peak: float
    second_half_peak: float
    after: float

    @property
    def growth(self) -> float:
        return max(self.first_half_peak, self.second_half_peak) - self.start


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    system: str
    pressure: str
    memory: dict[str, Memory]
    # The slowest acknowledgement that another client got meanwhile; None where the
    # pressure is a Redis that does not answer.
    bystander_max_ms: float | None
    # Acknowledged, and not in the topic afterwards.
    lost: int
    # Acknowledged once, there more often: retries after an unknown outcome.
    duplicated: int
    acknowledged: int
    # Given up by the client.
    failed: int


class _Watch:
    """Samples the memory of roles until told to stop."""

    def __init__(self, roles: Roles) -> None:
        self._roles = roles
        self._samples: list[tuple[float, dict[str, float]]] = []
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run)

    def __enter__(self) -> "_Watch":
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()

    def _run(self) -> None:
        while not self._stop.wait(0.05):
            self._samples.append((time.monotonic(), rss_mb(self._roles)))

    def memory(self, start: dict[str, float], half: float) -> dict[str, Memory]:
        """What was seen, cut at a monotonic time."""
        first = [sample for at, sample in self._samples if at < half]
        second = [sample for at, sample in self._samples if at >= half]
        after = rss_mb(self._roles)
        return {
            role: Memory(
                start=start[role],
                first_half_peak=max((one[role] for one in first), default=0.0),
                second_half_peak=max((one[role] for one in second), default=0.0),
                after=after[role],
            )
            for role in start
        }


def unread_answers(peer: Peer, plan: Plan) -> Outcome:
    """A reader that stops reading after it has asked."""
    with _filled_topic(peer, plan) as topic:
        silent = pressure.silent_readers(peer, topic, _READERS, _REQUESTS_EACH)
        return _with_bystander(peer, plan, "readers that never read", silent)


def paused(peer: Peer, plan: Plan) -> Outcome:
    """Consumers that stop in the middle."""
    with _filled_topic(peer, plan) as topic:
        idle = pressure.paused_consumers(peer, topic, _PAUSED)
        return _with_bystander(peer, plan, "consumers that pause", idle)


def stopped_redis(peer: Peer, plan: Plan) -> Outcome:
    """Producers at full speed while Redis does nothing."""

    def hold() -> None:
        with pressure.stopped(peer.roles["redis"]):
            time.sleep(plan.seconds)

    return _flooded(peer, plan, "producers, Redis stopped", hold)


def slow_redis(peer: Peer, plan: Plan) -> Outcome:
    """Producers at full speed while Redis runs a tenth of the time."""

    def hold() -> None:
        pressure.slow_down(peer.roles["redis"], plan.seconds, 0.1)

    return _flooded(peer, plan, "producers, Redis slow", hold)


PRESSURES: Final = (unread_answers, paused, stopped_redis, slow_redis)


def _with_bystander(peer: Peer, plan: Plan, name: str, under_pressure: Any) -> Outcome:
    slowest = 0.0
    start = rss_mb(peer.roles)
    begun = time.monotonic()
    with (
        _Watch(peer.roles) as watch,
        peer.topic() as topic,
        under_pressure,
    ):
        bystander = Producer({"bootstrap.servers": peer.bootstrap, "acks": 1})
        while time.monotonic() < begun + plan.seconds:
            sent = time.perf_counter()
            bystander.produce(topic, b"bystander")
            if bystander.flush(_DEADLINE):
                raise PeerError(f"{name}: another client got no answer")
            slowest = max(slowest, time.perf_counter() - sent)
            time.sleep(0.05)
    return Outcome(
        system=peer.name,
        pressure=name,
        memory=watch.memory(start, begun + plan.seconds / 2),
        bystander_max_ms=slowest * 1e3,
        lost=0,
        duplicated=0,
        acknowledged=0,
        failed=0,
    )


def _flooded(peer: Peer, plan: Plan, name: str, hold: Callable[[], None]) -> Outcome:
    start = rss_mb(peer.roles)
    with peer.topic() as topic, ThreadPoolExecutor(_PRODUCERS) as pool:
        begun = time.monotonic() + _LEAD_IN
        until = begun + plan.seconds
        with _Watch(peer.roles) as watch:
            floods = [
                pool.submit(
                    run_apart, _DEADLINE, pressure.flood, peer, topic, number, until, _SIZE
                )
                for number in range(_PRODUCERS)
            ]
            time.sleep(_LEAD_IN)
            hold()
            flooded = [one.result() for one in floods]
        memory = watch.memory(start, begun + plan.seconds / 2)
        there = run_apart(_DEADLINE, pressure.numbers_in, peer, topic)
    acknowledged = {number for one in flooded for number in one.acknowledged}
    return Outcome(
        system=peer.name,
        pressure=name,
        memory=memory,
        bystander_max_ms=None,
        lost=len(acknowledged - set(there)),
        duplicated=len(there) - len(set(there)),
        acknowledged=len(acknowledged),
        failed=sum(sum(one.failures.values()) for one in flooded),
    )


@contextmanager
def _filled_topic(peer: Peer, plan: Plan) -> Iterator[str]:
    with peer.topic() as topic:
        step, into = load.produce, load.places(topic, _FILLED)
        run_apart(_DEADLINE, step, peer, into, plan.records, _FILLED)
        yield topic


def measure(plan: Plan, formats: tuple[str, ...]) -> dict[str, Any]:
    begun = machine.provenance()
    outcomes: list[Outcome] = []
    for storage_format in formats:
        for under_pressure in PRESSURES:
            # A fresh server each time: what one pressure left is no start for the next.
            with ExitStack() as stack:
                folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="korvet-"))
                peer = stack.enter_context(korvet(Path(folder) / "korvet", storage_format))
                outcomes.append(under_pressure(peer, plan))
            _say(outcomes[-1])
    return {
        **begun,
        "plan": asdict(plan),
        "bound_mb": BOUND_MB,
        "targets": [verdict for outcome in outcomes for verdict in _verdicts(outcome)],
        "outcomes": [asdict(outcome) for outcome in outcomes],
    }


def _verdicts(outcome: Outcome) -> Iterator[dict[str, Any]]:
    what = f"{outcome.system}, {outcome.pressure}"
    for role in WATCHED:
        growth = outcome.memory[role].growth
        yield {
            "label": f"{what}: {role} grows by, MB",
            "bound": f"≤ {BOUND_MB:g}",
            "value": growth,
            "met": growth <= BOUND_MB,
        }
    yield {
        "label": f"{what}: acknowledged and lost",
        "bound": "= 0",
        "value": outcome.lost,
        "met": outcome.lost == 0,
    }


def _say(outcome: Outcome) -> None:
    grew = ", ".join(f"{role} +{outcome.memory[role].growth:.0f} MB" for role in WATCHED)
    print(f"{outcome.system:14} {outcome.pressure:26} {grew}", flush=True)


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.memory", description=__doc__)
    parser.add_argument("--quick", action="store_true", help="under three minutes")
    parser.add_argument("--check", action="store_true", help="exit 1 if a bound is passed")
    parser.add_argument("--formats", nargs="+", choices=FORMATS, default=FORMATS)
    parser.add_argument("--out", type=Path, help="where the JSON goes")
    chosen = parser.parse_args()
    plan = Plan(
        seconds=6.0 if chosen.quick else 12.0,
        records=50_000 if chosen.quick else 200_000,
    )
    name = "quick-memory.json" if chosen.quick else "memory.json"
    out: Path = chosen.out or RESULTS / name
    return keep(
        partial(measure, plan, tuple(chosen.formats)), memory_grids, out, check=chosen.check
    )


if __name__ == "__main__":
    sys.exit(main())
