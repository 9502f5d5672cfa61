"""One storage process: its parts, put together, started, and stopped in order.

It listens at once, so that health can be asked, but says that it serves only while Redis
is there and everything in it has been read. Losing Redis is no reason to end.
"""

import asyncio
import logging
from typing import Final

from redis.asyncio.connection import parse_url

from korvet.proto.storage.v1 import storage_service_pb2 as pb
from korvet.proto.storage.v1.storage_service_pb2_grpc import (
    add_StorageServiceServicer_to_server,
)
from korvet.redis.client import connect
from korvet.redis.keys import Keys
from korvet.runtime.grpc_server import GrpcServer
from korvet.runtime.stream_server import Method
from korvet.storage.call_spans import DESCRIBE
from korvet.storage.catalogue import Catalogue
from korvet.storage.changes import ChangeFollower
from korvet.storage.cluster_calls import ClusterCalls
from korvet.storage.cluster_feed import ClusterFeed
from korvet.storage.deletion import DeletionCleaner
from korvet.storage.diagnosis import Diagnosis
from korvet.storage.gateways import GatewayRegistry
from korvet.storage.messages import TopicDescriber
from korvet.storage.partition_logs import PartitionLogs
from korvet.storage.producer_ids import ProducerIds
from korvet.storage.server_check import ServerCheck
from korvet.storage.service import StorageService
from korvet.storage.settings import StorageSettings, described
from korvet.storage.topic_calls import TopicCalls
from korvet.storage.topic_configs import TopicConfigs
from korvet.storage.topic_store import TopicStore
from korvet.storage.topic_upkeep import TopicUpkeep

log = logging.getLogger(__name__)

_SERVICE: Final = pb.DESCRIPTOR.services_by_name["StorageService"].full_name
_LOGS_DEADLINE: Final = 10.0
_LINGER_SECONDS: Final = 0.2


class StorageServer:
    """Made inside a running event loop, by the one who then runs it."""

    def __init__(self, settings: StorageSettings) -> None:
        url = settings.redis_url.get_secret_value()
        keys = Keys(settings.keyspace)
        configs = TopicConfigs(settings.topic_defaults)
        sweep_interval = settings.log_retention_check_interval_ms / 1000
        self._drain_seconds = settings.drain_seconds
        self._addresses = settings.listen_addresses
        self._redis = connect(url)
        self._check = ServerCheck(self._redis, keys, allow_eviction=settings.allow_eviction)
        self._catalogue = Catalogue(
            TopicStore(self._redis, keys, configs),
            configs,
            num_partitions=settings.num_partitions,
        )
        gateways = GatewayRegistry(self._redis, keys)
        self._feed = ClusterFeed(self._catalogue, gateways)
        self._cleaner = DeletionCleaner(self._redis, keys)
        self._catalogue.subscribe(self._cleaner.topics_changed)
        self._upkeep = TopicUpkeep(
            self._redis, keys, configs, self._catalogue.topics, interval=sweep_interval
        )
        self._logs = PartitionLogs(
            url,
            keys,
            self._catalogue,
            producer_expiry=settings.producer_id_expiration_ms / 1000,
            sweep_interval=sweep_interval,
        )
        self._follower = ChangeFollower(
            self._redis,
            keys,
            self._catalogue,
            gateways,
            address=_address(url),
            prepare=self._check.run,
            set_ready=self._set_ready,
        )
        self._service = StorageService(
            topics=TopicCalls(self._catalogue, TopicDescriber(configs)),
            cluster=ClusterCalls(
                feed=self._feed,
                gateways=gateways,
                producer_ids=ProducerIds(self._redis, keys),
                server=self._check,
                diagnosis=Diagnosis(self._redis, _address(url)),
                settings=described(settings),
            ),
            logs=self._logs,
        )
        self._server = GrpcServer(
            addresses=self._addresses,
            service_names=[_SERVICE],
            streams={
                f"/{_SERVICE}/AppendStream": Method(
                    self._service.AppendStream, pb.AppendFrame
                ),
                f"/{_SERVICE}/ReadStream": Method(self._service.ReadStream, pb.ReadFrame),
            },
            stream_port=settings.stream_port,
            describe=DESCRIBE,
        )
        add_StorageServiceServicer_to_server(self._service, self._server.grpc)
        self._loaded = asyncio.Event()
        self._serving = False

    async def run(self, stop: asyncio.Event) -> None:
        """Serve until `stop` is set, then let calls finish."""
        await self._server.start()
        log.info("listening on %s", ", ".join(self._addresses))
        try:
            async with asyncio.TaskGroup() as tasks:
                background = [
                    tasks.create_task(self._follower.run()),
                    tasks.create_task(self._run_once_loaded()),
                ]
                await stop.wait()
                log.info("stopping; calls have %.1f s to finish", self._drain_seconds)
                self._feed.close()
                self._service.stop_streams()
                # A connection that is closed over what it has not read is reset, and takes
                # along what it has just sent: let others notice that their streams ended.
                await asyncio.sleep(_LINGER_SECONDS)
                await self._server.stop(self._drain_seconds)
                for task in background:
                    task.cancel()
        finally:
            await self._server.stop(0)
            await self._redis.aclose()

    async def _run_once_loaded(self) -> None:
        # The logs look at every topic's epochs when they connect, so must know them all.
        await self._loaded.wait()
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._logs.run())
            tasks.create_task(self._cleaner.run())
            tasks.create_task(self._upkeep.run())

    async def _set_ready(self, ready: bool) -> None:
        """The catalogue is current, or may not be any longer."""
        if ready:
            self._loaded.set()
            async with asyncio.timeout(_LOGS_DEADLINE):
                # The lanes connect by themselves; there are several, and no event for all.
                while not self._logs.connected:  # noqa: ASYNC110
                    await asyncio.sleep(0.01)
            self._feed.open(self._check.cluster_id)
            log.info("ready: %d topics", len(self._catalogue.topics()))
        elif self._serving:
            log.warning("not ready: Redis is away")
        self._serving = ready
        await self._server.set_serving(ready)


def _address(url: str) -> str:
    """Where a URL points, without the secrets in it."""
    options = parse_url(url)
    if "path" in options:
        return str(options["path"])
    return f"{options.get('host', 'localhost')}:{options.get('port', 6379)}"
