"""Those who take part in transactions: told of it when one begins and when it ends.

Partitions are storage's, groups the coordinators' own. Whatever is told may be told again:
each of them knows the number of the last transaction, and takes one end of each.
"""

import asyncio
import logging
from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Final, TypeAlias

from korvet.coordinator.committed_offsets import Commit, TopicPartition
from korvet.coordinator.owned_store import NotOwnerError
from korvet.coordinator.pending_offsets import PendingOffsets, TransactionRef
from korvet.coordinator.refusals import REDIS_IS_AWAY
from korvet.coordinator.storage_client import StorageAwayError, StorageClient
from korvet.coordinator.transaction import Partition
from korvet.kafka.errors import ErrorCode, KafkaError
from korvet.proto.storage.v1 import storage_service_pb2 as pb
from korvet.redis.topic_ids import parse_topic_id
from korvet.runtime.logs import LimitedLog

log = LimitedLog(logging.getLogger(__name__))

# A client that is told to come back comes back; it waits meanwhile.
_BEGIN_SECONDS: Final = 3.0
_FIRST_PAUSE: Final = 0.05
_LONGEST_PAUSE: Final = 2.0

_Committed: TypeAlias = Callable[[str, Mapping[TopicPartition, Commit]], None]


class Participants:
    def __init__(
        self, storage: StorageClient, groups: PendingOffsets, *, on_commit: _Committed
    ) -> None:
        """`on_commit` is told of each group's offsets that a transaction has committed."""
        self._storage = storage
        self._groups = groups
        self._on_commit = on_commit

    async def new_producer_id(self) -> int:
        """One that nobody has had; COORDINATOR_NOT_AVAILABLE where storage has none."""
        try:
            response = await self._storage.allocate_producer_id()
        except StorageAwayError as error:
            raise KafkaError(
                ErrorCode.COORDINATOR_NOT_AVAILABLE, f"storage: {error}"
            ) from error
        return response.producer_id

    # --- begin ---

    async def begin(
        self,
        transaction: TransactionRef,
        partitions: Collection[Partition],
        groups: Collection[str],
    ) -> Mapping[Partition, ErrorCode]:
        """Register a transaction; what each partition says to it.

        COORDINATOR_NOT_AVAILABLE stands for those of which nothing is known: to be
        repeated. NotOwnerError where another coordinator has the transaction.
        """
        for group_id in groups:
            await self._groups.begin(group_id, transaction)
        codes: dict[Partition, ErrorCode] = {}
        try:
            async with asyncio.timeout(_BEGIN_SECONDS):
                await self._begin(transaction, set(partitions), codes)
        except TimeoutError:
            log.warning("storage does not take part in transactions")
        unknown = dict.fromkeys(partitions, ErrorCode.COORDINATOR_NOT_AVAILABLE)
        return {**unknown, **codes}

    async def _begin(
        self,
        transaction: TransactionRef,
        left: set[Partition],
        codes: dict[Partition, ErrorCode],
    ) -> None:
        pause = _FIRST_PAUSE
        while left:
            asked = sorted(left)
            request = pb.BeginTransactionRequest(
                transaction=_transaction(transaction), partitions=_partitions(asked)
            )
            try:
                response = await self._storage.begin_transaction(request)
            except StorageAwayError as error:
                log.warning("transactions cannot begin: %s", error)
            else:
                answered = _known(asked, response.error_codes)
                codes.update(answered)
                left -= answered.keys()
            if left:
                await asyncio.sleep(pause)
                pause = min(2 * pause, _LONGEST_PAUSE)

    # --- end ---

    async def end(
        self,
        transaction: TransactionRef,
        partitions: Collection[Partition],
        groups: Collection[str],
        *,
        is_commit: bool,
    ) -> None:
        """End a transaction with all of them, however long that takes.

        NotOwnerError where another coordinator has it, and ends it.
        """
        try:
            async with asyncio.TaskGroup() as tasks:
                left = set(partitions)
                tasks.create_task(self._end_partitions(transaction, left, is_commit))
                tasks.create_task(self._end_groups(transaction, groups, is_commit))
        except ExceptionGroup as errors:
            if errors.subgroup(NotOwnerError):
                raise NotOwnerError from errors
            raise

    async def _end_partitions(
        self, transaction: TransactionRef, left: set[Partition], is_commit: bool
    ) -> None:
        pause = _FIRST_PAUSE
        while left:
            asked = sorted(left)
            request = pb.EndTransactionRequest(
                transaction=_transaction(transaction),
                commit=is_commit,
                partitions=_partitions(asked),
            )
            try:
                response = await self._storage.end_transaction(request)
            except StorageAwayError as error:
                log.warning("transactions cannot be ended yet: %s", error)
            else:
                answered = _known(asked, response.error_codes)
                for partition, code in answered.items():
                    # Of a topic that is gone nothing is left to end.
                    if code in (ErrorCode.NONE, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION):
                        left.discard(partition)
                    else:
                        log.warning("%s does not end a transaction: %r", partition, code)
            if left:
                await asyncio.sleep(pause)
                pause = min(2 * pause, _LONGEST_PAUSE)

    async def _end_groups(
        self, transaction: TransactionRef, groups: Iterable[str], is_commit: bool
    ) -> None:
        for group_id in groups:
            pause = _FIRST_PAUSE
            while True:
                try:
                    committed = await self._groups.end(
                        group_id, transaction, is_commit=is_commit
                    )
                except REDIS_IS_AWAY as error:
                    log.warning("transactions cannot be ended yet: %s", error)
                    await asyncio.sleep(pause)
                    pause = min(2 * pause, _LONGEST_PAUSE)
                else:
                    break
            if committed:
                self._on_commit(group_id, committed)


def _transaction(transaction: TransactionRef) -> pb.Transaction:
    return pb.Transaction(
        producer_id=transaction.producer.producer_id,
        producer_epoch=transaction.producer.epoch,
        number=transaction.number,
        coordinator_epoch=transaction.coordinator_epoch,
    )


def _partitions(partitions: Iterable[Partition]) -> list[pb.TransactionPartition]:
    return [
        pb.TransactionPartition(
            topic=pb.TopicRef(name=each.topic, id=parse_topic_id(each.topic_id)),
            partition=each.partition,
        )
        for each in partitions
    ]


def _known(
    asked: Collection[Partition], codes: Iterable[int]
) -> dict[Partition, ErrorCode]:
    """What was answered; those of which nothing is known are left out."""
    answered = {
        partition: ErrorCode(code) for partition, code in zip(asked, codes, strict=True)
    }
    if ErrorCode.TRANSACTION_COORDINATOR_FENCED in answered.values():
        raise NotOwnerError
    return {
        partition: code
        for partition, code in answered.items()
        if code is not ErrorCode.KAFKA_STORAGE_ERROR
    }
