"""Groups as participants of transactions: offsets that wait for how one ends.

A group remembers of each producer its last transaction, and refuses what comes late
(group_transaction.lua). An offset that waits is "offset, topic id, leader epoch, metadata",
separated by spaces, under the producer's id and the stream's key.
"""

import asyncio
from collections.abc import Mapping
from typing import Final, NamedTuple

from korvet.coordinator.committed_offsets import Commit, TopicPartition, owner_text
from korvet.coordinator.owned_store import NotOwnerError
from korvet.coordinator.owner import Owner
from korvet.coordinator.scripts import (
    BEGIN_GROUP_TRANSACTION,
    COMMIT_PENDING,
    END_GROUP_TRANSACTION,
    FORGET_GROUP_TRANSACTIONS,
)
from korvet.coordinator.transaction import Producer
from korvet.kafka.errors import ErrorCode, KafkaError
from korvet.redis.keys import Keys
from korvet.redis.lane import Lane, Reply

_REFUSALS: Final = {
    b"NOT_OPEN": ErrorCode.INVALID_TXN_STATE,
    b"ENDED": ErrorCode.INVALID_TXN_STATE,
    b"PRODUCER_FENCED": ErrorCode.INVALID_PRODUCER_EPOCH,
}


class TransactionRef(NamedTuple):
    """One transaction, as participants know it."""

    producer: Producer
    number: int
    coordinator_epoch: int


class PendingOffsets:
    def __init__(self, lane: Lane, keys: Keys, *, retention: float) -> None:
        """`retention`: how long it is remembered what has ended."""
        self._lane = lane
        self._keys = keys
        self._retention_ms = round(retention * 1000)

    # --- by the transaction's owner ---

    async def begin(self, group_id: str, transaction: TransactionRef) -> None:
        """Register a transaction; NotOwnerError where another coordinator has it."""
        (outcome,) = await self._lane.send(
            "EVALSHA",
            BEGIN_GROUP_TRANSACTION.digest,
            1,
            self._keys.group_transactions(group_id),
            *_arguments(transaction),
        )
        _check(outcome)

    async def end(
        self, group_id: str, transaction: TransactionRef, *, is_commit: bool
    ) -> Mapping[TopicPartition, Commit]:
        """End a transaction; what that has committed.

        NotOwnerError where another coordinator has the transaction.
        """
        while True:
            pending = await self._pending(group_id, transaction.producer.producer_id)
            streams = [self._keys.stream(*place) for place in pending]
            keys = [
                self._keys.group(group_id),
                self._keys.group_transactions(group_id),
                self._keys.group_pending(group_id),
                self._keys.group_offsets(group_id),
                *(self._keys.commit(stream, group_id) for stream in streams),
            ]
            (outcome,) = await self._lane.send(
                "EVALSHA",
                END_GROUP_TRANSACTION.digest,
                len(keys),
                *keys,
                *_arguments(transaction),
                "commit" if is_commit else "abort",
                self._retention_ms,
                *streams,
            )
            if outcome != b"CHANGED":
                _check(outcome)
                return pending if is_commit else {}

    # --- by the group's owner ---

    def send(
        self,
        group_id: str,
        owner: Owner,
        producer: Producer,
        commits: Mapping[TopicPartition, Commit],
    ) -> "asyncio.Future[Reply]":
        """Send offsets on their way, in order with everything else on the lane."""
        arguments: list[str | int] = [owner_text(owner), *producer]
        for place, commit in commits.items():
            arguments += [self._keys.stream(*place), *commit]
        return self._lane.send(
            "EVALSHA",
            COMMIT_PENDING.digest,
            3,
            self._keys.group(group_id),
            self._keys.group_transactions(group_id),
            self._keys.group_pending(group_id),
            *arguments,
        )

    @staticmethod
    async def sent(reply: "asyncio.Future[Reply]") -> None:
        """Wait for it; NotOwnerError where the group has another owner."""
        (outcome,) = await reply
        _check(outcome)

    async def forget_old(self, group_id: str, now_ms: int) -> None:
        """Forget transactions that nobody will ask for any more."""
        await self._lane.send(
            "EVALSHA",
            FORGET_GROUP_TRANSACTIONS.digest,
            1,
            self._keys.group_transactions(group_id),
            now_ms - self._retention_ms,
        )

    # --- by anybody ---

    async def all(self, group_id: str) -> Mapping[TopicPartition, Commit]:
        """What open transactions may commit; of several for one partition, one."""
        return await self._pending(group_id)

    async def _pending(
        self, group_id: str, producer_id: int | None = None
    ) -> dict[TopicPartition, Commit]:
        found = await self._lane.send("HGETALL", self._keys.group_pending(group_id))
        pending: dict[TopicPartition, Commit] = {}
        for field, value in zip(found[::2], found[1::2], strict=True):
            whose, _, stream = field.decode().partition(" ")
            if producer_id in (None, int(whose)):
                place = TopicPartition(*self._keys.partition_of_stream(stream))
                pending[place] = _parse(value)
        return pending


def _arguments(transaction: TransactionRef) -> tuple[int, ...]:
    return (*transaction.producer, transaction.number, transaction.coordinator_epoch)


def _check(outcome: bytes) -> None:
    if outcome in _REFUSALS:
        raise KafkaError(_REFUSALS[outcome])
    if outcome != b"OK":
        # Of the group, or a coordinator with a higher epoch has the transaction.
        raise NotOwnerError


def _parse(value: bytes) -> Commit:
    offset, topic_id, leader_epoch, metadata = value.decode().split(" ", 3)
    return Commit(int(offset), topic_id, int(leader_epoch), metadata)
