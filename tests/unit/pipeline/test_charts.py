"""Scales, labels and charts of a report."""

import re
from dataclasses import replace
from xml.etree import ElementTree

import pytest

from korvet.pipeline import charts
from korvet.pipeline.chart_marks import Span
from korvet.pipeline.chart_scales import (
    Scale,
    byte_ticks,
    duration,
    log_ticks,
    moments,
    nice_ticks,
    number,
    percent,
    readable_size,
    time_ticks,
)
from korvet.pipeline.report_model import (
    HOUR_MS,
    Bucket,
    KeyShare,
    LakeReport,
    Latency,
    PartitionShare,
    SizeClass,
    TopicReport,
    bucket_length_ms,
)
from korvet.pipeline.report_page import page

# 2026-02-02 00:00 UTC
MIDNIGHT_MS = 1_769_990_400_000
DAY_MS = 24 * HOUR_MS


@pytest.mark.parametrize(
    ("most", "ticks"),
    [
        (0, [0, 1]),
        (1, [0, 0.25, 0.5, 0.75, 1]),
        (7, [0, 2, 4, 6, 8]),
        (93, [0, 25, 50, 75, 100]),
        (400, [0, 100, 200, 300, 400]),
    ],
)
def test_ticks_are_round_and_reach_the_most(most: float, ticks: list[float]) -> None:
    assert nice_ticks(most) == pytest.approx(ticks)


def test_ticks_of_bytes_are_round_in_binary_units() -> None:
    assert byte_ticks(3.2 * 1024) == [0, 1024, 2048, 3072, 4096]


def test_logarithmic_ticks_surround_the_values() -> None:
    assert log_ticks(3, 700) == [1, 10, 100, 1000]
    assert log_ticks(10, 10) == [10, 100]


def test_times_are_ticked_at_round_moments_and_named_without_needless_dates() -> None:
    ticks = time_ticks(MIDNIGHT_MS - 5 * HOUR_MS, MIDNIGHT_MS + 8 * HOUR_MS)

    assert moments(ticks) == ["21:00", "2 Feb", "03:00", "06:00"]
    assert moments(time_ticks(MIDNIGHT_MS, MIDNIGHT_MS + 4 * DAY_MS)) == [
        "2 Feb", "3 Feb", "4 Feb", "5 Feb", "6 Feb"
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        (number(0), "0"),
        (number(999), "999"),
        (number(1234), "1.23k"),
        (number(12_345_678), "12.3M"),
        (readable_size(1536), "1.5 KiB"),
        (duration(0.4), "0.4 ms"),
        (duration(-35), "-35 ms"),
        (duration(2500), "2.5 s"),
        (duration(720_000), "12 min"),
        (duration(5 * DAY_MS), "5 days"),
        (percent(0.0004), "< 0.1 %"),
        (percent(0.123), "12 %"),
    ],
)
def test_figures_are_written_as_people_read_them(written: str, expected: str) -> None:
    assert written == expected


@pytest.mark.parametrize("span", [0, 1, 3_600_000, 40 * DAY_MS, 4_000 * DAY_MS])
def test_a_chart_has_no_more_buckets_than_can_be_told_apart(span: int) -> None:
    assert span / bucket_length_ms(MIDNIGHT_MS, MIDNIGHT_MS + span) <= 96


def test_a_scale_puts_values_in_proportion() -> None:
    assert Scale(0, 10, 100, 200)(5) == 150
    assert Scale(1, 100, 0, 2, is_log=True)(10) == pytest.approx(1)


def topic(**changes: object) -> TopicReport:
    buckets = [
        Bucket(MIDNIGHT_MS, 10, 1000, Latency(2, 9, 10)),
        Bucket(MIDNIGHT_MS + 2 * HOUR_MS, 1, 10, None),
    ]
    report = TopicReport(
        topic="<orders>", records=11, size_bytes=1010, first_ms=MIDNIGHT_MS,
        last_ms=MIDNIGHT_MS + 2 * HOUR_MS, histories=1, tombstones=0, keyless=1,
        distinct_keys=2, files=1, file_bytes=500, bucket_ms=HOUR_MS, buckets=buckets,
        hours=buckets, partitions=[PartitionShare(0, 10, 1), PartitionShare(1, 1, 1)],
        top_keys=[KeyShare(b"<b>", 9), KeyShare(b"\xff\x00", 1), KeyShare(b"", 1)],
        sizes=[SizeClass(0, 1), SizeClass(1, 10)], silences=[], missing=None,
        missing_count=0, latency=Latency(2, 9, 10), latency_unknown="",
    )  # fmt: skip
    return replace(report, **changes)  # type: ignore[arg-type]


def test_every_chart_is_well_formed_and_stays_inside_its_frame() -> None:
    shown = topic()
    span = Span(shown.first_ms, shown.last_ms, shown.bucket_ms)

    for svg in (
        charts.rate_chart(shown.buckets, span, shown.silences),
        charts.volume_chart(shown.buckets, span),
        charts.latency_chart(shown.buckets, span),
        charts.size_chart(shown.sizes),
        charts.partition_chart(shown.partitions),
        charts.key_chart(shown.top_keys, 10),
    ):
        root = ElementTree.fromstring(svg)  # noqa: S314
        _, _, width, height = map(float, root.attrib["viewBox"].split())
        for mark in root:
            assert 0 <= float(mark.attrib.get("x", 0)) <= width
            assert -1 <= float(mark.attrib.get("y", 0)) <= height
            assert float(mark.attrib.get("height", 0)) >= 0


def test_names_of_topics_and_keys_are_text_and_not_markup() -> None:
    text = page(LakeReport(lake="<lake>", made_at_ms=0, topics=[topic(), topic(topic="b")]))

    assert "<orders>" not in text
    assert "<lake>" not in text
    assert "<b>9" not in text
    assert "&lt;orders&gt;" in text
    assert "0xff00" in text
    assert "(empty)" in text


@pytest.mark.parametrize(
    "changes",
    [
        {"records": 0, "buckets": [], "hours": [], "partitions": [], "sizes": []},
        {"latency": None, "latency_unknown": "Not known."},
        {"top_keys": [], "keyless": 11},
        {"sizes": []},
        {"partitions": [PartitionShare(0, 11, 1)]},
        {"first_ms": MIDNIGHT_MS, "last_ms": MIDNIGHT_MS},
        {"missing": []},
    ],
    ids=lambda changes: "-".join(changes),
)
def test_a_page_is_made_of_whatever_there_is(changes: dict[str, object]) -> None:
    text = page(LakeReport(lake="lake", made_at_ms=0, topics=[topic(**changes)]))

    assert re.search(r"</html>\s*$", text)
