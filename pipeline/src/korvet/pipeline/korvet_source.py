"""The `korvet` Spark data source: topics over gRPC, as Arrow batches."""

from pyspark.sql.datasource import DataSource

from korvet.pipeline import table


class KorvetDataSource(DataSource):
    """`spark.read.format("korvet")`, `readStream` and `write`."""

    @classmethod
    def name(cls) -> str:
        return "korvet"

    def schema(self) -> str:
        return table.ddl(table.SOURCE_COLUMNS)
