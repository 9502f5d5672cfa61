"""Throughput through librdkafka: fill one partition, then read it from the beginning.

The client runs on the same cores as the server, so it is kept as cheap as librdkafka's
Python binding goes: records are made before the clock starts, handed over in batches and
taken in batches. Each record's delivery report is counted, and what is read back is
compared byte by byte after the clock has stopped.
"""

import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Final, NamedTuple

from confluent_kafka import (
    Consumer,
    KafkaError,
    Message,
    Producer,
    TopicPartition,
)

from bench import records
from bench.peer import Peer
from bench.records import Losses
from bench.stopwatch import Stopwatch

_CHUNK: Final = 5_000
# Enough that librdkafka always has full batches to send, little enough that its queue
# stays in the processor's caches.
_OUTSTANDING: Final = 100_000
_FLUSH_DEADLINE = 120.0
_STALL = 20.0


class Client(Enum):
    """How a program hands records over and takes them."""

    FAST = "many records a call"
    PLAIN = "one record a call, as most programs do it"


_PRODUCER: Final[dict[str, str | int]] = {
    "acks": 1,
    "linger.ms": 5,
    "queue.buffering.max.messages": 2 * _OUTSTANDING,
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


def produce(
    peer: Peer, topic: str, count: int, size: int, client: Client, key_size: int = 0
) -> Produced:
    """Send `count` records of `size` bytes to partition 0 and wait for every report."""
    sent = [
        _Record(records.key(number, key_size) if key_size else None, value)
        for number, value in enumerate(records.values(count, size))
    ]
    deliveries = Deliveries()
    producer = Producer({"bootstrap.servers": peer.bootstrap, **_PRODUCER})
    producer.list_topics(topic, timeout=_FLUSH_DEADLINE)
    hand_over = _in_batches if client is Client.FAST else _one_by_one
    with Stopwatch(peer.roles) as watch:
        for start in range(0, count, _CHUNK):
            while start - deliveries.total > _OUTSTANDING:
                producer.poll(0.1)
            hand_over(producer, topic, sent[start : start + _CHUNK], deliveries)
            producer.poll(0)
        left = producer.flush(_FLUSH_DEADLINE)
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


def _in_batches(
    producer: Producer, topic: str, sent: Sequence[_Record], deliveries: Deliveries
) -> None:
    chunk = [{"key": key, "value": value} for key, value in sent]
    producer.produce_batch(topic, chunk, partition=0, on_delivery=deliveries.report)


def _one_by_one(
    producer: Producer, topic: str, sent: Sequence[_Record], deliveries: Deliveries
) -> None:
    for key, value in sent:
        producer.produce(topic, value, key, partition=0, on_delivery=deliveries.report)


def consume(peer: Peer, topic: str, count: int, size: int, client: Client) -> Consumed:
    """Read partition 0 from the beginning until `count` records are there."""
    received: list[bytes] = []
    consumer = Consumer({"bootstrap.servers": peer.bootstrap, **CONSUMER})
    consumer.list_topics(topic, timeout=_FLUSH_DEADLINE)
    take = _many if client is Client.FAST else _one
    with Stopwatch(peer.roles) as watch:
        consumer.assign([TopicPartition(topic, 0, 0)])
        last = time.monotonic()
        while len(received) < count and time.monotonic() - last < _STALL:
            if taken := take(consumer, 1.0):
                received += taken
                last = time.monotonic()
    # A record written twice shows only behind the ones that were asked for.
    received += _many(consumer, 0.2)
    consumer.close()
    return Consumed(
        records=len(received),
        seconds=watch.seconds,
        rate=len(received) / watch.seconds,
        client_busy=watch.client_busy,
        cpu_us=watch.cpu_us(count),
        peak_rss_mb=watch.peak_rss_mb,
        losses=records.compare(records.values(count, size), received),
    )


# An error of the client comes as a message with its text for a value: the comparison finds
# it as foreign, so these loops need not ask each message.


def _many(consumer: Consumer, timeout: float) -> list[bytes]:
    return [message.value() or b"" for message in consumer.consume(_CHUNK, timeout)]


def _one(consumer: Consumer, timeout: float) -> list[bytes]:
    message = consumer.poll(timeout)
    return [] if message is None else [message.value() or b""]
