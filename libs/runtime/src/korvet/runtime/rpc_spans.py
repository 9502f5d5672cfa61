"""Spans of gRPC calls on either side, by OpenTelemetry's conventions for RPC.

A call that travels in a frame with others is one like any other: its context goes with it,
in its own message.
"""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from typing import Final, TypeVar

from google.protobuf.descriptor import Descriptor, MethodDescriptor, ServiceDescriptor
from opentelemetry.trace import SpanKind

from korvet.runtime import tracing
from korvet.runtime.tracing import Work

Answer = TypeVar("Answer")

TRACEPARENT: Final = "traceparent"
OK: Final = "OK"
CANCELLED: Final = "CANCELLED"
UNKNOWN: Final = "UNKNOWN"

# Of a server these alone mean that it failed; the others are what its caller did.
_SERVERS_FAULT: Final = {
    UNKNOWN,
    "DEADLINE_EXCEEDED",
    "UNIMPLEMENTED",
    "INTERNAL",
    "UNAVAILABLE",
    "DATA_LOSS",
}


def begin_call(caller: Work, method: str, address: str) -> Work | None:
    """Begin a call of `method` ("package.Service/Method") to a server."""
    attributes = {"rpc.system.name": "grpc", "rpc.method": method, **place_of(address)}
    return caller.child(method, attributes, kind=SpanKind.CLIENT)


def end_call(work: Work, code: str = OK, error: str | None = None) -> None:
    """`error` says more than the status that the call ended with."""
    work.span.set_attribute("rpc.response.status_code", code)
    work.end(error or (None if code == OK else code))


def begin_served(method: str, carrier: Mapping[str, str]) -> Work | None:
    """Begin to serve a call; its caller's context is in W3C's headers, if there is one."""
    work = tracing.begin_from(method, carrier)
    if work is not None:
        work.span.set_attributes({"rpc.system.name": "grpc", "rpc.method": method})
    return work


def begin_in_frame(method: str, traceparent: str) -> Work | None:
    """The same for a call in a frame."""
    work = begin_served(method, {TRACEPARENT: traceparent})
    if work is not None:
        work.span.set_attribute("korvet.rpc.in_frame", True)
    return work


def end_served(work: Work, code: str = OK) -> None:
    work.span.set_attribute("rpc.response.status_code", code)
    work.end(None if code == OK else code, is_failure=code in _SERVERS_FAULT)


async def carry_out(work: Work, part: Callable[[], Awaitable[Answer]]) -> Answer:
    """Do what was asked for as a part of its caller's trace."""
    try:
        with work:
            answer = await part()
    except BaseException as error:
        is_cancelled = isinstance(error, asyncio.CancelledError)
        end_served(work, CANCELLED if is_cancelled else UNKNOWN)
        raise
    end_served(work)
    return answer


def when_answered(work: Work, answer: Callable[[Answer], None]) -> Callable[[Answer], None]:
    """The callback that answers a call, so that it also ends the call's span."""

    def answered(response: Answer) -> None:
        end_served(work)
        answer(response)

    return answered


def place_of(address: str) -> dict[str, str | int]:
    """Where a server is: "host:port" or "unix:/path.sock"."""
    if address.startswith("unix:"):
        return {"server.address": address.removeprefix("unix:")}
    host, _, port = address.rpartition(":")
    return {"server.address": host.strip("[]"), "server.port": int(port)}


def method_name(method: MethodDescriptor) -> str:
    """As traces have it: "package.Service/Method"."""
    return f"{method.containing_service.full_name}/{method.name}"


def methods_by_field(service: ServiceDescriptor, call: Descriptor) -> dict[str, str]:
    """The method that each request in a frame's call would be on its own."""
    methods = {method.input_type.full_name: method for method in service.methods}
    return {
        field.name: method_name(methods[field.message_type.full_name])
        for field in call.fields
        if field.message_type is not None and field.message_type.full_name in methods
    }
