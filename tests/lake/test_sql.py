"""SQL over a lake: views, JSON values, and what is not a query."""

from datetime import UTC, datetime
from typing import Any

import pytest

from korvet.pipeline import sql
from korvet.pipeline.failure import LakeError
from korvet.pipeline.lake import Lake
from korvet.pipeline.sql import Query
from tests.support.lake_records import BEGAN_MS, Archived, put

pytestmark = pytest.mark.e2e


def rows(lake: Lake, text: str, **options: Any) -> list[tuple[Any, ...]]:
    return list(sql.rows(sql.run(lake, Query(text=text, **options))))


def test_a_topic_is_a_view_with_the_columns_of_its_table(lake: Lake) -> None:
    put(
        lake,
        "orders",
        [
            Archived(
                offset=number,
                partition=number % 2,
                key=b"plum",
                value=b"%d" % number,
                headers=(("trace", b"1"), ("trace", None)),
            )
            for number in range(3)
        ],
    )

    counted = rows(lake, "select partition, count(*) from orders group by 1 order by 1")
    first = rows(lake, "select timestamp, key, value, headers from orders where offset = 0")

    assert counted == [(0, 2), (1, 1)]
    ((at, key, value, headers),) = first
    assert at.replace(tzinfo=UTC) == datetime.fromtimestamp(BEGAN_MS / 1000, UTC)
    assert (bytes(key), bytes(value)) == (b"plum", b"0")
    assert [tuple(each) for each in headers] == [("trace", b"1"), ("trace", None)]


def test_json_values_are_columns_and_the_bytes_are_kept(lake: Lake) -> None:
    values = [b'{"id": 1, "who": {"name": "Ada"}}', b'{"id": 2, "tags": ["a", "b"]}', None]
    put(
        lake,
        "orders.placed-v2",
        [Archived(offset=number, value=value) for number, value in enumerate(values)],
    )

    inferred = rows(
        lake,
        "select json.id, json.who.name, json.tags[1], value from orders_placed_v2"
        " order by offset",
    )
    quoted = rows(lake, "select sum(json.id) from `orders.placed-v2`")
    given = rows(
        lake,
        "select json.id, json.more from orders_placed_v2 order by offset",
        schemas={"orders.placed-v2": "id STRING, more DOUBLE"},
    )

    assert inferred == [
        (1, "Ada", None, values[0]),
        (2, None, "b", values[1]),
        (None, None, None, None),
    ]
    assert quoted == [(3,)]
    assert given[:2] == [("1", None), ("2", None)]


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("select wrong from orders", "`wrong` cannot be resolved"),
        ("select * from ordres", "The lake's topics are orders"),
        ("selct 1", "Syntax error at or near 'selct'"),
        ("select 1 / (offset - offset) from orders", "Division by zero"),
        ("select cast(value as int) from orders", "cannot cast"),
        ("delete from orders", "only reads"),
        ("drop view orders", "only reads"),
        ("insert into orders select * from orders", "only reads"),
        ("create table more as select * from orders", "only reads"),
        ("set spark.sql.ansi.enabled=false", "only reads"),
    ],
)
def test_what_is_wrong_with_a_query_is_told_in_a_sentence(
    lake: Lake, capfd: pytest.CaptureFixture[str], text: str, told: str
) -> None:
    put(lake, "orders", [Archived(offset=0)])

    with pytest.raises(LakeError) as refused:
        rows(lake, text)

    said = str(refused.value)
    assert told in said
    assert "\n" not in said
    assert "SQLSTATE" not in said
    assert "java" not in said + capfd.readouterr().err


def test_a_schema_that_is_none_is_told(lake: Lake) -> None:
    put(lake, "orders", [Archived(offset=0)])

    with pytest.raises(LakeError, match="--schema of orders is no schema"):
        rows(lake, "select json from orders", schemas={"orders": "id NUMBERS"})
    with pytest.raises(LakeError, match="no topic ordres"):
        rows(lake, "select json from orders", schemas={"ordres": "id INT"})
