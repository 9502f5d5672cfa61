"""Kafka's batches as Arrow's, without what a reader of committed records must not see."""

from typing import Any

import pytest

from korvet.kafka.control_records import build_marker
from korvet.kafka.records import build_batch
from korvet.pipeline.arrow_records import SCHEMA, Place, arrow_batches
from korvet.pipeline.failure import LakeError
from korvet.proto.storage.v1 import storage_service_pb2 as pb

PLACE = Place("orders", "an-id", 3)
END = 1 << 62


def batch(first: int, count: int = 1, **options: object) -> bytes:
    records: list[Any] = [
        (first + number, 1000 + number, b"k", b"%d" % (first + number), [])
        for number in range(count)
    ]
    return build_batch(records, base_offset=first, **options)  # type: ignore[arg-type]


def transactional(first: int, producer: int) -> bytes:
    return batch(
        first, producer_id=producer, producer_epoch=0, base_sequence=0, transactional=True
    )


def marker(offset: int, producer: int, *, commit: bool) -> bytes:
    return build_marker(
        base_offset=offset,
        timestamp=1,
        producer_id=producer,
        producer_epoch=0,
        coordinator_epoch=0,
        commit=commit,
    )


def offsets(
    data: bytes,
    aborted: list[tuple[int, int]] | None = None,
    start: int = 0,
    end: int = END,
) -> list[int]:
    listed = [
        pb.AbortedTransaction(producer_id=producer, first_offset=first)
        for producer, first in aborted or []
    ]
    found = arrow_batches(PLACE, data, listed, start, end)
    return [offset for each in found for offset in each["offset"].to_pylist()]


def test_a_row_has_all_of_its_record() -> None:
    headers = [("a", None), ("é", b""), ("a", b"1")]
    records = [(7, -1, None, None, headers), (9, 5, b"", b"v", [])]
    data = build_batch(records, base_offset=7, leader_epoch=4)

    (found,) = arrow_batches(PLACE, data, [], 0, END)

    assert found.schema == SCHEMA
    first, second = found.to_pylist()
    assert (first["key"], first["value"], second["key"]) == (None, None, b"")
    assert [(each["key"], each["value"]) for each in first["headers"]] == headers
    assert second["headers"] == []
    assert first["timestamp"].timestamp() == -0.001
    assert (first["topic"], first["topicId"], first["partition"]) == ("orders", "an-id", 3)
    assert (first["leaderEpoch"], first["timestampType"]) == (4, 0)


def test_what_lies_outside_the_range_is_left_out() -> None:
    data = batch(0, 5) + batch(10, 5) + batch(20, 5)

    assert offsets(data, start=3, end=12) == [3, 4, 10, 11]


def test_markers_and_aborted_records_are_left_out() -> None:
    data = b"".join(
        (
            transactional(0, producer=1),
            transactional(1, producer=2),
            batch(2),
            marker(3, 1, commit=False),
            transactional(4, producer=1),
            marker(5, 2, commit=True),
            marker(6, 1, commit=True),
        )
    )

    assert offsets(data, aborted=[(1, 0)]) == [1, 2, 4]


def test_an_epoch_and_a_kind_of_timestamp_are_those_of_each_batch() -> None:
    data = batch(0, leader_epoch=1) + batch(1, leader_epoch=2, log_append_time=50)

    first, second = (each.to_pylist()[0] for each in arrow_batches(PLACE, data, [], 0, END))

    assert (first["leaderEpoch"], first["timestampType"]) == (1, 0)
    assert (second["leaderEpoch"], second["timestampType"]) == (2, 1)
    assert second["timestamp"].timestamp() == 0.05


def test_a_timestamp_that_no_table_can_hold_is_told_with_its_place() -> None:
    data = build_batch([(7, 1 << 62, None, b"", [])], base_offset=7)

    with pytest.raises(LakeError, match="offset 7 of orders-3"):
        list(arrow_batches(PLACE, data, [], 0, END))
