"""What a report says of tables whose content is known."""

import re
from datetime import UTC, datetime
from html.parser import HTMLParser

import pytest

from korvet.pipeline import report
from korvet.pipeline.lake import Lake
from korvet.pipeline.report_model import (
    HOUR_MS,
    KeyShare,
    Latency,
    MissingOffsets,
    PartitionShare,
    Silence,
    SizeClass,
)
from korvet.pipeline.report_page import page
from korvet.pipeline.table import LOG_APPEND_TIME
from tests.support.lake_records import Archived, put

pytestmark = pytest.mark.e2e

NOON_MS = int(datetime(2026, 2, 2, 12, tzinfo=UTC).timestamp() * 1000)
BITS = 10


def time_offset(at_ms: int) -> int:
    return at_ms << BITS


def test_a_report_counts_what_is_there(lake: Lake) -> None:
    put(
        lake,
        "orders",
        [
            Archived(
                partition=0,
                offset=time_offset(NOON_MS + 20),
                timestamp_ms=NOON_MS,
                key=b"plum",
                value=b"12345",
                headers=(("h", b"12"), ("n", None)),
            ),
            Archived(
                partition=0,
                offset=time_offset(NOON_MS + 2 * HOUR_MS + 140),
                timestamp_ms=NOON_MS + 2 * HOUR_MS,
                key=b"plum",
                value=None,
            ),
            Archived(
                partition=1,
                offset=time_offset(NOON_MS + 2 * HOUR_MS + 60),
                timestamp_ms=NOON_MS + 2 * HOUR_MS,
                key=None,
                value=b"",
            ),
        ],
    )

    found = report.topic_report(lake, "orders")

    assert (found.records, found.size_bytes) == (3, 4 + 5 + 1 + 2 + 1 + 4)
    assert (found.first_ms, found.last_ms) == (NOON_MS, NOON_MS + 2 * HOUR_MS)
    assert (found.tombstones, found.keyless, found.distinct_keys) == (1, 1, 1)
    assert [(hour.start_ms, hour.records, hour.latency) for hour in found.hours] == [
        (NOON_MS, 1, Latency(20, 20, 20)),
        (NOON_MS + 2 * HOUR_MS, 2, Latency(60, 140, 140)),
    ]
    assert found.latency == Latency(60, 140, 140)
    assert found.partitions == [PartitionShare(0, 2, 17), PartitionShare(1, 1, 0)]
    assert found.top_keys == [KeyShare(b"plum", 2)]
    assert found.sizes == [
        SizeClass(0, 1), SizeClass(1, 0), SizeClass(2, 0), SizeClass(4, 0), SizeClass(8, 1)
    ]  # fmt: skip
    assert found.silences == [Silence(NOON_MS, NOON_MS + 2 * HOUR_MS)]
    assert found.missing is None
    assert found.files == 1


def test_what_cannot_be_known_is_said(lake: Lake) -> None:
    put(
        lake,
        "dense",
        [
            Archived(offset=offset, timestamp_ms=NOON_MS + offset)
            for offset in (0, 1, 4, 5, 9)
        ],
    )
    put(
        lake,
        "stamped",
        [
            Archived(
                offset=time_offset(NOON_MS),
                timestamp_ms=NOON_MS,
                timestamp_type=LOG_APPEND_TIME,
            )
        ],
    )

    dense, stamped = report.report(lake, ["dense", "stamped"]).topics

    assert dense.latency is None
    assert "dense offsets do not say" in dense.latency_unknown
    assert dense.missing == [MissingOffsets(0, 2, 3), MissingOffsets(0, 6, 8)]
    assert dense.missing_count == 5
    assert stamped.latency is None
    assert "when they are appended" in stamped.latency_unknown


def test_a_page_needs_nothing_else_and_shows_names_as_they_are(lake: Lake) -> None:
    hostile = b'</text><script>alert("x")</script>'
    put(
        lake,
        "orders",
        [
            Archived(offset=time_offset(NOON_MS + n), timestamp_ms=NOON_MS + n, key=hostile)
            for n in range(3)
        ],
    )
    put(lake, "payments", [Archived(offset=0, value=None)])

    text = page(report.report(lake, ["orders", "payments"]))

    tags = Tags()
    tags.feed(text)
    assert "script" not in tags.found
    assert not {"img", "link", "iframe"} & tags.found
    assert {"svg", "figure", "table", "style"} <= tags.found
    assert not re.search(r"https?://|url\(|@import", text)
    assert "prefers-color-scheme: dark" in text
    assert "orders" in text
    assert "payments" in text


class Tags(HTMLParser):
    """The elements of a page."""

    def __init__(self) -> None:
        super().__init__()
        self.found: set[str] = set()

    def handle_starttag(self, tag: str, attrs: object) -> None:
        self.found.add(tag)
