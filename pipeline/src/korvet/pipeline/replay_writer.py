"""Writes records to one partition of a topic: each of them once, whatever dies.

A transaction holds some records and, as an offset of the group named after the replay, how
far they bring it. Its producer's transactional id is that of the replay and the partition:
who opens it last is the only one that can commit, and what others left open is aborted. So
after any failure the truth is what is committed, and a writer that asks for it goes on
exactly there.
"""

import asyncio
import contextlib
import logging
from collections.abc import Awaitable, Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import groupby
from typing import Any, Final, TypeAlias

from aiokafka import AIOKafkaProducer, TopicPartition, errors
from aiokafka.admin import AIOKafkaAdminClient
from aiokafka.structs import OffsetAndMetadata

from korvet.pipeline.kafka_security import KafkaSecurity
from korvet.pipeline.replay_progress import LONGEST, Progress

log = logging.getLogger(__name__)

Headers: TypeAlias = Sequence[tuple[str, bytes | None]]
# Its timestamp, key, value and headers.
Record: TypeAlias = tuple[int, bytes | None, bytes | None, Headers]

# As large as a topic can be told to accept; the topic's own limit decides.
_LARGEST_RECORD: Final = 64 * 1024 * 1024
_BATCH_BYTES: Final = 256 * 1024
# A transaction that is open for longer is aborted by the coordinator.
_TRANSACTION_TIMEOUT_MS: Final = 60_000
# For one attempt at a transaction, so that it ends before the coordinator ends it.
_DEADLINE: Final = 45.0
_FAREWELL: Final = 3.0
_PAUSE: Final = 0.5
_NO_TIMESTAMP: Final = -1

# Trying again would not change these. UnknownError stands for every code that aiokafka has
# no name for: of those that a producer is answered, INVALID_RECORD.
FINAL: Final = (
    errors.ProducerFenced,
    errors.UnknownError,
    errors.MessageSizeTooLargeError,
    errors.RecordListTooLargeError,
    errors.InvalidTopicError,
    errors.InvalidTimestampError,
    errors.InvalidConfigurationError,
    errors.PolicyViolationError,
    errors.UnsupportedVersionError,
    errors.IncompatibleBrokerVersion,
    errors.OffsetMetadataTooLargeError,
    errors.TopicAuthorizationFailedError,
    errors.GroupAuthorizationFailedError,
    errors.TransactionalIdAuthorizationFailed,
    errors.AuthenticationFailedError,
    errors.SaslAuthenticationFailed,
)
_BROKEN: Final = (errors.KafkaError, OSError, TimeoutError)


@dataclass(frozen=True, slots=True, kw_only=True)
class Target:
    """Where a replay writes, and under which name it remembers how far it is."""

    bootstrap: str
    topic: str
    # Of the topic when the replay began.
    partitions: int
    replay: str
    # Seconds for which a Korvet that does not answer is waited for.
    patience: float = 120.0
    security: KafkaSecurity = field(default_factory=KafkaSecurity)


class PartitionWriter:
    def __init__(self, target: Target, partition: int) -> None:
        self._target = target
        self._place = TopicPartition(target.topic, partition)
        self._transactional_id = f"{target.replay}-{partition}"
        self._producer: AIOKafkaProducer | None = None
        self._committed = Progress(partitions=target.partitions)

    async def open(self) -> Progress:
        """Take the partition over from whoever wrote to it; tell how far it is."""
        await self._insist(self._ensure_open)
        return self._committed

    async def write(self, records: Sequence[Record], progress: Progress) -> None:
        """Write records, all or none, with the progress that they make."""
        if len(progress.encode()) > LONGEST:
            raise errors.OffsetMetadataTooLargeError
        before = self._committed

        async def attempt() -> None:
            await self._ensure_open()
            if self._committed == progress:
                # The last attempt had succeeded, only its answer was lost.
                return
            if self._committed != before:
                raise errors.ProducerFenced
            await self._transact(records, progress)
            self._committed = progress

        await self._insist(attempt)

    async def close(self) -> None:
        producer, self._producer = self._producer, None
        if producer is not None:
            # What it has open is aborted by the next one, or by time.
            with contextlib.suppress(*_BROKEN):
                await asyncio.wait_for(producer.stop(), _FAREWELL)

    async def _insist(self, attempt: Callable[[], Awaitable[None]]) -> None:
        """Try until it succeeds, patience is over, or there is no point in it."""
        clock = asyncio.get_running_loop().time
        give_up_at = clock() + self._target.patience
        while True:
            try:
                return await attempt()
            except FINAL:
                raise
            except _BROKEN as error:
                if clock() > give_up_at:
                    raise
                log.info("%s: %r; asking how far it is", self._transactional_id, error)
            await self.close()
            await asyncio.sleep(_PAUSE)

    async def _ensure_open(self) -> None:
        if self._producer is not None:
            return
        self._producer = AIOKafkaProducer(
            bootstrap_servers=self._target.bootstrap,
            transactional_id=self._transactional_id,
            transaction_timeout_ms=_TRANSACTION_TIMEOUT_MS,
            request_timeout_ms=int(_DEADLINE * 1000),
            max_batch_size=_BATCH_BYTES,
            max_request_size=_LARGEST_RECORD,
            **self._target.security.options(),
        )
        # Ends what the producer before it has left open, its offset too, before it answers.
        await asyncio.wait_for(self._producer.start(), _DEADLINE)
        found = await asyncio.wait_for(committed(self._target), _DEADLINE)
        start = Progress(partitions=self._target.partitions)
        self._committed = found.get(self._place.partition, start)

    async def _transact(self, records: Sequence[Record], progress: Progress) -> None:
        producer = self._producer
        assert producer is not None
        async with asyncio.timeout(_DEADLINE):
            await producer.begin_transaction()
            end = await self._send(producer, records)
            position = {self._place: OffsetAndMetadata(end, progress.encode())}
            await producer.send_offsets_to_transaction(position, self._target.replay)
            await producer.commit_transaction()

    async def _send(self, producer: AIOKafkaProducer, records: Sequence[Record]) -> int:
        """Return the offset after the last of them, as the target counts."""
        counts: list[int] = []
        deliveries: list[Any] = []

        async def hand_over(batch: Any) -> None:
            counts.append(batch.record_count())
            topic, partition = self._place
            deliveries.append(await producer.send_batch(batch, topic, partition=partition))

        for run in _runs(records):
            batch = producer.create_batch()
            append = batch.append
            for timestamp, key, value, headers in run:
                # Spelt out: what is done here is done for each record.
                if not append(timestamp=timestamp, key=key, value=value, headers=headers):
                    await hand_over(batch)
                    batch = producer.create_batch()
                    append = batch.append
                    append(timestamp=timestamp, key=key, value=value, headers=headers)
            await hand_over(batch)
        delivered = await asyncio.gather(*deliveries)
        last: int = delivered[-1].offset
        return last + counts[-1]


async def committed(target: Target) -> dict[int, Progress]:
    """How far the replay is, by the target's partition; those without progress are not."""
    admin = AIOKafkaAdminClient(
        bootstrap_servers=target.bootstrap, **target.security.options()
    )
    try:
        await admin.start()
        offsets = await admin.list_consumer_group_offsets(target.replay)
    finally:
        await admin.close()
    return {
        place.partition: Progress.decode(offset.metadata)
        for place, offset in offsets.items()
        if place.topic == target.topic and offset.offset >= 0
    }


def _runs(records: Sequence[Record]) -> Iterator[Sequence[Record]]:
    """Records without a timestamp share no batch with others.

    aiokafka's codec takes a first timestamp of -1 for one that is not set yet, and would
    give such a record the timestamp of the next one.
    """
    if all(record[0] != _NO_TIMESTAMP for record in records):
        yield records
        return
    for _, run in groupby(records, key=lambda record: record[0] == _NO_TIMESTAMP):
        yield list(run)
