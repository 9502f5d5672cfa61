"""The `korvet` Spark data source: topics over gRPC, as Arrow batches.

Everything that is kept here is pickled and sent to the workers, so connections are made
where they are used.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pyspark.sql.datasource import (
    DataSource,
    DataSourceReader,
    DataSourceStreamReader,
    InputPartition,
)
from pyspark.sql.types import StructType

from korvet.pipeline import table
from korvet.pipeline.failure import LakeError
from korvet.pipeline.korvet_sink import (
    KorvetStreamWriter,
    KorvetWriter,
    parse_sink_options,
)
from korvet.pipeline.log_plan import (
    counted,
    in_splits,
    positions,
    selected_topics,
)
from korvet.pipeline.log_reader import read_range
from korvet.pipeline.planning import Range
from korvet.pipeline.source_options import SourceOptions, parse_options
from korvet.pipeline.storage_link import Endpoint, StorageLink
from korvet.pipeline.stream_position import StreamPlanner, StreamPosition, lost

if TYPE_CHECKING:
    import pyarrow as pa


class KorvetDataSource(DataSource):
    """`spark.read.format("korvet")`, `readStream`, `write` and `writeStream`."""

    @classmethod
    def name(cls) -> str:
        return "korvet"

    def schema(self) -> str:
        return table.ddl(table.SOURCE_COLUMNS)

    def reader(self, schema: StructType) -> "KorvetReader":
        return KorvetReader(parse_options(self.options, streaming=False))

    def streamReader(self, schema: StructType) -> "KorvetStreamReader":
        return KorvetStreamReader(parse_options(self.options, streaming=True))

    def writer(self, schema: StructType, overwrite: bool) -> KorvetWriter:
        if overwrite:
            raise LakeError(
                "A topic cannot be overwritten.", 'Write to it with mode("append").'
            )
        return KorvetWriter(parse_sink_options(self.options, schema))

    def streamWriter(self, schema: StructType, overwrite: bool) -> KorvetStreamWriter:
        return KorvetStreamWriter(parse_sink_options(self.options, schema))


@dataclass
class Split(InputPartition):
    """What one task reads, in this order."""

    parts: list[Range]


class KorvetReader(DataSourceReader):
    def __init__(self, options: SourceOptions) -> None:
        self._options = options

    def partitions(self) -> Sequence[InputPartition]:
        options = self._options
        if options.splits is not None:
            return [Split(each) for each in options.splits] or [Split([])]
        with StorageLink(options.endpoint) as link:
            parts: list[Range] = []
            for topic in selected_topics(link, options):
                starts = positions(link, topic, options.start)
                ends = positions(link, topic, options.end)
                there, gaps = counted(link, topic, starts, ends)
                # What "earliest" was a moment ago has not been promised to anybody.
                if gaps and options.start.offsets and options.fail_on_data_loss:
                    raise lost(gaps[0])
                parts += there
            splits = in_splits(link, parts, options.records_per_split)
        # Spark asks for at least one.
        return [Split(each) for each in splits] or [Split([])]

    def read(self, partition: InputPartition) -> Iterator["pa.RecordBatch"]:
        assert isinstance(partition, Split)
        return read_split(self._options.endpoint, partition)


class KorvetStreamReader(DataSourceStreamReader):
    """Spark keeps the position; after a restart it tells it by asking for nothing there."""

    def __init__(self, options: SourceOptions) -> None:
        self._options = options
        self._planner = StreamPlanner(options)
        self._position: StreamPosition | None = None

    def initialOffset(self) -> dict[str, object]:
        with StorageLink(self._options.endpoint) as link:
            self._position = self._planner.initial(link)
        return self._position.to_json()

    def latestOffset(self) -> dict[str, object]:
        with StorageLink(self._options.endpoint) as link:
            if self._position is None:
                self._position = self._planner.initial(link)
            return self._planner.next(link, self._position).to_json()

    def partitions(
        self, start: dict[str, object], end: dict[str, object]
    ) -> Sequence[InputPartition]:
        first, last = StreamPosition.from_json(start), StreamPosition.from_json(end)
        self._position = last
        if first == last:
            return []
        with StorageLink(self._options.endpoint) as link:
            parts = self._planner.between(link, first, last)
            splits = in_splits(link, parts, self._options.records_per_split)
        return [Split(each) for each in splits] or [Split([])]

    def read(self, partition: InputPartition) -> Iterator["pa.RecordBatch"]:
        assert isinstance(partition, Split)
        return read_split(self._options.endpoint, partition)


def read_split(endpoint: Endpoint, split: Split) -> Iterator["pa.RecordBatch"]:
    for part in split.parts:
        yield from read_range(endpoint, part)
