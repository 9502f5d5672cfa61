"""aiokafka behind the tests' common face: each client has an event loop of its own."""

import asyncio
from collections.abc import Coroutine, Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import Any, Final

from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, TopicPartition
from aiokafka.errors import KafkaError, ProducerFenced

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

_ACKS: Final = {"0": 0, "1": 1, "all": "all"}
_APPEND_TIME: Final = 1


class AiokafkaClient:
    name = "aiokafka"

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
        with asyncio.Runner() as runner:

            async def start() -> Any:
                producer = AIOKafkaProducer(
                    bootstrap_servers=bootstrap,
                    compression_type=None if codec == "none" else codec,
                    acks=_ACKS[acks],
                    enable_idempotence=idempotent,
                    linger_ms=int(linger * 1000),
                    max_batch_size=max(batch_bytes, max_bytes),
                    max_request_size=max(batch_bytes, max_bytes),
                    request_timeout_ms=int(PATIENCE * 1000),
                )
                await producer.start()
                return producer

            producer = runner.run(start())
            try:
                yield _Producer(runner, producer, is_answered=acks != "0")
            finally:
                runner.run(producer.stop())

    @contextmanager
    def transactional(
        self, bootstrap: str, transactional_id: str, *, timeout: float = 60.0
    ) -> Iterator["_TransactionalProducer"]:
        with asyncio.Runner() as runner:

            async def start() -> Any:
                producer = AIOKafkaProducer(
                    bootstrap_servers=bootstrap,
                    transactional_id=transactional_id,
                    transaction_timeout_ms=int(timeout * 1000),
                    linger_ms=5,
                    request_timeout_ms=int(PATIENCE * 1000),
                )
                await producer.start()
                return producer

            producer = runner.run(start())
            try:
                yield _TransactionalProducer(runner, producer, is_answered=True)
            finally:
                runner.run(producer.stop())

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
        with asyncio.Runner() as runner:

            async def start() -> Any:
                consumer = AIOKafkaConsumer(
                    bootstrap_servers=bootstrap,
                    auto_offset_reset="none" if reset == "refuse" else reset,
                    fetch_max_wait_ms=int(max_wait * 1000),
                    isolation_level=str(isolation),
                    request_timeout_ms=int(PATIENCE * 1000),
                )
                await consumer.start()
                consumer.assign([TopicPartition(topic, p) for p in by_partition(starts)])
                return consumer

            consumer = runner.run(start())
            try:
                reader = _Consumer(runner, consumer, topic)
                for partition, offset in by_partition(starts).items():
                    reader.seek(partition, offset)
                yield reader
            finally:
                runner.run(consumer.stop())


class _Producer:
    def __init__(self, runner: asyncio.Runner, producer: Any, *, is_answered: bool) -> None:
        self._runner = runner
        self._producer = producer
        self._is_answered = is_answered

    def send(self, topic: str, records: Sequence[NewRecord]) -> list[Written]:
        return self._runner.run(self._send(topic, records))

    async def _send(self, topic: str, records: Sequence[NewRecord]) -> list[Written]:
        try:
            futures = [
                await self._producer.send(
                    topic,
                    record.value,
                    key=record.key,
                    partition=record.partition,
                    timestamp_ms=record.timestamp_ms,
                    headers=list(record.headers),
                )
                for record in records
            ]
            await self._producer.flush()
            if not self._is_answered:
                return [Written(record.partition or 0, None) for record in records]
            # All of them, so that no failure of a later one goes unnoticed and warns.
            await asyncio.gather(*futures, return_exceptions=True)
            found = [await future for future in futures]
            return [Written(each.partition, each.offset) for each in found]
        except KafkaError as error:
            raise RefusedError(error.errno, repr(error)) from error


class _TransactionalProducer(_Producer):
    def begin(self) -> None:
        self._do(self._producer.begin_transaction())

    def send_offset(self, group: str, topic: str, offset: int) -> None:
        where = TopicPartition(topic, 0)
        self._do(self._producer.send_offsets_to_transaction({where: offset}, group))

    def commit(self) -> None:
        self._do(self._producer.commit_transaction())

    def abort(self) -> None:
        self._do(self._producer.abort_transaction())

    def _do(self, call: Coroutine[Any, Any, None]) -> None:
        try:
            self._runner.run(call)
        except ProducerFenced as error:
            # Not one of those that it makes of Kafka's codes.
            raise RefusedError(ErrorCode.PRODUCER_FENCED, repr(error)) from error
        except KafkaError as error:
            raise RefusedError(error.errno, repr(error)) from error


class _Consumer:
    def __init__(self, runner: asyncio.Runner, consumer: Any, topic: str) -> None:
        self._runner = runner
        self._consumer = consumer
        self._topic = topic

    def read(self, count: int, within: float = PATIENCE) -> list[ReadRecord]:
        try:
            return self._runner.run(self._read(count, within))
        except KafkaError as error:
            raise RefusedError(error.errno, repr(error)) from error

    async def _read(self, count: int, within: float) -> list[ReadRecord]:
        found: list[ReadRecord] = []
        deadline = asyncio.get_running_loop().time() + within
        while len(found) < count:
            left = deadline - asyncio.get_running_loop().time()
            if left <= 0:
                break
            batches = await self._consumer.getmany(
                timeout_ms=int(left * 1000) + 1, max_records=count - len(found)
            )
            for batch in batches.values():
                found += map(_read_record, batch)
        return found

    def seek(self, partition: int, start: Start) -> None:
        self._runner.run(self._seek(TopicPartition(self._topic, partition), start))

    async def _seek(self, where: TopicPartition, start: Start) -> None:
        if start == "earliest":
            await self._consumer.seek_to_beginning(where)
        elif start == "latest":
            await self._consumer.seek_to_end(where)
        else:
            self._consumer.seek(where, start)

    def beginning(self, partition: int = 0) -> int:
        return self._offset(self._consumer.beginning_offsets, partition)

    def end(self, partition: int = 0) -> int:
        return self._offset(self._consumer.end_offsets, partition)

    def _offset(self, find: Any, partition: int) -> int:
        where = TopicPartition(self._topic, partition)
        found: dict[Any, int] = self._runner.run(find([where]))
        return found[where]

    def at_time(self, timestamp_ms: int, partition: int = 0) -> int | None:
        where = TopicPartition(self._topic, partition)
        found = self._runner.run(self._consumer.offsets_for_times({where: timestamp_ms}))
        return None if found[where] is None else found[where].offset


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
