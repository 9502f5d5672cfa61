"""Korvet as it runs anywhere: Redis and the services, each a process of its own.

    with KorvetCluster(folder, gateways=2, settings={"num.partitions": "3"}) as korvet:
        korvet.bootstrap            # "127.0.0.1:40001,127.0.0.1:40002"
        korvet.storages[0].kill()   # as kill -9
        korvet.storages[0].start()
        korvet.coordinators[0].kill()
        korvet.redis.stop(); korvet.redis.start()

All calls block; from a coroutine that must go on meanwhile, use `asyncio.to_thread`.
"""

import contextlib
import socket
import struct
from collections.abc import Mapping
from pathlib import Path
from typing import Final, Self

import grpc
from grpc_health.v1 import health_pb2

from korvet.cli import server_settings
from korvet.cli.plan import free_port
from tests.support.redis_server import SERVERS, RedisServer
from tests.support.service_process import ServiceProcess

# So that what was acknowledged survives even a killed Redis.
_REDIS_OPTIONS: Final = {"appendonly": "yes", "appendfsync": "always"}


class KorvetCluster:
    """Starts in order, stops in reverse; what a test killed or stopped stays so.

    `settings` are what `korvet up --set` takes, with the same defaults. `redis` may be a
    server that the test started itself: then the test stops it, too. `environ` is for all
    services, as it is.
    """

    def __init__(
        self,
        folder: Path,
        *,
        storages: int = 1,
        coordinators: int = 1,
        gateways: int = 1,
        settings: Mapping[str, str] | None = None,
        redis_server: str = next(iter(SERVERS)),
        redis: RedisServer | None = None,
        environ: Mapping[str, str] | None = None,
    ) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        self._owns_redis = redis is None
        self.redis = redis or RedisServer(
            folder / "redis", server=redis_server, options=_REDIS_OPTIONS
        )
        parsed = server_settings.parse(
            f"{name}={value}" for name, value in (settings or {}).items()
        )
        self.storages = [
            _storage(folder, number, parsed, self.redis.url) for number in range(storages)
        ]
        addresses = ",".join(storage.address for storage in self.storages)
        self.coordinators = [
            _coordinator(folder, number, parsed, self.redis.url, addresses)
            for number in range(coordinators)
        ]
        owners = ",".join(coordinator.address for coordinator in self.coordinators)
        self.gateways = [
            _gateway(folder, number, parsed, addresses, owners)
            for number in range(gateways)
        ]
        for service in self.services:
            service.environ.update(environ or {})

    @property
    def bootstrap(self) -> str:
        """For Kafka clients: every gateway."""
        return ",".join(gateway.address for gateway in self.gateways)

    @property
    def storage(self) -> str:
        """For gRPC clients: the first storage."""
        return self.storages[0].address

    @property
    def coordinator(self) -> str:
        """For gRPC clients: the first coordinator."""
        return self.coordinators[0].address

    @property
    def services(self) -> list[ServiceProcess]:
        """All but Redis, in the order in which they start."""
        return [*self.storages, *self.coordinators, *self.gateways]

    def __enter__(self) -> Self:
        try:
            self.start()
        except BaseException:
            self.kill()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.kill()

    def start(self) -> None:
        if self._owns_redis:
            self.redis.start()
        for service in self.services:
            service.start()

    def kill(self) -> None:
        """End everything at once: it is a test that ends, and nothing is to be drained."""
        for service in reversed(self.services):
            service.kill()
        if self._owns_redis:
            self.redis.kill()

    def logs(self) -> str:
        """The end of every log, for a failing test's report."""
        return "\n".join(
            f"--- {service.name}\n{service.log()}" for service in self.services
        )

    def errors(self) -> list[str]:
        """What services have logged as errors. Only bugs are, whatever clients do."""
        return [
            f"{service.name}: {line}"
            for service in self.services
            for line in service.log_file.read_text(errors="replace").splitlines()
            if '"level": "ERROR"' in line
        ]


class StartKorvet:
    """Starts clusters of a test's own, in folders of their own; `close` ends them all."""

    def __init__(self, folder: Path) -> None:
        self.clusters: list[KorvetCluster] = []
        self._folder = folder
        self._stack = contextlib.ExitStack()

    def __call__(
        self,
        *,
        storages: int = 1,
        coordinators: int = 1,
        gateways: int = 1,
        settings: Mapping[str, str] | None = None,
        redis_server: str = next(iter(SERVERS)),
        redis: RedisServer | None = None,
        environ: Mapping[str, str] | None = None,
    ) -> KorvetCluster:
        cluster = KorvetCluster(
            self._folder / f"korvet-{len(self.clusters)}",
            storages=storages,
            coordinators=coordinators,
            gateways=gateways,
            settings=settings,
            redis_server=redis_server,
            redis=redis,
            environ=environ,
        )
        self.clusters.append(cluster)
        return self._stack.enter_context(cluster)

    def close(self) -> None:
        self._stack.close()


def _storage(
    folder: Path, number: int, settings: server_settings.ServerSettings, redis_url: str
) -> ServiceProcess:
    address = f"127.0.0.1:{free_port()}"
    return ServiceProcess(
        f"storage-{number}",
        "korvet.storage",
        address=address,
        environ={
            **settings.storage_environ(redis_url=redis_url, addresses=[address]),
            **_metrics("STORAGE"),
        },
        folder=folder,
        is_ready=is_serving,
    )


def _coordinator(
    folder: Path,
    number: int,
    settings: server_settings.ServerSettings,
    redis_url: str,
    storages: str,
) -> ServiceProcess:
    address = f"127.0.0.1:{free_port()}"
    environ = settings.coordinator_environ(
        redis_url=redis_url,
        addresses=[address],
        advertised_address=address,
        storage_address=storages,
    )
    return ServiceProcess(
        f"coordinator-{number}",
        "korvet.coordinator",
        address=address,
        environ={
            **server_settings.EMBEDDED_DEFAULTS,
            **environ,
            **_metrics("COORDINATOR"),
        },
        folder=folder,
        is_ready=is_serving,
    )


def _gateway(
    folder: Path,
    number: int,
    settings: server_settings.ServerSettings,
    storages: str,
    coordinators: str,
) -> ServiceProcess:
    port = free_port()
    environ = settings.gateway_environ(
        storage_address=storages,
        coordinator_address=coordinators,
        host="127.0.0.1",
        port=port,
    )
    return ServiceProcess(
        f"gateway-{number}",
        "korvet.gateway",
        address=f"127.0.0.1:{port}",
        environ={
            **environ,
            "KORVET_GATEWAY_NODE_ID": str(number + 1),
            **_metrics("GATEWAY"),
        },
        folder=folder,
        is_ready=lists_brokers,
    )


def _metrics(service: str) -> dict[str, str]:
    return {f"KORVET_{service}_METRICS_ADDRESS": f"127.0.0.1:{free_port()}"}


def is_serving(address: str) -> bool:
    """Whether a gRPC server says that it can do its work."""
    with grpc.insecure_channel(address) as channel:
        check = channel.unary_unary(
            "/grpc.health.v1.Health/Check",
            request_serializer=health_pb2.HealthCheckRequest.SerializeToString,
            response_deserializer=health_pb2.HealthCheckResponse.FromString,
        )
        try:
            answer = check(health_pb2.HealthCheckRequest(), timeout=2)
        except grpc.RpcError:
            return False
        return bool(answer.status == health_pb2.HealthCheckResponse.SERVING)


def lists_brokers(address: str) -> bool:
    """Whether a Kafka server answers Metadata v0 with at least one broker."""
    host, port = address.rsplit(":", 1)
    # Key 3, version 0, correlation id 1, no client id, no topics by name.
    request = struct.pack(">hhihi", 3, 0, 1, -1, 0)
    try:
        with socket.create_connection((host, int(port)), timeout=2) as connection:
            connection.sendall(struct.pack(">i", len(request)) + request)
            with connection.makefile("rb") as answer:
                head = answer.read(12)
    except OSError:
        return False
    return len(head) == 12 and struct.unpack(">iii", head)[2] > 0
