"""The Spark session that every job runs on: local, or on the cluster of a given master.

Times are UTC throughout, and nothing of a local session can be reached from outside.
"""

import contextlib
import os
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

from pyspark.sql import SparkSession

from korvet.pipeline.jars import jars
from korvet.pipeline.korvet_source import KorvetDataSource

LOCAL: Final = "local[*]"

_SETTINGS: Final = {
    "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
    "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
    "spark.sql.session.timeZone": "UTC",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    # A table's log is small: to read it in Delta's 50 tasks costs more than it saves.
    "spark.databricks.delta.snapshotPartitions": "2",
    "spark.sql.shuffle.partitions": "8",
}
# Of a session on this machine.
_LOCAL_SETTINGS: Final = {
    "spark.driver.host": "127.0.0.1",
    "spark.driver.bindAddress": "127.0.0.1",
    "spark.driver.memory": "2g",
}
_QUIET: Final = Path(__file__).with_name("log4j2.properties")


@contextlib.contextmanager
def spark_session(
    app: str, *, master: str = LOCAL, settings: Mapping[str, str] | None = None
) -> Iterator[SparkSession]:
    """A session that knows Delta tables, `kafka` and `korvet`; stopped at the end."""
    is_local = master.startswith("local")
    configured = {
        "spark.jars": ",".join(map(str, jars())),
        "spark.driver.extraJavaOptions": f"-Dlog4j2.configurationFile={_QUIET.as_uri()}"
        " -Duser.timezone=UTC",
        **_SETTINGS,
        **(_LOCAL_SETTINGS if is_local else {}),
        **(settings or {}),
    }
    if is_local:
        # Python workers are this interpreter, which has what the data source imports, and
        # the address of a machine whose name resolves to nothing useful is loopback.
        os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
        os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")
    builder = SparkSession.builder.master(master).appName(app)
    for name, value in configured.items():
        builder = builder.config(name, value)
    session = builder.getOrCreate()
    session.dataSource.register(KorvetDataSource)
    try:
        yield session
    finally:
        session.stop()
