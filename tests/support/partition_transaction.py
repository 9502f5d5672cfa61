"""One producer's transactions in the partitions of a log replica, without a coordinator."""

from collections.abc import Sequence
from dataclasses import dataclass

from korvet.kafka.errors import ErrorCode
from korvet.proto.storage.v1 import storage_service_pb2 as pb
from tests.support.log_replica import TIMESTAMP, LogReplica, Producer, batch_of, ref


@dataclass
class TransactionalProducer:
    """Numbers its batches and its transactions; everything else is as it is told."""

    replica: LogReplica
    producer_id: int = 7
    epoch: int = 0
    number: int = 0
    coordinator_epoch: int = 1
    sequence: int = 0
    topic: str = "orders"
    # Produce v12 and up (KIP-890).
    epoch_per_transaction: bool = False

    async def begin(self, partitions: Sequence[int] = (0,)) -> ErrorCode:
        """Begin the next transaction."""
        self.number += 1
        return await self.register(partitions)

    async def register(self, partitions: Sequence[int] = (0,)) -> ErrorCode:
        """Register this transaction; the first refusal, if there is one."""
        request = pb.BeginTransactionRequest(transaction=self._transaction())
        for partition in partitions:
            request.partitions.add(topic=ref(self.topic), partition=partition)
        response = await self.replica.transactions.begin(request)
        return _first_error(response.error_codes)

    async def write(
        self,
        count: int = 1,
        partition: int = 0,
        value: bytes = b"value",
        timestamp: int = TIMESTAMP,
    ) -> pb.PartitionAppended:
        """Append a batch to the transaction."""
        batch = batch_of(
            count,
            producer=Producer(self.producer_id, self.epoch, self.sequence),
            value=value,
            timestamp=timestamp,
            transactional=True,
        )
        answer = await self.replica.append(
            batch,
            self.topic,
            partition,
            epoch_per_transaction=self.epoch_per_transaction,
        )
        if not answer.error_code:
            self.sequence += count
        return answer

    async def written(
        self,
        count: int = 1,
        partition: int = 0,
        value: bytes = b"value",
        timestamp: int = TIMESTAMP,
    ) -> int:
        answer = await self.write(count, partition, value, timestamp)
        assert answer.error_code == ErrorCode.NONE, answer
        return answer.base_offset

    async def commit(self, partitions: Sequence[int] = (0,)) -> ErrorCode:
        return await self._end(partitions, commit=True)

    async def abort(self, partitions: Sequence[int] = (0,)) -> ErrorCode:
        return await self._end(partitions, commit=False)

    async def _end(self, partitions: Sequence[int], *, commit: bool) -> ErrorCode:
        request = pb.EndTransactionRequest(transaction=self._transaction(), commit=commit)
        for partition in partitions:
            request.partitions.add(topic=ref(self.topic), partition=partition)
        response = await self.replica.transactions.end(request)
        return _first_error(response.error_codes)

    def _transaction(self) -> pb.Transaction:
        return pb.Transaction(
            producer_id=self.producer_id,
            producer_epoch=self.epoch,
            number=self.number,
            coordinator_epoch=self.coordinator_epoch,
        )


def _first_error(codes: Sequence[int]) -> ErrorCode:
    return next((ErrorCode(code) for code in codes if code), ErrorCode.NONE)
