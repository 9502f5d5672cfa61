"""confluent-kafka (librdkafka) behind the tests' common face."""

import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Final, cast

from confluent_kafka import (
    OFFSET_BEGINNING,
    OFFSET_END,
    TIMESTAMP_LOG_APPEND_TIME,
    Consumer,
    KafkaError,
    KafkaException,
    Message,
    Producer,
    TopicPartition,
)

from korvet.kafka.errors import ErrorCode
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

_POSITIONS: Final = {"earliest": OFFSET_BEGINNING, "latest": OFFSET_END}


class ConfluentClient:
    name = "confluent"

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
        producer = Producer(
            {
                "bootstrap.servers": bootstrap,
                "compression.type": codec,
                "acks": acks,
                "enable.idempotence": idempotent,
                "linger.ms": linger * 1000,
                "batch.size": batch_bytes,
                "message.max.bytes": max(batch_bytes, max_bytes),
                "delivery.timeout.ms": int(PATIENCE * 1000),
            }
        )
        yield _Producer(producer, is_answered=acks != "0")
        producer.flush(PATIENCE)

    @contextmanager
    def transactional(
        self, bootstrap: str, transactional_id: str, *, timeout: float = 60.0
    ) -> Iterator["_TransactionalProducer"]:
        producer = Producer(
            {
                "bootstrap.servers": bootstrap,
                "transactional.id": transactional_id,
                "transaction.timeout.ms": int(timeout * 1000),
                # It may not be longer than a transaction.
                "message.timeout.ms": int(min(timeout, PATIENCE) * 1000),
                "linger.ms": 5,
            }
        )
        transactional = _TransactionalProducer(producer, is_answered=True)
        transactional.start()
        # A transaction that a test leaves open is not waited for.
        yield transactional

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
        consumer = Consumer(
            {
                "bootstrap.servers": bootstrap,
                # Required, although a group is never joined.
                "group.id": "unused",
                "enable.auto.commit": False,
                "auto.offset.reset": "error" if reset == "refuse" else reset,
                "fetch.wait.max.ms": int(max_wait * 1000),
                "isolation.level": str(isolation),
            }
        )
        try:
            # It looks for a leader that it does not know only every half second.
            consumer.list_topics(topic, timeout=PATIENCE)
            consumer.assign(
                [
                    TopicPartition(topic, partition, _offset(start))
                    for partition, start in by_partition(starts).items()
                ]
            )
            yield _Consumer(consumer, topic)
        finally:
            consumer.close()


class _Producer:
    def __init__(self, producer: Producer, *, is_answered: bool) -> None:
        self._producer = producer
        self._is_answered = is_answered

    def send(self, topic: str, records: Sequence[NewRecord]) -> list[Written]:
        outcomes: list[Written | KafkaError | None] = [None] * len(records)
        for index, record in enumerate(records):
            try:
                self._produce(topic, record, index, outcomes)
            except KafkaException as failure:
                raise _refused(failure.args[0]) from failure
        assert self._producer.flush(PATIENCE) == 0, "records without an answer"
        written: list[Written] = []
        for outcome in outcomes:
            assert outcome is not None
            if isinstance(outcome, KafkaError):
                raise _refused(outcome)
            written.append(outcome)
        return written

    def _produce(
        self,
        topic: str,
        record: NewRecord,
        index: int,
        outcomes: list[Written | KafkaError | None],
    ) -> None:
        def delivered(error: KafkaError | None, message: Message) -> None:
            offset = message.offset() if self._is_answered else None
            outcomes[index] = error or Written(message.partition() or 0, offset)

        # Absent is the only way to say "none".
        options: dict[str, Any] = {}
        if record.timestamp_ms is not None:
            options["timestamp"] = record.timestamp_ms
        if record.partition is not None:
            options["partition"] = record.partition
        while True:
            try:
                self._producer.produce(
                    topic,
                    record.value,
                    record.key,
                    headers=list(record.headers),
                    on_delivery=delivered,
                    **options,
                )
            except BufferError:
                self._producer.poll(0.1)
            else:
                return


class _TransactionalProducer(_Producer):
    def start(self) -> None:
        self._do(self._producer.init_transactions, PATIENCE)

    def begin(self) -> None:
        self._do(self._producer.begin_transaction)

    def send_offset(self, group: str, topic: str, offset: int) -> None:
        # The only way to name a group is to be a consumer of it.
        member = Consumer({"bootstrap.servers": "unused:1", "group.id": group})
        try:
            self._do(
                self._producer.send_offsets_to_transaction,
                [TopicPartition(topic, 0, offset)],
                member.consumer_group_metadata(),
                PATIENCE,
            )
        finally:
            member.close()

    def commit(self) -> None:
        self._do(self._producer.commit_transaction, PATIENCE)

    def abort(self) -> None:
        self._do(self._producer.abort_transaction, PATIENCE)

    def _do(self, call: Callable[..., None], *arguments: object) -> None:
        try:
            call(*arguments)
        except KafkaException as failure:
            raise _refused(failure.args[0]) from failure


class _Consumer:
    def __init__(self, consumer: Consumer, topic: str) -> None:
        self._consumer = consumer
        self._topic = topic

    def read(self, count: int, within: float = PATIENCE) -> list[ReadRecord]:
        found: list[ReadRecord] = []
        deadline = time.monotonic() + within
        while len(found) < count and (left := deadline - time.monotonic()) > 0:
            # One at first: consume() waits for all that it was asked for.
            message = self._consumer.poll(left)
            messages = [] if message is None else [message]
            if len(found) + 1 < count:
                messages += self._consumer.consume(count - len(found) - 1, 0)
            for message in messages:
                error = message.error()
                if error is not None:
                    raise _refused(error)
                found.append(_read_record(message))
        return found

    def seek(self, partition: int, start: Start) -> None:
        self._consumer.seek(TopicPartition(self._topic, partition, _offset(start)))

    def beginning(self, partition: int = 0) -> int:
        return self._watermarks(partition)[0]

    def end(self, partition: int = 0) -> int:
        return self._watermarks(partition)[1]

    def _watermarks(self, partition: int) -> tuple[int, int]:
        found = self._consumer.get_watermark_offsets(
            TopicPartition(self._topic, partition), timeout=PATIENCE
        )
        assert found is not None
        return found

    def at_time(self, timestamp_ms: int, partition: int = 0) -> int | None:
        wanted = TopicPartition(self._topic, partition, timestamp_ms)
        (found,) = self._consumer.offsets_for_times([wanted], timeout=PATIENCE)
        return None if found.offset == OFFSET_END else found.offset


def _offset(start: Start) -> int:
    return start if isinstance(start, int) else _POSITIONS[start]


def _refused(error: KafkaError) -> RefusedError:
    # librdkafka's own name for an offset out of range where none is to be chosen.
    if error.code() == KafkaError._AUTO_OFFSET_RESET:
        return RefusedError(KafkaError.OFFSET_OUT_OF_RANGE, str(error))
    # And for a producer that another one has fenced.
    if error.code() == KafkaError._FENCED:
        return RefusedError(ErrorCode.PRODUCER_FENCED, str(error))
    return RefusedError(error.code(), str(error))


def _read_record(message: Message) -> ReadRecord:
    kind, timestamp_ms = message.timestamp()
    partition, offset = message.partition(), message.offset()
    assert partition is not None
    assert offset is not None
    # Typed as what may be given to produce(); this is what comes back.
    headers = cast("list[tuple[str, bytes | None]]", message.headers() or [])
    return ReadRecord(
        partition=partition,
        offset=offset,
        timestamp_ms=timestamp_ms,
        is_append_time=kind == TIMESTAMP_LOG_APPEND_TIME,
        key=message.key(),
        value=message.value(),
        headers=tuple(headers),
    )
