"""A receiver of OTLP over gRPC, as a collector is one, that keeps what it is sent."""

import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent import futures
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Self

import grpc
from opentelemetry.proto.collector.metrics.v1 import metrics_service_pb2 as metrics_pb
from opentelemetry.proto.collector.metrics.v1 import (
    metrics_service_pb2_grpc as metrics_grpc,
)
from opentelemetry.proto.collector.trace.v1 import trace_service_pb2 as trace_pb
from opentelemetry.proto.collector.trace.v1 import trace_service_pb2_grpc as trace_grpc
from opentelemetry.proto.common.v1 import common_pb2
from opentelemetry.proto.metrics.v1.metrics_pb2 import ResourceMetrics
from opentelemetry.proto.trace.v1 import trace_pb2

_PATIENCE = 30.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    name: str
    attributes: Mapping[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class SpanLink:
    trace_id: str
    span_id: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ReceivedSpan:
    service: str
    name: str
    kind: str
    trace_id: str
    span_id: str
    parent_id: str
    start: int
    end: int
    is_error: bool
    attributes: Mapping[str, Any]
    links: Sequence[SpanLink]

    @property
    def is_call(self) -> bool:
        """Whether it asks another service."""
        return self.kind == "client" and "rpc.method" in self.attributes

    @property
    def seconds(self) -> float:
        return (self.end - self.start) / 1e9


@dataclass(slots=True)
class Trace:
    """The spans of one trace, and who is whose parent."""

    spans: list[ReceivedSpan] = field(default_factory=list)

    @property
    def is_whole(self) -> bool:
        """Whether each call to another service has been served."""
        asked = [each for each in self.spans if each.is_call]
        return all(map(self.children, asked))

    def children(self, parent: ReceivedSpan) -> list[ReceivedSpan]:
        found = [span for span in self.spans if span.parent_id == parent.span_id]
        return sorted(found, key=lambda span: span.start)

    def tree(self, root: ReceivedSpan) -> "Tree":
        """Names below a span, as a test writes them down."""
        return (
            f"{root.service} {root.kind} {root.name}",
            [self.tree(child) for child in self.children(root)],
        )

    def find(self, name: str) -> ReceivedSpan:
        """The last one of this name."""
        named = [span for span in self.spans if span.name == name]
        return max(named, key=lambda span: span.start)


Tree = tuple[str, list[Any]]


class OtlpReceiver:
    """Everything that was exported to it, spans and metrics, also as it came."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self.raw: list[bytes] = []
        self.spans: list[ReceivedSpan] = []
        self.metrics: list[ResourceMetrics] = []
        # Held by a test that wants exports to hang.
        self.stalled = threading.Event()
        self.stalled.set()
        self._server = grpc.server(futures.ThreadPoolExecutor(4))
        # Published without types.
        add_traces: Any = trace_grpc.add_TraceServiceServicer_to_server
        add_traces(_Traces(self), self._server)
        add_metrics: Any = metrics_grpc.add_MetricsServiceServicer_to_server
        add_metrics(_Metrics(self), self._server)
        port = self._server.add_insecure_port("127.0.0.1:0")
        self.endpoint = f"http://127.0.0.1:{port}"

    def __enter__(self) -> Self:
        self._server.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stalled.set()
        self._server.stop(0).wait()

    @property
    def environ(self) -> dict[str, str]:
        """What has a process export everything to here, without delay."""
        return {
            "OTEL_EXPORTER_OTLP_ENDPOINT": self.endpoint,
            "OTEL_BSP_SCHEDULE_DELAY": "100",
        }

    @contextmanager
    def hanging(self) -> Iterator[None]:
        """Take exports and do not answer them."""
        self.stalled.clear()
        try:
            yield
        finally:
            self.stalled.set()

    def take_spans(self, request: trace_pb.ExportTraceServiceRequest) -> None:
        self.stalled.wait()
        with self._changed:
            self.raw.append(request.SerializeToString())
            for resource in request.resource_spans:
                service = _plain(resource.resource.attributes)["service.name"]
                for scope in resource.scope_spans:
                    self.spans += [_span(service, span) for span in scope.spans]
            self._changed.notify_all()

    def take_metrics(self, request: metrics_pb.ExportMetricsServiceRequest) -> None:
        self.stalled.wait()
        with self._changed:
            self.raw.append(request.SerializeToString())
            self.metrics += request.resource_metrics
            self._changed.notify_all()

    def wait_for(
        self, what: Callable[[ReceivedSpan], bool], *, count: int = 1
    ) -> list[ReceivedSpan]:
        """Spans like this, once there are so many of them."""
        with self._changed:
            assert self._changed.wait_for(
                lambda: sum(map(what, self.spans)) >= count, _PATIENCE
            ), f"only {sorted({(span.service, span.name) for span in self.spans})}"
            return [span for span in self.spans if what(span)]

    def trace_of(self, span: ReceivedSpan) -> Trace:
        """The trace that a span is part of, once every service has told its part.

        What a service was asked for ends before the call that asks for it, and what it did
        for that ends before. So nothing is missing once each call has its other side.
        """

        def found() -> Trace:
            same = [each for each in self.spans if each.trace_id == span.trace_id]
            return Trace(same)

        with self._changed:
            assert self._changed.wait_for(lambda: found().is_whole, _PATIENCE), found()
            return found()


class _Traces(trace_grpc.TraceServiceServicer):
    def __init__(self, receiver: OtlpReceiver) -> None:
        self._receiver = receiver

    def Export(
        self, request: trace_pb.ExportTraceServiceRequest, context: Any
    ) -> trace_pb.ExportTraceServiceResponse:
        self._receiver.take_spans(request)
        return trace_pb.ExportTraceServiceResponse()


class _Metrics(metrics_grpc.MetricsServiceServicer):
    def __init__(self, receiver: OtlpReceiver) -> None:
        self._receiver = receiver

    def Export(
        self, request: metrics_pb.ExportMetricsServiceRequest, context: Any
    ) -> metrics_pb.ExportMetricsServiceResponse:
        self._receiver.take_metrics(request)
        return metrics_pb.ExportMetricsServiceResponse()


def _span(service: str, span: trace_pb2.Span) -> ReceivedSpan:
    kind = trace_pb2.Span.SpanKind.Name(span.kind).removeprefix("SPAN_KIND_").lower()
    return ReceivedSpan(
        service=service.removeprefix("korvet-"),
        name=span.name,
        kind=kind,
        trace_id=span.trace_id.hex(),
        span_id=span.span_id.hex(),
        parent_id=span.parent_span_id.hex(),
        start=span.start_time_unix_nano,
        end=span.end_time_unix_nano,
        is_error=span.status.code == trace_pb2.Status.STATUS_CODE_ERROR,
        attributes=_plain(span.attributes),
        links=[
            SpanLink(trace_id=link.trace_id.hex(), span_id=link.span_id.hex())
            for link in span.links
        ],
    )


def _plain(attributes: Any) -> dict[str, Any]:
    return {each.key: _value(each.value) for each in attributes}


def _value(value: common_pb2.AnyValue) -> Any:
    kind = value.WhichOneof("value")
    if kind == "array_value":
        return [_value(each) for each in value.array_value.values]
    return getattr(value, kind) if kind else None
