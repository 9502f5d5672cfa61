"""The last traces of one `korvet up --trace`, in memory: a small receiver of OTLP.

It keeps so many spans and no more, and drops whole traces, the oldest first. Nothing of it
outlives `up`.
"""

import contextlib
import json
from collections import OrderedDict
from collections.abc import AsyncIterator, Mapping
from typing import Any, Final

import grpc
from opentelemetry.proto.collector.trace.v1 import trace_service_pb2 as pb
from opentelemetry.proto.collector.trace.v1 import trace_service_pb2_grpc as pb_grpc
from opentelemetry.proto.common.v1 import common_pb2
from opentelemetry.proto.trace.v1 import trace_pb2

from korvet.cli.plan import HOST

_MOST_SPANS: Final = 20_000
_MOST_TRACES: Final = 1_000


class TraceRing:
    def __init__(
        self, most_spans: int = _MOST_SPANS, most_traces: int = _MOST_TRACES
    ) -> None:
        self._most_spans = most_spans
        self._most_traces = most_traces
        self._traces: OrderedDict[bytes, list[dict[str, Any]]] = OrderedDict()
        self._spans = 0

    def add(self, service: str, span: trace_pb2.Span) -> None:
        self._traces.setdefault(span.trace_id, []).append(_described(service, span))
        self._spans += 1
        while self._spans > self._most_spans or len(self._traces) > self._most_traces:
            _, oldest = self._traces.popitem(last=False)
            self._spans -= len(oldest)

    async def page(self) -> tuple[str, str]:
        """Every trace that is kept, the oldest first, as lists of spans."""
        traces = [
            {"trace_id": trace_id.hex(), "spans": spans}
            for trace_id, spans in self._traces.items()
        ]
        return "application/json", json.dumps(traces)


def exporting_to(endpoint: str) -> Mapping[str, str]:
    """What has a service export every trace there, and soon."""
    return {
        "OTEL_SDK_DISABLED": "false",
        "OTEL_TRACES_EXPORTER": "otlp",
        "OTEL_TRACES_SAMPLER": "always_on",
        "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": endpoint,
        "OTEL_EXPORTER_OTLP_TRACES_PROTOCOL": "grpc",
        "OTEL_BSP_SCHEDULE_DELAY": "200",
    }


@contextlib.asynccontextmanager
async def receiving(ring: TraceRing) -> AsyncIterator[str]:
    """Take spans over OTLP/gRPC meanwhile; yields the endpoint."""
    server = grpc.aio.server()
    # Published without types.
    add: Any = pb_grpc.add_TraceServiceServicer_to_server
    add(_Receiver(ring), server)
    port = server.add_insecure_port(f"{HOST}:0")
    await server.start()
    try:
        yield f"http://{HOST}:{port}"
    finally:
        await server.stop(0)


class _Receiver(pb_grpc.TraceServiceServicer):
    def __init__(self, ring: TraceRing) -> None:
        self._ring = ring

    async def Export(
        self, request: pb.ExportTraceServiceRequest, context: Any
    ) -> pb.ExportTraceServiceResponse:
        for resource in request.resource_spans:
            service = _plain(resource.resource.attributes).get("service.name", "")
            for scope in resource.scope_spans:
                for span in scope.spans:
                    self._ring.add(str(service).removeprefix("korvet-"), span)
        return pb.ExportTraceServiceResponse()


def _described(service: str, span: trace_pb2.Span) -> dict[str, Any]:
    return {
        "service": service,
        "name": span.name,
        "kind": trace_pb2.Span.SpanKind.Name(span.kind).removeprefix("SPAN_KIND_").lower(),
        "span_id": span.span_id.hex(),
        "parent_id": span.parent_span_id.hex(),
        "start_ns": span.start_time_unix_nano,
        "end_ns": span.end_time_unix_nano,
        "is_error": span.status.code == trace_pb2.Status.STATUS_CODE_ERROR,
        "attributes": _plain(span.attributes),
    }


def _plain(attributes: Any) -> dict[str, Any]:
    return {each.key: _value(each.value) for each in attributes}


def _value(value: common_pb2.AnyValue) -> Any:
    kind = value.WhichOneof("value")
    if kind == "array_value":
        return [_value(each) for each in value.array_value.values]
    return getattr(value, kind) if kind in _PLAIN_KINDS else None


_PLAIN_KINDS: Final = frozenset({"string_value", "bool_value", "int_value", "double_value"})
