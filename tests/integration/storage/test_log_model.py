"""Random lives of a log, compared with a model after every step: what is in it, where it
starts and ends, what it counts from any offset on, and what is found by timestamp."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from random import Random
from typing import Any, NamedTuple

import pytest

from korvet.kafka.errors import ErrorCode
from korvet.proto.storage.v1 import storage_service_pb2 as pb
from korvet.storage import log_arguments
from korvet.storage.find_offsets import Special
from korvet.storage.topic_configs import ConfigChange, TopicConfig
from tests.support.log_replica import (
    KEYS,
    LAYOUTS,
    LogReplica,
    batch_of_records,
    log_replica_on,
)
from tests.support.redis_server import RedisServer

pytestmark = pytest.mark.integration

STEPS = 40
FIRST_TIMESTAMP = 1_700_000_000_000
# Small, so that a short life has many of them.
BLOCK_RECORDS = 10
BLOCK_BYTES = 2000
LARGEST_BATCH = 2500


class Appended(NamedTuple):
    offset: int
    timestamp: int
    value: bytes
    # Of its batch: shared evenly, the bytes that count for this record.
    share: float


@dataclass
class Model:
    """Everything that was ever appended, and from which offset on it is still there."""

    records: list[Appended] = field(default_factory=list)
    start: int = 0
    # What comes after the last record; more than that on a log that once was ahead.
    floor: int = 0

    @property
    def live(self) -> list[Appended]:
        return [record for record in self.records if record.offset >= self.start]

    @property
    def end(self) -> int:
        return self.records[-1].offset + 1 if self.records else self.floor

    @property
    def live_bytes(self) -> float:
        return sum(record.share for record in self.live)

    def first_from(self, timestamp: int) -> tuple[int, int]:
        for record in self.live:
            if record.timestamp >= timestamp:
                return record.offset, record.timestamp
        return -1, -1

    def largest(self) -> tuple[int, int]:
        if not self.live:
            return -1, -1
        newest = max(self.live, key=lambda record: (record.timestamp, -record.offset))
        return newest.offset, newest.timestamp


class Life:
    """One log, what is done to it, and the model that it is compared with."""

    def __init__(self, replica: LogReplica, random: Random, config: TopicConfig) -> None:
        self.replica = replica
        self.random = random
        self.config = config
        self.model = Model()

    # --- what may happen ---

    async def append(self) -> None:
        random = self.random
        records = [
            (self._timestamp(), b"k", bytes(random.randrange(200)))
            for _ in range(random.choice((1, 1, 2, 5, 13)))
        ]
        batch = batch_of_records(records, codec=random.choice((0, 0, 1)))
        base = await self.replica.appended(batch)
        # What counts on a record topic is the size without compression.
        size = len(batch if self.config.batch_format else batch_of_records(records))
        self.model.records += [
            Appended(base + index, timestamp, value, size / len(records))
            for index, (timestamp, _, value) in enumerate(records)
        ]

    def _timestamp(self) -> int:
        """Some time that is later than most before it."""
        return FIRST_TIMESTAMP + len(self.model.records) + self.random.randrange(60)

    async def wait(self) -> None:
        # Appends get other milliseconds, so that offsets have gaps and ages differ.
        await asyncio.sleep(0.002)

    async def cut(self) -> None:
        model = self.model
        somewhere = self.random.choice(model.live).offset if model.live else 0
        offset = self.random.choice((0, model.end, somewhere, somewhere))
        offset = min(offset + self.random.choice((0, 0, 1)), model.end)
        result = await self.replica.cut(offset)
        assert result.error_code == ErrorCode.NONE
        model.start = max(model.start, offset)
        assert result.low_watermark == model.start

    async def cut_too_far(self) -> None:
        result = await self.replica.cut(self.model.end + 1)
        assert result.error_code == ErrorCode.OFFSET_OUT_OF_RANGE

    async def shrink(self) -> None:
        """Retention by bytes."""
        keep = self.random.randrange(8000)
        before = self.model.live_bytes
        await self._configure("retention.bytes", keep)
        await self.replica.apply_retention()
        await self._configure("retention.bytes", -1)
        await self._take_start()
        after, block = self.model.live_bytes, BLOCK_BYTES + LARGEST_BATCH
        # Never much less than that is kept; nor more, but for the block that is written.
        assert after == before or after > keep - block
        assert after <= max(keep, 0) + 2 * block

    async def grow_old(self) -> None:
        """Retention by time: everything but the last few milliseconds."""
        await self._configure("retention.ms", self.random.choice((3, 10, 40)))
        await self.replica.apply_retention()
        await self._configure("retention.ms", -1)
        await self._take_start()

    async def _configure(self, name: str, value: int) -> None:
        change = ConfigChange(name, pb.CONFIG_OPERATION_SET, str(value))
        await self.replica.catalogue.alter_configs("orders", [change])

    async def _take_start(self) -> None:
        """Retention may delete a head of the log; which one is its business."""
        described = await self.replica.describe()
        assert self.model.start <= described.log_start_offset <= self.model.end
        gone = [r for r in self.model.live if r.offset < described.log_start_offset]
        if gone:
            # One past the last record that went: a consumer that has read it may go on.
            assert described.log_start_offset == gone[-1].offset + 1
        self.model.start = described.log_start_offset

    # --- what must be true ---

    async def check(self) -> None:
        await self._check_counters()
        await self._check_found()
        await self._check_counts()
        read = await self.replica.read_all(self.model.start)
        assert [(r.offset, r.timestamp, r.value) for r in read] == [
            (r.offset, r.timestamp, r.value) for r in self.model.live
        ]
        await self._check_index()

    async def _check_counters(self) -> None:
        model, log = self.model, await self.replica.describe()
        assert log.high_watermark == model.end
        assert log.log_start_offset == model.start
        off = abs(log.record_count - len(model.live))
        if self.config.batch_format and self.config.encoding.bits is not None:
            assert off <= BLOCK_RECORDS + 13
        else:
            assert off == 0
        off_bytes = abs(log.size_bytes - model.live_bytes)
        assert off_bytes <= BLOCK_BYTES + LARGEST_BATCH
        if not model.live:
            assert log.size_bytes == log.record_count == 0

    async def _check_found(self) -> None:
        model = self.model
        end = model.end, -1
        earliest = model.live[0].offset if model.live else model.end, -1
        expected: dict[int, tuple[int, int]] = {
            Special.EARLIEST: earliest,
            Special.EARLIEST_LOCAL: earliest,
            Special.LATEST: end,
            Special.LATEST_TIERED: (-1, -1),
            Special.MAX_TIMESTAMP: model.largest(),
        }
        latest = len(model.records) + 60
        for some in (*(self.random.randrange(latest) for _ in range(4)), 0, latest):
            timestamp = FIRST_TIMESTAMP + some
            expected[timestamp] = model.first_from(timestamp)
        found = await self.replica.find_all(list(expected))
        assert {
            timestamp: (answer.offset, answer.timestamp_ms)
            for timestamp, answer in zip(expected, found, strict=True)
        } == expected

    async def _check_counts(self) -> None:
        """Exact from any offset on, whether a record is there or not."""
        model = self.model
        offsets = [-1, 0, model.start - 1, model.start, model.end - 1, model.end]
        offsets += [model.end + 1, 1 << 62]
        if model.records:
            some = self.random.choices(model.records, k=4)
            offsets += [r.offset + self.random.choice((-1, 0, 1)) for r in some]
        counts = await self.replica.count_all(offsets)
        assert {
            offset: (count.records, count.log_start_offset, count.high_watermark)
            for offset, count in zip(offsets, counts, strict=True)
        } == {
            offset: (sum(r.offset >= offset for r in model.live), model.start, model.end)
            for offset in offsets
        }

    async def _check_index(self) -> None:
        """Each point tells the truth about all that was appended up to it."""
        points: Any = await self.replica.redis.xrange(KEYS.index("orders", 0))
        previous = 0
        for entry_id, fields in points:
            last = self.config.encoding.offset(entry_id.encode())
            until = [r for r in self.model.records if r.offset <= last]
            block = until[-int(fields["blockRecords"]) :]
            assert until[-1].offset == last
            assert int(fields["records"]) == len(until)
            assert int(fields["latest"]) == max(r.timestamp for r in block)
            assert int(fields["peak"]) == max(r.timestamp for r in until)
            assert int(fields["records"]) - int(fields["blockRecords"]) >= previous
            previous = int(fields["records"])


@pytest.fixture
async def replica(
    redis_server: RedisServer, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[LogReplica]:
    monkeypatch.setattr(log_arguments, "BLOCK_RECORDS", BLOCK_RECORDS)
    monkeypatch.setattr(log_arguments, "BLOCK_BYTES", BLOCK_BYTES)
    async with log_replica_on(redis_server) as replica:
        yield replica


@pytest.mark.parametrize("approximate", ["true", "false"])
@pytest.mark.parametrize("layout", LAYOUTS)
async def test_a_log_is_what_its_model_says(
    replica: LogReplica, layout: str, approximate: str
) -> None:
    # Few sequence bits, so that batches run over the sequence's end.
    life = await born(replica, layout, approximate, bits=3)
    await live(life)


@pytest.mark.parametrize("storage_format", ["record", "batch"])
async def test_a_log_that_is_ahead_of_the_clock_is_what_its_model_says(
    replica: LogReplica, storage_format: str
) -> None:
    # Then milliseconds are as full as they can be: each with several blocks.
    life = await born(replica, f"{storage_format}-time", "false", bits=6)
    ahead = "4102444800000-0"
    partition = KEYS.partition("orders", 0)
    await replica.redis.hset(partition, "last", ahead)
    life.model.floor = life.config.encoding.offset(ahead.encode()) + 1
    await live(life)


async def born(replica: LogReplica, layout: str, approximate: str, bits: int) -> Life:
    configs = {
        **LAYOUTS[layout],
        "approximate.trimming": approximate,
        "retention.ms": "-1",
        "offset.sequence.bits": str(bits),
    }
    topic = await replica.create(configs=configs)
    return Life(replica, Random(f"{layout} {approximate} {bits}"), topic.config)


async def live(life: Life) -> None:
    steps = [life.append] * 12 + [life.wait] * 4
    steps += [life.cut, life.cut_too_far, life.shrink, life.grow_old]
    await life.check()

    for _ in range(STEPS):
        await life.random.choice(steps)()
        await life.check()
