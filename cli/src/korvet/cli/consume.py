"""`korvet consume`: the records of a topic on standard output.

Bytes come out as they are in the log. It reads without a group: nothing is committed, and
nobody else's reading is disturbed.
"""

import asyncio
import os
import signal
import sys
from collections.abc import AsyncIterator
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Final

import typer
from aiokafka import AIOKafkaConsumer, ConsumerRecord, TopicPartition
from aiokafka.errors import OffsetOutOfRangeError

from korvet.cli.addresses import DEFAULT_BOOTSTRAP, BootstrapOption, no_such_partition
from korvet.cli.failure import Failure
from korvet.cli.kafka_connection import explained, partitions_of
from korvet.cli.places import PLACE_HELP, Place, parse_place, timestamp_ms
from korvet.cli.progress import Progress
from korvet.cli.record_lines import RecordLines
from korvet.cli.terminal import errors

_POLL_MS: Final = 500
# How long nothing may come before the end is taken as reached: the last records below the
# high watermark may have been deleted.
_QUIET: Final = 5.0


def consume(
    topic: Annotated[str, typer.Argument(metavar="TOPIC", show_default=False)],
    start: Annotated[
        str,
        typer.Option("--from", metavar="WHERE", help=f"Where to begin: {PLACE_HELP}"),
    ] = "earliest",
    partition: Annotated[
        list[int] | None,
        typer.Option(help="Only this partition. May be repeated; by default all."),
    ] = None,
    maximum: Annotated[
        int | None, typer.Option("--max", "-n", min=1, help="Stop after so many records.")
    ] = None,
    follow: Annotated[
        bool, typer.Option("--follow", "-f", help="Go on with what comes, until Ctrl-C.")
    ] = False,
    keys: Annotated[bool, typer.Option("--keys", help="Write the key before it.")] = False,
    headers: Annotated[bool, typer.Option("--headers", help="Write the headers.")] = False,
    offsets: Annotated[
        bool, typer.Option("--offsets", help="Write the partition and the offset.")
    ] = False,
    as_json: Annotated[
        bool, typer.Option("--json", help="Write an object a line, with everything.")
    ] = False,
    bootstrap: BootstrapOption = DEFAULT_BOOTSTRAP,
) -> None:
    """Write the records of a topic to standard output, one a line."""
    plan = _Plan(
        topic=topic,
        start=parse_place(start, "--from"),
        partitions=partition,
        maximum=maximum,
        follow=follow,
    )
    lines = RecordLines(keys=keys, headers=headers, offsets=offsets, as_json=as_json)
    try:
        with explained(bootstrap, topic):
            asyncio.run(_consume(plan, lines, bootstrap))
        sys.stdout.flush()
    except BrokenPipeError:
        # Whoever reads us has seen enough. Python would flush once more at exit, and fail.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


@dataclass(frozen=True, slots=True, kw_only=True)
class _Plan:
    topic: str
    start: Place
    partitions: list[int] | None
    maximum: int | None
    follow: bool


async def _consume(plan: _Plan, lines: RecordLines, bootstrap: str) -> None:
    known = await partitions_of(bootstrap, plan.topic)
    wanted = known if plan.partitions is None else plan.partitions
    for partition in wanted:
        if partition not in known:
            raise no_such_partition(plan.topic, partition, len(known))
    assigned = [TopicPartition(plan.topic, partition) for partition in wanted]
    consumer = AIOKafkaConsumer(
        bootstrap_servers=bootstrap,
        enable_auto_commit=False,
        auto_offset_reset="none",
        fetch_max_wait_ms=_POLL_MS,
        max_partition_fetch_bytes=8 * 1024 * 1024,
    )
    try:
        await consumer.start()
        starts = await _starts(consumer, assigned, plan.start)
        # At once after the assignment, before the consumer looks for a start of its own.
        consumer.assign(assigned)
        for partition, offset in starts.items():
            consumer.seek(partition, offset)
        # From here on it asks for all topics: to ask for one by its name would create it
        # again once it is deleted.
        consumer._client.set_topics([])
        reading = asyncio.ensure_future(_write_all(consumer, starts, plan, lines))
        loop = asyncio.get_running_loop()
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(number, reading.cancel)
        await asyncio.wait({reading})
        if not reading.cancelled():
            reading.result()
    finally:
        await consumer.stop()


async def _starts(
    consumer: AIOKafkaConsumer,
    partitions: list[TopicPartition],
    start: Place,
) -> dict[TopicPartition, int]:
    """The offset to begin with, in each partition."""
    if start == "earliest":
        return dict(await consumer.beginning_offsets(partitions))
    ends = dict(await consumer.end_offsets(partitions))
    if isinstance(start, int):
        if start > max(ends.values()):
            raise await _outside(consumer, start, partitions)
        # Those that end before it begin with what comes next.
        return {partition: min(start, end) for partition, end in ends.items()}
    if not isinstance(start, datetime):
        return ends
    found = await consumer.offsets_for_times(dict.fromkeys(partitions, timestamp_ms(start)))
    return {
        partition: ends[partition] if offset is None else offset.offset
        for partition, offset in found.items()
    }


async def _write_all(
    consumer: AIOKafkaConsumer,
    starts: dict[TopicPartition, int],
    plan: _Plan,
    lines: RecordLines,
) -> None:
    output = sys.stdout.buffer
    left = plan.maximum
    ends = None if plan.follow else dict(await consumer.end_offsets(list(starts)))
    # A bar is for a file or a pipe; at a terminal the records themselves show it. Offsets
    # may have gaps, but how far it is to the end they tell well enough.
    total = plan.maximum
    if total is None and ends is not None:
        total = sum(max(0, ends[each] - start) for each, start in starts.items())
    with Progress("records", total, wanted=not sys.stdout.isatty()) as progress:
        async for partition, batch in _batches(consumer, list(starts), ends, plan.start):
            if left is not None:
                batch = batch[:left]
                left -= len(batch)
            for record in batch:
                output.write(lines.line(record))
            if batch:
                following = batch[-1].offset + 1
                distance = following - starts[partition]
                starts[partition] = following
                progress.advance(len(batch), distance if left is None else len(batch))
            if plan.follow or left == 0:
                output.flush()
            if left == 0:
                return
    if progress.items == 0 and sys.stdout.isatty():
        errors.print(f"Nothing is there. --follow waits for what comes to {plan.topic}.")


async def _batches(
    consumer: AIOKafkaConsumer,
    assigned: list[TopicPartition],
    ends: dict[TopicPartition, int] | None,
    start: Place,
) -> AsyncIterator[tuple[TopicPartition, list[ConsumerRecord]]]:
    """What there is, batch by batch, up to the ends or for as long as more may come."""
    loop = asyncio.get_running_loop()
    last_seen = loop.time()
    while True:
        if ends is not None:
            missing = [
                each for each in assigned if await consumer.position(each) < ends[each]
            ]
            if not missing:
                return
            if loop.time() - last_seen > _QUIET:
                return
        try:
            found = await consumer.getmany(timeout_ms=_POLL_MS)
        except OffsetOutOfRangeError as error:
            ((cut, offset),) = error.args[0].items()
            if offset == start:
                raise await _outside(consumer, offset, [cut]) from None
            # Deleted before they could be read: on with those that are left.
            await consumer.seek_to_beginning(cut)
            continue
        topic = assigned[0].topic
        if not found and consumer.partitions_for_topic(topic) is None:
            raise Failure(f"{topic} was deleted while it was read.")
        for partition, records in found.items():
            last_seen = loop.time()
            if ends is None:
                yield partition, records
            else:
                end = ends[partition]
                yield partition, [each for each in records if each.offset < end]


async def _outside(
    consumer: AIOKafkaConsumer, offset: int, partitions: list[TopicPartition]
) -> Failure:
    """What to tell who asked for an offset at which none of these has anything."""
    starts = await consumer.beginning_offsets(partitions)
    ends = await consumer.end_offsets(partitions)
    past = all(offset > end for end in ends.values())
    where = "past the end" if past else "before the start"
    bounds = (
        f"Partition {each.partition} goes from {starts[each]} to {ends[each]}."
        for each in partitions
    )
    return Failure(
        f"--from {offset} is {where} of {partitions[0].topic}.",
        "\n".join(
            [*bounds, "The last number is the next record's: --from takes that, too."]
        ),
    )
