"""Consume, transform, produce with confluent-kafka (librdkafka)."""

from collections.abc import Callable, Sequence
from contextlib import closing
from typing import Any, Final

from confluent_kafka import (
    OFFSET_BEGINNING,
    OFFSET_INVALID,
    Consumer,
    KafkaError,
    KafkaException,
    Message,
    Producer,
    TopicPartition,
)

from tests.support.copy_loop import CopyLoop
from tests.support.history import Partition
from tests.support.traffic import PATIENCE, QUIET
from tests.support.transaction_history import Transaction

# For one call, which is repeated where it was too short.
_A_WHILE: Final = 5.0


class _AbortError(Exception):
    """The transaction cannot be committed; the producer can go on."""


class _ProducerError(Exception):
    """The producer is of no use any more."""


class ConfluentCopyLoop(CopyLoop):
    def _run(self) -> None:
        self._producer = self._new_producer()
        with closing(self._new_consumer()) as consumer:
            while not self._is_over():
                messages = consumer.consume(self._batch_size(), 0.05)
                if messages := [each for each in messages if each.error() is None]:
                    self._copy_all(consumer, messages)
                    self._is_hurried.wait(self._pause())

    def _options(self) -> dict[str, Any]:
        return {
            "bootstrap.servers": self._bootstrap,
            "topic.metadata.refresh.interval.ms": 500,
            "reconnect.backoff.ms": 20,
            "reconnect.backoff.max.ms": 300,
            "retry.backoff.ms": 20,
            # Where no gateway answers it would forget them all, and then wait for ever for
            # the coordinator that one of them was (its issue 5511).
            "metadata.recovery.strategy": "none",
            "logger": QUIET,
        }

    def _new_consumer(self) -> Consumer:
        consumer = Consumer(
            {
                **self._options(),
                "group.id": self.name,
                # Else a join that is lost when it changes its coordinator leaves a member
                # behind that never comes, and is waited for (docs/known-defects.md).
                "group.instance.id": self.name,
                "enable.auto.commit": False,
                "auto.offset.reset": "earliest",
                "isolation.level": "read_committed",
                "session.timeout.ms": int(PATIENCE * 1000),
                "fetch.error.backoff.ms": 20,
                "fetch.wait.max.ms": 50,
            }
        )
        consumer.subscribe(sorted({source.topic for source in self._routes}))
        return consumer

    def _new_producer(self) -> Producer:
        """Fences the one before, and aborts what it has left open."""
        producer = Producer(
            {
                **self._options(),
                "transactional.id": self.name,
                "transaction.timeout.ms": int(PATIENCE * 1000),
                "message.timeout.ms": int(PATIENCE * 1000),
                "linger.ms": 1,
            }
        )
        self._insist(producer.init_transactions)
        return producer

    def _copy_all(self, consumer: Consumer, messages: Sequence[Message]) -> None:
        transaction = self._begin()
        try:
            self._producer.begin_transaction()
            positions = self._write(transaction, messages)
            # While it is open, a rebalance may have taken the partitions away: then the
            # group refuses this, since who commits is no member of its generation.
            self._insist(
                self._producer.send_offsets_to_transaction,
                [TopicPartition(*each, offset) for each, offset in positions.items()],
                consumer.consumer_group_metadata(),
            )
            if self._is_to_be_aborted():
                raise _AbortError
            transaction.ends()
            self._insist(self._producer.commit_transaction)
        except _AbortError:
            self._abort(transaction)
            self._rewind(consumer)
        except _ProducerError:
            transaction.ends()
            self._producer = self._new_producer()
            self._rewind(consumer)
        else:
            transaction.committed()
            self._committed(positions)

    def _write(
        self, transaction: Transaction, messages: Sequence[Message]
    ) -> dict[Partition, int]:
        positions: dict[Partition, int] = {}
        for message in messages:
            source, offset = _place(message)
            value = self._copy(transaction, source, message.value() or b"")
            target = self._routes[source]
            self._producer.produce(
                target.topic,
                value,
                partition=target.partition,
                on_delivery=_acknowledging(transaction, value),
            )
            positions[source] = offset + 1
        self._insist(self._producer.flush)
        return positions

    def _abort(self, transaction: Transaction) -> None:
        transaction.ends()
        try:
            self._insist(self._producer.abort_transaction)
        except _ProducerError:
            self._producer = self._new_producer()
        else:
            transaction.aborted()

    def _rewind(self, consumer: Consumer) -> None:
        """Read on from what the group has committed, which is stable by now."""
        found = self._until_answered(
            lambda: consumer.committed(consumer.assignment(), _A_WHILE)
        )
        known = [each for each in found if each.offset != OFFSET_INVALID]
        self._committed(
            {Partition(each.topic, each.partition): each.offset for each in known}
        )
        for each in found:
            if each.offset == OFFSET_INVALID:
                each.offset = OFFSET_BEGINNING
        consumer.assign(found)

    def _until_answered(
        self, ask: Callable[[], list[TopicPartition]]
    ) -> list[TopicPartition]:
        while True:
            try:
                return ask()
            except KafkaException:
                # Nobody answers in time, while what is to answer is down.
                if self._is_given_up.is_set():
                    raise

    def _insist(self, call: Callable[..., Any], *arguments: Any) -> None:
        """Repeat a call for as long as it may succeed."""
        while True:
            try:
                call(*arguments, _A_WHILE)
            except KafkaException as failure:
                error: KafkaError = failure.args[0]
                if error.txn_requires_abort():
                    raise _AbortError(error) from failure
                if not error.retriable() or self._is_given_up.is_set():
                    raise _ProducerError(error) from failure
            else:
                return


def _place(message: Message) -> tuple[Partition, int]:
    topic, index, offset = message.topic(), message.partition(), message.offset()
    assert topic is not None
    assert index is not None
    assert offset is not None
    return Partition(topic, index), offset


def _acknowledging(
    transaction: Transaction, value: bytes
) -> Callable[[KafkaError | None, Message], None]:
    def delivered(error: KafkaError | None, message: Message) -> None:
        offset = message.offset()
        if error is None and offset is not None:
            transaction.acknowledged(value, offset)

    return delivered
