"""Makes a report of a lake's tables: Spark counts, and what comes back is small.

Everything is grouped before it leaves Spark, so that a report of a large lake needs no more
memory than one of a small lake.
"""

import time
from collections.abc import Sequence
from datetime import date
from typing import Any, Final

from pyspark.sql import Column, DataFrame, Window
from pyspark.sql import functions as F

from korvet.pipeline.lake import Lake
from korvet.pipeline.offset_times import sequence_bits
from korvet.pipeline.report_model import (
    HOUR_MS,
    Bucket,
    KeyShare,
    LakeReport,
    Latency,
    MissingOffsets,
    PartitionShare,
    Silence,
    SizeClass,
    TopicReport,
    bucket_length_ms,
    shortest_silence_ms,
    size_class,
)
from korvet.pipeline.table import CREATE_TIME

_TOP_KEYS: Final = 8
_SILENCES: Final = 20
_MISSING: Final = 100
_DAY_MS: Final = 86_400_000

_NO_APPEND_TIMES: Final = (
    "Not known: dense offsets do not say when a record was appended. On topics with"
    " offset.encoding=time they do."
)
_NO_CREATE_TIMES: Final = (
    "Not known: the topic stamps records when they are appended, so that producers' own"
    " times are not kept."
)


def report(lake: Lake, topics: Sequence[str]) -> LakeReport:
    return LakeReport(
        lake=lake.folder,
        made_at_ms=time.time_ns() // 1_000_000,
        topics=[topic_report(lake, topic) for topic in topics],
    )


def topic_report(lake: Lake, topic: str) -> TopicReport:
    records = _measured(lake.table(topic))
    histories = records.groupBy("topicId").agg(
        F.max("offset").alias("offset"), F.max("ingestDate").alias("ingested")
    )
    # What offsets of each history are: times with so many sequence bits, or None.
    bits = {
        row.topicId: sequence_bits(row.offset, _end_of(row.ingested))
        for row in histories.collect()
    }
    records = records.withColumn("latency", _latency(bits))
    (total,) = records.agg(
        F.count("*").alias("records"),
        F.sum("size").alias("size_bytes"),
        F.min("at").alias("first_ms"),
        F.max("at").alias("last_ms"),
        F.count_if(F.col("value").isNull()).alias("tombstones"),
        F.count_if(F.col("key").isNull()).alias("keyless"),
        F.approx_count_distinct("key").alias("distinct_keys"),
        F.count_if(F.col("timestampType") == CREATE_TIME).alias("stamped"),
        _percentiles().alias("latency"),
        F.max("latency").alias("slowest"),
    ).collect()
    first, last = total.first_ms or 0, total.last_ms or 0
    bucket = bucket_length_ms(first, last)
    missing, missing_count = _missing(records, bits)
    hours = _buckets(records, HOUR_MS)
    unknown = _NO_APPEND_TIMES if total.stamped else _NO_CREATE_TIMES
    path = lake.table_path(topic).replace("`", "``")
    (detail,) = lake.spark.sql(f"DESCRIBE DETAIL delta.`{path}`").collect()
    return TopicReport(
        topic=topic,
        records=total.records,
        size_bytes=total.size_bytes or 0,
        first_ms=first,
        last_ms=last,
        histories=len(bits),
        tombstones=total.tombstones,
        keyless=total.keyless,
        distinct_keys=total.distinct_keys,
        files=detail.numFiles,
        file_bytes=detail.sizeInBytes,
        bucket_ms=bucket,
        buckets=hours if bucket == HOUR_MS else _buckets(records, bucket),
        hours=hours,
        partitions=_partitions(records),
        top_keys=_top_keys(records),
        sizes=_sizes(records),
        silences=_silences(records, shortest_silence_ms(bucket)),
        missing=missing,
        missing_count=missing_count,
        latency=_latency_of(total),
        latency_unknown="" if total.latency else unknown,
    )


def _measured(records: DataFrame) -> DataFrame:
    """With each record's time in milliseconds, and its size."""

    def size(of: Column) -> Column:
        return F.coalesce(F.octet_length(of), F.lit(0))

    headers = F.aggregate(
        "headers",
        F.lit(0),
        lambda total, header: total + size(header["key"]) + size(header["value"]),
    )
    return records.select(
        "topicId",
        "partition",
        "offset",
        "timestampType",
        "ingestDate",
        "key",
        "value",
        F.unix_millis("timestamp").alias("at"),
        (size(F.col("key")) + size(F.col("value")) + headers).cast("bigint").alias("size"),
    )


def _end_of(day: date) -> int:
    """The last moment at which what was archived that day can have been appended.

    With a day more: the archive's clock need not be that of Redis.
    """
    return (day - date(1970, 1, 1)).days * _DAY_MS + 2 * _DAY_MS


def _latency(bits: dict[str, int | None]) -> Column:
    """From the timestamp to the append, where both are known."""
    appended: Column = F.lit(None).cast("bigint")
    for topic_id, width in bits.items():
        if width is not None:
            time_of = F.shiftright("offset", width)
            is_it = F.col("topicId") == topic_id
            appended = F.when(is_it, time_of).otherwise(appended)
    is_producers = F.col("timestampType") == CREATE_TIME
    return F.when(is_producers & (F.col("at") >= 0), appended - F.col("at"))


def _percentiles() -> Column:
    return F.percentile_approx("latency", [0.5, 0.99], 10_000)


def _latency_of(row: Any) -> Latency | None:
    if not row.latency:
        return None
    p50, p99 = row.latency
    return Latency(p50, p99, row.slowest)


def _buckets(records: DataFrame, length_ms: int) -> list[Bucket]:
    start = (F.floor(F.col("at") / length_ms) * length_ms).cast("bigint")
    rows = (
        records.groupBy(start.alias("start"))
        .agg(
            F.count("*").alias("records"),
            F.sum("size").alias("size_bytes"),
            _percentiles().alias("latency"),
            F.max("latency").alias("slowest"),
        )
        .orderBy("start")
        .collect()
    )
    return [
        Bucket(row.start, row.records, row.size_bytes, _latency_of(row)) for row in rows
    ]


def _partitions(records: DataFrame) -> list[PartitionShare]:
    sums = records.groupBy("partition").agg(
        F.count("*").alias("records"), F.sum("size").alias("size_bytes")
    )
    rows = sums.orderBy("partition").collect()
    return [PartitionShare(row.partition, row.records, row.size_bytes) for row in rows]


def _top_keys(records: DataFrame) -> list[KeyShare]:
    keyed = records.where(F.col("key").isNotNull()).groupBy("key")
    counted = keyed.agg(F.count("*").alias("records"))
    rows = counted.orderBy(F.desc("records"), "key").limit(_TOP_KEYS).collect()
    return [KeyShare(bytes(row.key), row.records) for row in rows]


def _sizes(records: DataFrame) -> list[SizeClass]:
    """By powers of two, without those at either end that have no records."""
    length = F.octet_length("value")
    index = F.when(length == 0, 0).otherwise(F.ceil(F.log2(length)) + 1).cast("int")
    classes = records.where(F.col("value").isNotNull()).groupBy(index.alias("class"))
    found = {row["class"]: row.n for row in classes.agg(F.count("*").alias("n")).collect()}
    if not found:
        return []
    return [
        SizeClass(size_class(number), found.get(number, 0))
        for number in range(min(found), max(found) + 1)
    ]


def _silences(records: DataFrame, shortest_ms: int) -> list[Silence]:
    """The longest, in the order in which they were."""
    # By seconds first, of which there are far fewer than records, in one task's window.
    seconds = records.groupBy(F.floor(F.col("at") / 1000).alias("second")).agg(
        F.min("at").alias("first"), F.max("at").alias("last")
    )
    before = F.lag("last").over(Window.orderBy("second"))
    gaps = seconds.select(before.alias("start"), F.col("first").alias("end"))
    long = gaps.where(F.col("end") - F.col("start") >= shortest_ms)
    longest = long.orderBy(F.desc(F.col("end") - F.col("start"))).limit(_SILENCES)
    return sorted(Silence(row.start, row.end) for row in longest.collect())


def _missing(
    records: DataFrame, bits: dict[str, int | None]
) -> tuple[list[MissingOffsets] | None, int]:
    """The first of the stretches that dense histories lack, and how much all have."""
    dense = [topic_id for topic_id, width in bits.items() if width is None]
    if not dense:
        return None, 0
    places = Window.partitionBy("topicId", "partition").orderBy("offset")
    gaps = (
        records.where(F.col("topicId").isin(dense))
        .select("partition", F.lag("offset").over(places).alias("before"), "offset")
        .where(F.col("offset") > F.col("before") + 1)
        .select(
            "partition",
            (F.col("before") + 1).alias("first"),
            (F.col("offset") - 1).alias("last"),
        )
    )
    (total,) = gaps.agg(F.sum(F.col("last") - F.col("first") + 1).alias("count")).collect()
    if not total["count"]:
        return [], 0
    rows = gaps.orderBy("partition", "first").limit(_MISSING).collect()
    found = [MissingOffsets(row.partition, row.first, row["last"]) for row in rows]
    return found, total["count"]
