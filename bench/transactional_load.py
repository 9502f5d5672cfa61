"""A producer with transactions of a fixed length, beside the same one without any.

Both are librdkafka's idempotent producer with acks=all. The one with transactions sends
for a tenth of a second, commits, which waits for everything that it has sent, and begins
the next one; what it sent is read back by a consumer of committed records.
"""

import time
import uuid
from dataclasses import dataclass
from typing import Final

from confluent_kafka import Consumer, Producer, TopicPartition

from bench import records
from bench.load import CONSUMER, Deliveries
from bench.paced import Latency, latency_of
from bench.peer import Peer
from bench.records import Losses
from bench.stopwatch import Stopwatch

TRANSACTION_SECONDS: Final = 0.1
_CHUNK: Final = 500
_OUTSTANDING: Final = 20_000
_DEADLINE: Final = 60.0
_STALL: Final = 20.0
_PRODUCER: Final[dict[str, str | int | bool]] = {
    "enable.idempotence": True,
    "acks": "all",
    "linger.ms": 5,
    "queue.buffering.max.messages": 200_000,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Transactional:
    records: int
    transactions: int
    rate: float
    # Of the same producer's rate without transactions.
    share: float
    # From the call of commit_transaction to its return, what it flushes included.
    commit: Latency
    plain_rate: float
    failures: dict[str, int]
    losses: Losses
    cpu_us: dict[str, float]


def compare(peer: Peer, count: int, size: int) -> Transactional:
    """Send `count` records without and with transactions, and read the latter back."""
    values = records.values(count, size)
    with peer.topic() as topic:
        plain_rate = _send_plainly(peer, topic, values)
    with peer.topic() as topic:
        sent = _Sent()
        with Stopwatch(peer.roles) as watch:
            _send_in_transactions(peer, topic, values, sent)
        received = _read_committed(peer, topic, count)
    rate = count / sent.seconds
    return Transactional(
        records=sent.deliveries.succeeded,
        transactions=len(sent.commits),
        rate=rate,
        share=rate / plain_rate,
        commit=latency_of(sent.commits),
        plain_rate=plain_rate,
        failures=dict(sent.deliveries.failures),
        losses=records.compare(values, received),
        cpu_us=watch.cpu_us(count),
    )


def _send_plainly(peer: Peer, topic: str, values: list[bytes]) -> float:
    producer = Producer({"bootstrap.servers": peer.bootstrap, **_PRODUCER})
    # It gets its producer id with the first record, as init_transactions gets the other's.
    producer.produce(topic, b"first", partition=0)
    producer.flush(_DEADLINE)
    deliveries = Deliveries()
    begun = time.perf_counter()
    for start in range(0, len(values), _CHUNK):
        _hand_over(producer, topic, values[start : start + _CHUNK], start, deliveries)
    producer.flush(_DEADLINE)
    return len(values) / (time.perf_counter() - begun)


class _Sent:
    def __init__(self) -> None:
        self.deliveries = Deliveries()
        self.commits: list[float] = []
        self.seconds = 0.0


def _send_in_transactions(peer: Peer, topic: str, values: list[bytes], sent: _Sent) -> None:
    producer = Producer(
        {
            "bootstrap.servers": peer.bootstrap,
            "transactional.id": f"bench-{uuid.uuid4().hex[:12]}",
            **_PRODUCER,
        }
    )
    producer.init_transactions(_DEADLINE)
    producer.list_topics(topic, timeout=_DEADLINE)
    begun = time.perf_counter()
    producer.begin_transaction()
    commit_at = begun + TRANSACTION_SECONDS
    for start in range(0, len(values), _CHUNK):
        chunk = values[start : start + _CHUNK]
        _hand_over(producer, topic, chunk, start, sent.deliveries)
        if time.perf_counter() >= commit_at:
            sent.commits.append(_commit(producer))
            producer.begin_transaction()
            commit_at = time.perf_counter() + TRANSACTION_SECONDS
    sent.commits.append(_commit(producer))
    sent.seconds = time.perf_counter() - begun


def _hand_over(
    producer: Producer, topic: str, chunk: list[bytes], sent: int, deliveries: Deliveries
) -> None:
    while sent - deliveries.total > _OUTSTANDING:
        producer.poll(0.1)
    producer.produce_batch(
        topic,
        [{"value": value} for value in chunk],
        partition=0,
        on_delivery=deliveries.report,
    )
    producer.poll(0)


def _commit(producer: Producer) -> float:
    called = time.perf_counter()
    producer.commit_transaction(_DEADLINE)
    return time.perf_counter() - called


def _read_committed(peer: Peer, topic: str, count: int) -> list[bytes]:
    consumer = Consumer(
        {
            "bootstrap.servers": peer.bootstrap,
            **CONSUMER,
            "isolation.level": "read_committed",
        }
    )
    consumer.assign([TopicPartition(topic, 0, 0)])
    received: list[bytes] = []
    last = time.monotonic()
    while len(received) < count and time.monotonic() - last < _STALL:
        if taken := consumer.consume(5_000, 1.0):
            received += [message.value() or b"" for message in taken]
            last = time.monotonic()
    # A record written twice shows only behind the ones that were asked for.
    received += [message.value() or b"" for message in consumer.consume(5_000, 0.2)]
    consumer.close()
    return received
