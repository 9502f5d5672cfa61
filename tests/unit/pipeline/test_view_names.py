"""What topics are called in SQL."""

from korvet.pipeline.sql import are_objects
from korvet.pipeline.view_names import mentioned, view_names


def test_names_need_no_quotes_and_differ() -> None:
    topics = ["orders", "Orders.v2", "orders-v2", "orders_v2", "2024.audit"]

    names = view_names(topics)

    assert names == {
        "orders": "orders",
        "orders_v2": "orders_v2",
        "2024.audit": "_2024_audit",
        "Orders.v2": "orders_v2_2",
        "orders-v2": "orders_v2_3",
    }


def test_a_query_mentions_a_view_or_a_quoted_topic() -> None:
    names = view_names(["orders", "payments.v2", "clicks"])

    assert mentioned("select * from ORDERS o join payments_v2 using (key)", names) == [
        "orders",
        "payments.v2",
    ]
    assert mentioned("select * from `payments.v2`", names) == ["payments.v2"]
    assert mentioned("select 'myclicks'", names) == []


def test_values_are_objects_only_if_each_of_them_is() -> None:
    assert are_objects([b'{"a": 1}', b"{}"])
    assert not are_objects([])
    assert not are_objects([b"{}", b"[1]"])
    assert not are_objects([b"{}", b"\xff"])
    assert not are_objects([b"no JSON"])
