"""Kafka's own perf tools as a second client, with the Java client's defaults."""

import re
import subprocess
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Final

from bench.kafka_peer import broker_jars
from bench.peer import Peer
from bench.processes import PeerError

_PRODUCER: Final = "org.apache.kafka.tools.ProducerPerformance"
_CONSUMER: Final = "org.apache.kafka.tools.ConsumerPerformance"
# The last line counts; those before it report windows of five seconds.
_PRODUCED: Final = re.compile(r"^(\d+) records sent, ([\d.]+) records/sec", re.MULTILINE)
_HEAP: Final = ("-Xms512m", "-Xmx512m")
_DEADLINE: Final = 120.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Measured:
    """What a tool says of its own run."""

    records: int
    rate: float


def produce(peer: Peer, topic: str, count: int, size: int) -> Measured:
    said = _run(
        *(_PRODUCER, "--topic", topic, "--num-records", str(count)),
        *("--record-size", str(size), "--throughput", "-1", "--producer-props"),
        *(f"bootstrap.servers={peer.bootstrap}", "acks=1"),
    )
    return read_produced(said)


def consume(peer: Peer, topic: str, count: int) -> Measured:
    said = _run(
        *(_CONSUMER, "--bootstrap-server", peer.bootstrap, "--topic", topic),
        *("--messages", str(count)),
    )
    return read_consumed(said)


def read_produced(said: str) -> Measured:
    """PURE: from what ProducerPerformance prints."""
    found = _PRODUCED.findall(said)
    if not found:
        raise PeerError(f"ProducerPerformance says no rate:\n{said[-2000:]}")
    records, rate = found[-1]
    return Measured(records=int(records), rate=float(rate))


def read_consumed(said: str) -> Measured:
    """PURE: from what ConsumerPerformance prints; without the time to join a group."""
    lines = [line.split(", ") for line in said.splitlines()]
    for names, values in pairwise(lines):
        if "fetch.nMsg.sec" in names and len(values) == len(names):
            told = dict(zip(names, values, strict=True))
            rate = float(told["fetch.nMsg.sec"])
            return Measured(records=int(told["data.consumed.in.nMsg"]), rate=rate)
    raise PeerError(f"ConsumerPerformance says no rate:\n{said[-2000:]}")


def _run(tool: str, *arguments: str) -> str:
    jars: Path = broker_jars()
    command = ["java", *_HEAP, "-cp", f"{jars}/*", tool, *arguments]
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=_DEADLINE, check=False
    )
    if done.returncode:
        raise PeerError(f"{tool} failed:\n{(done.stdout + done.stderr)[-2000:]}")
    return done.stdout
