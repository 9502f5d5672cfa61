"""Keeps files few and folders small: compact joins files, vacuum deletes those replaced.

Neither changes what the tables hold. Both may run beside an archive: Delta has them commit
one after the other, and none touches what the other adds.
"""

from dataclasses import dataclass
from typing import Any, Final

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException

from korvet.pipeline.failure import LakeError
from korvet.pipeline.lake import Lake
from korvet.pipeline.spark_failure import reason

# Delta's own: a job that reads for longer, or looks at an older version, misses its files.
SAFE_HOURS: Final = 168.0

_OPTIMIZE: Final = "spark.databricks.delta.optimize"
_GUARD: Final = "spark.databricks.delta.retentionDurationCheck.enabled"
_LISTING: Final = "spark.sql.sources.parallelPartitionDiscovery.parallelism"
_LEAST_TASKS: Final = 8


@dataclass(frozen=True, slots=True, kw_only=True)
class Compacted:
    """What became of a table's files: those that were joined, and what they became."""

    topic: str
    files_removed: int
    files_added: int
    # Of the files that were added.
    size_bytes: int
    files_left: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Vacuumed:
    """What was, or with a dry run would be, deleted of a table's folder."""

    topic: str
    files: int
    size_bytes: int
    # Of what is left.
    files_left: int
    size_left: int


def compact(lake: Lake, topic: str, file_bytes: int) -> Compacted:
    """Join files that are smaller than this into files of about this size."""
    path = _checked(lake, topic)
    settings = {
        f"{_OPTIMIZE}.maxFileSize": str(file_bytes),
        # What is nearly as large already would be written again for nothing.
        f"{_OPTIMIZE}.minFileSize": str(file_bytes * 3 // 4),
    }
    (row,) = _statement(lake, topic, f"OPTIMIZE delta.`{path}`", settings)
    (detail,) = lake.spark.sql(f"DESCRIBE DETAIL delta.`{path}`").collect()
    added = row.metrics.filesAdded
    return Compacted(
        topic=topic,
        files_removed=row.metrics.numFilesRemoved,
        files_added=row.metrics.numFilesAdded,
        size_bytes=added.totalSize,
        files_left=detail.numFiles,
    )


def vacuum(lake: Lake, topic: str, keep_hours: float, *, dry_run: bool = False) -> Vacuumed:
    """Delete files that no version of the last so many hours of the table has."""
    path = _checked(lake, topic)
    folder = lake.table_path(topic)
    parallel = max(_LEAST_TASKS, 4 * lake.spark.sparkContext.defaultParallelism)
    settings = {
        # Less than Delta's guard allows is for the caller to decide, who has asked.
        _GUARD: "false",
        # Spark's default lists a folder of a few files in ten thousand tasks.
        _LISTING: str(parallel),
    }
    before = _content(lake, folder)
    statement = f"VACUUM delta.`{path}` RETAIN {keep_hours:g} HOURS"
    if dry_run:
        found = _statement(lake, topic, f"{statement} DRY RUN", settings)
        sizes = [_size(lake, row.path) for row in found]
        return Vacuumed(
            topic=topic,
            files=len(sizes),
            size_bytes=sum(sizes),
            files_left=before[0] - len(sizes),
            size_left=before[1] - sum(sizes),
        )
    _statement(lake, topic, statement, settings)
    after = _content(lake, folder)
    return Vacuumed(
        topic=topic,
        files=before[0] - after[0],
        size_bytes=before[1] - after[1],
        files_left=after[0],
        size_left=after[1],
    )


def _checked(lake: Lake, topic: str) -> str:
    """The table's path for a statement; a LakeError where it is not one of ours."""
    lake.table(topic)
    return lake.table_path(topic).replace("`", "``")


def _statement(
    lake: Lake, topic: str, statement: str, settings: dict[str, str]
) -> list[Any]:
    conf = lake.spark.conf
    before = {name: conf.get(name, None) for name in settings}
    for name, value in settings.items():
        conf.set(name, value)
    try:
        return lake.spark.sql(statement).collect()
    except (PySparkException, Py4JError) as error:
        raise LakeError(
            f"{topic} could not be worked on: {reason(error)}", "Nothing is lost by that."
        ) from None
    finally:
        for name, old in before.items():
            if old is None:
                conf.unset(name)
            else:
                conf.set(name, old)


def _content(lake: Lake, folder: str) -> tuple[int, int]:
    """Files and bytes of a table without its log, which is Delta's to keep short."""
    files = size = 0
    for name in lake.names(folder):
        if name != "_delta_log":
            summary = lake.summary(f"{folder}/{name}")
            files += summary.files
            size += summary.size_bytes
    return files, size


def _size(lake: Lake, path: str) -> int:
    return lake.summary(path).size_bytes
