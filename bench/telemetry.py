"""What telemetry costs: off, at a sampling ratio of 0.01, with every request recorded.

    python -m bench.telemetry [--before REVISION] [--all] [--rounds N] [--check]

All of them are up for the whole run and are measured in interleaved rounds, `before` too,
which is Korvet as it was at a revision, such as one without telemetry. Traces go to a
receiver in this process.
"""

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import median
from typing import Any, Final, NamedTuple

import psutil
from confluent_kafka import KafkaError, Message, Producer

from bench import load, machine
from bench.peer import Peer, answers
from bench.points import BASE, BASE_SIZE
from bench.processes import accepts, free_ports, run_apart, running, wait_until
from bench.records import values
from bench.stopwatch import Stopwatch
from tests.support.otlp_receiver import OtlpReceiver

BEFORE: Final = "before"
OFF: Final = "off"
RATIO: Final = "ratio-0.01"
ALL: Final = "all"

_RESULTS: Final = Path(__file__).resolve().parent / "results"
_DEADLINE: Final = 120.0
_PACKAGES: Final = ("protos/python", "libs/*/src", "services/*/src", "cli/src")
_SETTLING: Final = 5.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Small:
    """Requests of one record each, as fast as they are answered."""

    rate: float
    failures: int
    cpu_us: dict[str, float]


class Target(NamedTuple):
    """The least share that one system keeps of another's throughput."""

    cell: str
    system: str
    of: str
    at_least: float


_CELLS: Final = ("small-requests", "produce", "consume")
_TARGETS: Final = (
    *(Target(cell, RATIO, OFF, 0.95) for cell in _CELLS),
    # Of two that are alike, ratios on a noisy machine differ by so much.
    *(Target(cell, OFF, BEFORE, 0.97) for cell in _CELLS),
)


def small_requests(peer: Peer, topic: str, count: int) -> Small:
    failures = 0

    def report(error: KafkaError | None, _: Message) -> None:
        nonlocal failures
        failures += error is not None

    sent = values(count, BASE_SIZE)
    producer = Producer(
        {
            "bootstrap.servers": peer.bootstrap,
            "acks": 1,
            "linger.ms": 0,
            "batch.num.messages": 1,
            "queue.buffering.max.messages": count + 1,
        }
    )
    producer.list_topics(topic, timeout=_DEADLINE)
    with Stopwatch(peer.roles) as watch:
        for each in sent:
            producer.produce(topic, each, partition=0, on_delivery=report)
        failures += producer.flush(_DEADLINE)
    return Small(rate=count / watch.seconds, failures=failures, cpu_us=watch.cpu_us(count))


@contextmanager
def korvet(folder: Path, name: str, environ: Mapping[str, str]) -> Iterator[Peer]:
    folder.mkdir()
    port, storage_port, coordinator_port = free_ports(3)
    log = folder / "korvet.log"
    command: list[str | Path] = [
        *(sys.executable, "-m", "korvet.cli", "up"),
        *("--port", str(port)),
        *("--storage-port", str(storage_port)),
        *("--coordinator-port", str(coordinator_port)),
        *("--data", folder / "data"),
        *("--set", "storage.format=batch"),
    ]
    bootstrap = f"127.0.0.1:{port}"
    with running(command, log, environ) as up:
        wait_until(lambda: accepts(port) and answers(bootstrap), up, log, 60.0)
        yield Peer(name=name, bootstrap=bootstrap, roles=_roles(up.pid))


def _roles(parent: int) -> dict[str, list[int]]:
    found: dict[str, list[int]] = {}
    for child in psutil.Process(parent).children(recursive=True):
        words = " ".join(child.cmdline())
        for role in ("gateway", "storage", "coordinator"):
            if f"korvet.{role}" in words:
                found.setdefault(role, []).append(child.pid)
    return found


def _checked_out(revision: str, folder: Path) -> dict[str, str]:
    """What has Python run Korvet as it was at a revision."""
    archive = subprocess.run(
        ["git", "-C", str(machine.ROOT), "archive", revision],
        capture_output=True,
        check=True,
        timeout=60,
    )
    folder.mkdir()
    subprocess.run(
        ["tar", "-x", "-C", str(folder)], input=archive.stdout, check=True, timeout=60
    )
    found = [str(path) for pattern in _PACKAGES for path in folder.glob(pattern)]
    return {"PYTHONPATH": ":".join(found)}


def measure(
    before: str | None, everything: bool, rounds: int, requests: int, records: int
) -> dict[str, Any]:
    begun = machine.provenance()
    samples: list[dict[str, Any]] = []
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="korvet-")))
        receiver = stack.enter_context(OtlpReceiver())
        exporting = {"OTEL_EXPORTER_OTLP_ENDPOINT": receiver.endpoint}
        some = {
            "OTEL_TRACES_SAMPLER": "parentbased_traceidratio",
            "OTEL_TRACES_SAMPLER_ARG": "0.01",
        }
        environs = {OFF: {}, RATIO: {**exporting, **some}}
        if everything:
            environs[ALL] = exporting
        if before is not None:
            environs[BEFORE] = _checked_out(before, folder / "source")
        peers = [
            stack.enter_context(korvet(folder / name, name, environ))
            for name, environ in environs.items()
        ]
        # Processes that have just started are busy with themselves.
        time.sleep(_SETTLING)
        # The first round warms up, and is not kept.
        for number in range(-1, rounds):
            turn = number % len(peers)
            for peer in (*peers[turn:], *peers[:turn]):
                for cell, result in _measured(peer, requests, records):
                    if number >= 0:
                        samples.append(
                            {"round": number, "cell": cell, "system": peer.name, **result}
                        )
                        print(f"{number + 1}/{rounds} {cell:16}{peer.name:12}"
                              f"{result['rate']:>12,.0f}/s", flush=True)  # fmt: skip
        spans = len(receiver.spans)
    return {**begun, "before": before, "spans": spans, "samples": samples}


def _measured(
    peer: Peer, requests: int, records: int
) -> Iterator[tuple[str, dict[str, Any]]]:
    with peer.topic() as topic:
        yield _CELLS[0], asdict(_apart(small_requests, peer, topic, requests))
    with peer.topic() as topic:
        sent = (load.places(topic, BASE), records, BASE)
        yield _CELLS[1], asdict(_apart(load.produce, peer, *sent))
        yield _CELLS[2], asdict(_apart(load.consume, peer, *sent))


def _apart(step: Callable[..., Any], *arguments: Any) -> Any:
    return run_apart(_DEADLINE, step, *arguments)


def shares(samples: list[dict[str, Any]], target: Target) -> list[float]:
    """What a system kept of another's throughput, in each round."""
    rates = {
        (sample["round"], sample["system"]): sample["rate"]
        for sample in samples
        if sample["cell"] == target.cell
    }
    return [
        rate / rates[number, target.of]
        for (number, system), rate in rates.items()
        if system == target.system and (number, target.of) in rates
    ]


def cpu_us(samples: list[dict[str, Any]]) -> dict[str, float]:
    """What a request or a record costs the gateway and the storage, by cell and system."""
    found: defaultdict[str, list[float]] = defaultdict(list)
    for sample in samples:
        cost = sample["cpu_us"]["gateway"] + sample["cpu_us"]["storage"]
        found[f"{sample['cell']}/{sample['system']}"].append(cost)
    return {name: median(costs) for name, costs in found.items()}


def report(result: dict[str, Any]) -> int:
    """Add the figures, print them, and return how many targets were missed."""
    missed = 0
    result["shares"] = {}
    for target in (*_TARGETS, *(Target(cell, ALL, OFF, 0.0) for cell in _CELLS)):
        if found := shares(result["samples"], target):
            kept = median(found)
            missed += kept < target.at_least
            name = f"{target.cell}/{target.system}/of/{target.of}"
            result["shares"][name] = [kept, min(found), max(found)]
            spread = f"({min(found):.3f} to {max(found):.3f})"
            print(f"{name:40} {kept:.3f}  {spread}, at least {target.at_least}")
    result["cpu_us"] = cpu_us(result["samples"])
    for name, cost in sorted(result["cpu_us"].items()):
        print(f"{name:40} {cost:.2f} us of CPU")
    return missed


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.telemetry", description=__doc__)
    parser.add_argument("--before", help="also measure Korvet as it was at this revision")
    parser.add_argument("--all", action="store_true", help="also record every request")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--requests", type=int, default=10_000)
    parser.add_argument("--records", type=int, default=300_000)
    parser.add_argument("--check", action="store_true", help="exit 1 if a target is missed")
    parser.add_argument("--out", type=Path, default=_RESULTS / "telemetry.json")
    chosen = parser.parse_args()
    result = measure(
        chosen.before, chosen.all, chosen.rounds, chosen.requests, chosen.records
    )
    missed = report(result)
    chosen.out.parent.mkdir(exist_ok=True)
    chosen.out.write_text(json.dumps(result, indent=1) + "\n")
    return 1 if chosen.check and missed else 0


if __name__ == "__main__":
    sys.exit(main())
