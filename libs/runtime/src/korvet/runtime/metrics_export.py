"""Pushes a process's metrics over OTLP, from a thread of its own.

Whoever counts never waits for it, however slow the receiver is. How often, where to and
with what, the SDK's exporter and OTEL_METRIC_EXPORT_INTERVAL say.
"""

import contextlib
import logging
import threading
import time
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, Final

from opentelemetry.exporter.otlp.proto.grpc.metric_exporter import OTLPMetricExporter
from opentelemetry.sdk.metrics import export as sdk
from opentelemetry.sdk.util.instrumentation import InstrumentationScope

from korvet.runtime.metrics import REGISTRY, AnyInstrument, Distribution, Number

if TYPE_CHECKING:
    from opentelemetry.sdk.resources import Resource

log = logging.getLogger(__name__)

_DEFAULT_INTERVAL_MS: Final = 60_000
_FLUSH_SECONDS: Final = 3.0
_CUMULATIVE: Final = sdk.AggregationTemporality.CUMULATIVE


@contextlib.contextmanager
def exporting_metrics(who: "Resource", environ: Mapping[str, str]) -> Iterator[None]:
    """Export meanwhile, and once more at the end if that does not take long."""
    exporter = OTLPMetricExporter()
    stop = threading.Event()
    interval = _interval(environ)
    started_ns = time.time_ns()

    def export() -> None:
        is_last = False
        while not is_last:
            is_last = stop.wait(interval)
            try:
                REGISTRY.look()
                exporter.export(snapshot(REGISTRY.instruments, who, started_ns))
            except Exception:
                log.exception("metrics were not exported")

    # It must not keep a process that is done from ending.
    thread = threading.Thread(target=export, name="metrics", daemon=True)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join(_FLUSH_SECONDS)
        exporter.shutdown(timeout_millis=0)


def snapshot(
    instruments: list[AnyInstrument], who: "Resource", started_ns: int
) -> sdk.MetricsData:
    """All that was counted since the process began, as the SDK's own readers give it."""
    now_ns = time.time_ns()
    metrics = [
        sdk.Metric(
            name=each.name,
            description=each.description,
            unit=each.unit,
            data=_data(each, started_ns, now_ns),
        )
        for each in instruments
    ]
    scope = sdk.ScopeMetrics(InstrumentationScope("korvet"), metrics, schema_url="")
    return sdk.MetricsData([sdk.ResourceMetrics(who, [scope], schema_url="")])


def _data(instrument: AnyInstrument, started_ns: int, now_ns: int) -> Any:
    points = [
        _point(_attributes(instrument, values), series, started_ns, now_ns)
        for values, series in instrument.series()
    ]
    if instrument.kind == "histogram":
        return sdk.Histogram(points, _CUMULATIVE)
    if instrument.kind == "counter":
        return sdk.Sum(points, _CUMULATIVE, is_monotonic=True)
    return sdk.Gauge(points)


def _point(
    attributes: dict[str, str], series: Number | Distribution, started_ns: int, now_ns: int
) -> Any:
    if isinstance(series, Number):
        return sdk.NumberDataPoint(attributes, started_ns, now_ns, series.value)
    counts = list(series.counts)
    return sdk.HistogramDataPoint(
        attributes,
        started_ns,
        now_ns,
        count=sum(counts),
        sum=series.sum,
        bucket_counts=counts,
        explicit_bounds=series.bounds,
        # OTLP can do without them, and they are not kept.
        min=None,  # type: ignore[arg-type]
        max=None,  # type: ignore[arg-type]
    )


def _attributes(instrument: AnyInstrument, values: tuple[str, ...]) -> dict[str, str]:
    pairs = zip(instrument.attributes, values, strict=True)
    return {attribute: value for attribute, value in pairs if value}


def _interval(environ: Mapping[str, str]) -> float:
    text = environ.get("OTEL_METRIC_EXPORT_INTERVAL", "").strip()
    milliseconds = int(text) if text.isdecimal() else 0
    return (milliseconds or _DEFAULT_INTERVAL_MS) / 1000
