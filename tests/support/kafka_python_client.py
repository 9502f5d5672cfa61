"""kafka-python behind the tests' common face."""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from typing import Any, Final

from kafka import KafkaConsumer, KafkaProducer, OffsetAndMetadata, TopicPartition
from kafka.errors import KafkaError

from tests.support.client_contract import (
    PATIENCE,
    Acks,
    Codec,
    Isolation,
    NewRecord,
    ReadRecord,
    RefusedError,
    Reset,
    Start,
    Written,
    by_partition,
)

_ACKS: Final = {"0": 0, "1": 1, "all": "all"}
_APPEND_TIME: Final = 1


class KafkaPythonClient:
    name = "kafka-python"

    @contextmanager
    def producer(
        self,
        bootstrap: str,
        *,
        codec: Codec = "none",
        acks: Acks = "all",
        idempotent: bool = False,
        linger: float = 0.005,
        batch_bytes: int = 1 << 20,
        max_bytes: int = 1 << 20,
    ) -> Iterator["_Producer"]:
        producer = KafkaProducer(
            bootstrap_servers=bootstrap.split(","),
            compression_type=None if codec == "none" else codec,
            acks=_ACKS[acks],
            enable_idempotence=idempotent,
            linger_ms=int(linger * 1000),
            batch_size=batch_bytes,
            max_request_size=max(batch_bytes, max_bytes),
            delivery_timeout_ms=int(PATIENCE * 1000),
            request_timeout_ms=int(PATIENCE * 500),
        )
        with closing(producer):
            yield _Producer(producer, is_answered=acks != "0")

    @contextmanager
    def transactional(
        self, bootstrap: str, transactional_id: str, *, timeout: float = 60.0
    ) -> Iterator["_TransactionalProducer"]:
        producer = KafkaProducer(
            bootstrap_servers=bootstrap.split(","),
            transactional_id=transactional_id,
            transaction_timeout_ms=int(timeout * 1000),
            linger_ms=5,
            delivery_timeout_ms=int(PATIENCE * 1000),
            request_timeout_ms=int(PATIENCE * 500),
        )
        try:
            producer.init_transactions()
            yield _TransactionalProducer(producer, is_answered=True)
        finally:
            # A transaction that a test leaves open is not waited for.
            producer.close(timeout=0)

    @contextmanager
    def consumer(
        self,
        bootstrap: str,
        topic: str,
        starts: Mapping[int, Start] | Start = "earliest",
        *,
        reset: Reset = "refuse",
        max_wait: float = 0.05,
        isolation: Isolation = Isolation.UNCOMMITTED,
    ) -> Iterator["_Consumer"]:
        consumer = KafkaConsumer(
            bootstrap_servers=bootstrap.split(","),
            auto_offset_reset="none" if reset == "refuse" else reset,
            fetch_max_wait_ms=int(max_wait * 1000),
            isolation_level=str(isolation),
            enable_auto_commit=False,
        )
        with closing(consumer):
            consumer.assign([TopicPartition(topic, p) for p in by_partition(starts)])
            reader = _Consumer(consumer, topic)
            for partition, offset in by_partition(starts).items():
                reader.seek(partition, offset)
            yield reader


class _Producer:
    def __init__(self, producer: Any, *, is_answered: bool) -> None:
        self._producer = producer
        self._is_answered = is_answered

    def send(self, topic: str, records: Sequence[NewRecord]) -> list[Written]:
        try:
            futures = [
                self._producer.send(
                    topic,
                    record.value,
                    key=record.key,
                    partition=record.partition,
                    timestamp_ms=record.timestamp_ms,
                    headers=list(record.headers),
                )
                for record in records
            ]
            self._producer.flush(timeout=PATIENCE)
            found = [future.get(timeout=PATIENCE) for future in futures]
        except KafkaError as error:
            raise RefusedError(error.errno, repr(error)) from error
        return [
            Written(each.partition, each.offset if self._is_answered else None)
            for each in found
        ]


class _TransactionalProducer(_Producer):
    def begin(self) -> None:
        self._do(self._producer.begin_transaction)

    def send_offset(self, group: str, topic: str, offset: int) -> None:
        offsets = {TopicPartition(topic, 0): OffsetAndMetadata(offset, "", -1)}
        self._do(self._producer.send_offsets_to_transaction, offsets, group)

    def commit(self) -> None:
        self._do(self._producer.commit_transaction)

    def abort(self) -> None:
        self._do(self._producer.abort_transaction)

    def _do(self, call: Callable[..., None], *arguments: object) -> None:
        try:
            call(*arguments)
        except KafkaError as error:
            raise RefusedError(error.errno, repr(error)) from error


class _Consumer:
    def __init__(self, consumer: Any, topic: str) -> None:
        self._consumer = consumer
        self._topic = topic

    def read(self, count: int, within: float = PATIENCE) -> list[ReadRecord]:
        found: list[ReadRecord] = []
        deadline = time.monotonic() + within
        while len(found) < count and (left := deadline - time.monotonic()) > 0:
            try:
                batches = self._consumer.poll(
                    timeout_ms=int(left * 1000) + 1, max_records=count - len(found)
                )
            except KafkaError as error:
                raise RefusedError(error.errno, repr(error)) from error
            for batch in batches.values():
                found += map(_read_record, batch)
        return found

    def seek(self, partition: int, start: Start) -> None:
        where = TopicPartition(self._topic, partition)
        if start == "earliest":
            self._consumer.seek_to_beginning(where)
        elif start == "latest":
            self._consumer.seek_to_end(where)
        else:
            self._consumer.seek(where, start)

    def beginning(self, partition: int = 0) -> int:
        return self._offset(self._consumer.beginning_offsets, partition)

    def end(self, partition: int = 0) -> int:
        return self._offset(self._consumer.end_offsets, partition)

    def _offset(self, find: Any, partition: int) -> int:
        where = TopicPartition(self._topic, partition)
        found: dict[Any, int] = find([where])
        return found[where]

    def at_time(self, timestamp_ms: int, partition: int = 0) -> int | None:
        where = TopicPartition(self._topic, partition)
        found = self._consumer.offsets_for_times({where: timestamp_ms})[where]
        return None if found is None else found.offset


def _read_record(record: Any) -> ReadRecord:
    return ReadRecord(
        partition=record.partition,
        offset=record.offset,
        timestamp_ms=record.timestamp,
        is_append_time=record.timestamp_type == _APPEND_TIME,
        key=record.key,
        value=record.value,
        headers=tuple(record.headers),
    )
