"""Appends that survive lost connections: retried, yet never written twice.

Storage takes each sequence number of a producer once. So a partition has one append under
way at a time, and it is repeated with the same number until its outcome is known. Where we
give up before that, the number may or may not be used: so after any failure the producer id
is abandoned, and the next append begins with a fresh one.
"""

import asyncio
from collections import defaultdict
from collections.abc import Mapping, Sequence
from contextlib import AsyncExitStack
from typing import Final, NamedTuple

from korvet.client.connection import Connection
from korvet.client.errors import ErrorCode, KorvetError
from korvet.client.model import NewRecord
from korvet.client.repeating import until_answered
from korvet.proto.storage.v1 import storage_service_pb2 as pb

# How long one attempt may take before it is repeated.
_ATTEMPT_DEADLINE: Final = 10.0
_SEQUENCES: Final = 1 << 31

# Storage does not know this producer's last batches any more (they expired, or Redis lost
# its tail). This batch is not in the log, so it may go there under a new producer id.
_SEQUENCE_LOST: Final = frozenset(
    {ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER, ErrorCode.UNKNOWN_PRODUCER_ID}
)


class Place(NamedTuple):
    """A partition to append to."""

    topic: str
    partition: int


class _Producer:
    """One producer id, and the next sequence number in each partition."""

    def __init__(self, producer_id: int) -> None:
        self.id = producer_id
        self.next_sequence: defaultdict[Place, int] = defaultdict(int)


class Appender:
    def __init__(self, connection: Connection, retry_for: float) -> None:
        self._connection = connection
        self._retry_for = retry_for
        self._producer: _Producer | None = None
        self._allocating = asyncio.Lock()
        self._partition_locks: defaultdict[Place, asyncio.Lock] = defaultdict(asyncio.Lock)

    async def append(self, topic: str, partition: int, records: Sequence[NewRecord]) -> int:
        """Append atomically, at consecutive offsets; return the first of them."""
        where = Place(topic, partition)
        return (await self.append_atomically({where: records}))[where]

    async def append_atomically(
        self, appends: Mapping[Place, Sequence[NewRecord]]
    ) -> dict[Place, int]:
        """Append to all of these or to none; return the first offset in each."""
        async with AsyncExitStack() as locks:
            # In one order for all, so that no two wait for each other.
            for where in sorted(appends):
                await locks.enter_async_context(self._partition_locks[where])
            producer = await self._current_producer()
            try:
                return await self._append(producer, appends)
            except KorvetError as error:
                if error.code not in _SEQUENCE_LOST:
                    raise
            producer = await self._current_producer()
            return await self._append(producer, appends)

    async def _append(
        self, producer: _Producer, appends: Mapping[Place, Sequence[NewRecord]]
    ) -> dict[Place, int]:
        request = pb.AppendRequest(
            acks=pb.ACKS_ALL, timeout_ms=int(_ATTEMPT_DEADLINE * 1000)
        )
        for where, records in appends.items():
            request.partitions.add(
                topic=pb.TopicRef(name=where.topic),
                partition=where.partition,
                records=pb.RecordSet(
                    records=[record.to_proto() for record in records],
                    producer=pb.ProducerSequence(
                        producer_id=producer.id,
                        producer_epoch=0,
                        base_sequence=producer.next_sequence[where],
                    ),
                ),
            )
        try:
            offsets = await until_answered(lambda: self._attempt(request), self._retry_for)
        except BaseException:
            # Cancellation included: an attempt may be on its way, so this sequence number
            # must never be given to other records.
            self._abandon(producer)
            raise
        for where, records in appends.items():
            after = producer.next_sequence[where] + len(records)
            producer.next_sequence[where] = after % _SEQUENCES
        return dict(zip(appends, offsets, strict=True))

    async def _attempt(self, request: pb.AppendRequest) -> list[int]:
        deadline = _ATTEMPT_DEADLINE + 1
        response = await self._connection.ask(
            lambda stub: (
                stub.Append(request, timeout=deadline)
                if len(request.partitions) == 1
                else stub.AppendAtomically(request, timeout=deadline)
            )
        )
        for answer in response.partitions:
            # Where one is refused, the others have not been tried.
            if answer.error_code not in (ErrorCode.NONE, ErrorCode.OPERATION_NOT_ATTEMPTED):
                raise _refusal(answer)
        return [answer.base_offset for answer in response.partitions]

    async def _current_producer(self) -> _Producer:
        async with self._allocating:
            if self._producer is None:
                allocated = await until_answered(self._allocate, self._retry_for)
                self._producer = _Producer(allocated.producer_id)
            return self._producer

    async def _allocate(self) -> pb.AllocateProducerIdResponse:
        return await self._connection.ask(
            lambda stub: stub.AllocateProducerId(
                pb.AllocateProducerIdRequest(), timeout=_ATTEMPT_DEADLINE
            )
        )

    def _abandon(self, producer: _Producer) -> None:
        if self._producer is producer:
            self._producer = None


def _refusal(answer: pb.PartitionAppended) -> KorvetError:
    details = [answer.error_message]
    details += (f"record {e.index}: {e.message}" for e in answer.record_errors)
    return KorvetError(answer.error_code, "; ".join(filter(None, details)))
