"""A trace as `korvet trace` shows it: its spans as a tree, in the order of time.

Pure. A span whose parent was not received is shown below the root, and a trace without a
root, whose request is still under way or whose beginning was dropped, is not shown at all.
"""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

_TOPIC: Final = "messaging.destination.name"
_OPERATION: Final = "messaging.operation.name"
# What tells most of a span beside its name, and how it is called.
_TOLD: Final = {
    "messaging.destination.partition.id": "partition",
    "messaging.batch.message_count": "records",
    "messaging.consumer.group.name": "group",
    "messaging.client.id": "client",
    "error.type": "error",
}


class Span(NamedTuple):
    service: str
    name: str
    span_id: str
    parent_id: str
    start_ns: int
    end_ns: int
    attributes: Mapping[str, Any]

    @property
    def seconds(self) -> float:
        return (self.end_ns - self.start_ns) / 1e9

    @property
    def error(self) -> str:
        return str(self.attributes.get("error.type", ""))

    @property
    def told(self) -> str:
        """Its most telling attributes, as in "partition=0 records=5"."""
        return " ".join(
            f"{word}={self.attributes[name]}"
            for name, word in _TOLD.items()
            if name in self.attributes
        )


class Row(NamedTuple):
    depth: int
    span: Span


class Trace(NamedTuple):
    trace_id: str
    root: Span
    # The root and what is below it, each followed by its own parts.
    rows: Sequence[Row]

    @property
    def api(self) -> str:
        return str(self.root.attributes.get(_OPERATION, self.root.name))

    @property
    def topics(self) -> set[str]:
        found = (row.span.attributes.get(_TOPIC) for row in self.rows)
        return {str(topic) for topic in found if topic is not None}


def traces_of(page: Sequence[Mapping[str, Any]]) -> list[Trace]:
    """Those that are whole, by when they began."""
    found = [trace for each in page if (trace := _trace(each)) is not None]
    return sorted(found, key=lambda trace: trace.root.start_ns)


def _trace(page: Mapping[str, Any]) -> Trace | None:
    spans = [
        Span(
            each["service"],
            each["name"],
            each["span_id"],
            each["parent_id"],
            each["start_ns"],
            each["end_ns"],
            each["attributes"],
        )
        for each in page["spans"]
    ]
    known = {span.span_id for span in spans}
    roots = [span for span in spans if not span.parent_id]
    if not roots:
        # One that a client of gRPC has begun: its own span is elsewhere.
        roots = [span for span in spans if span.parent_id not in known]
        if len(roots) != 1:
            return None
    root = roots[0]
    parts: defaultdict[str, list[Span]] = defaultdict(list)
    for span in sorted(spans, key=lambda each: (each.start_ns, each.end_ns)):
        if span is not root:
            parent = span.parent_id if span.parent_id in known else root.span_id
            parts[parent].append(span)
    return Trace(page["trace_id"], root, list(_rows(root, parts)))


def _rows(root: Span, parts: Mapping[str, Sequence[Span]]) -> Iterator[Row]:
    waiting = [Row(0, root)]
    while waiting:
        row = waiting.pop()
        yield row
        waiting += [
            Row(row.depth + 1, part) for part in reversed(parts.get(row.span.span_id, ()))
        ]
