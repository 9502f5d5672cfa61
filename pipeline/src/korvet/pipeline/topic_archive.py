"""Archives one topic: a batch at a time, each of which is one commit of its table."""

import uuid
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final, NamedTuple

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import functions as F

from korvet.pipeline import table
from korvet.pipeline.archive_state import APPLICATION, Archived, ArchiveState
from korvet.pipeline.failure import LakeError
from korvet.pipeline.lake import Lake
from korvet.pipeline.log_plan import counted, in_splits, limited, positions
from korvet.pipeline.planning import Gap, Range
from korvet.pipeline.source_options import (
    EARLIEST,
    LATEST,
    Bound,
    endpoint_options,
    splits_option,
)
from korvet.pipeline.storage_link import Endpoint, StorageLink, TopicInfo
from korvet.pipeline.table_log import Commit, is_complete, last_commit

# A task's file is about so large before it is compressed, and has so many records at most.
_SPLIT_BYTES: Final = 192 << 20
_SPLIT_RECORDS: Final = 500_000


@dataclass(frozen=True, slots=True, kw_only=True)
class ArchiveSettings:
    endpoint: Endpoint
    # A commit has at most so many, so that a kill costs no more than reading those again.
    records_per_commit: int = 2_000_000
    # Whether to go on behind what retention took, or to fail.
    skips_gaps: bool = False
    on_gap: Callable[[Gap], None] = lambda _: None


class Done(NamedTuple):
    """What a batch has brought, and how much is left."""

    records: int
    bytes: int
    lag: int


class OvertakenError(Exception):
    """Somebody else has committed this batch; what is in the table is right, and newer."""


class _Plan(NamedTuple):
    topic: TopicInfo
    parts: list[Range]
    # What was deleted meanwhile, and what the table will say after this batch.
    gaps: list[Gap]
    state: ArchiveState
    lag: int


class TopicArchive:
    """Knows how far the table is; nothing that it does not commit is kept."""

    def __init__(
        self, lake: Lake, link: StorageLink, topic: str, settings: ArchiveSettings
    ) -> None:
        self._lake = lake
        self._link = link
        self._topic = topic
        self._settings = settings
        self._run = uuid.uuid4().hex
        self._state: ArchiveState | None = None

    def step(self, topic: TopicInfo, ends: Mapping[int, int] | None = None) -> Done | None:
        """Archive one batch, up to the ends or the log's; None when there is nothing."""
        if self._state is None:
            self._state = self._load()
        plan = self._plan(topic, self._state.of_topic(table.topic_id_text(topic.id)), ends)
        if plan is None:
            return None
        commit = self._write(plan)
        for gap in plan.gaps:
            self._settings.on_gap(gap)
        self._state = commit.state
        return Done(commit.records, commit.bytes, plan.lag)

    # ------------------------------------------------------------ where it is

    def _load(self) -> ArchiveState:
        if not self._lake.has_table(self._topic):
            self._create()
            return ArchiveState()
        records = self._lake.table(self._topic)
        commit = last_commit(self._lake, self._topic)
        if commit is not None:
            return commit.state
        if not records.head(1):
            return ArchiveState()
        if is_complete(self._lake, self._topic):
            raise LakeError(
                f"The table of {self._topic} in {self._lake.folder} has records which no"
                " archive has written.",
                "Move it away, or use another --lake.",
            )
        return self._recovered()

    def _recovered(self) -> ArchiveState:
        """From the records themselves, where Delta has forgotten the archive's last commit.

        It forgets after weeks in which only others have written.
        """
        records = self._lake.table(self._topic)
        newest = records.orderBy(F.desc("ingestDate"), F.desc("timestamp")).first()
        assert newest is not None
        found = (
            records.where(F.col("topicId") == newest["topicId"])
            .groupBy("partition")
            .agg(F.min("offset"), F.max("offset"), F.max("leaderEpoch"))
            .collect()
        )
        return ArchiveState(
            batch=self._last_batch(),
            topic_id=newest["topicId"],
            partitions={row[0]: Archived(row[1], row[2] + 1, row[3]) for row in found},
        )

    def _last_batch(self) -> int:
        """The number that Delta keeps for an application, for longer than its commits."""
        checkpoints = (
            f"{self._lake.table_path(self._topic)}/_delta_log/*.checkpoint*.parquet"
        )
        kept = self._lake.spark.read.parquet(checkpoints).where(
            F.col("txn.appId") == APPLICATION
        )
        row = kept.agg(F.max("txn.version")).first()
        return int(row[0] or 0) if row else 0

    def _create(self) -> None:
        self._lake.spark.sql(
            f"CREATE TABLE IF NOT EXISTS delta.`{self._lake.table_path(self._topic)}`"
            f" ({table.ddl(table.COLUMNS)}) USING delta"
            f" PARTITIONED BY ({table.PARTITION_COLUMN})"
            f" TBLPROPERTIES ({_properties(self._topic)})"
        )

    # ------------------------------------------------------------ what is next

    def _plan(
        self, topic: TopicInfo, state: ArchiveState, ends: Mapping[int, int] | None
    ) -> _Plan | None:
        new = [each for each in range(topic.partitions) if each not in state.partitions]
        starts = {number: each.next for number, each in state.partitions.items()}
        if new:
            earliest = positions(self._link, topic, Bound(timestamp_ms=EARLIEST))
            starts |= {partition: earliest[partition] for partition in new}
        found = self._link.find_offsets(topic, range(topic.partitions), LATEST)
        latest = {partition: each.offset for partition, each in found.items()}
        epochs = {partition: each.leader_epoch for partition, each in found.items()}
        self._check_not_cut(topic, state, latest, epochs)
        if ends is not None:
            latest = {number: ends.get(number, starts[number]) for number in latest}
        parts, gaps = counted(self._link, topic, starts, latest)
        # A new partition's start has not been promised to anybody.
        gaps = [gap for gap in gaps if gap.partition not in new]
        if gaps and not self._settings.skips_gaps:
            raise _gap_error(gaps)
        chosen = limited(self._link, parts, self._settings.records_per_commit)
        reached = {gap.partition: gap.end for gap in gaps}
        reached |= {part.partition: part.end for part in chosen}
        if not reached:
            return None
        firsts = {number: each.first for number, each in state.partitions.items()}
        firsts = {**starts, **firsts}
        following = state.after(
            self._run,
            {
                number: Archived(
                    firsts[number], reached.get(number, starts[number]), epochs[number]
                )
                for number in {*reached, *new}
            },
            gaps,
        )
        lag = sum(part.records for part in parts) - sum(part.records for part in chosen)
        return _Plan(topic, chosen, gaps, following, lag)

    def _check_not_cut(
        self,
        topic: TopicInfo,
        state: ArchiveState,
        latest: Mapping[int, int],
        epochs: Mapping[int, int],
    ) -> None:
        """Raise LakeError where the log has lost records that are in the lake (KIP-320).

        Others may have come to their offsets since, which a later epoch tells.
        """
        known = {
            number: each for number, each in state.partitions.items() if number in latest
        }
        newer = {
            number: each.epoch
            for number, each in known.items()
            if epochs[number] > each.epoch
        }
        ends = self._link.epoch_ends(topic, newer) if newer else {}
        for number, each in known.items():
            end = latest[number]
            # Of an epoch that is not written down yet nobody knows the end.
            if number in ends and ends[number].end_offset >= 0:
                end = min(end, ends[number].end_offset)
            if end < each.next:
                raise LakeError(
                    f"The log of {topic.name}-{number} was cut at {end}, and the lake has"
                    f" it up to {each.next}: its Redis has lost what it wrote last.",
                    "The lake has what was lost; nothing is added, for it would not be the"
                    " same history. Move the table away, and archive the topic anew.",
                )

    # ------------------------------------------------------------ the batch

    def _write(self, plan: _Plan) -> Commit:
        spark = self._lake.spark
        splits = in_splits(self._link, plan.parts, self._records_per_split(plan.topic))
        options = {
            **endpoint_options(self._settings.endpoint),
            "topics": plan.topic.name,
            "splits": splits_option(splits),
        }
        records = spark.read.format("korvet").options(**options).load()
        today = datetime.now(UTC).date()
        try:
            (
                records.withColumn(table.PARTITION_COLUMN, F.lit(today))
                .write.format("delta")
                .mode("append")
                .option("txnAppId", APPLICATION)
                .option("txnVersion", plan.state.batch)
                .option("userMetadata", plan.state.to_metadata())
                .save(self._lake.table_path(self._topic))
            )
        except (PySparkException, Py4JError) as error:
            if "Concurrent" in str(error):
                raise OvertakenError from error
            raise
        commit = last_commit(self._lake, self._topic)
        # Delta leaves out a batch that was committed already, and says nothing.
        if commit is None or commit.state.run != self._run:
            raise OvertakenError
        return commit

    def _records_per_split(self, topic: TopicInfo) -> int:
        """As many records as make a good file, going by what they take in Redis."""
        size = self._link.mean_record_bytes(topic)
        return max(1, min(_SPLIT_RECORDS, _SPLIT_BYTES // max(1, size)))


def _properties(topic: str) -> str:
    properties = {
        "korvet.topic": topic,
        # After a commit, Delta puts small files together once there are many.
        "delta.autoOptimize.autoCompact": "true",
    }
    return ", ".join(f"'{name}' = '{value}'" for name, value in properties.items())


def _gap_error(gaps: list[Gap]) -> LakeError:
    told = "; ".join(
        f"{gap.topic}-{gap.partition} {gap.start} up to {gap.end}" for gap in gaps
    )
    return LakeError(
        "Retention has overtaken the archive: offsets were deleted before they were"
        f" archived ({told}).",
        "What is there is safe. Go on behind the gap with --on-gap continue.",
    )
