"""Throughput through librdkafka: fill partitions, then read them from the beginning.

The client runs on the same cores as the server, so it is kept as cheap as librdkafka's
Python binding goes: records are made before the clock starts, handed over in batches and
taken in batches. Each record's delivery report is counted, and what is read back is
compared byte by byte after the clock has stopped.
"""

import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, NamedTuple, TypeAlias

from confluent_kafka import (
    Consumer,
    KafkaError,
    Message,
    Producer,
    TopicPartition,
)

from bench import records
from bench.peer import Peer
from bench.points import Client, Point
from bench.records import Losses
from bench.stopwatch import Stopwatch

# Taken in one call.
_TAKEN: Final = 5_000
_FLUSH_DEADLINE = 120.0
_STALL = 20.0
_WAIT: Final = 0.1

# The partition of a topic that a record goes to.
Place: TypeAlias = tuple[str, int]

_PRODUCER: Final[dict[str, str | int]] = {
    "linger.ms": 5,
    "queue.buffering.max.messages": 1_000_000,
    "queue.buffering.max.kbytes": 1 << 20,
}
CONSUMER: Final[dict[str, str | int | bool]] = {
    # Required by librdkafka; with assign() no group is ever joined.
    "group.id": "bench",
    "enable.auto.commit": False,
    # A full queue makes librdkafka pause fetching, by default for a second: at these rates
    # that pause would be most of what is measured.
    "queued.min.messages": 1_000_000,
    "fetch.queue.backoff.ms": 2,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Produced:
    records: int
    seconds: float
    rate: float
    # Records without a delivery report when the flush gave up.
    unreported: int
    failures: dict[str, int]
    client_busy: float
    cpu_us: dict[str, float]
    peak_rss_mb: dict[str, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class Consumed:
    records: int
    seconds: float
    rate: float
    client_busy: float
    cpu_us: dict[str, float]
    peak_rss_mb: dict[str, float]
    losses: Losses


class _Record(NamedTuple):
    key: bytes | None
    value: bytes
    headers: list[tuple[str, str | bytes | None]] | None


class Deliveries:
    """Counts delivery reports."""

    def __init__(self) -> None:
        self.succeeded = 0
        self.failures: Counter[str] = Counter()

    def report(self, error: KafkaError | None, message: Message) -> None:
        if error is None:
            self.succeeded += 1
        else:
            self.failures[error.name()] += 1

    @property
    def total(self) -> int:
        return self.succeeded + self.failures.total()


def places(topic: str, point: Point) -> list[Place]:
    return [(topic, partition) for partition in range(point.partitions)]


def produce(peer: Peer, into: Sequence[Place], count: int, point: Point) -> Produced:
    """Send `count` records as the point says and wait for every report."""
    sent = _records(count, point)
    parts = list(point.deal.parts(count))
    deliveries = Deliveries()
    settings = {"acks": point.acks, "compression.type": point.compression, **_PRODUCER}
    if point.turn > 1:
        # Else batches would hold as many turns as have come round before they are sent.
        settings["batch.num.messages"] = point.turn
    producers = [
        Producer({"bootstrap.servers": peer.bootstrap, **settings})
        for _ in range(point.producers)
    ]
    for producer in producers:
        for topic in {topic for topic, _ in into}:
            producer.list_topics(topic, timeout=_FLUSH_DEADLINE)
    hand_over = _in_batches if point.client is Client.FAST else _one_by_one
    handed_over = 0
    with Stopwatch(peer.roles) as watch:
        for part in parts:
            while handed_over - deliveries.total > point.under_way:
                _collect(producers, _WAIT)
            chunk = sent[part.numbers]
            place = into[part.partition]
            hand_over(producers[part.producer], place, chunk, deliveries)
            handed_over += len(chunk)
            _collect(producers, 0)
        left = sum(producer.flush(_FLUSH_DEADLINE) for producer in producers)
    return Produced(
        records=deliveries.succeeded,
        seconds=watch.seconds,
        rate=deliveries.succeeded / watch.seconds,
        unreported=left,
        failures=dict(deliveries.failures),
        client_busy=watch.client_busy,
        cpu_us=watch.cpu_us(count),
        peak_rss_mb=watch.peak_rss_mb,
    )


def _records(count: int, point: Point) -> list[_Record]:
    values = records.values(count, point.size, soft=point.soft)
    return [
        _Record(
            records.key(number, point.key_size) if point.key_size else None,
            value,
            [*records.headers(number, point.headers)] if point.headers else None,
        )
        for number, value in enumerate(values)
    ]


def _collect(producers: Sequence[Producer], wait: float) -> None:
    """Take delivery reports; of many producers, wait for none while another has some."""
    for producer in producers:
        producer.poll(wait / len(producers) ** 2)


def _in_batches(
    producer: Producer, place: Place, sent: Sequence[_Record], deliveries: Deliveries
) -> None:
    topic, partition = place
    chunk = [{"key": key, "value": value} for key, value, _ in sent]
    producer.produce_batch(topic, chunk, partition, on_delivery=deliveries.report)


# Also the only way that takes headers.
def _one_by_one(
    producer: Producer, place: Place, sent: Sequence[_Record], deliveries: Deliveries
) -> None:
    topic, partition = place
    report = deliveries.report
    for key, value, headers in sent:
        if headers is None:
            producer.produce(topic, value, key, partition, on_delivery=report)
        else:
            producer.produce(
                topic, value, key, partition, on_delivery=report, headers=headers
            )


def consume(peer: Peer, of: Sequence[Place], count: int, point: Point) -> Consumed:
    """Read these partitions from the beginning until `count` records are there."""
    received: list[bytes] = []
    consumer = Consumer({"bootstrap.servers": peer.bootstrap, **CONSUMER})
    for topic in {topic for topic, _ in of}:
        consumer.list_topics(topic, timeout=_FLUSH_DEADLINE)
    take = _many if point.client is Client.FAST else _one
    with Stopwatch(peer.roles) as watch:
        consumer.assign([TopicPartition(topic, partition, 0) for topic, partition in of])
        last = time.monotonic()
        while (left := count - len(received)) > 0 and time.monotonic() - last < _STALL:
            # No more than are left: for others it would wait, and that would be measured.
            if taken := take(consumer, min(left, _TAKEN), 1.0):
                received += taken
                last = time.monotonic()
    # A record written twice shows only behind the ones that were asked for.
    received += _many(consumer, _TAKEN, 0.2)
    consumer.close()
    sent = records.values(count, point.size, soft=point.soft)
    return Consumed(
        records=len(received),
        seconds=watch.seconds,
        rate=len(received) / watch.seconds,
        client_busy=watch.client_busy,
        cpu_us=watch.cpu_us(count),
        peak_rss_mb=watch.peak_rss_mb,
        losses=records.compare(sent, received, point.deal),
    )


# An error of the client comes as a message with its text for a value: the comparison finds
# it as foreign, so these loops need not ask each message.


def _many(consumer: Consumer, most: int, timeout: float) -> list[bytes]:
    return [message.value() or b"" for message in consumer.consume(most, timeout)]


def _one(consumer: Consumer, _: int, timeout: float) -> list[bytes]:
    message = consumer.poll(timeout)
    return [] if message is None else [message.value() or b""]
