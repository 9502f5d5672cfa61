"""Load at a fixed rate, timed from when each record was due.

A record that leaves late because the one before it was slow is late all the same: its
clock starts at its place in the schedule, so a stall shows in every record that it held up
(no coordinated omission).
"""

import json
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Final

from confluent_kafka import Consumer, KafkaError, Message, Producer, TopicPartition

from bench import records
from bench.load import CONSUMER
from bench.peer import Peer
from bench.records import Losses
from bench.stopwatch import Stopwatch

# Connections, JIT and caches settle in this time; its records count for loss only.
WARM_UP: Final = 1.0
_DEADLINE: Final = 60.0
_STATISTICS_MS: Final = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class Latency:
    """Milliseconds from due to done."""

    p50_ms: float
    p90_ms: float
    p99_ms: float
    max_ms: float


@dataclass(frozen=True, slots=True, kw_only=True)
class EndToEnd:
    records: int
    rate: float
    latency: Latency
    cpu_us: dict[str, float]
    losses: Losses


@dataclass(frozen=True, slots=True, kw_only=True)
class SmallRequests:
    """One record a Produce request, at a rate that the server must hold."""

    records: int
    # What was asked for, and what was acknowledged a second until the last answer.
    offered: float
    rate: float
    # Of librdkafka itself: how many requests it really made, and what went wrong.
    requests: int
    timeouts: int
    retries: int
    failures: dict[str, int]
    latency: Latency
    cpu_us: dict[str, float]
    peak_rss_mb: dict[str, float]


def latency_of(seconds: Sequence[float]) -> Latency:
    ranked = sorted(seconds)

    def at(share: float) -> float:
        return ranked[min(len(ranked) - 1, int(share * len(ranked)))] * 1e3

    return Latency(p50_ms=at(0.5), p90_ms=at(0.9), p99_ms=at(0.99), max_ms=at(1.0))


def end_to_end(peer: Peer, topic: str, rate: int, seconds: float, size: int) -> EndToEnd:
    """Send at `rate` and receive at once in a second thread: produce call to consume."""
    values = records.values(int(rate * (seconds + WARM_UP)), size)
    received: list[bytes] = []
    arrived: list[float] = []
    consumer = Consumer({"bootstrap.servers": peer.bootstrap, **CONSUMER})
    consumer.assign([TopicPartition(topic, 0, 0)])
    producer = Producer({"bootstrap.servers": peer.bootstrap, "acks": 1, "linger.ms": 0})
    producer.list_topics(topic, timeout=_DEADLINE)
    sent_all = threading.Event()

    def receive() -> None:
        stalled = 0.0
        while len(received) < len(values) and stalled < _DEADLINE / 3:
            message = consumer.poll(0.5)
            if message is None:
                stalled = stalled + 0.5 if sent_all.is_set() else 0.0
                continue
            arrived.append(time.perf_counter())
            received.append(message.value() or b"")

    def send(value: bytes) -> None:
        producer.produce(topic, value, partition=0)
        producer.poll(0)

    reader = threading.Thread(target=receive)
    reader.start()
    with Stopwatch(peer.roles) as watch:
        # Later than the consumer's first Fetch, which then already waits.
        started = time.perf_counter() + 0.5
        _on_schedule(values, started, rate, send)
        producer.flush(_DEADLINE)
        sent_all.set()
        reader.join()
    consumer.close()
    due = [started + records.number(value) / rate for value in received]
    late = [at - when for at, when in zip(arrived, due, strict=True)]
    return EndToEnd(
        records=len(received),
        rate=float(rate),
        latency=latency_of(late[int(rate * WARM_UP) :] or [_DEADLINE]),
        cpu_us=watch.cpu_us(len(values)),
        losses=records.compare(values, received),
    )


def small_requests(
    peer: Peer, topic: str, rate: int, seconds: float, size: int
) -> SmallRequests:
    """Send `rate` Produce requests a second with one record in each, none waited for."""
    values = records.values(int(rate * seconds), size)
    done: list[tuple[int, float]] = []
    failures: dict[str, int] = {}
    told = _Statistics()

    def report(error: KafkaError | None, message: Message) -> None:
        if error is None:
            done.append((records.number(message.value() or b""), time.perf_counter()))
        else:
            failures[error.name()] = failures.get(error.name(), 0) + 1

    producer = Producer(
        {
            "bootstrap.servers": peer.bootstrap,
            "acks": 1,
            "linger.ms": 0,
            "batch.num.messages": 1,
            "message.timeout.ms": 30_000,
            "queue.buffering.max.messages": len(values) + 1,
            "statistics.interval.ms": _STATISTICS_MS,
            "stats_cb": told.take,
        }
    )
    producer.list_topics(topic, timeout=_DEADLINE)

    def send(value: bytes) -> None:
        producer.produce(topic, value, partition=0, on_delivery=report)
        producer.poll(0)

    with Stopwatch(peer.roles) as watch:
        started = time.perf_counter() + 0.1
        _on_schedule(values, started, rate, send)
        producer.flush(_DEADLINE)
    # The figures come with the next statistics, not with the flush.
    producer.poll(2 * _STATISTICS_MS / 1000)
    last = max((at for _, at in done), default=started + _DEADLINE)
    late = [at - (started + number / rate) for number, at in done]
    return SmallRequests(
        records=len(done),
        offered=float(rate),
        rate=len(done) / (last - started),
        requests=told.requests,
        timeouts=told.timeouts,
        retries=told.retries,
        failures=failures,
        latency=latency_of(late or [_DEADLINE]),
        cpu_us=watch.cpu_us(len(values)),
        peak_rss_mb=watch.peak_rss_mb,
    )


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
