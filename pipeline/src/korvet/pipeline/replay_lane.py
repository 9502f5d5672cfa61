"""What one Spark task of a replay does: records come as Arrow batches, and are written.

They come in the order in which they are to be written. At full speed a task has a partition
of the target to itself; at a pace one task has them all, sorted by when they are due.
"""

import asyncio
import logging
from bisect import bisect_right
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Sequence
from itertools import chain, repeat
from typing import Final, NamedTuple

import pyarrow as pa
import pyarrow.compute as pc
from aiokafka import errors

from korvet.pipeline.replay_progress import Strand
from korvet.pipeline.replay_target import explanation
from korvet.pipeline.replay_writer import Headers, PartitionWriter, Record, Target

# What a task's batches have, and in this order.
LANE_COLUMNS: Final = (
    "target", "topicId", "partition", "offset", "due", "timestampMs", "key", "value",
    "headers",
)  # fmt: skip
# Of its answer: what it has written to which partition of the target, or why it ended. A
# task that raised would be tried again, and say so in Java's words.
WRITTEN_SCHEMA: Final = "target INT, records BIGINT, problem STRING, advice STRING"

_ANSWER: Final = pa.schema(
    [
        ("target", pa.int32()),
        ("records", pa.int64()),
        ("problem", pa.string()),
        ("advice", pa.string()),
    ]
)

# Of a transaction, or of those that a task has ready together.
_MOST_RECORDS: Final = 64 * 1024
_MOST_BYTES: Final = 16 * 1024 * 1024
# At a pace, what is written is not kept back for longer than this many seconds.
_LONGEST_HOLD: Final = 0.25

_NO_HEADERS: Final[list[tuple[str, bytes | None]]] = []


class Run(NamedTuple):
    """Neighbours of one strand, which go to one partition of the target."""

    target: int
    strand: Strand
    offsets: Sequence[int]
    # When each is due, in milliseconds on the clock of the timestamps; never falling.
    due: Sequence[int]
    records: Sequence[Record]
    size: int

    def part(self, start: int, end: int) -> "Run":
        return self._replace(
            offsets=self.offsets[start:end],
            due=self.due[start:end],
            records=self.records[start:end],
            size=self.size * (end - start) // max(len(self.offsets), 1),
        )


def lane(
    target: Target, pace: float | None
) -> Callable[[Iterable[pa.RecordBatch]], Iterable[pa.RecordBatch]]:
    """For `mapInArrow`. `pace` is how much faster than originally; None is full speed."""

    def run(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        # What aiokafka logs, it also raises; and asyncio what nobody has asked it for.
        for name in ("aiokafka", "asyncio"):
            logging.getLogger(name).setLevel(logging.CRITICAL + 1)
        problem = advice = None
        work = _Lane(target, pace)
        try:
            asyncio.run(work.run(iter(batches)))
        except (errors.KafkaError, OSError, TimeoutError) as error:
            problem, advice = explanation(error, target.bootstrap, target.topic)
        rows: list[dict[str, int | str | None]] = [
            {"target": number, "records": records} for number, records in work.written()
        ]
        if problem is not None:
            rows.append({"problem": problem, "advice": advice})
        yield pa.RecordBatch.from_pylist(rows, schema=_ANSWER)

    return run


class _Pending:
    """What is to go into the next transaction of one partition."""

    def __init__(self, writer: PartitionWriter) -> None:
        self.writer = writer
        self.records: list[Record] = []
        self.size = 0
        self.written = 0

    async def open(self) -> None:
        self.progress = await self.writer.open()

    def add(self, run: Run) -> None:
        self.records += run.records
        self.size += run.size
        last = run.offsets[-1]
        self.progress = self.progress.after(run.strand, last, len(run.records))

    async def commit(self) -> None:
        if self.records:
            records, self.records, self.size = self.records, [], 0
            await self.writer.write(records, self.progress)
            self.written += len(records)


class _Lane:
    def __init__(self, target: Target, pace: float | None) -> None:
        self._target = target
        self._pace = pace
        self._pending: dict[int, _Pending] = {}
        self._committed_at = 0.0
        # The record that was due first, and when that was on our clock.
        self._began: tuple[int, float] | None = None

    def written(self) -> list[tuple[int, int]]:
        """How many records were committed, by the target's partition."""
        return [(number, pending.written) for number, pending in self._pending.items()]

    async def run(self, batches: Iterator[pa.RecordBatch]) -> None:
        self._clock = asyncio.get_running_loop().time
        try:
            async for batch in _in_thread(batches):
                for run in runs(batch):
                    await self._take(run)
            await self._commit()
        finally:
            for pending in self._pending.values():
                await pending.writer.close()

    async def _take(self, run: Run) -> None:
        pending = await self._opened(run.target)
        # The job may have been planned before all of the last one's work was known.
        begin = bisect_right(
            run.offsets, pending.progress.next_offsets.get(run.strand, 0) - 1
        )
        position, end = begin, len(run.offsets)
        while position < end:
            ready = await self._ready(run, position, end)
            pending.add(run.part(position, ready))
            position = ready
            await self._commit_if_much()

    async def _ready(self, run: Run, position: int, end: int) -> int:
        """Wait until a record is due; the position after the last that is due by then."""
        if self._pace is None:
            return min(end, position + _MOST_RECORDS)
        if self._began is None:
            self._began = (run.due[position], self._clock())
        first_due, began_at = self._began
        while True:
            now = first_due + (self._clock() - began_at) * 1000 * self._pace
            ready = bisect_right(run.due, now, lo=position, hi=end)
            if ready > position:
                return ready
            await self._commit()
            left = (run.due[position] - now) / 1000 / self._pace
            # The clock's last digit must not make this a loop without any sleep.
            await asyncio.sleep(max(left, 0.001))

    async def _opened(self, number: int) -> _Pending:
        pending = self._pending.get(number)
        if pending is None:
            pending = _Pending(PartitionWriter(self._target, number))
            await pending.open()
            self._pending[number] = pending
        return pending

    async def _commit_if_much(self) -> None:
        pending = self._pending.values()
        is_much = (
            sum(each.size for each in pending) >= _MOST_BYTES
            or sum(len(each.records) for each in pending) >= _MOST_RECORDS
        )
        held = self._clock() - self._committed_at
        if is_much or (self._pace is not None and held > _LONGEST_HOLD):
            await self._commit()

    async def _commit(self) -> None:
        # The first failure ends the task; what others have committed by then is there.
        await asyncio.gather(*(pending.commit() for pending in self._pending.values()))
        self._committed_at = self._clock()


def runs(batch: pa.RecordBatch) -> Iterator[Run]:
    """A batch's records, cut where the strand changes or the target's partition."""
    count = batch.num_rows
    if not count:
        return
    targets, topic_ids, partitions, offsets, due, timestamps, keys, values = (
        batch.column(name).to_pylist() for name in LANE_COLUMNS[:-1]
    )
    records = list(
        zip(timestamps, keys, values, headers(batch.column("headers")), strict=True)
    )
    # With the partition all of these change together, or there is no change.
    marks = [
        pc.not_equal(column[1:], column[:-1])
        for column in map(batch.column, ("target", "topicId", "partition"))
    ]
    changes = pc.indices_nonzero(pc.or_(pc.or_(*marks[:2]), marks[2])).to_pylist()
    starts = [0, *(index + 1 for index in changes)]
    for start, end in zip(starts, [*starts[1:], count], strict=True):
        yield Run(
            target=targets[start],
            strand=Strand(topic_ids[start], partitions[start]),
            offsets=offsets[start:end],
            due=due[start:end],
            records=records[start:end],
            size=batch.nbytes * (end - start) // count,
        )


def headers(column: pa.ListArray) -> Iterable[Headers]:
    """A list for each record, without an object for each of the many that have none."""
    flat = column.flatten()
    if not len(flat):
        return repeat(_NO_HEADERS, len(column))
    pairs = list(
        zip(flat.field("key").to_pylist(), flat.field("value").to_pylist(), strict=True)
    )
    ends = pc.cumulative_sum(pc.list_value_length(column).fill_null(0)).to_pylist()
    return [
        pairs[start:end] for start, end in zip(chain((0,), ends[:-1]), ends, strict=True)
    ]


async def _in_thread(batches: Iterator[pa.RecordBatch]) -> AsyncIterator[pa.RecordBatch]:
    """The next batch is waited for in a thread, so that the connections stay alive."""
    while (batch := await asyncio.to_thread(next, batches, None)) is not None:
        yield batch
