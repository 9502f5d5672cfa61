"""`korvet lake sql`: a query over the topics of a lake."""

import base64
import csv
import json
import sys
from collections.abc import Iterator
from datetime import date, datetime
from decimal import Decimal
from itertools import islice
from typing import TYPE_CHECKING, Annotated, Any

import typer

from korvet.cli.failure import Failure
from korvet.cli.lake_options import LOCAL_MASTER, LakeOption, MasterOption, lake_session
from korvet.cli.terminal import Column, console, errors, plain, print_table

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def sql(
    query: Annotated[
        str | None,
        typer.Argument(
            metavar="QUERY",
            show_default=False,
            help='As in "select partition, count(*) from orders group by 1". Without one,'
            " the topics are listed by the names that they have in a query.",
        ),
    ] = None,
    *,
    lake: LakeOption,
    schema: Annotated[
        list[str] | None,
        typer.Option(
            metavar="TOPIC=SCHEMA",
            help="The fields of a topic's JSON values, as in orders='id BIGINT, at"
            " TIMESTAMP'; else they are inferred. May be repeated.",
        ),
    ] = None,
    limit: Annotated[
        int, typer.Option(min=1, help="Show so many rows at most, if it is a table.")
    ] = 100,
    as_json: Annotated[
        bool, typer.Option("--json", help="Write a JSON object a line, without a limit.")
    ] = False,
    as_csv: Annotated[
        bool, typer.Option("--csv", help="Write CSV with a header, without a limit.")
    ] = False,
    master: MasterOption = LOCAL_MASTER,
) -> None:
    """Ask the lake with SQL: topics are views, and fields of JSON values json.FIELD."""
    if as_json and as_csv:
        raise Failure("--json and --csv exclude each other.")
    schemas = dict(map(_schema, schema or ()))
    with lake_session("korvet lake sql", master) as spark:
        from korvet.pipeline import sql as job
        from korvet.pipeline.lake import Lake

        source = Lake.open(spark, lake)
        if query is None:
            _list(job.names(source))
            return
        _tell_names(job.names(source), query)
        result = job.run(source, job.Query(text=query, schemas=schemas))
        rows = job.rows(result)
        if as_json:
            _write_json(result.columns, rows)
        elif as_csv:
            _write_csv(result.columns, rows)
        else:
            _print(result, rows, limit)


def _list(names: dict[str, str]) -> None:
    if names:
        print_table([Column("TOPIC"), Column("NAME IN A QUERY")], sorted(names.items()))
    else:
        console.print("The lake has no topics yet. `korvet lake archive` brings them.")


def _tell_names(names: dict[str, str], query: str) -> None:
    """Where a topic's name is none in SQL, and the query looks as if it was meant."""
    for topic, name in names.items():
        if topic != name and (topic in query or name in query.lower()):
            errors.print(f"In a query the topic {plain(topic)} is {plain(name)}.")


def _print(result: "DataFrame", rows: Iterator[tuple[Any, ...]], limit: int) -> None:
    numbers = {name for name, kind in result.dtypes if kind.startswith(_NUMBERS)}
    columns = [Column(name, is_number=name in numbers) for name in result.columns]
    shown = [[_text(value) for value in row] for row in islice(rows, limit)]
    print_table(columns, shown)
    if len(shown) == limit and next(rows, None) is not None:
        errors.print(f"These are the first {limit:,}; --limit shows more, --csv all.")


_NUMBERS = ("int", "bigint", "smallint", "tinyint", "double", "float", "decimal")


def _write_json(columns: list[str], rows: Iterator[tuple[Any, ...]]) -> None:
    for row in rows:
        values = dict(zip(columns, map(_json_value, row), strict=True))
        sys.stdout.write(json.dumps(values, ensure_ascii=False) + "\n")
    sys.stdout.flush()


def _write_csv(columns: list[str], rows: Iterator[tuple[Any, ...]]) -> None:
    writer = csv.writer(sys.stdout, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows(
        ["" if value is None else _text(value) for value in row] for row in rows
    )
    sys.stdout.flush()


def _text(value: Any) -> str:
    if value is None:
        return "NULL"
    if isinstance(value, bytes | bytearray):
        try:
            return value.decode()
        except UnicodeDecodeError:
            return f"0x{value.hex()}"
    if isinstance(value, list | dict | tuple):
        return json.dumps(_json_value(value), ensure_ascii=False)
    if isinstance(value, datetime):
        return value.isoformat(sep=" ", timespec="milliseconds")
    return str(value)


def _json_value(value: Any) -> Any:
    if isinstance(value, bytes | bytearray):
        try:
            return value.decode()
        except UnicodeDecodeError:
            return {"base64": base64.b64encode(value).decode()}
    if isinstance(value, datetime | date):
        return value.isoformat()
    if isinstance(value, Decimal):
        return str(value)
    if hasattr(value, "asDict"):
        return {name: _json_value(each) for name, each in value.asDict().items()}
    if isinstance(value, dict):
        return {str(name): _json_value(each) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [_json_value(each) for each in value]
    return value


def _schema(option: str) -> tuple[str, str]:
    topic, separator, schema = option.partition("=")
    if not separator:
        raise Failure(
            f"--schema {option} is not TOPIC=SCHEMA.", "As in --schema orders='id BIGINT'."
        )
    return topic, schema
