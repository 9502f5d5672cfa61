"""Spans of this process, recorded for a test instead of being exported."""

from collections.abc import Iterator
from contextlib import contextmanager

from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.util.types import AttributeValue

from korvet.runtime import tracing


class RecordedSpans:
    """Those that have ended."""

    def __init__(self) -> None:
        self._exporter = InMemorySpanExporter()
        self._provider = TracerProvider(shutdown_on_exit=False)
        self._provider.add_span_processor(SimpleSpanProcessor(self._exporter))

    @contextmanager
    def recording(self) -> Iterator[None]:
        tracing.install(self._provider.get_tracer("test"))
        try:
            yield
        finally:
            tracing.uninstall()

    @property
    def all(self) -> list[ReadableSpan]:
        return list(self._exporter.get_finished_spans())

    def named(self, name: str) -> ReadableSpan:
        (found,) = [span for span in self.all if span.name == name]
        return found

    def told(self, name: str) -> dict[str, AttributeValue]:
        """The attributes of the span of this name."""
        return dict(self.named(name).attributes or {})

    def clear(self) -> None:
        self._exporter.clear()
