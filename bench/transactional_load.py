"""A producer with transactions of a fixed length, beside the same one without any.

Both are librdkafka's idempotent producer with acks=all. The one with transactions sends
for a tenth of a second, commits, which waits for everything that it has sent, and begins
the next one, until there are enough commits for their slowest to mean something; what it
sent is read back by a consumer of committed records.
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


def compare(peer: Peer, count: int, size: int, commits: int) -> Transactional:
    """Send at least `count` records in at least so many transactions, and read them back;
    then send as many without."""
    values = records.values(count, size)
    with peer.topic() as topic:
        sent = _Sent()
        with Stopwatch(peer.roles) as watch:
            _send_in_transactions(peer, topic, values, commits, sent)
        received = _read_committed(peer, topic, sent.records)
    with peer.topic() as topic:
        plain_rate = _send_plainly(peer, topic, values, sent.records)
    rate = sent.records / sent.seconds
    return Transactional(
        records=sent.deliveries.succeeded,
        transactions=len(sent.commits),
        rate=rate,
        share=rate / plain_rate,
        commit=latency_of(sent.commits),
        plain_rate=plain_rate,
        failures=dict(sent.deliveries.failures),
        losses=losses_of(values, sent.records, received),
        cpu_us=watch.cpu_us(sent.records),
    )


def _chunk(values: list[bytes], sent: int) -> list[bytes]:
    """What comes next: the values again and again."""
    start = sent % len(values)
    return values[start : start + _CHUNK]


def losses_of(values: list[bytes], count: int, received: list[bytes]) -> Losses:
    """Round by round of the values: what one lacks shows in those behind it, too."""
    rounds = []
    for start in range(0, count, len(values)):
        end = start + len(values)
        # The last one has whatever is too many.
        found = received[start : end if end < count else None]
        rounds.append(records.compare(values[: count - start], found))
    return Losses(
        lost=sum(each.lost for each in rounds),
        duplicated=sum(each.duplicated for each in rounds),
        foreign=sum(each.foreign for each in rounds),
        out_of_order=sum(each.out_of_order for each in rounds),
    )


def _send_plainly(peer: Peer, topic: str, values: list[bytes], count: int) -> float:
    producer = Producer({"bootstrap.servers": peer.bootstrap, **_PRODUCER})
    # It gets its producer id with the first record, as init_transactions gets the other's.
    producer.produce(topic, b"first", partition=0)
    producer.flush(_DEADLINE)
    deliveries = Deliveries()
    begun = time.perf_counter()
    sent = 0
    while sent < count:
        chunk = _chunk(values, sent)[: count - sent]
        _hand_over(producer, topic, chunk, sent, deliveries)
        sent += len(chunk)
    producer.flush(_DEADLINE)
    return count / (time.perf_counter() - begun)


class _Sent:
    def __init__(self) -> None:
        self.records = 0
        self.deliveries = Deliveries()
        self.commits: list[float] = []
        self.seconds = 0.0


def _send_in_transactions(
    peer: Peer, topic: str, values: list[bytes], commits: int, sent: _Sent
) -> None:
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
    # The last one is committed below.
    while sent.records < len(values) or len(sent.commits) < commits - 1:
        chunk = _chunk(values, sent.records)
        _hand_over(producer, topic, chunk, sent.records, sent.deliveries)
        sent.records += len(chunk)
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
