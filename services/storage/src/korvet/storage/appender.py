"""Appends to partitions: checks a payload, runs append.lua, and says what became of it.

Two appends to one partition that are submitted one after the other run in that order:
everything from `submit` to the partition's lane happens without a pause, and a lane keeps
its order. Nothing is ever sent twice.
"""

import asyncio
import logging
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Final, NamedTuple, TypeAlias
from zlib import crc32

import hiredis

from korvet.kafka.errors import ErrorCode, KafkaError
from korvet.redis.keys import Keys
from korvet.redis.lane import ConnectionLost, Lane, NotSent, Reply
from korvet.redis.rights import is_denial
from korvet.storage.append_rules import InvalidRecords, Prepared
from korvet.storage.confirmations import Level, strictest
from korvet.storage.log_arguments import batch_arguments, log_arguments, log_keys
from korvet.storage.offsets import OffsetEncoding
from korvet.storage.redis_memory import MemoryWatch
from korvet.storage.replicas import Replicas
from korvet.storage.scripts import APPEND, APPEND_ATOMICALLY
from korvet.storage.topic import Topic

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Appended:
    """What became of one partition's append."""

    error: ErrorCode = ErrorCode.NONE
    message: str = ""
    base_offset: int = -1
    log_append_time_ms: int = -1
    log_start_offset: int = -1
    record_errors: Sequence[tuple[int, str]] = field(default=())


class Target(NamedTuple):
    """A partition of a topic, as it was resolved."""

    topic: Topic
    partition: int


Done: TypeAlias = Callable[[Appended], None]

_UNCONFIRMED: Final = Appended(error=ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND)


def refusal(error: KafkaError) -> Appended:
    errors = error.errors if isinstance(error, InvalidRecords) else ()
    return Appended(error=error.code, message=str(error), record_errors=errors)


class Appender:
    def __init__(
        self,
        lanes: Sequence[Lane],
        replicas: Replicas,
        memory: MemoryWatch,
        keys: Keys,
        producer_expiry: float,
    ) -> None:
        self._lanes = lanes
        self._replicas = replicas
        self._memory = memory
        self._keys = keys
        self._producer_expiry_ms = int(producer_expiry * 1000)

    async def ready(self, target: Target, confirm_by: float | None) -> None:
        """Await this before `submit`, and nothing else between them."""
        if confirm_by is not None and level_of(target.topic):
            await self._replicas.counted(confirm_by)
        await self._lane(target).room()

    def _lane(self, target: Target) -> Lane:
        """The one lane of a partition."""
        stream = self._keys.stream(target.topic.name, target.partition)
        return self._lanes[crc32(stream.encode()) % len(self._lanes)]

    def submit(
        self, target: Target, prepared: Prepared, confirm_by: float | None, done: Done
    ) -> None:
        """Send one append on its way; `done` is called with its outcome.

        `confirm_by` is for acks=all: until when, by the loop's time, what the topic asks
        for beyond that (min.insync.replicas, acks.fsync) may take.
        """
        level = level_of(target.topic)
        if self._memory.is_high:
            done(
                Appended(error=ErrorCode.KAFKA_STORAGE_ERROR, message=self._memory.refusal)
            )
        elif confirm_by is None or level is None:
            future = self._send(target, prepared)
            future.add_done_callback(lambda future: done(_outcome(future, target.topic)))
        elif refused := self._replicas.refusal(level):
            done(refusal(refused))
        else:
            self._append_safely(target, prepared, level, confirm_by, done)

    def _append_safely(
        self, target: Target, prepared: Prepared, level: Level, by: float, done: Done
    ) -> None:
        size, topic = prepared.size, target.topic
        # Taken now: a confirmation counts only from the server that has the append.
        history = self._lane(target).history

        def finished(appended: Appended) -> None:
            self._replicas.release(size)
            done(appended)

        def carried_out(future: "asyncio.Future[Reply]") -> None:
            appended = _outcome(future, topic)
            if appended.error is not ErrorCode.NONE:
                finished(appended)
                return
            self._replicas.confirm(
                level,
                history,
                by,
                lambda is_confirmed: finished(appended if is_confirmed else _UNCONFIRMED),
            )

        self._replicas.hold(size)
        self._send(target, prepared).add_done_callback(carried_out)

    async def is_safe(self, level: Level, history: str, by: float) -> bool:
        """Whether what was carried out in `history` is as safe as that by then."""
        confirmed: asyncio.Future[bool] = asyncio.get_running_loop().create_future()

        def done(is_confirmed: bool) -> None:
            if not confirmed.done():
                confirmed.set_result(is_confirmed)

        self._replicas.confirm(level, history, by, done)
        return await confirmed

    async def append_together(
        self, appends: Sequence[tuple[Target, Prepared]], confirm_by: float | None
    ) -> list[Appended]:
        """Append to several partitions, to each of them once, or to none."""
        levels = [level for target, _ in appends if (level := level_of(target.topic))]
        needed = None if confirm_by is None else strictest(levels)
        if needed and confirm_by is not None:
            await self._replicas.counted(confirm_by)
        refused: Appended | None = None
        if self._memory.is_high:
            full = ErrorCode.KAFKA_STORAGE_ERROR
            refused = Appended(error=full, message=self._memory.refusal)
        elif needed and (why := self._replicas.refusal(needed)):
            refused = refusal(why)
        if refused:
            return [refused] * len(appends)
        lane = self._lanes[0]
        await lane.room()
        history = lane.history
        sending = self._send_together(lane, appends)
        await asyncio.wait([sending])
        if failed := _failure(sending, appends[0][0].topic):
            return [failed] * len(appends)
        answers = [
            _verdict(answer, target.topic)
            for answer, (target, _) in zip(sending.result(), appends, strict=True)
        ]
        if needed is None or confirm_by is None or any(answer.error for answer in answers):
            return answers
        if not await self.is_safe(needed, history, confirm_by):
            return [_UNCONFIRMED] * len(appends)
        return answers

    def _send_together(
        self, lane: Lane, appends: Sequence[tuple[Target, Prepared]]
    ) -> "asyncio.Future[Reply]":
        keys: list[str] = []
        arguments: list[bytes | str | int] = []
        for (topic, partition), prepared in appends:
            keys += log_keys(self._keys, topic.name, partition)
            words = (
                *log_arguments(self._keys, lane, topic, partition),
                *batch_arguments(prepared, self._producer_expiry_ms),
            )
            arguments += (len(words), *words)
        return lane.send("EVALSHA", APPEND_ATOMICALLY.digest, len(keys), *keys, *arguments)

    def _send(self, target: Target, prepared: Prepared) -> "asyncio.Future[Reply]":
        topic, partition = target
        lane = self._lane(target)
        keys = log_keys(self._keys, topic.name, partition)
        return lane.send(
            "EVALSHA",
            lane.digests[APPEND.name],
            len(keys),
            *keys,
            *log_arguments(self._keys, lane, topic, partition),
            *batch_arguments(prepared, self._producer_expiry_ms),
        )


def level_of(topic: Topic) -> Level | None:
    """What acks=all needs; None where it is enough that Redis has it."""
    replicas = topic.config.min_insync_replicas - 1
    on_disk = topic.config.acks_fsync
    return Level(replicas, on_disk) if replicas > 0 or on_disk else None


def _outcome(future: "asyncio.Future[Reply]", topic: Topic) -> Appended:
    return _failure(future, topic) or _verdict(future.result(), topic)


def _failure(future: "asyncio.Future[Reply]", topic: Topic) -> Appended | None:
    """What is known of an append that Redis has not answered as it should."""
    # Not raised: its traceback would lead back to the future, and such rings are collected
    # so seldom here that failing appends would fill the memory.
    error = future.exception()
    if isinstance(error, NotSent):
        return Appended(error=ErrorCode.KAFKA_STORAGE_ERROR, message=str(error))
    if isinstance(error, ConnectionLost):
        # It may have run: only "timed out" lets a client think so.
        return Appended(error=ErrorCode.REQUEST_TIMED_OUT, message=str(error))
    if isinstance(error, hiredis.ReplyError) and is_denial(error):
        # Rights were taken away since the lane connected: perhaps in the middle of it.
        log.error("append to %s was refused to Redis's user: %s", topic.name, error)
        return Appended(error=ErrorCode.REQUEST_TIMED_OUT, message=str(error))
    if isinstance(error, hiredis.ReplyError):
        # The script fails before its first write or not at all (append.lua).
        log.warning("append to %s was refused by Redis: %s", topic.name, error)
        return Appended(error=ErrorCode.KAFKA_STORAGE_ERROR, message=str(error))
    return None


def _verdict(reply: Sequence[bytes], topic: Topic) -> Appended:
    verdict, *answer = reply
    if verdict in (b"OK", b"DUPLICATE"):
        return _appended(answer, topic)
    if verdict == b"UNKNOWN_TOPIC":
        return Appended(error=ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
    return Appended(error=ErrorCode[verdict.decode()])


def _appended(answer: Sequence[bytes], topic: Topic) -> Appended:
    base, time_ms, start, _ = answer
    encoding: OffsetEncoding = topic.config.encoding
    return Appended(
        base_offset=encoding.offset(base),
        log_append_time_ms=int(time_ms) if topic.config.log_append_time else -1,
        log_start_offset=encoding.offset(start) if start else 0,
    )


def now_ms() -> int:
    """For checks of timestamps only: offsets get their time from Redis."""
    return time.time_ns() // 1_000_000
