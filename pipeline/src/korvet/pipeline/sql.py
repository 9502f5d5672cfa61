"""SQL over the lake: each topic is a view with the columns of its table.

Where the values are JSON objects, the view has a column more, `json`, with their fields;
the bytes stay in `value`. A query only reads: statements that would change something are
refused before they run.
"""

import json
import logging
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from py4j.protocol import Py4JError
from pyspark.errors import PySparkException
from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from pyspark.sql.types import StructType

from korvet.pipeline.failure import LakeError
from korvet.pipeline.lake import Lake
from korvet.pipeline.spark_failure import reason
from korvet.pipeline.view_names import mentioned, view_names

# What Spark logs of a query that is wrong, it also raises.
logging.getLogger("SQLQueryContextLogger").setLevel(logging.CRITICAL + 1)

JSON_COLUMN: Final = "json"
# So many values are looked at to see whether a topic's are JSON, and so many to see which
# fields they have.
_LOOKED_AT: Final = 20
_INFERRED_FROM: Final = 1_000_000
_CORRUPT: Final = "_corrupt_record"

_READS: Final = re.compile(r"\s*(show|describe|desc|explain)\b", re.IGNORECASE)
# What Spark says around a message: its class of error, its state, the query with a mark.
_ERROR_CLASS: Final = re.compile(r"^\s*\[[A-Z0-9_.]+\]\s*")
_STATE: Final = re.compile(r"\s*SQLSTATE: \w+.*", re.DOTALL)
_PLACE: Final = re.compile(r"line (\d+), ?pos(?:ition)? (\d+)")


@dataclass(frozen=True, slots=True, kw_only=True)
class Query:
    text: str
    # By topic: its values' fields as Spark's SQL writes a schema, instead of inferred ones.
    schemas: Mapping[str, str] = field(default_factory=dict)


def names(lake: Lake) -> dict[str, str]:
    """The view of each topic."""
    return view_names(lake.topics())


def run(lake: Lake, query: Query) -> DataFrame:
    """The query's result, before any row of it is computed."""
    views = names(lake)
    for topic in query.schemas:
        if topic not in views:
            lake.table(topic)
    _check_reads(lake, query.text)
    for topic in mentioned(query.text, views):
        _create_view(lake, topic, views[topic], query.schemas.get(topic))
    try:
        return lake.spark.sql(query.text)
    except (PySparkException, Py4JError) as error:
        raise _wrong(error, views) from None


def rows(result: DataFrame) -> Iterator[tuple[Any, ...]]:
    """The result row by row: no more of it than a task's share is here at a time."""
    try:
        yield from map(tuple, result.toLocalIterator())
    except (PySparkException, Py4JError) as error:
        raise _wrong(error, {}) from None


def _check_reads(lake: Lake, text: str) -> None:
    """Spark runs a statement that is no query at once, so it has to be known before."""
    if _READS.match(text):
        return
    jvm: Any = lake.spark._jvm
    loader = lake.spark._jsparkSession.getClass().getClassLoader()
    try:
        parser = lake.spark._jsparkSession.sessionState().sqlParser()
        plan = parser.parsePlan(text)
    except (PySparkException, Py4JError) as error:
        raise _wrong(error, {}) from None
    package = "org.apache.spark.sql.catalyst.plans.logical"
    for kind in ("Command", "ParsedStatement"):
        if jvm.java.lang.Class.forName(f"{package}.{kind}", True, loader).isInstance(plan):
            raise LakeError(
                "That is not a query: `korvet lake sql` only reads.",
                "It takes SELECT, WITH, VALUES, SHOW, DESCRIBE and EXPLAIN.",
            )


def _create_view(lake: Lake, topic: str, name: str, given: str | None) -> None:
    records = lake.table(topic)
    schema = _given(topic, given) if given else _inferred(lake, records)
    if schema is not None:
        text = F.col("value").cast("string")
        records = records.withColumn(JSON_COLUMN, F.from_json(text, schema))
    records.createOrReplaceTempView(name)
    if name != topic:
        # By its own name too, for who likes to quote.
        records.createOrReplaceTempView(f"`{topic}`")


def _given(topic: str, schema: str) -> StructType:
    try:
        found = StructType.fromDDL(schema)
        # Of a schema that is one type only, a DataType comes.
        return found if isinstance(found, StructType) else StructType().add("value", found)
    except (PySparkException, Py4JError) as error:
        raise LakeError(
            f"--schema of {topic} is no schema: {_words(error)}",
            "As in --schema orders='id BIGINT, customer STRUCT<name: STRING>'.",
        ) from None


def _inferred(lake: Lake, records: DataFrame) -> StructType | None:
    """The fields of a topic's values; None where they are not JSON objects."""
    values = records.where(F.col("value").isNotNull()).select("value")
    if not are_objects([bytes(row.value) for row in values.limit(_LOOKED_AT).collect()]):
        return None
    text = values.limit(_INFERRED_FROM).select(F.col("value").cast("string"))
    jvm: Any = lake.spark._jvm
    lines = getattr(text._jdf, "as")(jvm.org.apache.spark.sql.Encoders.STRING())
    found = lake.spark._jsparkSession.read().json(lines).schema().json()
    fields = [
        each for each in StructType.fromJson(json.loads(found)) if each.name != _CORRUPT
    ]
    return StructType(fields) if fields else None


def are_objects(values: list[bytes]) -> bool:
    """Whether there are any, and each of them is a JSON object."""
    try:
        return bool(values) and all(isinstance(json.loads(value), dict) for value in values)
    except ValueError:
        return False


def _wrong(error: BaseException, views: Mapping[str, str]) -> LakeError:
    text = str(error)
    place = _PLACE.search(text)
    where = f" (line {place[1]}, position {int(place[2]) + 1})" if place else ""
    advice = ""
    if "TABLE_OR_VIEW_NOT_FOUND" in text and views:
        advice = f"The lake's topics are {', '.join(sorted(views.values()))}."
    return LakeError(f"{_words(error).rstrip('.')}{where}.", advice)


def _words(error: BaseException) -> str:
    """Spark's own words, without what surrounds them."""
    message = str(error) if isinstance(error, PySparkException) else reason(error)
    message = _STATE.sub("", _ERROR_CLASS.sub("", message))
    return " ".join(message.split("\n\n")[0].split())
