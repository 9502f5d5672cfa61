"""OpenTelemetry's SDK, set up from its own OTEL_* variables and flushed at the end.

Where no endpoint is named nothing is installed, not even imported. The SDK reads most of
these variables by itself; what is decided here is whether there is anything to set up.
"""

import logging
import threading
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from importlib.metadata import version
from typing import TYPE_CHECKING, Final, Literal

from korvet.runtime import tracing

if TYPE_CHECKING:
    from opentelemetry.sdk.resources import Resource

log = logging.getLogger(__name__)

Signal = Literal["traces", "metrics"]

_MAX_ATTRIBUTE_LENGTH: Final = 1024
_RATIO: Final = "parentbased_traceidratio"
# An exporter that cannot be reached must not keep a process that is told to stop.
_FLUSH_SECONDS: Final = 2.0


@contextmanager
def exporting(service: str, environ: Mapping[str, str]) -> Iterator[None]:
    """Export what the environment asks for, for as long as the body runs."""
    with ExitStack() as stack:
        if is_exported("traces", environ):
            stack.enter_context(_traces(resource(service), environ))
        if is_exported("metrics", environ):
            # Not at the top: without an endpoint the SDK is not even imported.
            from korvet.runtime.metrics_export import exporting_metrics

            stack.enter_context(exporting_metrics(resource(service), environ))
        yield


def is_exported(signal: Signal, environ: Mapping[str, str]) -> bool:
    """Whether there is an OTLP endpoint for these, and nothing says otherwise."""
    name = signal.upper()
    if environ.get("OTEL_SDK_DISABLED", "").strip().lower() == "true":
        return False
    if environ.get(f"OTEL_{name}_EXPORTER", "otlp").strip() != "otlp":
        return False
    endpoint = environ.get(f"OTEL_EXPORTER_OTLP_{name}_ENDPOINT") or environ.get(
        "OTEL_EXPORTER_OTLP_ENDPOINT"
    )
    if not endpoint:
        return False
    protocol = environ.get(f"OTEL_EXPORTER_OTLP_{name}_PROTOCOL") or environ.get(
        "OTEL_EXPORTER_OTLP_PROTOCOL", "grpc"
    )
    if protocol != "grpc":
        log.warning("no %s are exported: OTLP over %s is not served", signal, protocol)
        return False
    return True


def resource(service: str) -> "Resource":
    """Who exports: what OTEL_SERVICE_NAME and OTEL_RESOURCE_ATTRIBUTES say, and ours."""
    from opentelemetry.sdk.resources import OTELResourceDetector, Resource

    named = OTELResourceDetector().detect().attributes
    ours = {
        "service.name": f"korvet-{service}",
        "service.version": version("korvet-runtime"),
    }
    # What is passed here would win over the environment.
    return Resource.create({k: v for k, v in ours.items() if k not in named})


def root_ratio(environ: Mapping[str, str]) -> float | None:
    """The share of requests that begin a trace; None where the SDK's sampler decides."""
    sampler = environ.get("OTEL_TRACES_SAMPLER", "").strip().lower()
    try:
        ratio = float(environ.get("OTEL_TRACES_SAMPLER_ARG", ""))
    except ValueError:
        return None
    return ratio if sampler == _RATIO and 0 <= ratio <= 1 else None


@contextmanager
def _traces(who: "Resource", environ: Mapping[str, str]) -> Iterator[None]:
    from opentelemetry.exporter.otlp.proto.grpc.trace_exporter import OTLPSpanExporter
    from opentelemetry.sdk.trace import SpanLimits, TracerProvider
    from opentelemetry.sdk.trace.export import BatchSpanProcessor
    from opentelemetry.sdk.trace.sampling import DEFAULT_ON

    exporter = OTLPSpanExporter()
    limits = SpanLimits()
    if limits.max_span_attribute_length is None:
        # Clients choose their names, and spans wait in memory.
        limits.max_span_attribute_length = _MAX_ATTRIBUTE_LENGTH
    ratio = root_ratio(environ)
    provider = TracerProvider(
        resource=who,
        span_limits=limits,
        # Asked only for what our own throw has chosen, or a caller.
        sampler=None if ratio is None else DEFAULT_ON,
        shutdown_on_exit=False,
    )
    provider.add_span_processor(BatchSpanProcessor(exporter))
    tracer = provider.get_tracer("korvet", version("korvet-runtime"))
    tracing.install(tracer, 1.0 if ratio is None else ratio)
    try:
        yield
    finally:
        tracing.uninstall()
        # The provider itself would wait for half a minute.
        giving_up = threading.Timer(_FLUSH_SECONDS, exporter.shutdown)
        giving_up.daemon = True
        giving_up.start()
        provider.shutdown()
        giving_up.cancel()
