"""The replay: records of the lake are written to a topic, byte for byte.

The same command again goes on where the last one ended, whatever ended it: how far it is,
is committed with the records (`replay_writer.py`). This module chooses and sorts them.
"""

import asyncio
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import Final, NamedTuple

from aiokafka import errors
from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from korvet.pipeline.failure import LakeError
from korvet.pipeline.kafka_security import KafkaSecurity
from korvet.pipeline.lake import Lake
from korvet.pipeline.replay_lane import LANE_COLUMNS, WRITTEN_SCHEMA, lane
from korvet.pipeline.replay_progress import (
    Progress,
    UnreadableProgressError,
    replay_name,
)
from korvet.pipeline.replay_target import ensure_topic, refusal
from korvet.pipeline.replay_writer import Target, committed

# A batch of Arrow is in the memory of a task twice, as it is and as Python's objects.
_BATCH_BYTES: Final = 16 * 1024 * 1024
_MOST_ROWS: Final = 10_000
_SOON: Final = 30.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Selection:
    """Which of a topic's records; all of them where nothing is said."""

    # By their timestamps: from the first on, and before the second.
    since_ms: int | None = None
    until_ms: int | None = None
    # In each partition: from the first on, and before the second.
    from_offset: int | None = None
    to_offset: int | None = None
    partitions: Sequence[int] = ()
    keys: Sequence[bytes] = ()
    # Of one of the times that the topic was made.
    topic_id: str | None = None

    def apply(self, records: DataFrame) -> DataFrame:
        """Only what is chosen."""
        milliseconds, offset = F.unix_millis("timestamp"), F.col("offset")
        for bound, condition in (
            (self.since_ms, milliseconds.__ge__),
            (self.until_ms, milliseconds.__lt__),
            (self.from_offset, offset.__ge__),
            (self.to_offset, offset.__lt__),
            (self.topic_id, F.col("topicId").__eq__),
        ):
            if bound is not None:
                records = records.where(condition(bound))
        if self.partitions:
            records = records.where(F.col("partition").isin(list(self.partitions)))
        if self.keys:
            wanted = [F.lit(bytearray(key)) for key in self.keys]
            records = records.where(F.col("key").isin(wanted))
        return records


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """What a replay is asked to do."""

    topic: str
    to: str
    bootstrap: str
    selection: Selection = field(default_factory=Selection)
    # How much faster than originally; None is full speed.
    pace: float | None = None
    # Under which it remembers how far it is; by default what the rest of this says.
    name: str | None = None
    patience: float = 120.0
    security: KafkaSecurity = field(default_factory=KafkaSecurity)


class Plan(NamedTuple):
    """What is left to do."""

    target: Target
    records: DataFrame
    # The ids of the topic's histories, in their order.
    histories: Sequence[str]
    # Of those chosen: how many were written by earlier runs, and how many are left.
    done: int
    left: int


def plan(lake: Lake, request: Request) -> Plan:
    """Look how far the replay is, and choose what is left; make the topic if need be."""
    chosen = request.selection.apply(lake.table(request.topic))
    name = request.name or replay_name(
        lake.table_path(request.topic), request.to, asdict(request.selection)
    )

    def source_partitions() -> int:
        (last,) = lake.table(request.topic).agg(F.max("partition")).collect()
        return (last[0] or 0) + 1

    partitions = asyncio.run(
        ensure_topic(request.bootstrap, request.to, source_partitions, request.security)
    )
    target = Target(
        bootstrap=request.bootstrap,
        topic=request.to,
        partitions=partitions,
        replay=name,
        patience=request.patience,
        security=request.security,
    )
    progress = _progress(target)
    if progress:
        # What it began with, so that nothing that was together is torn apart.
        began_with = next(iter(progress.values())).partitions
        target = replace(target, partitions=began_with)
    records = _without(chosen, progress.values())
    done = sum(each.records for each in progress.values())
    counts = _counted(records)
    return Plan(target, records, list(counts), done, sum(counts.values()))


def run(lake: Lake, work: Plan, pace: float | None) -> dict[int, int]:
    """Write what is left, in its order; how many records, by the target's partition."""
    spark = lake.spark
    spark.conf.set("spark.sql.execution.arrow.maxRecordsPerBatch", str(_MOST_ROWS))
    spark.conf.set("spark.sql.execution.arrow.maxBytesPerBatch", str(_BATCH_BYTES))
    ordered = _in_order(work, pace)
    done = ordered.mapInArrow(lane(work.target, pace), WRITTEN_SCHEMA).collect()
    for row in done:
        if row.problem is not None:
            raise LakeError(row.problem, row.advice)
    return {row.target: row.records for row in done}


def committed_records(target: Target) -> int:
    """How many records the replay has written so far, all its runs together."""
    return sum(each.records for each in _progress(target).values())


def _progress(target: Target) -> dict[int, Progress]:
    try:
        return asyncio.run(_committed(target))
    except UnreadableProgressError:
        raise LakeError(
            f"The group {target.replay} has committed offsets that are not a replay's.",
            "Give the replay another --name.",
        ) from None
    except (errors.KafkaError, OSError, TimeoutError) as error:
        raise refusal(error, target.bootstrap, target.topic) from None


async def _committed(target: Target) -> dict[int, Progress]:
    async with asyncio.timeout(_SOON):
        return await committed(target)


def _without(records: DataFrame, progress: Iterable[Progress]) -> DataFrame:
    """What has not been written. Tasks look again: this only spares them the reading."""
    written: Column | None = None
    for each in progress:
        for strand, offset in each.next_offsets.items():
            condition = (
                (F.col("topicId") == strand.topic_id)
                & (F.col("partition") == strand.partition)
                & (F.col("offset") < offset)
            )
            written = condition if written is None else written | condition
    return records if written is None else records.where(~written)


def _in_order(work: Plan, pace: float | None) -> DataFrame:
    """What is left, sorted into as many tasks as there can be."""
    history = F.lit(0)
    for number, topic_id in enumerate(work.histories[1:], 1):
        history = F.when(F.col("topicId") == topic_id, number).otherwise(history)
    records = work.records.select(
        # The same number where there is one, else they are dealt out in turn: what was in
        # one partition stays together, and in its order.
        (F.col("partition") % work.target.partitions).cast("int").alias("target"),
        history.alias("history"),
        "topicId",
        "partition",
        "offset",
        F.unix_millis("timestamp").alias("timestampMs"),
        "key",
        "value",
        "headers",
    )
    order = ["history", "partition", "offset"]
    if pace is None:
        # More than partitions, so that few of them share a task.
        tasks = 1 if work.target.partitions == 1 else 4 * work.target.partitions
        sorted_ = (
            records.withColumn("due", F.lit(0).cast("bigint"))
            .repartition(tasks, "target")
            .sortWithinPartitions("target", *order)
        )
    else:
        # A record is not written before those that come before it in its partition.
        earlier = Window.partitionBy("topicId", "partition").orderBy("offset")
        so_far = earlier.rowsBetween(Window.unboundedPreceding, Window.currentRow)
        sorted_ = (
            records.withColumn("due", F.max("timestampMs").over(so_far))
            .repartition(1)
            .sortWithinPartitions("due", *order)
        )
    return sorted_.select(*LANE_COLUMNS)


def _counted(records: DataFrame) -> dict[str, int]:
    """How many records each history has, in the order in which they were archived."""
    histories = records.groupBy("topicId").agg(
        F.min("ingestDate").alias("day"),
        F.min("timestamp").alias("time"),
        F.count("*").alias("records"),
    )
    rows = histories.orderBy("day", "time", "topicId").collect()
    return {row.topicId: row.records for row in rows}
