"""A lake's folder: local, or wherever Spark's file systems reach (hdfs://, s3a://).

A folder with files in it and without the marker is somebody else's, and never written to.
"""

from typing import Any, Final, NamedTuple

from pyspark.sql import DataFrame, SparkSession

from korvet.pipeline import table
from korvet.pipeline.failure import LakeError


class Content(NamedTuple):
    files: int
    size_bytes: int


class Lake:
    """One lake, as a Spark session sees it: `open` looks for it, `create` makes it."""

    def __init__(self, spark: SparkSession, folder: str) -> None:
        self.spark = spark
        self.folder: Final = folder.rstrip("/") or "/"
        self._jvm: Any = spark._jvm
        self._files: Any = self._path(folder).getFileSystem(
            spark._jsparkSession.sessionState().newHadoopConf()
        )

    @classmethod
    def open(cls, spark: SparkSession, folder: str) -> "Lake":
        """The lake that is there; a LakeError where there is none."""
        lake = cls(spark, folder)
        if not lake.exists(lake.folder):
            raise LakeError(
                f"There is no lake at {folder}.",
                "`korvet lake archive` makes one. Is it the --lake that was given there?",
            )
        lake._check()
        return lake

    @classmethod
    def create(cls, spark: SparkSession, folder: str) -> "Lake":
        """The lake that is there, or a new one where the folder is empty or missing."""
        lake = cls(spark, folder)
        marker = table.marker_path(lake.folder)
        if not lake.exists(lake.folder) or not lake.names(lake.folder):
            lake.write(marker, table.marker())
        lake._check()
        return lake

    def _check(self) -> None:
        marker = table.marker_path(self.folder)
        if not self.exists(marker):
            raise table.not_a_lake(self.folder)
        table.check_marker(self.folder, self.read(marker))

    # ------------------------------------------------------------ tables

    def topics(self) -> list[str]:
        """The topics that have a table, in order."""
        folder = table.tables_path(self.folder)
        if not self.exists(folder):
            return []
        return sorted(name for name in self.names(folder) if self.has_table(name))

    def has_table(self, topic: str) -> bool:
        return self.exists(f"{self.table_path(topic)}/_delta_log")

    def table_path(self, topic: str) -> str:
        return table.table_path(self.folder, topic)

    def table(self, topic: str, version: int | None = None) -> DataFrame:
        """A topic's records; a LakeError where there is no table, or it is not ours."""
        if not self.has_table(topic):
            raise LakeError(
                f"There is no topic {topic} in the lake {self.folder}.",
                f"It has {', '.join(self.topics()) or 'none yet'}.",
            )
        reader = self.spark.read.format("delta")
        if version is not None:
            reader = reader.option("versionAsOf", version)
        records = reader.load(self.table_path(topic))
        self.check_schema(topic, records)
        return records

    def check_schema(self, topic: str, records: DataFrame) -> None:
        """Raise LakeError where a table lacks a column, or has it with another type."""
        found = {field.name: field.dataType.simpleString() for field in records.schema}
        wanted = self.spark.createDataFrame([], table.ddl(table.COLUMNS)).schema
        for field in wanted:
            kind = field.dataType.simpleString()
            if found.get(field.name) != kind:
                raise LakeError(
                    f"The table of {topic} in {self.folder} does not fit: its column"
                    f" {field.name} is {found.get(field.name, 'missing')}, not {kind}.",
                    "Something else has written it. Move it away, or use another --lake.",
                )

    # ------------------------------------------------------------ files

    def exists(self, path: str) -> bool:
        return bool(self._files.exists(self._path(path)))

    def names(self, folder: str) -> list[str]:
        return [
            each.getPath().getName() for each in self._files.listStatus(self._path(folder))
        ]

    def summary(self, path: str) -> Content:
        """How much is under a path, which may be a file."""
        found = self._files.getContentSummary(self._path(path))
        return Content(files=found.getFileCount(), size_bytes=found.getLength())

    def read(self, path: str) -> str:
        stream = self._files.open(self._path(path))
        try:
            return str(self._jvm.org.apache.commons.io.IOUtils.toString(stream, "UTF-8"))
        finally:
            stream.close()

    def write(self, path: str, content: str) -> None:
        """Write a new file."""
        stream = self._files.create(self._path(path), False)
        try:
            stream.write(content.encode())
        finally:
            stream.close()

    def _path(self, path: str) -> Any:
        return self._jvm.org.apache.hadoop.fs.Path(path)
