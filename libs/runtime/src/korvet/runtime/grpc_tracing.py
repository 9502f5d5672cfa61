"""Traces in grpc.aio's calls: a channel that sends contexts on, a server that takes them.

Only calls with one request and one answer are traced. Streams live for hours, and what
travels on them has spans of its own.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping, Sequence
from typing import Any, Final, TypeAlias, cast

import grpc
from opentelemetry.trace import Span

from korvet.runtime import tracing
from korvet.runtime.rpc_spans import (
    CANCELLED,
    TRACEPARENT,
    UNKNOWN,
    begin_call,
    begin_served,
    end_call,
    end_served,
)
from korvet.runtime.tracing import Work

# W3C's two headers; nothing else of what a caller sends is looked at.
_HEADERS: Final = (TRACEPARENT, "tracestate")
# Asked for by supervisors every few seconds, and by gateways looking for streams.
_UNTRACED: Final = ("/grpc.", "/korvet.proto.runtime.")

# Adds to a server's span what its request and answer tell.
Describe: TypeAlias = Callable[[Span, Any, Any], None]


class TracedChannel(grpc.aio.Channel):
    """A channel between our services. Their calls are the very objects that gRPC makes.

    grpc.aio's interceptors would put others in their place, which are cancelled otherwise.
    """

    def __init__(self, channel: grpc.aio.Channel, address: str) -> None:
        self._channel = channel
        self._address = address

    def unary_unary(self, method: str, *args: Any, **kwargs: Any) -> Any:
        call = self._channel.unary_unary(method, *args, **kwargs)
        return _TracedCall(call, method.removeprefix("/"), self._address)

    def unary_stream(self, *args: Any, **kwargs: Any) -> Any:
        return self._channel.unary_stream(*args, **kwargs)

    def stream_unary(self, *args: Any, **kwargs: Any) -> Any:
        return self._channel.stream_unary(*args, **kwargs)

    def stream_stream(self, *args: Any, **kwargs: Any) -> Any:
        return self._channel.stream_stream(*args, **kwargs)

    async def close(self, grace: float | None = None) -> None:
        await self._channel.close(grace)

    def get_state(self, try_to_connect: bool = False) -> grpc.ChannelConnectivity:
        return self._channel.get_state(try_to_connect)

    async def wait_for_state_change(
        self, last_observed_state: grpc.ChannelConnectivity
    ) -> None:
        await self._channel.wait_for_state_change(last_observed_state)

    async def channel_ready(self) -> None:
        await self._channel.channel_ready()

    async def __aenter__(self) -> "TracedChannel":
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()


class _TracedCall:
    """One method of a channel."""

    def __init__(self, call: Any, method: str, address: str) -> None:
        self._call = call
        self._method = method
        self._address = address

    def __call__(self, request: Any, **options: Any) -> Any:
        caller = tracing.current.get()
        work = caller and begin_call(caller, self._method, self._address)
        if work is not None:
            return self._recorded(work, request, options)
        metadata = ((TRACEPARENT, tracing.unsampled_traceparent()),)
        return self._call(request, metadata=metadata, **options)

    async def _recorded(self, work: Work, request: Any, options: Mapping[str, Any]) -> Any:
        metadata = ((TRACEPARENT, work.traceparent),)
        try:
            answer = await self._call(request, metadata=metadata, **options)
        except grpc.aio.AioRpcError as error:
            end_call(work, error.code().name)
            raise
        except asyncio.CancelledError:
            end_call(work, CANCELLED)
            raise
        end_call(work)
        return answer


class TracingInterceptor(grpc.aio.ServerInterceptor):
    """Serves calls as parts of their callers' traces, or as beginnings of new ones."""

    def __init__(self, describe: Mapping[str, Describe]) -> None:
        """`describe` has what some methods ("/package.Service/Method") have to tell."""
        self._describe = describe

    async def intercept_service(
        self,
        continuation: Callable[
            [grpc.HandlerCallDetails], Awaitable["grpc.RpcMethodHandler[Any, Any] | None"]
        ],
        handler_call_details: grpc.HandlerCallDetails,
    ) -> "grpc.RpcMethodHandler[Any, Any] | None":
        handler = await continuation(handler_call_details)
        path = handler_call_details.method
        if handler is None or handler.unary_unary is None or path.startswith(_UNTRACED):
            return handler
        sent = cast(Sequence[tuple[str, Any]], handler_call_details.invocation_metadata)
        carrier = {name: value for name, value in sent if name in _HEADERS}
        work = begin_served(path.removeprefix("/"), carrier)
        if work is None:
            return handler
        served = _Served(work, handler.unary_unary, self._describe.get(path))
        return grpc.unary_unary_rpc_method_handler(
            served.answer, handler.request_deserializer, handler.response_serializer
        )


class _Served:
    """One call that is recorded."""

    def __init__(self, work: Work, serve: Any, describe: Describe | None) -> None:
        self._work = work
        self._serve = serve
        self._describe = describe

    async def answer(self, request: Any, context: Any) -> Any:
        try:
            with self._work:
                answer = await self._serve(request, context)
        except grpc.aio.AbortError:
            end_served(self._work, _CODES.get(context.code(), UNKNOWN))
            raise
        except asyncio.CancelledError:
            end_served(self._work, CANCELLED)
            raise
        except Exception:
            end_served(self._work, UNKNOWN)
            raise
        if self._describe is not None:
            self._describe(self._work.span, request, answer)
        end_served(self._work)
        return answer


# By the number that gRPC sends, and by its own name for it.
_CODES: Final[dict[Any, str]] = {
    key: code.name for code in grpc.StatusCode for key in (code, code.value[0])
}
