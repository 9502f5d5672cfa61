"""`korvet lake report`: what the topics of a lake look like, as tables and as a page."""

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from korvet.cli.failure import Failure
from korvet.cli.lake_options import LOCAL_MASTER, LakeOption, MasterOption, lake_session
from korvet.cli.lake_topics import ALL_TOPICS, LakeTopicsOption, topics_of
from korvet.cli.terminal import (
    Column,
    JsonOption,
    console,
    errors,
    plain,
    print_json,
    print_table,
)

if TYPE_CHECKING:
    from korvet.pipeline.report_model import Bucket, LakeReport, TopicReport

_TOPIC_COLUMNS = [
    Column("TOPIC"),
    *(
        Column(title, is_number=True)
        for title in (
            "RECORDS",
            "DATA",
            "MEAN RATE",
            "PEAK RATE",
            "LATENCY 99 %",
            "TOP KEY",
        )
    ),
    Column("GAPS"),
]
_HOUR_COLUMNS = [
    Column("HOUR (UTC)"),
    *(
        Column(title, is_number=True)
        for title in ("RECORDS", "DATA", "LATENCY HALF", "99 %", "MOST")
    ),
]


def report(
    lake: LakeOption,
    out: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE", help="Write a page with charts, which needs nothing else."
        ),
    ] = None,
    topics: LakeTopicsOption = ALL_TOPICS,
    hours: Annotated[
        int,
        typer.Option(min=0, help="Show so many of each topic's last hours here."),
    ] = 12,
    master: MasterOption = LOCAL_MASTER,
    as_json: JsonOption = False,
) -> None:
    """Show rates, sizes, key skew, gaps and latency by topic and hour."""
    if out is not None and not out.parent.is_dir():
        raise Failure(f"There is no folder {out.parent} for {out.name}.", "Make it first.")
    with lake_session("korvet lake report", master) as spark:
        from korvet.pipeline import report as job
        from korvet.pipeline.lake import Lake

        source = Lake.open(spark, lake)
        found = job.report(source, topics_of(source, topics))
    if out is not None:
        from korvet.pipeline.report_page import page

        try:
            out.write_text(page(found), encoding="utf-8")
        except OSError as error:
            raise Failure(f"{out} cannot be written: {error.strerror}.") from None
    if as_json:
        print_json(_json(found))
    else:
        _print(found, hours)
    if out is not None:
        errors.print(f"The page is {out}.")


def _print(report: "LakeReport", hours: int) -> None:
    print_table(_TOPIC_COLUMNS, map(_topic_row, report.topics))
    for topic in report.topics:
        shown = topic.hours[-hours:] if hours else ()
        if not shown:
            continue
        left_out = len(topic.hours) - len(shown)
        before = f", the last {len(shown)} of {len(topic.hours)} hours" if left_out else ""
        console.print(f"\n[bold]{plain(topic.topic)}[/]{before}")
        print_table(_HOUR_COLUMNS, map(_hour_row, shown))
        if topic.latency is None:
            console.print(f"Latency: {plain(topic.latency_unknown)}")


def _topic_row(topic: "TopicReport") -> list[str]:
    from korvet.pipeline.chart_scales import duration, number, readable_size
    from korvet.pipeline.report_page import gaps, rate, share

    return [
        topic.topic,
        f"{topic.records:,}",
        readable_size(topic.size_bytes),
        rate(topic.mean_rate),
        f"{number(topic.peak_rate)}/s",
        duration(topic.latency.p99) if topic.latency else "-",
        share(topic.top_share),
        gaps(topic),
    ]


def _hour_row(hour: "Bucket") -> list[str]:
    from korvet.pipeline.chart_scales import moment, readable_size
    from korvet.pipeline.report_page import latencies

    return [
        moment(hour.start_ms),
        f"{hour.records:,}",
        readable_size(hour.size_bytes),
        *latencies(hour),
    ]


def _json(report: "LakeReport") -> dict[str, Any]:
    return {
        "lake": report.lake,
        "made_at_ms": report.made_at_ms,
        "topics": [
            {
                **asdict(topic),
                "top_keys": [
                    {
                        "key": each.key.decode(errors="backslashreplace"),
                        "records": each.records,
                    }
                    for each in topic.top_keys
                ],
                **{
                    name: [_bucket_json(each) for each in getattr(topic, name)]
                    for name in ("buckets", "hours")
                },
                **{
                    name: [each._asdict() for each in getattr(topic, name) or ()]
                    for name in ("partitions", "sizes", "silences", "missing")
                },
                "latency": topic.latency._asdict() if topic.latency else None,
            }
            for topic in report.topics
        ],
    }


def _bucket_json(bucket: "Bucket") -> dict[str, Any]:
    latency = bucket.latency._asdict() if bucket.latency else None
    return {**bucket._asdict(), "latency": latency}
