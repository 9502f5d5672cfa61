"""Consume, transform, produce with kafka-python."""

from typing import Any, Final

from kafka import KafkaConsumer, KafkaProducer, OffsetAndMetadata, TopicPartition
from kafka.errors import KafkaError, KafkaTimeoutError

from tests.support.copy_loop import CopyLoop
from tests.support.history import Partition
from tests.support.kafka_python_defects import (
    NO_SOCKETS_LEFT,
    join_unhurriedly,
    keep_requests,
)
from tests.support.traffic import PATIENCE, REFRESH
from tests.support.transaction_history import Transaction

# For one call, which is repeated where it was too short.
_A_WHILE_MS: Final = 5000


class KafkaPythonCopyLoop(CopyLoop):
    """Each error gives a new producer.

    Some could be answered with an abort; but offsets that the group has refused stay in the
    producer of version 3.0.12, and go along with those of its next transaction.
    """

    def _run(self) -> None:
        self._consumer = self._new_consumer()
        self._producer = self._new_producer()
        try:
            while not self._is_over():
                batches = self._consumer.poll(timeout_ms=50, max_records=self._batch_size())
                if batches:
                    self._copy_all(batches)
                    self._is_hurried.wait(self._pause())
        finally:
            self._consumer.close(autocommit=False)
            self._producer.close(timeout=0)

    def _options(self) -> dict[str, Any]:
        return {
            "bootstrap_servers": self._bootstrap.split(","),
            "metadata_max_age_ms": int(REFRESH * 1000),
            "retry_backoff_ms": 20,
            "reconnect_backoff_ms": 20,
            "reconnect_backoff_max_ms": 300,
            "proxy_url": NO_SOCKETS_LEFT,
        }

    def _new_consumer(self) -> Any:
        consumer = KafkaConsumer(
            **self._options(),
            group_id=self.name,
            enable_auto_commit=False,
            auto_offset_reset="earliest",
            isolation_level="read_committed",
            session_timeout_ms=int(PATIENCE * 1000),
            max_poll_interval_ms=int(PATIENCE * 1000),
            request_timeout_ms=int(PATIENCE * 1000) + 1000,
            fetch_max_wait_ms=50,
        )
        join_unhurriedly(consumer)
        consumer.subscribe(sorted({source.topic for source in self._routes}))
        return consumer

    def _new_producer(self) -> Any:
        """Fences the one before, and aborts what it has left open."""
        producer = KafkaProducer(
            **self._options(),
            transactional_id=self.name,
            transaction_timeout_ms=int(PATIENCE * 1000),
            delivery_timeout_ms=int(PATIENCE * 1000),
            request_timeout_ms=int(PATIENCE * 500),
            max_block_ms=int(PATIENCE * 1000),
            linger_ms=1,
        )
        keep_requests(producer)
        producer.init_transactions()
        return producer

    def _copy_all(self, batches: dict[Any, list[Any]]) -> None:
        transaction = self._begin()
        try:
            self._producer.begin_transaction()
            positions = self._write(transaction, batches)
            self._producer.send_offsets_to_transaction(
                {
                    TopicPartition(*each): OffsetAndMetadata(offset, "", -1)
                    for each, offset in positions.items()
                },
                self._consumer.group_metadata(),
            )
            is_aborted = self._is_to_be_aborted()
            transaction.ends()
            if is_aborted:
                self._producer.abort_transaction()
            else:
                self._producer.commit_transaction()
        except KafkaError:
            transaction.ends()
            # All its records are answered, so that there is nothing to wait for.
            self._producer.close(timeout=0)
            self._producer = self._new_producer()
            self._rewind()
        else:
            if is_aborted:
                transaction.aborted()
                self._rewind()
            else:
                transaction.committed()
                self._committed(positions)

    def _write(
        self, transaction: Transaction, batches: dict[Any, list[Any]]
    ) -> dict[Partition, int]:
        positions: dict[Partition, int] = {}
        answers: dict[bytes, Any] = {}
        for where, records in batches.items():
            source = Partition(where.topic, where.partition)
            target = self._routes[source]
            for record in records:
                value = self._copy(transaction, source, record.value)
                answers[value] = self._producer.send(
                    target.topic, value, partition=target.partition
                )
                positions[source] = record.offset + 1
        self._producer.flush()
        for value, answer in answers.items():
            transaction.acknowledged(value, answer.get().offset)
        return positions

    def _rewind(self) -> None:
        """Read on from what the group has committed."""
        for where in self._consumer.assignment():
            committed = self._committed_at(where)
            if committed is None:
                self._consumer.seek_to_beginning(where)
            else:
                self._consumer.seek(where, committed)
                self._committed({Partition(where.topic, where.partition): committed})

    def _committed_at(self, where: Any) -> int | None:
        while True:
            try:
                found: int | None = self._consumer.committed(where, timeout_ms=_A_WHILE_MS)
            except KafkaTimeoutError:
                # Nobody answers in time, while what is to answer is down.
                if self._is_given_up.is_set():
                    raise
            else:
                return found
