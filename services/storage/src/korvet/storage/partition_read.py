"""Reads one partition: what is asked of Redis for it, and what comes of that.

A read is a range of the stream, then the partition's hash, then what was aborted, in that
order on one connection. So a topic that is deleted and made again in between shows by its
id, the high watermark is never below what was read, and of whatever the hash says is
decided, it is known how.
"""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Final, NamedTuple

from korvet.kafka.compression import CODECS, NONE
from korvet.kafka.errors import ErrorCode
from korvet.kafka.records import Record
from korvet.redis.keys import Keys
from korvet.redis.lane import Lane, Reply
from korvet.storage.batch_format import (
    UnreadableBatchError,
    decode_batches,
    read_batches,
)
from korvet.storage.isolation import (
    AbortedRecords,
    AbortedTransaction,
    decided,
    parse_aborted,
    visible_records,
)
from korvet.storage.offsets import DENSE, OffsetEncoding
from korvet.storage.partition_state import STATE_FIELDS, PartitionState, parse_state
from korvet.storage.read_plan import BLOCK_RECORDS, POINTS_AT_ONCE, Point, Reach, ReadPlan
from korvet.storage.record_format import Entry, read_entries, to_batches
from korvet.storage.topic import Topic

_ABORTED_AT_ONCE: Final = 256


class ReadTarget(NamedTuple):
    topic: Topic
    partition: int
    offset: int
    max_bytes: int
    # None where the caller does not care.
    leader_epoch: int | None
    # Only what is committed, and only up to the last stable offset.
    committed: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadResult:
    error: ErrorCode = ErrorCode.NONE
    message: str = ""
    high_watermark: int = -1
    last_stable_offset: int = -1
    log_start_offset: int = -1
    # Of a read of committed records: what to leave out of these batches.
    aborted: Sequence[AbortedTransaction] = ()
    # Kafka batches, or records where the caller wanted those.
    batches: bytes = b""
    records: Sequence[Record] = ()
    next_offset: int = -1
    # The partition's, where the caller's was wrong.
    leader_epoch: int | None = None
    # Of what is returned, and of the whole log from its creation on.
    size: int = 0
    log_bytes: int = 0
    record_count: int = 0
    # On a record topic, how many entries were read, and the first one's offset.
    entry_count: int = 0
    first_offset: int = -1
    # There may be more: the limits left no room for it.
    is_skipped: bool = False


NOTHING: Final = ReadResult()
# The topic is not the one that was asked for any more.
STALE: Final = ReadResult(error=ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)


class PartitionRead:
    """One partition's part of a read: what was asked of Redis, and what came of it."""

    __slots__ = ("_aborted", "_entries", "_keys", "_lane", "_limit", "_plan", "_points",
                 "_position", "_reach", "_state", "target")  # fmt: skip

    def __init__(
        self, lane: Lane, keys: Keys, target: ReadTarget, plan: ReadPlan, limit: int
    ) -> None:
        self.target = target
        self._lane = lane
        self._keys = keys
        self._plan = plan
        self._limit = limit
        # A negative offset is refused once the state is known.
        self._position = max(0, target.offset, plan.readable_from)
        self._entries: asyncio.Future[Reply] | None = None
        self._points: asyncio.Future[Reply] | None = None
        self._aborted: asyncio.Future[Reply] | None = None
        self._reach: Reach | None = None

    def send(self) -> int:
        """Ask Redis; return how many bytes are on their way, as far as that is known."""
        topic, partition = self.target.topic, self.target.partition
        if self._limit > 0:
            self._reach = self._plan.reach(self._position, self._limit)
            self._ask_entries(topic, partition)
            known = self._plan.last_offset
            if self._reach is None or self._reach.last_offset == known:
                encoding = topic.config.encoding
                start = encoding.entry_id(self._position)
                if known is not None:
                    start = f"({encoding.entry_id(known)}"
                self._points = ask_points(self._lane, self._keys, self.target, start)
        self._state = self._lane.send(
            "HMGET", self._keys.partition(topic.name, partition), *STATE_FIELDS
        )
        if self.target.committed and self._plan.has_transactions:
            self._ask_aborted(topic.config.encoding.entry_id(self._position))
        return self._reach.bytes if self._reach else 0

    def _ask_aborted(self, start: str) -> None:
        aborted = self._keys.aborted(self.target.topic.name, self.target.partition)
        self._aborted = self._lane.send(
            "XRANGE", aborted, start, "+", "COUNT", _ABORTED_AT_ONCE
        )

    def _ask_entries(self, topic: Topic, partition: int) -> None:
        stream = self._keys.stream(topic.name, partition)
        first, last = topic.config.encoding.entry_id(self._position), "+"
        if self._reach is not None:
            last = topic.config.encoding.entry_id(self._reach.last_offset)
        self._entries = self._lane.send("XRANGE", stream, first, last, "COUNT", self._page)

    @property
    def _page(self) -> int:
        """How many entries to ask for: there may be any number that are not ours."""
        return BLOCK_RECORDS if self._reach is None else self._reach.records

    def _behind(self, entries: Sequence[Entry]) -> int | None:
        """Where to go on if nothing of this can be read; None at the log's end."""
        if len(entries) == self._page:
            return self.target.topic.config.encoding.offset_behind(entries[-1][0])
        return None if self._reach is None else self._reach.last_offset + 1

    async def result(self, limit: int, may_exceed: bool, decoded: bool) -> ReadResult:
        topic = self.target.topic
        while True:
            entries: Sequence[Entry] = await self._entries if self._entries else ()
            points: Sequence[Entry] = await self._points if self._points else ()
            state = parse_state(await self._state, topic.id_text, topic.config.encoding)
            if state is None:
                return STALE
            if refused := _refused(self.target, state, self._lane.history):
                return refused
            if self._points:
                now = asyncio.get_running_loop().time()
                self._plan.extend(parse_points(points, topic.config.encoding), now)
                self._points = None
            limit = min(limit, self._limit)
            is_held_up = False
            if self.target.committed and state.first_unstable is not None:
                found = decided(entries, topic.config.encoding, state.last_stable_offset)
                is_held_up, entries = len(found) < len(entries), found
            aborted = await self._find_aborted(entries, state)
            try:
                result = self._result(state, entries, aborted, limit, decoded)
            except UnreadableBatchError as error:
                return ReadResult(
                    error=error.code, message=str(error), next_offset=error.next_offset
                )
            if limit <= 0 or (result.size > limit and not may_exceed):
                nothing = self._result(state, (), (), limit, decoded)
                return replace(nothing, is_skipped=True)
            behind = None if is_held_up else self._behind(entries)
            if result.size or behind is None:
                return result
            self._position = behind
            if not decoded:
                # Trimmed, or other programs' entries: nobody gets further from before them.
                self._plan.readable_from = behind
            self.send()

    async def _find_aborted(
        self, entries: Sequence[Entry], state: PartitionState
    ) -> Sequence[AbortedTransaction]:
        """The aborted transactions with records among these entries."""
        self._plan.has_transactions = state.has_transactions
        if not (self.target.committed and state.has_transactions and entries):
            return ()
        encoding = self.target.topic.config.encoding
        if self._aborted is None:
            self._ask_aborted(encoding.entry_id(self._position))
        end = encoding.offset_behind(entries[-1][0])
        aborted: list[AbortedTransaction] = []
        while self._aborted is not None:
            found = await self._aborted
            self._aborted = None
            aborted += parse_aborted(found, encoding)
            if len(found) == _ABORTED_AT_ONCE and aborted[-1].stable_offset < end:
                self._ask_aborted(f"({found[-1][0].decode()}")
        return [each for each in aborted if each.first_offset < end]

    def _result(
        self,
        state: PartitionState,
        entries: Sequence[Entry],
        aborted: Sequence[AbortedTransaction],
        limit: int,
        decoded: bool,
    ) -> ReadResult:
        target = self.target
        batches, size, next_offset = b"", 0, target.offset
        if decoded:
            # Who gets records goes on behind what is none; a Kafka client asks again.
            next_offset = max(target.offset, self._position)
        records: Sequence[Record] = ()
        entry_count, first_offset, record_count = 0, -1, 0
        config, encoding = target.topic.config, target.topic.config.encoding
        if entries and limit > 0 and config.batch_format:
            found = read_batches(entries, encoding, state.epochs, limit)
            if decoded:
                records, next_offset, size = decode_batches(
                    found, target.offset, limit, AbortedRecords(aborted)
                )
            elif found:
                batches = b"".join([batch.data for batch in found])
                size = len(batches)
                next_offset = found[-1].last_offset + 1
                record_count = sum(
                    each.last_offset - each.base_offset + 1 for each in found
                )
        elif entries and limit > 0:
            stored = read_entries(entries, encoding, limit)
            if stored:
                next_offset = stored[-1].record.offset + 1
                entry_count, first_offset = len(stored), stored[0].record.offset
            if decoded:
                stored = visible_records(stored, AbortedRecords(aborted))
                records = [
                    record.record._replace(timestamp=record.timestamp) for record in stored
                ]
            size = sum(record.size for record in stored)
            record_count = len(stored)
            if stored and not decoded:
                batches = to_batches(
                    stored, state.epochs, _fetch_codec(config.compression_type)
                )
        return ReadResult(
            high_watermark=state.end_offset,
            last_stable_offset=state.last_stable_offset,
            log_start_offset=state.start_offset,
            aborted=aborted,
            batches=batches,
            records=records,
            next_offset=next_offset,
            size=size,
            log_bytes=state.bytes,
            record_count=len(records) or record_count,
            entry_count=entry_count,
            first_offset=first_offset,
        )


def _refused(target: ReadTarget, state: PartitionState, history: str) -> ReadResult | None:
    """Why this read cannot be answered with records."""
    error = ErrorCode.NONE
    current = state.epoch_in(history, target.topic.leader_epochs[target.partition])
    if target.leader_epoch is not None and target.leader_epoch < current:
        error = ErrorCode.FENCED_LEADER_EPOCH
    elif target.leader_epoch is not None and target.leader_epoch > current:
        error = ErrorCode.UNKNOWN_LEADER_EPOCH
    elif target.offset < state.start_offset or (
        # On time encoding a position above the end may belong to a tail that Redis lost,
        # and what comes next will be above it again.
        target.topic.config.encoding is DENSE and target.offset > state.end_offset
    ):
        error = ErrorCode.OFFSET_OUT_OF_RANGE
    if error is ErrorCode.NONE:
        return None
    return ReadResult(
        error=error,
        high_watermark=state.end_offset,
        last_stable_offset=state.last_stable_offset,
        log_start_offset=state.start_offset,
        leader_epoch=current,
    )


def _fetch_codec(compression_type: str) -> int:
    """What a record topic's batches are compressed with on their way out."""
    return CODECS.get(compression_type, NONE)


def ask_points(
    lane: Lane, keys: Keys, target: ReadTarget, start: str
) -> "asyncio.Future[Reply]":
    index = keys.index(target.topic.name, target.partition)
    return lane.send("XRANGE", index, start, "+", "COUNT", POINTS_AT_ONCE)


def parse_points(entries: Sequence[Entry], encoding: OffsetEncoding) -> list[Point]:
    points: list[Point] = []
    for entry_id, fields in entries:
        values = dict(zip(fields[::2], fields[1::2], strict=True))
        try:
            offset = encoding.offset(entry_id)
        except ValueError:
            # The topic was made again with another encoding; its id will tell.
            break
        sizes = (b"bytes", b"blockBytes", b"records", b"blockRecords")
        points.append(Point(offset, *(int(values[name]) for name in sizes)))
    return points
