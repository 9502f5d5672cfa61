"""Steady traffic by real clients while a test breaks things: an idempotent producer and a
consumer, each with what it needs to go on by itself, and every outcome in a `History`.

    with ConfluentTraffic(korvet.bootstrap, partitions) as traffic:
        traffic.wait_for_acknowledged(200)
        korvet.redis.kill(); korvet.redis.start()
        traffic.wait_for_acknowledged(200)
    traffic.history.check(…)

Leaving the block stops producing, and waits until everything is acknowledged and read.
Nothing here gives up early: an error that a client hands to its user is in the history.
"""

import asyncio
import contextlib
import logging
import threading
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Any, Final, Self

from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, TopicPartition
from aiokafka.errors import KafkaError as AiokafkaError
from confluent_kafka import OFFSET_BEGINNING, Consumer, KafkaError, Message, Producer
from confluent_kafka import TopicPartition as ConfluentPartition

from tests.support.history import History, Partition

# A healthy system needs a small part of it; a busy machine may need more.
PATIENCE: Final = 40.0
_PAUSE: Final = 0.004
# How often clients look which gateways there are, besides when one does not answer.
REFRESH: Final = 0.5
# librdkafka tells of every lost connection, and losing them is the test.
QUIET: Final = logging.Logger("librdkafka", logging.CRITICAL + 1)
_PADDING: Final = b" " + b"x" * 40


class Traffic(ABC):
    def __init__(
        self, bootstrap: str, partitions: Sequence[Partition], *, consume: bool = True
    ) -> None:
        self.history = History()
        self._bootstrap = bootstrap
        self._partitions = partitions
        self._enough = threading.Event()
        self._finished = threading.Event()
        self._crashes: list[BaseException] = []
        self._producing = threading.Thread(target=self._guarded, args=(self._produce,))
        self._consuming: threading.Thread | None = None
        if consume:
            self._consuming = threading.Thread(target=self._guarded, args=(self._consume,))

    def __enter__(self) -> Self:
        self._producing.start()
        if self._consuming:
            self._consuming.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        self._enough.set()
        try:
            self._producing.join(PATIENCE + 5)
            assert not self._producing.is_alive(), "the producer does not end"
            if self._consuming and kind is None and not self._crashes:
                self._wait(self.history.everything_is_read, "everything is read")
        finally:
            self._finished.set()
            if self._consuming:
                self._consuming.join(PATIENCE)
        if kind is None and self._crashes:
            raise self._crashes[0]

    def wait_for_acknowledged(self, count: int) -> None:
        """Wait until each partition has acknowledged so many records more."""
        goal = self.history.fewest() + count
        self._wait(lambda: self.history.fewest() >= goal, f"{count} more on each partition")

    def _wait(self, is_true: Callable[[], bool], what: str) -> None:
        deadline = time.monotonic() + PATIENCE
        while not is_true():
            if self._crashes:
                raise self._crashes[0]
            if time.monotonic() > deadline:
                raise TimeoutError(f"not in {PATIENCE} s: {what}\n{self.history}")
            time.sleep(0.01)

    def _guarded(self, work: Callable[[], None]) -> None:
        try:
            work()
        except BaseException as error:  # noqa: BLE001 - the test's thread raises it again
            self._crashes.append(error)

    @abstractmethod
    def _produce(self) -> None:
        """Send records until `_enough` is set, then see all of them answered."""

    @abstractmethod
    def _consume(self) -> None:
        """Read from the beginning until `_finished` is set."""


class ConfluentTraffic(Traffic):
    """librdkafka, with its five requests in flight and the retries that come with it."""

    def _produce(self) -> None:
        producer = Producer(
            {
                "bootstrap.servers": self._bootstrap,
                "enable.idempotence": True,
                "linger.ms": 1,
                # Small, so that many batches are under way when something breaks.
                "batch.num.messages": 8,
                "retry.backoff.ms": 20,
                "topic.metadata.refresh.interval.ms": int(REFRESH * 1000),
                "reconnect.backoff.ms": 20,
                "reconnect.backoff.max.ms": 300,
                "delivery.timeout.ms": int(PATIENCE * 1000),
                "logger": QUIET,
            }
        )
        while not self._enough.is_set():
            for partition in self._partitions:
                number = self.history.next_number(partition)
                producer.produce(
                    partition.topic,
                    b"%d" % number + _PADDING,
                    partition=partition.partition,
                    on_delivery=self._answered(partition, number),
                )
            producer.poll(_PAUSE)
        left = producer.flush(PATIENCE)
        assert not left, f"{left} records without an answer"

    def _answered(
        self, partition: Partition, number: int
    ) -> Callable[[KafkaError | None, Message], None]:
        def answered(error: KafkaError | None, message: Message) -> None:
            if error is not None:
                self.history.failed(partition, number, error)
            else:
                offset = message.offset()
                self.history.acknowledged(
                    partition, number, -1 if offset is None else offset
                )

        return answered

    def _consume(self) -> None:
        consumer = Consumer(
            {
                "bootstrap.servers": self._bootstrap,
                # Required, although a group is never joined.
                "group.id": "unused",
                "enable.auto.commit": False,
                # A position that is suddenly out of range must not pass unnoticed.
                "auto.offset.reset": "error",
                "fetch.error.backoff.ms": 20,
                "topic.metadata.refresh.interval.ms": int(REFRESH * 1000),
                "reconnect.backoff.ms": 20,
                "reconnect.backoff.max.ms": 300,
                "fetch.wait.max.ms": 100,
                "logger": QUIET,
            }
        )
        with contextlib.closing(consumer):
            consumer.assign(
                [ConfluentPartition(*each, OFFSET_BEGINNING) for each in self._partitions]
            )
            while not self._finished.is_set():
                for message in consumer.consume(500, 0.05):
                    self._take(message)

    def _take(self, message: Message) -> None:
        topic, index, offset = message.topic(), message.partition(), message.offset()
        assert topic is not None
        assert index is not None
        partition = Partition(topic, index)
        if (error := message.error()) is not None:
            self.history.failed(partition, -1, f"the consumer: {error}")
        else:
            assert offset is not None
            self.history.read(partition, offset, message.value() or b"")


class AiokafkaTraffic(Traffic):
    """aiokafka: one batch of a partition under way, retried until it is answered."""

    def _produce(self) -> None:
        asyncio.run(self._produce_all())

    async def _produce_all(self) -> None:
        producer: Any = AIOKafkaProducer(
            bootstrap_servers=self._bootstrap,
            enable_idempotence=True,
            linger_ms=1,
            max_batch_size=1 << 20,
            retry_backoff_ms=20,
            metadata_max_age_ms=int(REFRESH * 1000),
            request_timeout_ms=int(PATIENCE * 1000),
        )
        await producer.start()
        answers: list[Any] = []
        try:
            while not self._enough.is_set():
                for partition in self._partitions:
                    number = self.history.next_number(partition)
                    answer = await producer.send(
                        partition.topic,
                        b"%d" % number + _PADDING,
                        partition=partition.partition,
                    )
                    answer.add_done_callback(self._answered(partition, number))
                    answers.append(answer)
                await asyncio.sleep(_PAUSE)
            async with asyncio.timeout(PATIENCE):
                await asyncio.gather(*answers, return_exceptions=True)
        finally:
            async with asyncio.timeout(PATIENCE):
                await producer.stop()

    def _answered(self, partition: Partition, number: int) -> Callable[[Any], None]:
        def answered(future: Any) -> None:
            if future.cancelled() or future.exception() is not None:
                error = "cancelled" if future.cancelled() else future.exception()
                self.history.failed(partition, number, error)
            else:
                self.history.acknowledged(partition, number, future.result().offset)

        return answered

    def _consume(self) -> None:
        asyncio.run(self._consume_all())

    async def _consume_all(self) -> None:
        consumer: Any = AIOKafkaConsumer(
            bootstrap_servers=self._bootstrap,
            auto_offset_reset="none",
            retry_backoff_ms=20,
            metadata_max_age_ms=int(REFRESH * 1000),
            fetch_max_wait_ms=100,
            request_timeout_ms=int(PATIENCE * 1000),
        )
        await consumer.start()
        try:
            where = [TopicPartition(*each) for each in self._partitions]
            consumer.assign(where)
            for each in where:
                consumer.seek(each, 0)
            while not self._finished.is_set():
                try:
                    found = await consumer.getmany(timeout_ms=50)
                except AiokafkaError as error:
                    self.history.failed(self._partitions[0], -1, f"the consumer: {error!r}")
                    return
                for (topic, index), records in found.items():
                    for record in records:
                        partition = Partition(topic, index)
                        self.history.read(partition, record.offset, record.value)
        finally:
            await consumer.stop()
