"""PURE: a report as one HTML page that needs nothing else: no script, font or picture.

It is read from the top: what there is, then a line a topic, then each topic's charts. Under
them the hours are a table too, for whoever cannot see a chart or wants to copy.
"""

from collections.abc import Iterable, Sequence
from html import escape
from importlib.resources import files
from typing import Final

from korvet.pipeline import charts
from korvet.pipeline.chart_marks import Span
from korvet.pipeline.chart_scales import (
    duration,
    moment,
    number,
    percent,
    readable_size,
)
from korvet.pipeline.report_model import Bucket, LakeReport, TopicReport

NONE: Final = "-"
_STYLE: Final = files("korvet.pipeline").joinpath("report.css").read_text()


def page(report: LakeReport) -> str:
    topics = "".join(_topic(topic) for topic in report.topics)
    overview = _overview(report) if len(report.topics) > 1 else ""
    name = escape(report.lake)
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        '<meta name="color-scheme" content="light dark">'
        f"<title>{name}</title><style>{_STYLE}</style></head><body><main>"
        f"<header><h1>What is in the lake</h1><p>{name} · {moment(report.made_at_ms)} UTC"
        f"</p>{_tiles(_lake_facts(report))}</header>{overview}{topics}"
        "<footer><p>All times are UTC, and those of the records' own timestamps. Sizes are"
        " those of keys, values and headers. Made by <code>korvet lake report</code>.</p>"
        "</footer></main></body></html>\n"
    )


def _lake_facts(report: LakeReport) -> list[tuple[str, str]]:
    part = report.file_bytes / report.size_bytes if report.size_bytes else 0
    return [
        (f"{len(report.topics):,}", "topic" if len(report.topics) == 1 else "topics"),
        (number(report.records), "records"),
        (readable_size(report.size_bytes), "of data"),
        (readable_size(report.file_bytes), f"in files, {percent(part)} of it"),
    ]


def _overview(report: LakeReport) -> str:
    rows = "".join(
        f'<tr><th scope="row"><a href="#{_anchor(topic)}">{escape(topic.topic)}</a></th>'
        f"<td>{charts.sparkline(topic.buckets, _span(topic))}</td>"
        f"<td class=n>{number(topic.records)}</td>"
        f"<td class=n>{readable_size(topic.size_bytes)}</td>"
        f"<td class=n>{rate(topic.mean_rate)}</td>"
        f"<td class=n>{duration(topic.latency.p99) if topic.latency else NONE}</td>"
        f"<td class=n>{share(topic.top_share)}</td>"
        f"<td>{escape(gaps(topic))}</td></tr>"
        for topic in report.topics
    )
    head = "".join(
        f"<th scope=col{' class=n' if is_number else ''}>{title}</th>"
        for title, is_number in (
            ("topic", False),
            ("rate over time", False),
            ("records", True),
            ("data", True),
            ("mean rate", True),
            ("latency, 99 %", True),
            ("top key", True),
            ("gaps", False),
        )
    )
    return f"<div class=wide><table><thead><tr>{head}</tr></thead>{rows}</table></div>"


def _topic(topic: TopicReport) -> str:
    if not topic.records:
        return (
            f'<section id="{_anchor(topic)}"><h2>{escape(topic.topic)}</h2>'
            "<p>No record of it is in the lake.</p></section>"
        )
    span = _span(topic)
    figures = [
        _figure(
            "Records a second",
            f"mean of each {_length(topic.bucket_ms)}",
            charts.rate_chart(topic.buckets, span, topic.silences),
        ),
        _latency_figure(topic, span),
        _figure(
            "Bytes a second",
            f"mean of each {_length(topic.bucket_ms)}",
            charts.volume_chart(topic.buckets, span),
        ),
        _size_figure(topic),
        _figure("Partitions", _balance(topic), charts.partition_chart(topic.partitions)),
        _key_figure(topic),
    ]
    return (
        f'<section id="{_anchor(topic)}"><h2>{escape(topic.topic)}</h2>'
        f"{_tiles(_topic_facts(topic))}{_notes(topic)}"
        f"<div class=charts>{''.join(figures)}</div>{_hours(topic.hours)}</section>"
    )


def _topic_facts(topic: TopicReport) -> list[tuple[str, str]]:
    return [
        (number(topic.records), "records"),
        (readable_size(topic.size_bytes), "of data"),
        (rate(topic.mean_rate), "on average"),
        (rate(topic.peak_rate), f"at most, in {_length(topic.bucket_ms)}"),
        (_lasting(topic), f"from {moment(topic.first_ms)}"),
        (f"{topic.files:,}", f"files, {readable_size(topic.file_bytes)}"),
    ]


def _notes(topic: TopicReport) -> str:
    said = []
    if topic.silences:
        longest = max(topic.silences, key=lambda each: each.length_ms)
        said.append(
            f"The longest silence is {duration(longest.length_ms)}, from"
            f" {moment(longest.start_ms, seconds=True)} on."
        )
    if topic.missing is None:
        said.append("Its offsets are times and have gaps by nature: none tells of a loss.")
    elif topic.missing:
        first = topic.missing[0]
        said.append(
            f"{topic.missing_count:,} offsets are not in the lake, the first of them"
            f" {first.first} to {first.last} of partition {first.partition}: markers and"
            " aborted records of transactions, or records that were lost before they were"
            " archived."
        )
    else:
        said.append("No offset is missing.")
    if topic.histories > 1:
        said.append(f"The topic was made {topic.histories} times.")
    if topic.tombstones:
        said.append(f"{topic.tombstones:,} records have no value (tombstones).")
    return f"<p class=notes>{escape(' '.join(said))}</p>"


def _latency_figure(topic: TopicReport, span: Span) -> str:
    title = "From timestamp to append"
    if topic.latency is None:
        return _figure(title, "", f"<p class=none>{escape(topic.latency_unknown)}</p>")
    half, most_of_them, worst = map(duration, topic.latency)
    told = f"half {half}, 99 % {most_of_them}, at most {worst}"
    return _figure(title, told, charts.latency_chart(topic.buckets, span))


def _size_figure(topic: TopicReport) -> str:
    title = "Sizes of values"
    if not topic.sizes:
        return _figure(title, "", "<p class=none>No record has a value.</p>")
    told = f"{readable_size(topic.mean_bytes)} a record on average, with key and headers"
    return _figure(title, told, charts.size_chart(topic.sizes))


def _key_figure(topic: TopicReport) -> str:
    keyed = topic.records - topic.keyless
    if not topic.top_keys:
        return _figure("Keys", "", "<p class=none>No record has a key.</p>")
    told = f"{topic.distinct_keys:,} or so different ones"
    if topic.keyless:
        told += f"; {percent(topic.keyless / topic.records)} of the records have none"
    return _figure("Most frequent keys", told, charts.key_chart(topic.top_keys, keyed))


def _hours(hours: Sequence[Bucket]) -> str:
    rows = "".join(
        f'<tr><th scope="row">{moment(hour.start_ms)}</th>'
        f"<td class=n>{hour.records:,}</td>"
        f"<td class=n>{readable_size(hour.size_bytes)}</td>"
        + "".join(f"<td class=n>{cell}</td>" for cell in latencies(hour))
        + "</tr>"
        for hour in hours
    )
    return (
        "<details><summary>Hour by hour, as a table</summary><div class=wide><table><thead>"
        "<tr><th scope=col>hour from</th><th scope=col class=n>records</th>"
        "<th scope=col class=n>data</th><th scope=col class=n>latency, half</th>"
        "<th scope=col class=n>99 %</th><th scope=col class=n>most</th></tr></thead>"
        f"{rows}</table></div></details>"
    )


def latencies(hour: Bucket) -> list[str]:
    return [duration(each) for each in hour.latency] if hour.latency else [NONE] * 3


def _figure(title: str, told: str, content: str) -> str:
    return (
        f"<figure><figcaption><b>{title}</b> <span>{escape(told)}</span></figcaption>"
        f"{content}</figure>"
    )


def _tiles(facts: Iterable[tuple[str, str]]) -> str:
    tiles = "".join(
        f"<div><dt>{escape(what)}</dt><dd>{escape(value)}</dd></div>"
        for value, what in facts
    )
    return f"<dl>{tiles}</dl>"


def _balance(topic: TopicReport) -> str:
    count = len(topic.partitions)
    if count == 1:
        return "there is one"
    most = max(topic.partitions, key=lambda each: each.records)
    times = most.records * count / topic.records
    return f"the fullest has {times:.1f} times an even share"


def _span(topic: TopicReport) -> Span:
    return Span(topic.first_ms, topic.last_ms, topic.bucket_ms)


def gaps(topic: TopicReport) -> str:
    said = []
    if topic.silences:
        longest = max(each.length_ms for each in topic.silences)
        said.append(f"silent {duration(longest)}")
    if topic.missing_count:
        said.append(f"{number(topic.missing_count)} offsets")
    return ", ".join(said) or "none"


def _lasting(topic: TopicReport) -> str:
    return duration(topic.last_ms - topic.first_ms) if topic.span_seconds else "a moment"


def _length(bucket_ms: int) -> str:
    return duration(bucket_ms) if bucket_ms != 86_400_000 else "day"


def rate(per_second: float | None) -> str:
    return f"{number(per_second)}/s" if per_second is not None else NONE


def share(part: float | None) -> str:
    return percent(part) if part is not None else NONE


def _anchor(topic: TopicReport) -> str:
    return f"topic-{escape(topic.topic)}"
