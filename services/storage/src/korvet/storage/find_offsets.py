"""Finds offsets: the ends of a log, and the first record from a timestamp on.

By timestamp, the index names the block, and that block's records are looked at one by
one; so the answer is exact, however the timestamps are mixed.
"""

import asyncio
from collections.abc import Iterable, Sequence
from enum import IntEnum
from typing import Final, NamedTuple

from korvet.kafka.errors import ErrorCode, KafkaError
from korvet.kafka.records import read_header, read_records
from korvet.redis.keys import Keys
from korvet.redis.lane import Lane
from korvet.storage.append_rules import MAX_DECOMPRESSED
from korvet.storage.batch_format import StoredBatch, read_batches
from korvet.storage.epochs import epoch_at
from korvet.storage.partition_state import STATE_FIELDS, PartitionState, parse_state
from korvet.storage.record_format import Entry, read_entries, read_times
from korvet.storage.scripts import SEARCH
from korvet.storage.topic import Topic

# Of the index and of the log; more are looked at in several turns, between which others get
# theirs.
_POINTS_AT_ONCE: Final = 1024
_ENTRIES_AT_ONCE: Final = 1024
# Where the record is that made the peak, it is in the first of the blocks that know of it.
_POINTS_OF_A_PEAK: Final = 64
_NO_LIMIT: Final = 1 << 62


class Special(IntEnum):
    """Timestamps that mean something else."""

    LATEST = -1
    EARLIEST = -2
    MAX_TIMESTAMP = -3
    EARLIEST_LOCAL = -4
    LATEST_TIERED = -5
    EARLIEST_PENDING_UPLOAD = -6


class Found(NamedTuple):
    offset: int
    timestamp: int
    leader_epoch: int


NOT_FOUND: Final = Found(-1, -1, -1)


async def load_state(
    lane: Lane, keys: Keys, topic: Topic, partition: int
) -> PartitionState:
    values = await lane.send("HMGET", keys.partition(topic.name, partition), *STATE_FIELDS)
    state = parse_state(values, topic.id_text, topic.config.encoding)
    if state is None:
        raise KafkaError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
    return state


async def find_offset(
    lane: Lane,
    keys: Keys,
    topic: Topic,
    partition: int,
    timestamp: int,
    *,
    committed: bool = False,
) -> Found:
    """`committed`: as one sees it who reads up to the last stable offset."""
    search = _Search(lane, keys, topic, partition)
    if timestamp >= 0 or timestamp == Special.MAX_TIMESTAMP:
        found = await (search.first_from(timestamp) if timestamp >= 0 else search.largest())
        if not committed or found is NOT_FOUND:
            return found
        state = await load_state(lane, keys, topic, partition)
        # As in Kafka, no other record takes the place of one that is not decided.
        return found if found.offset < state.last_stable_offset else NOT_FOUND
    if timestamp in (Special.EARLIEST, Special.EARLIEST_LOCAL):
        return await search.earliest()
    state = await load_state(lane, keys, topic, partition)
    if timestamp == Special.LATEST:
        epoch = state.epoch_in(lane.history, topic.leader_epochs[partition])
        latest = state.last_stable_offset if committed else state.end_offset
        return Found(latest, -1, epoch)
    if timestamp in (Special.LATEST_TIERED, Special.EARLIEST_PENDING_UPLOAD):
        # There is no tiered storage.
        return NOT_FOUND
    raise KafkaError(ErrorCode.INVALID_REQUEST, f"no timestamp: {timestamp}")


class _Block(NamedTuple):
    """A block of the index: behind one id, up to another; b"" where it is open."""

    before: bytes
    last: bytes
    # The largest timestamp that came into it.
    latest: int


class _Search:
    def __init__(self, lane: Lane, keys: Keys, topic: Topic, partition: int) -> None:
        self._lane = lane
        self._keys = keys
        self._topic = topic
        self._partition = partition
        self._stream = keys.stream(topic.name, partition)
        self._index = keys.index(topic.name, partition)

    async def _state(self) -> PartitionState:
        return await load_state(self._lane, self._keys, self._topic, self._partition)

    async def earliest(self) -> Found:
        """The first record there is; the log's end where there is none."""
        asked = self._lane.send("XRANGE", self._stream, "-", "+", "COUNT", 1)
        # After the entries, so that a topic made again in between is noticed.
        state = await self._state()
        entries: Sequence[Entry] = await asked
        encoding, offset = self._topic.config.encoding, state.end_offset
        if entries and self._topic.config.batch_format:
            batches = read_batches(entries, encoding, state.epochs, 0)
            # DeleteRecords may have cut through a batch; and what is none says nothing.
            offset = max([state.start_offset, *(batch.base_offset for batch in batches)])
        elif entries:
            records = read_entries(entries, encoding, 0)
            offset = records[0].record.offset if records else state.start_offset
        return Found(offset, -1, epoch_at(state.epochs, offset))

    async def first_from(self, timestamp: int) -> Found:
        after = b"-"
        while True:
            before, last, seen = await self._find_block(timestamp, after, _POINTS_AT_ONCE)
            if seen:
                after = seen
                continue
            if found := await self._first_in(before, last, timestamp):
                return found
            if not last:
                return NOT_FOUND
            # What the block had was trimmed: try those behind it.
            after = last

    async def largest(self) -> Found:
        """The first record with the largest timestamp.

        The partition knows how large that ever was. So it is found like any timestamp, as
        long as that record is there; where it was trimmed, all points have to be looked at.
        To know the next largest for every possible start of the log would take a list of
        them, as long as the index where timestamps fall.
        """
        peak: bytes | None = await self._lane.send(
            "HGET", self._keys.partition(self._topic.name, self._partition), "peak"
        )
        timestamp = int(peak or -1)
        before, last, seen = await self._find_block(timestamp, b"-", _POINTS_OF_A_PEAK)
        if not seen and (found := await self._first_in(before, last, timestamp)):
            return found
        return await self._largest_left()

    async def _largest_left(self) -> Found:
        oldest: _Block | None = None
        latest: _Block | None = None
        before = b"0-0"
        while True:
            points: Sequence[Entry] = await self._lane.send(
                "XRANGE", self._index, b"(" + before, "+", "COUNT", _POINTS_AT_ONCE
            )
            for entry_id, fields in points:
                words = dict(zip(fields[::2], fields[1::2], strict=True))
                block = _Block(before, entry_id, int(words[b"latest"]))
                before = entry_id
                if oldest is None:
                    # It may be trimmed in part, so its word alone does not count.
                    oldest = block
                elif latest is None or block.latest > latest.latest:
                    latest = block
            if len(points) < _POINTS_AT_ONCE:
                break
        still_open = _Block(before, b"", -1)
        found = [
            await self._largest_in(block.before, block.last)
            for block in (oldest, latest, still_open)
            if block
        ]
        return max(
            (each for each in found if each),
            key=lambda each: (each.timestamp, -each.offset),
            default=NOT_FOUND,
        )

    async def _find_block(
        self, timestamp: int, after: bytes, most_points: int
    ) -> Sequence[bytes]:
        """What search.lua answers."""
        answer: Sequence[bytes] = await self._lane.send(
            "EVALSHA", SEARCH.digest, 1, self._index, timestamp, after, most_points
        )
        return answer

    async def _first_in(self, before: bytes, last: bytes, timestamp: int) -> Found | None:
        """The first record of a block with the timestamp or a later one."""
        start: bytes | None = before
        while start is not None:
            entries, state, start = await self._page(start, last)
            if not self._topic.config.batch_format:
                for offset, found in read_times(entries, self._topic.config.encoding):
                    if found >= timestamp:
                        return _found(state, offset, found)
                continue
            for batch in self._batches(entries, state):
                if batch.max_timestamp >= timestamp:
                    for offset, found in await _times(batch, state.start_offset):
                        if found >= timestamp:
                            return _found(state, offset, found)
        return None

    async def _largest_in(self, before: bytes, last: bytes) -> Found | None:
        """The first record of a block with the largest timestamp in it."""
        best: Found | None = None
        start: bytes | None = before
        while start is not None:
            entries, state, start = await self._page(start, last)
            if not self._topic.config.batch_format:
                times = read_times(entries, self._topic.config.encoding)
                best = _larger(best, state, times)
                continue
            batches = self._batches(entries, state)
            for batch in sorted(batches, key=lambda each: -each.max_timestamp):
                if best is None or batch.max_timestamp > best.timestamp:
                    best = _larger(best, state, await _times(batch, state.start_offset))
        return best

    async def _page(
        self, behind: bytes, last: bytes
    ) -> tuple[Sequence[Entry], PartitionState, bytes | None]:
        """Some entries of a block, the state, and behind which of them there are more.

        Other programs may have put any number there.
        """
        asked = self._lane.send(
            "XRANGE", self._stream, b"(" + behind, last or "+", "COUNT", _ENTRIES_AT_ONCE
        )
        # After the entries, so that a topic made again in between is noticed.
        state = await self._state()
        entries: Sequence[Entry] = await asked
        more = entries[-1][0] if len(entries) == _ENTRIES_AT_ONCE else None
        return entries, state, more

    def _batches(
        self, entries: Sequence[Entry], state: PartitionState
    ) -> Sequence["_TimedBatch"]:
        encoding = self._topic.config.encoding
        return [
            _TimedBatch(batch, read_header(batch.data).max_timestamp)
            for batch in read_batches(entries, encoding, state.epochs, _NO_LIMIT)
            if not read_header(batch.data).is_control
        ]


class _TimedBatch(NamedTuple):
    batch: StoredBatch
    # As in Kafka, its header's word decides whether the records are looked at.
    max_timestamp: int


def _found(state: PartitionState, offset: int, timestamp: int) -> Found:
    return Found(offset, timestamp, epoch_at(state.epochs, offset))


def _larger(
    best: Found | None, state: PartitionState, times: Iterable[tuple[int, int]]
) -> Found | None:
    """The best so far, or the first of these with a larger timestamp than all others."""
    offset, timestamp = max(times, key=lambda time: (time[1], -time[0]), default=(-1, -1))
    if offset < 0 or (best and best.timestamp >= timestamp):
        return best
    return _found(state, offset, timestamp)


async def _times(timed: _TimedBatch, start_offset: int) -> Sequence[tuple[int, int]]:
    """Offsets and timestamps of a batch's records.

    It may be small and yet take its time, and so may the next: others get their turn first.
    """
    await asyncio.sleep(0)
    batch, max_timestamp = timed
    first = max(batch.base_offset, start_offset)
    if read_header(batch.data).is_log_append_time:
        return [(first, max_timestamp)]
    try:
        records = read_records(batch.data, MAX_DECOMPRESSED)
    except KafkaError:
        # Nobody can say which of its records it is; a reader from its first misses none.
        return [(first, max_timestamp)]
    return [
        (record.offset, record.timestamp)
        for record in records
        if record.offset >= start_offset
    ]
