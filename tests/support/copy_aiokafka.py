"""Consume, transform, produce with aiokafka."""

import asyncio
from typing import Any

from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, TopicPartition
from aiokafka.errors import KafkaError, ProducerFenced

from tests.support.copy_loop import CopyLoop
from tests.support.history import Partition
from tests.support.traffic import PATIENCE, REFRESH
from tests.support.transaction_history import Transaction


class AiokafkaCopyLoop(CopyLoop):
    """No error tells that a producer could go on: each one gives a new producer.

    Offsets go along with no more than the group's name, all that version 0.14 takes: the
    group cannot refuse those of a generation that is over. It has one member, so that there
    is nobody whom they could harm.
    """

    def _run(self) -> None:
        asyncio.run(self._copy_until_over())

    async def _copy_until_over(self) -> None:
        consumer: Any = AIOKafkaConsumer(
            *sorted({source.topic for source in self._routes}),
            bootstrap_servers=self._bootstrap,
            group_id=self.name,
            enable_auto_commit=False,
            auto_offset_reset="earliest",
            isolation_level="read_committed",
            session_timeout_ms=int(PATIENCE * 1000),
            request_timeout_ms=int(PATIENCE * 1000) + 1000,
            retry_backoff_ms=20,
            metadata_max_age_ms=int(REFRESH * 1000),
            fetch_max_wait_ms=50,
        )
        self._producer = await self._new_producer()
        await consumer.start()
        try:
            while not self._is_over():
                batches = await consumer.getmany(
                    timeout_ms=50, max_records=self._batch_size()
                )
                if batches:
                    await self._copy_all(consumer, batches)
                    await asyncio.sleep(self._pause())
        finally:
            await consumer.stop()
            await self._producer.stop()

    async def _new_producer(self) -> Any:
        """Fences the one before, and aborts what it has left open."""
        producer: Any = AIOKafkaProducer(
            bootstrap_servers=self._bootstrap,
            transactional_id=self.name,
            transaction_timeout_ms=int(PATIENCE * 1000),
            request_timeout_ms=int(PATIENCE * 1000),
            retry_backoff_ms=20,
            metadata_max_age_ms=int(REFRESH * 1000),
            linger_ms=1,
        )
        await producer.start()
        return producer

    async def _copy_all(self, consumer: Any, batches: dict[Any, list[Any]]) -> None:
        transaction = self._begin()
        try:
            await self._producer.begin_transaction()
            positions = await self._write(transaction, batches)
            await self._producer.send_offsets_to_transaction(
                {TopicPartition(*each): offset for each, offset in positions.items()},
                self.name,
            )
            is_aborted = self._is_to_be_aborted()
            transaction.ends()
            if is_aborted:
                await self._producer.abort_transaction()
            else:
                await self._producer.commit_transaction()
        except (KafkaError, ProducerFenced):
            transaction.ends()
            await self._producer.stop()
            self._producer = await self._new_producer()
            await self._rewind(consumer)
        else:
            if is_aborted:
                transaction.aborted()
                await self._rewind(consumer)
            else:
                transaction.committed()
                self._committed(positions)

    async def _write(
        self, transaction: Transaction, batches: dict[Any, list[Any]]
    ) -> dict[Partition, int]:
        positions: dict[Partition, int] = {}
        answers: dict[bytes, Any] = {}
        for where, records in batches.items():
            source = Partition(where.topic, where.partition)
            target = self._routes[source]
            for record in records:
                value = self._copy(transaction, source, record.value)
                answers[value] = await self._producer.send(
                    target.topic, value, partition=target.partition
                )
                positions[source] = record.offset + 1
        await asyncio.gather(*answers.values(), return_exceptions=True)
        for value, answer in answers.items():
            transaction.acknowledged(value, (await answer).offset)
        return positions

    async def _rewind(self, consumer: Any) -> None:
        """Read on from what the group has committed."""
        for where in consumer.assignment():
            committed = await consumer.committed(where)
            if committed is None:
                await consumer.seek_to_beginning(where)
            else:
                consumer.seek(where, committed)
                self._committed({Partition(where.topic, where.partition): committed})
