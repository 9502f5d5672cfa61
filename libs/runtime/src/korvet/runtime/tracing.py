"""The spans of what is under way: begun and ended at the seams, by way of this module.

`current` is None wherever nothing is recorded, and looking at it is all that is paid then.
A span holds names and numbers, never what a record, a key or a secret is.
"""

import math
import random
import sys
from collections.abc import Mapping
from contextvars import ContextVar, Token
from typing import Final, Self, TypeAlias

from opentelemetry.context import Context
from opentelemetry.trace import (
    Span,
    SpanContext,
    SpanKind,
    Status,
    StatusCode,
    Tracer,
    get_current_span,
    set_span_in_context,
)
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

Attribute: TypeAlias = str | int | float | bool | list[str]

# A request about thousands of partitions is as many commands: these are enough to see what
# it does, and the rest is counted.
_MAX_CHILDREN: Final = 64
_CHILDREN_LEFT_OUT: Final = "korvet.spans.left_out"
_ERROR_TYPE: Final = "error.type"

_w3c: Final = TraceContextTextMapPropagator()
_NO_CONTEXT: Final = Context()


class Work:
    """A span that is recorded. `with work:` makes it current; `end` is for its beginner."""

    __slots__ = ("_children", "_token", "_tracer", "span")

    def __init__(self, tracer: Tracer, span: Span) -> None:
        self._tracer = tracer
        self._children = 0
        self._token: Token[Work | None] | None = None
        self.span = span

    def __enter__(self) -> Self:
        self._token = current.set(self)
        return self

    def __exit__(self, *_: object) -> None:
        assert self._token is not None
        current.reset(self._token)

    @property
    def traceparent(self) -> str:
        """For whoever carries out a part of it elsewhere."""
        return _traceparent(self.span.get_span_context())

    def child(
        self,
        name: str,
        attributes: Mapping[str, Attribute] | None = None,
        *,
        kind: SpanKind = SpanKind.INTERNAL,
    ) -> "Work | None":
        """Begin a part of this; None once it has ended, or has many parts already.

        What a request leaves behind, such as a connection that it opened, outlives it.
        """
        if not self.span.is_recording():
            return None
        self._children += 1
        if self._children > _MAX_CHILDREN:
            self.span.set_attribute(_CHILDREN_LEFT_OUT, self._children - _MAX_CHILDREN)
            return None
        here = set_span_in_context(self.span, _NO_CONTEXT)
        span = self._tracer.start_span(name, here, kind, attributes)
        return Work(self._tracer, span) if span.is_recording() else None

    def end(self, error: str | None = None, *, is_failure: bool = True) -> None:
        """`error` is a name, never a message, which may quote what it is about."""
        if error is not None:
            self.span.set_attribute(_ERROR_TYPE, error)
            if is_failure:
                self.span.set_status(Status(StatusCode.ERROR))
        self.span.end()


current: Final[ContextVar[Work | None]] = ContextVar("korvet_work", default=None)


class _Installed:
    """The process's tracer; None where no traces are exported."""

    tracer: Tracer | None = None
    ratio = 1.0
    # So many requests more begin no trace.
    skipping = 0


def install(tracer: Tracer, ratio: float = 1.0) -> None:
    """`ratio` is the share of requests that begin a trace, as far as its sampler agrees."""
    _Installed.tracer = tracer
    _Installed.ratio = ratio
    _Installed.skipping = _distance(ratio)


def uninstall() -> None:
    _Installed.tracer = None


def wants_trace() -> bool:
    """Whether the request at hand is to begin a trace. Asked once for each.

    Few do. How many come before the next that does is drawn at once, so that those pay for
    a subtraction; a sampler of the SDK costs a hundred times as much.
    """
    if _Installed.tracer is None:
        return False
    if _Installed.skipping:
        _Installed.skipping -= 1
        return False
    _Installed.skipping = _distance(_Installed.ratio)
    return True


def is_on() -> bool:
    return _Installed.tracer is not None


def begin(name: str, kind: SpanKind = SpanKind.SERVER) -> Work | None:
    """Begin a trace, as `wants_trace` says; None where the sampler does not want it."""
    return _begin(name, _NO_CONTEXT, kind)


def begin_from(
    name: str, carrier: Mapping[str, str], kind: SpanKind = SpanKind.SERVER
) -> Work | None:
    """Begin what a caller elsewhere asked for, as a part of its trace if it named one."""
    parent = _w3c.extract(carrier, _NO_CONTEXT)
    if not get_current_span(parent).get_span_context().is_valid and not wants_trace():
        return None
    return _begin(name, parent, kind)


def remote_context(carrier: Mapping[str, str]) -> SpanContext | None:
    """The context that W3C's headers name, if they do."""
    found = get_current_span(_w3c.extract(carrier, _NO_CONTEXT)).get_span_context()
    return found if found.is_valid else None


def unsampled_traceparent() -> str:
    """Tells another of our services that nothing is recorded here, nor should be there.

    Without it that one would take our call for the beginning of a trace.
    """
    trace, span = random.getrandbits(128) or 1, random.getrandbits(64) or 1
    return f"00-{trace:032x}-{span:016x}-00"


def _begin(name: str, parent: Context, kind: SpanKind) -> Work | None:
    tracer = _Installed.tracer
    if tracer is None:
        return None
    span = tracer.start_span(name, parent, kind)
    return Work(tracer, span) if span.is_recording() else None


def _distance(ratio: float) -> int:
    """How many throws fail before one succeeds that does so with this probability."""
    if ratio >= 1:
        return 0
    if ratio <= 0:
        return sys.maxsize
    return int(math.log(1.0 - random.random()) / math.log1p(-ratio))  # noqa: S311


def _traceparent(context: SpanContext) -> str:
    return f"00-{context.trace_id:032x}-{context.span_id:016x}-{context.trace_flags:02x}"
