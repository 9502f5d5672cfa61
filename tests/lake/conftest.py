"""A Spark session and a Korvet that all tests of the lake share, and a lake for each."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from korvet.pipeline.lake import Lake
from korvet.pipeline.spark_session import spark_session
from tests.e2e.conftest import korvet, pytest_runtest_makereport, shell, start_korvet, topic

__all__ = ["korvet", "pytest_runtest_makereport", "shell", "start_korvet", "topic"]


@pytest.fixture(scope="session")
def spark() -> Iterator[SparkSession]:
    settings = {"spark.sql.shuffle.partitions": "2", "spark.driver.memory": "1g"}
    with spark_session("tests", master="local[2]", settings=settings) as session:
        yield session


@pytest.fixture
def lake(spark: SparkSession, tmp_path: Path) -> Lake:
    """An empty one."""
    return Lake.create(spark, str(tmp_path / "lake"))
