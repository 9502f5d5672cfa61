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
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

import grpc

from korvet.cli import embedded_redis, given_redis, server_settings
from korvet.cli.child import Child
from korvet.cli.child_log import ChildLog
from korvet.cli.data_folder import DataFolder
from korvet.cli.family import Family
from korvet.cli.greeting import greet
from korvet.cli.kafka_connection import answers_metadata
from korvet.cli.plan import HOST, Plan, usable_port
from korvet.cli.terminal import console, errors
from korvet.coordinator.settings import CoordinatorSettings
from korvet.gateway.settings import GatewaySettings
from korvet.runtime.grpc_channel import open_channel
from korvet.runtime.health import is_serving
from korvet.storage.settings import StorageSettings

_READY_DEADLINE: Final = 30.0
_ANY_REDIS: Final = "redis://127.0.0.1"


def run(
    *,
    port: int,
    storage_port: int,
    coordinator_port: int,
    data: Path,
    redis_url: str | None,
    options: Sequence[str],
    verbose: bool,
    environ: Mapping[str, str],
) -> None:
    """Run everything until a signal; 0 for a port takes a free one."""
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
            redis_url=redis_url,
            settings=settings,
            verbose=verbose,
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

    async def run(self) -> None:
        """Start everything, wait for a signal or for a child's death, stop everything."""
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
        greet(self._plan, redis, self._folder, console)
        raise await self._family.first_to_end()

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
        return {**self._environ, **ours}

    def _coordinator_environ(self, redis_url: str) -> Mapping[str, str]:
        ours = self._plan.settings.coordinator_environ(
            redis_url=redis_url,
            addresses=[self._plan.coordinator_address, self._coordinator_socket],
            advertised_address=self._coordinator_socket,
            storage_address=self._storage_socket,
        )
        return {**server_settings.EMBEDDED_DEFAULTS, **self._environ, **ours}

    def _gateway_environ(self) -> Mapping[str, str]:
        ours = self._plan.settings.gateway_environ(
            storage_address=self._storage_socket,
            coordinator_address=self._coordinator_socket,
            host=HOST,
            port=self._plan.kafka_port,
        )
        return {**self._environ, **ours}

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
