"""A gRPC server with what each of our services offers besides its own RPCs.

That is health (NOT_SERVING until told otherwise, and again from the moment it stops),
reflection, message sizes well above gRPC's default, streams at less cost at addresses of
their own, and a stop that lets calls finish.
"""

import asyncio
from collections.abc import Mapping, Sequence
from typing import Final

import grpc
from grpc_health.v1 import health, health_pb2, health_pb2_grpc
from grpc_reflection.v1alpha import reflection

from korvet.proto.runtime.v1 import stream_service_pb2, stream_service_pb2_grpc
from korvet.runtime import process_metrics, tracing
from korvet.runtime.grpc_channel import KEEPALIVE_OPTIONS, MESSAGE_OPTIONS
from korvet.runtime.grpc_tracing import Describe, TracingInterceptor
from korvet.runtime.stream_addresses import Announcement, stream_listeners
from korvet.runtime.stream_server import Method, StreamServer

_SERVER_OPTIONS: Final[tuple[tuple[str, int], ...]] = (
    # Two servers on one port would each get half of the connections, unnoticed.
    ("grpc.so_reuseport", 0),
    # Accept the pings of KEEPALIVE_OPTIONS, which gRPC otherwise takes for abuse.
    ("grpc.http2.min_ping_interval_without_data_ms", 5_000),
    ("grpc.http2.max_ping_strikes", 0),
)


class ListenError(OSError):
    """The server cannot listen on an address, most often because another one does."""


class GrpcServer:
    """Create it, add servicers to `.grpc`, then `start`, `set_serving` and `stop`."""

    def __init__(
        self,
        *,
        addresses: Sequence[str],
        service_names: Sequence[str],
        streams: Mapping[str, Method] | None = None,
        stream_port: int = 0,
        interceptors: Sequence[grpc.aio.ServerInterceptor] = (),
        describe: Mapping[str, Describe] | None = None,
    ) -> None:
        """Prepare to listen on each of `addresses`: "host:port" or "unix:/path.sock".

        `service_names` are the full names of the services (`DESCRIPTOR…full_name`), for
        reflection and health. `streams` are methods, by path, that gateways call at
        `stream_port` of the same hosts (0 takes a free one). `describe` is what methods,
        by path too, have to tell in traces.
        """
        self._addresses = tuple(addresses)
        self._service_names = tuple(service_names)
        self._interceptors = tuple(interceptors)
        if tracing.is_on():
            self._interceptors += (TracingInterceptor(describe or {}),)
        self._health = health.aio.HealthServicer()
        self._streams = StreamServer(
            stream_listeners(addresses, stream_port) if streams else (), streams or {}
        )
        self.grpc: Final = grpc.aio.server(
            options=(*MESSAGE_OPTIONS, *KEEPALIVE_OPTIONS, *_SERVER_OPTIONS),
            interceptors=self._interceptors,
        )

    @property
    def open_streams(self) -> int:
        """Of those at addresses of their own."""
        return self._streams.connections

    async def start(self) -> tuple[int, ...]:
        """Listen, not yet as SERVING; return the port of each address (1 for unix)."""
        health_pb2_grpc.add_HealthServicer_to_server(self._health, self.grpc)
        reflection.enable_server_reflection(
            (
                *self._service_names,
                stream_service_pb2.DESCRIPTOR.services_by_name["StreamService"].full_name,
                health.SERVICE_NAME,
                reflection.SERVICE_NAME,
            ),
            self.grpc,
        )
        announcement = Announcement(await self._streams.start())
        stream_service_pb2_grpc.add_StreamServiceServicer_to_server(announcement, self.grpc)
        await self.set_serving(False)
        ports = tuple(self._listen(address) for address in self._addresses)
        await self.grpc.start()
        return ports

    async def set_serving(self, serving: bool) -> None:
        """Say in health whether the service can do its work now."""
        process_metrics.set_ready(serving)
        status = (
            health_pb2.HealthCheckResponse.SERVING
            if serving
            else health_pb2.HealthCheckResponse.NOT_SERVING
        )
        for name in ("", *self._service_names):
            await self._health.set(name, status)

    async def stop(self, grace: float) -> None:
        """Refuse new calls, give those under way `grace` seconds, then cancel them."""
        await self._health.enter_graceful_shutdown()
        async with asyncio.TaskGroup() as stopping:
            stopping.create_task(self.grpc.stop(grace))
            stopping.create_task(self._streams.stop(grace))

    def _listen(self, address: str) -> int:
        try:
            return self.grpc.add_insecure_port(address)
        except RuntimeError as error:
            raise ListenError(f"cannot listen on {address}: {error}") from error
