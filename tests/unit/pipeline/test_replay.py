"""How a replay remembers how far it is, and cuts what Spark gives it."""

import pyarrow as pa
import pytest

from korvet.pipeline.replay_lane import LANE_COLUMNS, headers, runs
from korvet.pipeline.replay_progress import (
    Progress,
    Strand,
    UnreadableProgressError,
    replay_name,
)
from korvet.pipeline.replay_writer import _runs
from tests.support.replay_process import SCHEMA

OLD, NEW = Strand("AAAA", 0), Strand("BB/BB", 3)


def test_progress_is_read_back_as_it_was_written() -> None:
    progress = Progress(partitions=4).after(OLD, 41, 10).after(NEW, 1 << 60, 5)

    assert Progress.decode(progress.encode()) == progress
    assert progress.records == 15
    assert progress.next_offsets == {OLD: 42, NEW: (1 << 60) + 1}


@pytest.mark.parametrize(
    "text", ["", "null", "[]", "{}", '{"partitions": 1, "records": 2}']
)
def test_an_offset_that_somebody_else_has_committed_is_not_taken_for_progress(
    text: str,
) -> None:
    with pytest.raises(UnreadableProgressError):
        Progress.decode(text)


def test_the_same_command_has_the_same_name_and_another_has_not() -> None:
    name = replay_name("/lake/topics/orders", "copy", {"keys": (b"a",)})

    assert name == replay_name("/lake/topics/orders", "copy", {"keys": (b"a",)})
    assert name != replay_name("/lake/topics/orders", "copy", {"keys": (b"b",)})
    assert name != replay_name("/lake/topics/other", "copy", {"keys": (b"a",)})
    assert name.startswith("korvet-replay-copy-")


def test_a_batch_is_cut_where_its_records_go_elsewhere() -> None:
    places = [(0, "A", 0), (0, "A", 0), (0, "B", 0), (0, "B", 2), (1, "B", 1)]
    batch = pa.RecordBatch.from_pylist(
        [
            {
                "target": target,
                "topicId": topic_id,
                "partition": partition,
                "offset": 10 + number,
                "due": 0,
                "timestampMs": number,
                "key": None,
                "value": b"%d" % number,
                "headers": [],
            }
            for number, (target, topic_id, partition) in enumerate(places)
        ],
        schema=SCHEMA,
    )

    cut = list(runs(batch))

    assert [(run.target, run.strand, list(run.offsets)) for run in cut] == [
        (0, Strand("A", 0), [10, 11]),
        (0, Strand("B", 0), [12]),
        (0, Strand("B", 2), [13]),
        (1, Strand("B", 1), [14]),
    ]
    assert [record for run in cut for record in run.records] == [
        (number, None, b"%d" % number, []) for number in range(5)
    ]
    assert tuple(SCHEMA.names) == LANE_COLUMNS
    assert list(runs(batch.slice(0, 0))) == []


def test_headers_keep_their_order_their_duplicates_and_what_is_null() -> None:
    kind = SCHEMA.field("headers").type
    rows = [
        [{"key": "a", "value": b"1"}, {"key": "a", "value": None}],
        [],
        [{"key": "", "value": b""}],
    ]

    found = list(headers(pa.array(rows, kind)))

    assert found == [[("a", b"1"), ("a", None)], [], [("", b"")]]
    assert list(headers(pa.array(rows, kind).slice(1))) == [[], [("", b"")]]
    assert list(headers(pa.array([[], []], kind))) == [[], []]


def test_records_without_a_timestamp_share_no_batch_with_others() -> None:
    records = [(stamp, None, None, ()) for stamp in (-1, -1, 5, 6, -1)]

    assert [[record[0] for record in run] for run in _runs(records)] == [
        [-1, -1],
        [5, 6],
        [-1],
    ]
    assert list(_runs(records[2:4])) == [records[2:4]]
