"""Load at a fixed rate, timed from when each record was due.

A record that leaves late because the one before it was slow is late all the same: its
clock starts at its place in the schedule, so a stall shows in every record that it held up
(no coordinated omission).
"""

import json
import threading
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final, Self

from confluent_kafka import Consumer, KafkaError, Message, Producer, TopicPartition

from bench import records
from bench.load import CONSUMER
from bench.peer import Peer
from bench.records import Losses
from bench.stopwatch import Stopwatch

# Connections, JIT and caches settle in this time; its records count for loss only.
WARM_UP: Final = 1.0
_DEADLINE: Final = 60.0
_STALL: Final = 20.0
_LEAD_IN: Final = 0.5
_STATISTICS_MS: Final = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class Latency:
    """Milliseconds from due to done."""

    p50_ms: float
    p90_ms: float
    p99_ms: float
    max_ms: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Paced:
    """What became of records that were sent on schedule."""

    records: int
    # What was asked for, and what was acknowledged a second until the last answer.
    offered: float
    rate: float
    # Of librdkafka itself: how many requests it really made, and what went wrong.
    requests: int
    timeouts: int
    retries: int
    failures: dict[str, int]
    # Until acknowledged, and until consumed.
    acknowledged: Latency
    latency: Latency
    cpu_us: dict[str, float]
    peak_rss_mb: dict[str, float]
    losses: Losses


def latency_of(seconds: Sequence[float]) -> Latency:
    ranked = sorted(seconds)

    def at(share: float) -> float:
        return ranked[min(len(ranked) - 1, int(share * len(ranked)))] * 1e3

    return Latency(p50_ms=at(0.5), p90_ms=at(0.9), p99_ms=at(0.99), max_ms=at(1.0))


def end_to_end(
    peer: Peer, topic: str, rate: int, seconds: float, size: int, *, one_a_request: bool
) -> Paced:
    """Send at `rate` whatever the answers do, and receive at once in a second thread."""
    values = records.values(int(rate * (seconds + WARM_UP)), size)
    reader = _Reader(peer, topic, len(values))
    told = _Statistics()
    acknowledged: list[tuple[int, float]] = []
    failures: Counter[str] = Counter()

    def report(error: KafkaError | None, message: Message) -> None:
        if error is None:
            at = time.perf_counter()
            acknowledged.append((records.number(message.value() or b""), at))
        else:
            failures[error.name()] += 1

    producer = Producer(
        {
            "bootstrap.servers": peer.bootstrap,
            "acks": 1,
            "linger.ms": 0,
            "message.timeout.ms": 30_000,
            "queue.buffering.max.messages": len(values) + 1,
            "statistics.interval.ms": _STATISTICS_MS,
            "stats_cb": told.take,
            **({"batch.num.messages": 1} if one_a_request else {}),
        }
    )
    producer.list_topics(topic, timeout=_DEADLINE)

    def send(value: bytes) -> None:
        producer.produce(topic, value, partition=0, on_delivery=report)
        producer.poll(0)

    with reader, Stopwatch(peer.roles) as watch:
        # Later than the consumer's first Fetch, which then already waits.
        started = time.perf_counter() + _LEAD_IN
        _on_schedule(values, started, rate, send)
        producer.flush(_DEADLINE)
        reader.wait()
    # The figures come with the next statistics, not with the flush.
    producer.poll(2 * _STATISTICS_MS / 1000)
    last = max((at for _, at in acknowledged), default=started + _DEADLINE)
    consumed = [(records.number(value), at) for value, at in reader.received]
    return Paced(
        records=len(acknowledged),
        offered=float(rate),
        rate=len(acknowledged) / (last - started),
        requests=told.requests,
        timeouts=told.timeouts,
        retries=told.retries,
        failures=dict(failures),
        acknowledged=_latency(acknowledged, started, rate),
        latency=_latency(consumed, started, rate),
        cpu_us=watch.cpu_us(len(values)),
        peak_rss_mb=watch.peak_rss_mb,
        losses=records.compare(values, [value for value, _ in reader.received]),
    )


class _Reader:
    """Consumes a topic's partition 0 in a thread, and notes when each record came."""

    def __init__(self, peer: Peer, topic: str, count: int) -> None:
        self.received: list[tuple[bytes, float]] = []
        self._count = count
        self._sent_all = threading.Event()
        self._thread = threading.Thread(target=self._run)
        self._consumer = Consumer({"bootstrap.servers": peer.bootstrap, **CONSUMER})
        self._consumer.assign([TopicPartition(topic, 0, 0)])

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.wait()
        self._consumer.close()

    def wait(self) -> None:
        """Until all have come, or none comes any more."""
        self._sent_all.set()
        self._thread.join()

    def _run(self) -> None:
        stalled = 0.0
        while len(self.received) < self._count and stalled < _STALL:
            message = self._consumer.poll(0.5)
            if message is None:
                stalled = stalled + 0.5 if self._sent_all.is_set() else 0.0
                continue
            self.received.append((message.value() or b"", time.perf_counter()))


def _latency(done: Sequence[tuple[int, float]], started: float, rate: int) -> Latency:
    """From due to done, without the records that were due while all was warming up."""
    first = int(rate * WARM_UP)
    late = [at - (started + number / rate) for number, at in done if number >= first]
    return latency_of(late or [_DEADLINE])


def _on_schedule(
    values: Sequence[bytes], started: float, rate: int, send: Callable[[bytes], None]
) -> None:
    for place, value in enumerate(values):
        wait = started + place / rate - time.perf_counter()
        if wait > 0:
            time.sleep(wait)
        send(value)


class _Statistics:
    """Totals of librdkafka's own counters over all brokers."""

    def __init__(self) -> None:
        self.requests = 0
        self.timeouts = 0
        self.retries = 0

    def take(self, text: str) -> None:
        brokers = json.loads(text)["brokers"].values()
        self.requests = sum(broker["req"].get("Produce", 0) for broker in brokers)
        self.timeouts = sum(broker["req_timeouts"] for broker in brokers)
        self.retries = sum(broker["txretries"] for broker in brokers)
