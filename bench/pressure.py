"""Clients that a server must not pay for with its memory.

Readers that ask and never read, consumers that pause with their queues full, and producers
that send faster than Redis takes it.
"""

import signal
import socket
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from typing import Final

import psutil
from confluent_kafka import Consumer, KafkaError, Message, Producer, TopicPartition

from bench import records
from bench.load import CONSUMER
from bench.peer import Peer
from korvet.kafka.frames import encode_request
from korvet.kafka.messages.fetch import FetchRequest

_MEBIBYTE: Final = 1 << 20
_FETCH_VERSION: Final = 11
# Client queues are filled to this; together far more than any server should take in.
_QUEUE_BYTES: Final = 256 * _MEBIBYTE
_FLUSH_DEADLINE: Final = 90.0
# Each producer numbers its records from its own multiple of this.
_NUMBERS: Final = 10_000_000


@contextmanager
def silent_readers(peer: Peer, topic: str, readers: int, requests: int) -> Iterator[None]:
    """Connections that each send many Fetches for megabytes, and never read an answer."""
    host, _, port = peer.bootstrap.partition(":")
    with ExitStack() as stack:
        for _ in range(readers):
            one = stack.enter_context(socket.socket())
            # Small, so that the kernel does not take the answers in for us.
            one.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 12)
            one.settimeout(10.0)
            one.connect((host, int(port)))
            frames = [_fetch(topic, number) for number in range(requests)]
            # A server that stops reading a client it cannot answer is right to do so.
            one.setblocking(False)
            one.send(b"".join(frames))
        yield


def _fetch(topic: str, correlation_id: int) -> bytes:
    partition = FetchRequest.FetchPartition(
        partition=0, fetch_offset=0, partition_max_bytes=10 * _MEBIBYTE
    )
    request = FetchRequest(
        replica_id=-1,
        max_wait_ms=500,
        min_bytes=1,
        max_bytes=50 * _MEBIBYTE,
        topics=[FetchRequest.FetchTopic(topic=topic, partitions=[partition])],
    )
    return encode_request(correlation_id, request, _FETCH_VERSION, "silent")


@contextmanager
def paused_consumers(peer: Peer, topic: str, consumers: int) -> Iterator[None]:
    """librdkafka consumers that take a few records and then stop."""
    paused = []
    try:
        for _ in range(consumers):
            consumer = Consumer({"bootstrap.servers": peer.bootstrap, **CONSUMER})
            consumer.assign([TopicPartition(topic, 0, 0)])
            consumer.consume(10, 10.0)
            consumer.pause([TopicPartition(topic, 0)])
            paused.append(consumer)
        yield
    finally:
        for consumer in paused:
            consumer.close()


@contextmanager
def stopped(pids: Sequence[int]) -> Iterator[None]:
    """Processes that do nothing at all while the block runs."""
    try:
        for pid in pids:
            psutil.Process(pid).send_signal(signal.SIGSTOP)
        yield
    finally:
        for pid in pids:
            psutil.Process(pid).send_signal(signal.SIGCONT)


def slow_down(pids: Sequence[int], seconds: float, share: float) -> None:
    """Let processes run only for a share of the time."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        with stopped(pids):
            time.sleep(0.1 * (1 - share))
        time.sleep(0.1 * share)


@dataclass(frozen=True, slots=True, kw_only=True)
class Flooded:
    acknowledged: tuple[int, ...]
    failures: dict[str, int]


def flood(peer: Peer, topic: str, producer_number: int, until: float, size: int) -> Flooded:
    """Keep a producer's queue full until a monotonic time, then send no more.

    What is still in the queue is dropped then; what has been sent is waited for.
    """
    acknowledged: list[int] = []
    failures: dict[str, int] = {}

    def report(error: KafkaError | None, message: Message) -> None:
        if error is None:
            acknowledged.append(records.number(message.value() or b""))
        elif error.code() != KafkaError._PURGE_QUEUE:
            failures[error.name()] = failures.get(error.name(), 0) + 1

    producer = Producer(
        {
            "bootstrap.servers": peer.bootstrap,
            "acks": 1,
            "linger.ms": 5,
            "queue.buffering.max.kbytes": _QUEUE_BYTES // 1024,
            "queue.buffering.max.messages": 10_000_000,
        }
    )
    number = producer_number * _NUMBERS
    while time.monotonic() < until:
        value = records.value(number, size)
        try:
            producer.produce(topic, value, partition=0, on_delivery=report)
            number += 1
        except BufferError:
            producer.poll(0.05)
        if number % 1000 == 0:
            producer.poll(0)
    producer.purge(in_queue=True, in_flight=False, blocking=True)
    producer.flush(_FLUSH_DEADLINE)
    return Flooded(acknowledged=tuple(acknowledged), failures=failures)


def numbers_in(peer: Peer, topic: str) -> list[int]:
    """The numbers of all records in a topic's partition 0."""
    consumer = Consumer(
        {"bootstrap.servers": peer.bootstrap, **CONSUMER, "enable.partition.eof": True}
    )
    consumer.assign([TopicPartition(topic, 0, 0)])
    numbers: list[int] = []
    try:
        while True:
            message = consumer.poll(30.0)
            if message is None:
                raise TimeoutError(f"{topic} does not come to its end")
            error = message.error()
            if error is None:
                numbers.append(records.number(message.value() or b""))
            elif error.code() == KafkaError._PARTITION_EOF:
                return numbers
    finally:
        consumer.close()
