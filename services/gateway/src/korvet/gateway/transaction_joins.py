"""Partitions and groups that join a transaction by being used in it (KIP-890).

From their versions for that on, Produce and TxnOffsetCommit add what they write to by
themselves. What was added is remembered, so that the coordinator is asked once a
transaction and not once a request. The memory may be wrong in one way only, by naming what
is part of a transaction no longer: the partition or the group refuses that, and it is
forgotten.
"""

from collections.abc import Sequence
from typing import Final, NamedTuple, TypeAlias

from korvet.gateway.transaction_coordinator import TransactionCoordinator
from korvet.kafka.errors import ErrorCode, KafkaError
from korvet.proto.coordinator.v1 import coordinator_service_pb2 as pb

_MAX_JOINED: Final = 100_000


class Producer(NamedTuple):
    """A transactional producer, as its requests name it."""

    transactional_id: str
    producer_id: int
    producer_epoch: int


class JoiningPartition(NamedTuple):
    topic: str
    topic_id: bytes
    partition: int


_Participant: TypeAlias = JoiningPartition | str


class _Joined(NamedTuple):
    producer: Producer
    participants: set[_Participant]


class TransactionJoins:
    def __init__(
        self, coordinator: TransactionCoordinator, *, max_joined: int = _MAX_JOINED
    ) -> None:
        self._coordinator = coordinator
        self._max_joined = max_joined
        # By transactional id, the one that was added to longest ago first.
        self._joined: dict[str, _Joined] = {}
        self._count = 0

    async def join_partitions(
        self, producer: Producer, partitions: Sequence[JoiningPartition]
    ) -> Sequence[int]:
        """Add those that are not part of the transaction yet; a code for each."""
        new = [
            each
            for each in dict.fromkeys(partitions)
            if not self._has_joined(producer, each)
        ]
        if not new:
            return [ErrorCode.NONE] * len(partitions)
        answer = await self._ask(producer, new, verify_only=False)
        codes = _codes(answer, len(new))
        refused = dict(zip(new, codes, strict=True))
        self._remember(producer, {each for each, code in refused.items() if not code})
        return [refused.get(each, ErrorCode.NONE) for each in partitions]

    async def verify_partitions(
        self, producer: Producer, partitions: Sequence[JoiningPartition]
    ) -> Sequence[int]:
        """Ask whether they are part of the transaction, and add none; a code for each."""
        answer = await self._ask(producer, partitions, verify_only=True)
        return _codes(answer, len(partitions))

    async def verify_producer(self, producer: Producer) -> int:
        """Ask whether the transactional id is this producer's; a code."""
        return (await self._ask(producer, (), verify_only=True)).error_code

    async def _ask(
        self,
        producer: Producer,
        partitions: Sequence[JoiningPartition],
        *,
        verify_only: bool,
    ) -> pb.AddPartitionsResponse:
        request = pb.AddPartitionsRequest(
            transactional_id=producer.transactional_id,
            producer_id=producer.producer_id,
            producer_epoch=producer.producer_epoch,
            verify_only=verify_only,
        )
        for each in partitions:
            request.partitions.add(
                topic=each.topic, topic_id=each.topic_id, partition=each.partition
            )
        try:
            return await self._coordinator.add_partitions(request)
        except KafkaError as error:
            return pb.AddPartitionsResponse(error_code=error.code)

    async def join_group(self, producer: Producer, group_id: str) -> int:
        """Add a group where it is not yet part of the producer's transaction."""
        if self._has_joined(producer, group_id):
            return ErrorCode.NONE
        request = pb.AddGroupRequest(
            transactional_id=producer.transactional_id,
            producer_id=producer.producer_id,
            producer_epoch=producer.producer_epoch,
            group_id=group_id,
        )
        try:
            code = (await self._coordinator.add_group(request)).error_code
        except KafkaError as error:
            code = error.code
        if not code:
            self._remember(producer, {group_id})
        return code

    def forget(self, transactional_id: str) -> None:
        """Note that a transaction has ended, or is not what it was taken for."""
        joined = self._joined.pop(transactional_id, None)
        if joined is not None:
            self._count -= len(joined.participants)

    def _has_joined(self, producer: Producer, participant: _Participant) -> bool:
        joined = self._joined.get(producer.transactional_id)
        return (
            joined is not None
            and joined.producer == producer
            and participant in joined.participants
        )

    def _remember(self, producer: Producer, participants: set[_Participant]) -> None:
        if not participants:
            return
        joined = self._joined.get(producer.transactional_id)
        if joined is not None and joined.producer == producer:
            participants = participants | joined.participants
        self.forget(producer.transactional_id)
        self._joined[producer.transactional_id] = _Joined(producer, participants)
        self._count += len(participants)
        while self._count > self._max_joined:
            self.forget(next(iter(self._joined)))


def _codes(answer: pb.AddPartitionsResponse, count: int) -> Sequence[int]:
    """One for each partition, also where the whole request was refused."""
    if answer.error_code:
        return [answer.error_code] * count
    return answer.partition_error_codes
