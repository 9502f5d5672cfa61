"""Transactions in one partition: begun and ended for the coordinator, once each.

What a partition knows decides, in one script: so whoever comes late, or comes twice, or has
been overtaken by another coordinator changes nothing.
"""

import asyncio
from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

from korvet.kafka.control_records import MARKER_SIZE, build_marker
from korvet.kafka.errors import ErrorCode, KafkaError
from korvet.redis.keys import Keys
from korvet.redis.lane import Lane, Reply
from korvet.storage.appender import Appender, Target, level_of, now_ms
from korvet.storage.log_arguments import log_arguments, log_keys
from korvet.storage.offsets import OffsetEncoding
from korvet.storage.scripts import BEGIN_TRANSACTION, END_TRANSACTION

_CONFIRM_SECONDS: Final = 10.0


class Transaction(NamedTuple):
    """One transaction of a producer, as the coordinator names it."""

    producer_id: int
    producer_epoch: int
    number: int
    coordinator_epoch: int


class ActiveProducer(NamedTuple):
    """A producer that a partition knows."""

    producer_id: int
    producer_epoch: int
    # -1 where nothing of it is known.
    last_sequence: int
    last_time_ms: int
    coordinator_epoch: int
    transaction_start: int


class PartitionTransactions:
    def __init__(self, lane: Lane, appender: Appender, keys: Keys) -> None:
        """On a lane of its own kind: nobody is to wait here behind what others append."""
        self._lane = lane
        self._appender = appender
        self._keys = keys

    async def begin(self, target: Target, transaction: Transaction) -> None:
        """Let the partition take the producer's transactional batches."""
        name, partition = target.topic.name, target.partition
        verdict = await self._lane.send(
            "EVALSHA",
            BEGIN_TRANSACTION.digest,
            3,
            self._keys.partition(name, partition),
            self._keys.producers(name, partition),
            self._keys.transactions(name, partition),
            target.topic.id_text,
            transaction.producer_id,
            transaction.producer_epoch,
            transaction.number,
            transaction.coordinator_epoch,
        )
        if verdict[0] == b"LEFT_OPEN":
            await self._abort_left_open(target, transaction, verdict)
            await self.begin(target, transaction)
        else:
            _check(verdict)

    async def end(self, target: Target, transaction: Transaction, *, commit: bool) -> None:
        """End it, where it is still open, and have that as safe as the records are."""
        topic, partition = target
        lane = self._lane
        history, level = lane.history, level_of(topic)
        by = asyncio.get_running_loop().time() + _CONFIRM_SECONDS
        keys = log_keys(self._keys, topic.name, partition)
        verdict = await lane.send(
            "EVALSHA",
            END_TRANSACTION.digest,
            len(keys),
            *keys,
            *log_arguments(self._keys, lane, topic, partition),
            transaction.producer_id,
            transaction.producer_epoch,
            transaction.number,
            transaction.coordinator_epoch,
            "commit" if commit else "abort",
            MARKER_SIZE,
            _marker(transaction, commit) if topic.config.batch_format else "",
        )
        if verdict[0] == b"LEFT_OPEN":
            await self._abort_left_open(target, transaction, verdict)
            await self.end(target, transaction, commit=commit)
            return
        _check(verdict)
        if level and not await self._appender.is_safe(level, history, by):
            raise KafkaError(ErrorCode.KAFKA_STORAGE_ERROR, "the marker is not safe yet")

    async def _abort_left_open(
        self, target: Target, transaction: Transaction, verdict: Sequence[bytes]
    ) -> None:
        """End an earlier transaction of the producer whose end this partition has lost.

        Nobody knows any more what it was; and while it is open, nobody reads on.
        """
        number, epoch = int(verdict[1]), int(verdict[2])
        earlier = transaction._replace(number=number, producer_epoch=epoch)
        await self.end(target, earlier, commit=False)

    async def producers(self, target: Target) -> list[ActiveProducer]:
        """The producers that the partition knows."""
        name, partition = target.topic.name, target.partition
        lane = self._lane
        answers = (
            lane.send("HMGET", self._keys.partition(name, partition), "id", "open"),
            lane.send("HGETALL", self._keys.producers(name, partition)),
            lane.send("HGETALL", self._keys.transactions(name, partition)),
        )
        (topic_id, open_), producers, transactions = [await answer for answer in answers]
        if topic_id is None or topic_id.decode() != target.topic.id_text:
            raise KafkaError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
        starts = _starts(open_ or b"", target.topic.config.encoding)
        return _producers(_pairs(producers), _pairs(transactions), starts)


def _marker(transaction: Transaction, commit: bool) -> bytes:
    return build_marker(
        timestamp=now_ms(),
        producer_id=transaction.producer_id,
        producer_epoch=transaction.producer_epoch,
        coordinator_epoch=transaction.coordinator_epoch,
        commit=commit,
    )


def _check(verdict: Sequence[bytes]) -> None:
    if verdict[0] == b"UNKNOWN_TOPIC":
        raise KafkaError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
    if verdict[0] != b"OK":
        raise KafkaError(ErrorCode[verdict[0].decode()])


def _pairs(reply: Reply) -> Mapping[int, bytes]:
    return {int(field): value for field, value in zip(reply[::2], reply[1::2], strict=True)}


def _starts(open_: bytes, encoding: OffsetEncoding) -> Mapping[int, int]:
    """Producer id -> the first offset of its open transaction."""
    starts: dict[int, int] = {}
    for entry in open_.split():
        producer, _, first = entry.partition(b":")
        starts[int(producer)] = encoding.offset(first)
    return starts


def _producers(
    producers: Mapping[int, bytes],
    transactions: Mapping[int, bytes],
    starts: Mapping[int, int],
) -> list[ActiveProducer]:
    found: list[ActiveProducer] = []
    for producer_id in sorted({*producers, *transactions}):
        sequence = epoch = coordinator_epoch = time_ms = -1
        if value := producers.get(producer_id):
            words = value.split()
            epoch, time_ms = int(words[0]), int(words[1])
            if len(words) > 2:
                first, count, *_ = words[-1].split(b":")
                sequence = (int(first) + int(count) - 1) % (1 << 31)
        if value := transactions.get(producer_id):
            words = value.split()
            epoch, coordinator_epoch = max(epoch, int(words[0])), int(words[3])
            time_ms = max(time_ms, int(words[4]))
        start = starts.get(producer_id, -1)
        found.append(
            ActiveProducer(producer_id, epoch, sequence, time_ms, coordinator_epoch, start)
        )
    return found
