"""What the korvet source and the lake's commands can be told."""

import pytest

from korvet.pipeline.failure import LakeError
from korvet.pipeline.planning import Range
from korvet.pipeline.source_options import (
    EARLIEST,
    LATEST,
    endpoint_of,
    endpoint_options,
    parse_options,
    parse_time,
    splits_option,
)
from korvet.pipeline.storage_link import Endpoint
from korvet.pipeline.stream_position import StreamPosition, TopicPosition
from korvet.pipeline.topic_selection import TopicSelection


def test_a_read_begins_at_the_start_and_a_stream_at_the_end() -> None:
    read = parse_options({"topics": "a, b"}, streaming=False)
    stream = parse_options({"topicPattern": "a.*"}, streaming=True)

    assert (read.start.timestamp_ms, read.end.timestamp_ms) == (EARLIEST, LATEST)
    assert read.topics == ("a", "b")
    assert stream.start.timestamp_ms == LATEST
    assert [stream.selects(each) for each in ("a", "abc", "ba")] == [True, True, False]


@pytest.mark.parametrize(
    ("text", "milliseconds"),
    [
        ("1000", 1000),
        ("1000ms", 1000),
        ("1970-01-01T00:00:01Z", 1000),
        ("1970-01-01T01:00:01+01:00", 1000),
        ("1970-01-01 00:00:01", 1000),
    ],
)
def test_a_time_is_one_in_utc(text: str, milliseconds: int) -> None:
    assert parse_time(text) == milliseconds


def test_an_endpoint_is_the_same_when_it_went_through_options() -> None:
    endpoint = Endpoint(address="a:1,b:2", tls=True, ca="/ca", key="/key", patience=2.5)

    assert endpoint_of(endpoint_options(endpoint)) == endpoint
    assert endpoint_of(endpoint_options(Endpoint(address="a:1"))) == Endpoint(address="a:1")


def test_planned_splits_are_the_same_when_they_went_through_options() -> None:
    splits = [[Range("a", b"\x00\xff", 0, 1, 2, 1), Range("b", b"id", 3, 4, 5, 6)], []]
    options = {"topics": "a", "splits": splits_option(splits)}

    assert parse_options(options, streaming=False).splits == splits


def test_a_streams_position_is_the_same_when_it_went_through_a_checkpoint() -> None:
    position = StreamPosition({"a": TopicPosition("id", {0: 1 << 60, 1: 0})})

    assert StreamPosition.from_json(position.to_json()) == position


@pytest.mark.parametrize("found", [None, [], {"a": 5}, {"a": {"id": "x"}}])
def test_another_sources_checkpoint_is_told(found: object) -> None:
    with pytest.raises(LakeError, match="no position of the korvet source"):
        StreamPosition.from_json(found)


def test_what_is_no_name_is_an_expression_for_whole_names() -> None:
    selection = TopicSelection.parse("orders, audit-.*,orders.v1")

    assert selection.names == ("orders", "orders.v1")
    names = ("orders", "orders2", "audit-1", "my-audit-1", "ordersXv1")
    assert [selection.matches(each) for each in names] == [True, False, True, False, False]
    with pytest.raises(LakeError, match=r"no topic orders\.v1 in the lake"):
        selection.check_named({"orders"}, " in the lake")
    for nothing in ("", " , "):
        with pytest.raises(LakeError, match="No topic was named"):
            TopicSelection.parse(nothing)
