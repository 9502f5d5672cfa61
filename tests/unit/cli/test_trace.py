import asyncio
import io
import json
from typing import Any

import pytest
from opentelemetry.proto.trace.v1 import trace_pb2
from rich.console import Console

from korvet.cli.trace_model import Trace, traces_of
from korvet.cli.trace_ring import TraceRing
from korvet.cli.trace_views import waterfalls

MS = 1_000_000


def span(
    name: str, span_id: str, parent: str = "", start: int = 0, end: int = 10, **told: Any
) -> dict[str, Any]:
    """From a millisecond to another one."""
    return {
        "service": "gateway",
        "name": name,
        "span_id": span_id,
        "parent_id": parent,
        "start_ns": start * MS,
        "end_ns": end * MS,
        "attributes": {name.replace("_", "."): value for name, value in told.items()},
    }


def only(*spans: dict[str, Any]) -> Trace:
    (trace,) = traces_of([{"trace_id": "ab", "spans": spans}])
    return trace


def tree(trace: Trace) -> list[tuple[int, str]]:
    return [(row.depth, row.span.name) for row in trace.rows]


def test_parts_follow_what_they_are_part_of_in_the_order_of_time() -> None:
    trace = only(
        span("EVALSHA", "4", "3", 4, 5),
        span("second", "5", "1", 7, 8),
        span("Append", "3", "2", 3, 6),
        span("Produce", "1"),
        span("first", "2", "1", 1, 7),
    )

    assert tree(trace) == [
        (0, "Produce"), (1, "first"), (2, "Append"), (3, "EVALSHA"), (1, "second")
    ]  # fmt: skip


def test_a_part_whose_parent_is_missing_is_shown_below_the_root() -> None:
    trace = only(span("Produce", "1"), span("lost", "9", "8"))

    assert tree(trace) == [(0, "Produce"), (1, "lost")]


def test_a_trace_without_its_root_is_not_shown() -> None:
    spans = [span("a", "2", "1"), span("b", "3", "1")]

    assert traces_of([{"trace_id": "ab", "spans": spans}]) == []


def test_a_trace_that_a_grpc_client_began_is_shown_from_where_it_reached_us() -> None:
    trace = only(span("Append", "2", "elsewhere"), span("EVALSHA", "3", "2"))

    assert tree(trace) == [(0, "Append"), (1, "EVALSHA")]


def test_traces_are_in_the_order_of_their_requests() -> None:
    page = [
        {"trace_id": "late", "spans": [span("b", "1", start=5)]},
        {"trace_id": "early", "spans": [span("a", "1", start=2)]},
    ]

    assert [trace.trace_id for trace in traces_of(page)] == ["early", "late"]


def a_span(trace: int, number: int) -> trace_pb2.Span:
    return trace_pb2.Span(
        trace_id=trace.to_bytes(16, "big"), span_id=number.to_bytes(8, "big"), name="x"
    )


def kept(ring: TraceRing) -> dict[int, int]:
    """How many spans of which trace."""
    _, text = asyncio.run(ring.page())
    return {int(each["trace_id"], 16): len(each["spans"]) for each in json.loads(text)}


def test_the_oldest_traces_make_room_for_new_ones() -> None:
    ring = TraceRing(most_spans=100, most_traces=3)

    for trace in range(1, 6):
        ring.add("gateway", a_span(trace, 1))

    assert kept(ring) == {3: 1, 4: 1, 5: 1}


def test_no_more_spans_are_kept_than_there_is_room_for() -> None:
    ring = TraceRing(most_spans=10, most_traces=100)

    for trace in (1, 2, 3):
        for number in range(1, 5):
            ring.add("gateway", a_span(trace, number))

    assert kept(ring) == {2: 4, 3: 4}


def shown(trace: Trace, width: int) -> list[str]:
    console = Console(width=width, file=io.StringIO(), emoji=False, highlight=False)
    with console.capture() as capture:
        console.print(waterfalls([trace], width))
    return [line.rstrip() for line in capture.get().splitlines()]


def a_deep_trace() -> Trace:
    spans = [span("Fetch " + "x" * 249, "0", error_type="UNKNOWN_SERVER_ERROR")]
    spans += [span(f"part {n} {'y' * 60}", str(n), str(n - 1), n, 10) for n in range(1, 10)]
    return only(*spans)


@pytest.mark.parametrize("width", [80, 139, 140, 200])
def test_it_fits_the_terminal(width: int) -> None:
    head, trace_id, *rows = shown(a_deep_trace(), width)

    assert head.startswith("Fetch xxx")
    assert trace_id == "ab"
    assert max(map(len, [head, *rows])) <= width
    assert sum("█" in row or "▏" in row for row in rows) == 10


def test_a_bar_is_where_its_span_was_within_the_request() -> None:
    trace = only(span("Produce", "1"), span("Append", "2", "1", 5, 10))

    *_, root, part = shown(trace, 80)[:4]
    begin = root.index("█")
    length = root.count("█")

    assert part.index("█") == begin + length // 2
    assert part.count("█") == length // 2


def test_what_took_no_time_is_seen_and_what_is_outside_is_cut_off() -> None:
    trace = only(
        span("Produce", "1", start=10, end=20),
        span("short", "2", "1", 15, 15),
        span("after", "3", "1", 30, 40),
        span("before", "4", "1", 1, 5),
    )

    for line in shown(trace, 80)[2:6]:
        assert len(line) <= 80
        assert any(mark in line for mark in "█▏▎▍▌▋▊▉")


def test_names_from_clients_do_not_steer_the_terminal() -> None:
    lines = shown(only(span("Fetch [red]\x1b[2J", "1")), 80)

    assert lines[0].startswith("Fetch [red]\\x1b[2J")
