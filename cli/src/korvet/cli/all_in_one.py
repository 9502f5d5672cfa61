"""Korvet on one machine: an embedded Redis, then the services, as child processes.

It is no second implementation of anything: the services are started as they would be
elsewhere, with their settings in the environment, and speak gRPC to each other. Whatever
happens, all children end with it.
"""

import asyncio
import contextlib
import os
import signal
import sys
import tempfile
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

import grpc

from korvet.cli import embedded_redis, given_redis, server_settings
from korvet.cli.addresses import METRICS_PORT
from korvet.cli.child import Child
from korvet.cli.child_log import ChildLog
from korvet.cli.data_folder import DataFolder
from korvet.cli.failure import Failure
from korvet.cli.family import Family
from korvet.cli.greeting import greet
from korvet.cli.kafka_connection import answers_metadata
from korvet.cli.metrics_together import together
from korvet.cli.page_client import TRACES_PATH
from korvet.cli.plan import HOST, Plan, usable_port
from korvet.cli.terminal import console, errors
from korvet.cli.trace_ring import TraceRing, exporting_to, receiving
from korvet.coordinator.settings import CoordinatorSettings
from korvet.gateway.settings import GatewaySettings
from korvet.runtime.grpc_channel import open_channel
from korvet.runtime.grpc_server import ListenError
from korvet.runtime.health import is_serving
from korvet.runtime.metrics_server import PATH as METRICS_PATH
from korvet.runtime.metrics_server import serving_pages
from korvet.runtime.settings import ServiceSettings, variable
from korvet.storage.settings import StorageSettings

_READY_DEADLINE: Final = 30.0
_SERVICES: Final[Mapping[type[ServiceSettings], str]] = {
    GatewaySettings: "gateway",
    StorageSettings: "storage",
    CoordinatorSettings: "coordinator",
}
_ANY_REDIS: Final = "redis://127.0.0.1"


def run(
    *,
    port: int,
    storage_port: int,
    coordinator_port: int,
    metrics_port: int | None,
    data: Path,
    redis_url: str | None,
    options: Sequence[str],
    traces: bool,
    verbose: bool,
    environ: Mapping[str, str],
) -> None:
    """Run everything until a signal; 0 for a port takes a free one.

    None for that of metrics takes the usual one, or a free one.
    """
    settings = server_settings.parse(options)
    with contextlib.ExitStack() as stack:
        folder = None
        if redis_url is None:
            # Before the ports: whoever has the folder most likely has those as well.
            folder = stack.enter_context(DataFolder.claimed(data))
            sockets = folder.sockets()
        else:
            sockets = Path(
                stack.enter_context(tempfile.TemporaryDirectory(prefix="korvet-"))
            )
        plan = Plan(
            kafka_port=usable_port(port, "--port"),
            storage_port=usable_port(storage_port, "--storage-port"),
            coordinator_port=usable_port(coordinator_port, "--coordinator-port"),
            metrics_port=(
                None
                if metrics_port is None
                else usable_port(metrics_port, "--metrics-port")
            ),
            redis_url=redis_url,
            settings=settings,
            verbose=verbose,
            traces=traces,
        )
        if folder is not None:
            folder.say_who_holds_it(
                f"`korvet up` with process id {os.getpid()} (Kafka at {plan.kafka_address})"
            )
        asyncio.run(_Up(plan, sockets, folder, environ).run())


class _Up:
    def __init__(
        self,
        plan: Plan,
        sockets: Path,
        folder: DataFolder | None,
        environ: Mapping[str, str],
    ) -> None:
        self._plan = plan
        self._environ = environ
        self._sockets = sockets
        self._folder = folder
        self._family = Family()
        self._log = ChildLog(errors, verbose=plan.verbose)
        self._ring = TraceRing()

    async def run(self) -> None:
        """Start everything, wait for a signal or for a child's death, stop everything."""
        async with contextlib.AsyncExitStack() as stack:
            if self._plan.traces:
                # Until the last child has ended, which exports what is left.
                endpoint = await stack.enter_async_context(receiving(self._ring))
                self._environ = {**self._environ, **exporting_to(endpoint)}
            await self._run()

    async def _run(self) -> None:
        # What a service would refuse is refused before the first process.
        redis_url = self._plan.redis_url or _ANY_REDIS
        settings = self._plan.settings
        storage = settings.check(StorageSettings, self._storage_environ(redis_url))
        settings.check(CoordinatorSettings, self._coordinator_environ(redis_url))
        settings.check(GatewaySettings, self._gateway_environ())
        with self._signals() as stop:
            serving = asyncio.ensure_future(self._serve(storage))
            stopping = asyncio.ensure_future(stop.wait())
            try:
                await asyncio.wait({serving, stopping}, return_when=asyncio.FIRST_COMPLETED)
                if stop.is_set():
                    console.print("\nStopping.")
                else:
                    await serving
            finally:
                serving.cancel()
                stopping.cancel()
                await asyncio.gather(serving, stopping, return_exceptions=True)
                await self._family.stop()

    async def _serve(self, storage: StorageSettings) -> None:
        if self._plan.redis_url:
            await given_redis.check(storage)
        redis = await self._start_redis()
        redis_url = redis.url if redis else self._plan.redis_url or ""
        # All at once, since most of a start is loading code: each waits for those it needs.
        storage_service = await self._start_service(
            "Storage", "korvet.storage", self._storage_environ(redis_url)
        )
        coordinator = await self._start_service(
            "Coordinator", "korvet.coordinator", self._coordinator_environ(redis_url)
        )
        gateway = await self._start_service(
            "Gateway", "korvet.gateway", self._gateway_environ()
        )
        await self._until_serving(storage_service, self._plan.storage_address)
        await self._until_serving(coordinator, self._plan.coordinator_address)
        await self._family.wait_until_ready(
            gateway, lambda: answers_metadata(self._plan.kafka_address), _READY_DEADLINE
        )
        async with self._serving_pages() as address:
            greet(self._plan, redis, self._folder, address, console)
            raise await self._family.first_to_end()

    @contextlib.asynccontextmanager
    async def _serving_pages(self) -> AsyncIterator[str]:
        """Serve what `top`, `trace` and Prometheus read; yields where."""
        pages = {METRICS_PATH: together(self._metrics_addresses)}
        if self._plan.traces:
            pages[TRACES_PATH] = self._ring.page
        port = self._plan.metrics_port
        async with contextlib.AsyncExitStack() as stack:
            try:
                serving = serving_pages(
                    f"{HOST}:{METRICS_PORT if port is None else port}", pages
                )
                address = await stack.enter_async_context(serving)
            except ListenError as error:
                if port is not None:
                    advice = "Choose another port with --metrics-port."
                    raise Failure(str(error), advice) from None
                # Most often another `up` has it, and nobody needs it to be that one.
                serving = serving_pages(f"{HOST}:0", pages)
                address = await stack.enter_async_context(serving)
            yield address

    async def _start_redis(self) -> embedded_redis.EmbeddedRedis | None:
        if self._folder is None:
            return None
        redis = await embedded_redis.start(
            self._folder.redis,
            self._sockets,
            environ=self._environ,
            on_line=self._log.show,
            on_loading=lambda: errors.print("Redis is loading its data."),
        )
        self._family.add(redis.child)
        return redis

    async def _until_serving(self, child: Child, address: str) -> None:
        async with open_channel(address) as channel:

            async def is_ready() -> bool:
                with contextlib.suppress(grpc.aio.AioRpcError):
                    return await is_serving(channel)
                return False

            await self._family.wait_until_ready(child, is_ready, _READY_DEADLINE)

    async def _start_service(
        self, name: str, module: str, environ: Mapping[str, str]
    ) -> Child:
        child = await Child.start(
            name,
            [sys.executable, "-m", module],
            environ=environ,
            on_line=self._log.show,
        )
        self._family.add(child)
        return child

    def _storage_environ(self, redis_url: str) -> Mapping[str, str]:
        ours = self._plan.settings.storage_environ(
            redis_url=redis_url,
            addresses=[self._plan.storage_address, self._storage_socket],
        )
        return {**self._environ, **ours, **self._metrics(StorageSettings)}

    def _coordinator_environ(self, redis_url: str) -> Mapping[str, str]:
        ours = self._plan.settings.coordinator_environ(
            redis_url=redis_url,
            addresses=[self._plan.coordinator_address, self._coordinator_socket],
            advertised_address=self._coordinator_socket,
            storage_address=self._storage_socket,
        )
        defaults = server_settings.EMBEDDED_DEFAULTS
        metrics = self._metrics(CoordinatorSettings)
        return {**defaults, **self._environ, **ours, **metrics}

    def _gateway_environ(self) -> Mapping[str, str]:
        ours = self._plan.settings.gateway_environ(
            storage_address=self._storage_socket,
            coordinator_address=self._coordinator_socket,
            host=HOST,
            port=self._plan.kafka_port,
        )
        return {**self._environ, **ours, **self._metrics(GatewaySettings)}

    def _metrics(self, service: type[ServiceSettings]) -> Mapping[str, str]:
        """Where a service serves its metrics, as its variable says it."""
        return {variable(service, "metrics_address"): self._metrics_address(service)}

    def _metrics_address(self, service: type[ServiceSettings]) -> str:
        given = self._environ.get(variable(service, "metrics_address"))
        return given or f"unix:{self._sockets / _SERVICES[service]}.metrics"

    @property
    def _metrics_addresses(self) -> Mapping[str, str]:
        return {name: self._metrics_address(service) for service, name in _SERVICES.items()}

    @property
    def _storage_socket(self) -> str:
        return f"unix:{self._sockets / 'storage.sock'}"

    @property
    def _coordinator_socket(self) -> str:
        return f"unix:{self._sockets / 'coordinator.sock'}"

    @contextlib.contextmanager
    def _signals(self) -> Iterator[asyncio.Event]:
        """The first signal asks everything to stop, the next one kills the children."""
        stop = asyncio.Event()
        loop = asyncio.get_running_loop()

        def on_signal() -> None:
            if stop.is_set():
                self._family.kill()
            stop.set()

        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            loop.add_signal_handler(number, on_signal)
        yield stop
