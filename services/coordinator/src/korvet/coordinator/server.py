"""One coordinator process: its parts, put together, started, and stopped in order.

It listens at once, so that health can be asked, but says that it serves only while it is
registered: while Redis is there, and knows that this coordinator is.
"""

import asyncio
import logging
from typing import Final

from redis.exceptions import RedisError

from korvet.coordinator.admin_calls import AdminCalls
from korvet.coordinator.background import Background
from korvet.coordinator.committed_offsets import CommittedOffsets
from korvet.coordinator.coordinator_rights import coordinator_rights
from korvet.coordinator.group_join import Limits
from korvet.coordinator.group_lag import GroupLag
from korvet.coordinator.group_store import GroupStore
from korvet.coordinator.group_stream import GroupStream
from korvet.coordinator.groups import Groups
from korvet.coordinator.membership_calls import MembershipCalls
from korvet.coordinator.offset_calls import OffsetCalls
from korvet.coordinator.participants import Participants
from korvet.coordinator.pending_offsets import PendingOffsets
from korvet.coordinator.redis_groups import RedisGroups
from korvet.coordinator.registration import Registration
from korvet.coordinator.scripts import ALL
from korvet.coordinator.service import CoordinatorService
from korvet.coordinator.settings import CoordinatorSettings
from korvet.coordinator.storage_client import StorageClient
from korvet.coordinator.topic_watch import TopicWatch
from korvet.coordinator.transaction_admin import TransactionAdmin
from korvet.coordinator.transaction_calls import TransactionCalls
from korvet.coordinator.transaction_store import TransactionStore
from korvet.coordinator.transaction_upkeep import TransactionUpkeep
from korvet.coordinator.transactions import Transactions
from korvet.coordinator.upkeep import Upkeep
from korvet.proto.coordinator.v1 import coordinator_service_pb2 as pb
from korvet.proto.coordinator.v1.coordinator_service_pb2_grpc import (
    add_CoordinatorServiceServicer_to_server,
)
from korvet.redis.client import connect
from korvet.redis.keys import Keys
from korvet.redis.lane import Lane
from korvet.redis.server_check import check_redis
from korvet.redis.settings import described_settings
from korvet.runtime.grpc_server import GrpcServer
from korvet.runtime.metrics import REGISTRY
from korvet.runtime.sampling import Sampler
from korvet.runtime.stream_server import Method

log = logging.getLogger(__name__)

_SERVICE: Final = pb.DESCRIPTOR.services_by_name["CoordinatorService"].full_name
_LINGER_SECONDS: Final = 0.2
_RETRY_SECONDS: Final = 0.2


class CoordinatorServer:
    """Made inside a running event loop, by the one who then runs it."""

    def __init__(self, settings: CoordinatorSettings) -> None:
        url = settings.redis_url.get_secret_value()
        self._settings = settings
        self._keys = Keys(settings.keyspace)
        self._redis = connect(url)
        rights = coordinator_rights(self._keys)
        self._lane = Lane(url, "groups", scripts=ALL, rights=rights)
        self._background = Background()
        self._storage = StorageClient(settings.storage_addresses)
        store = GroupStore(self._lane, self._keys)
        remembers = settings.transactional_id_expiration_ms / 1000
        offsets = CommittedOffsets(self._lane, self._keys, transaction_retention=remembers)
        pending = PendingOffsets(self._lane, self._keys, retention=remembers)
        self._registration = Registration(
            self._lane,
            self._keys,
            address=settings.address,
            lease=settings.lease_ms / 1000,
        )
        limits = _limits(settings)
        self._groups = Groups(store, self._registration, limits, self._background)
        self._redis_groups = RedisGroups(self._storage)
        self._topics = TopicWatch(self._storage)
        self._upkeep = Upkeep(
            self._groups,
            store,
            offsets,
            pending,
            self._registration,
            self._topics,
            self._redis_groups,
            retention=settings.offsets_retention_minutes * 60,
            interval=settings.offsets_retention_check_interval_ms / 1000,
        )
        transaction_store = TransactionStore(self._lane, self._keys)
        self._transactions = Transactions(
            transaction_store,
            self._registration,
            Participants(self._storage, pending, on_commit=self._redis_groups.committed),
            self._background,
        )
        lag = GroupLag(self._groups, store, offsets, self._registration, self._storage)
        self._lag = Sampler(lag.sample, lag.forget)
        self._transaction_upkeep = TransactionUpkeep(
            self._transactions, transaction_store, self._registration, retention=remembers
        )
        members = MembershipCalls(self._groups, limits)
        offset_calls = OffsetCalls(
            self._groups,
            offsets,
            pending,
            self._redis_groups,
            max_metadata_length=settings.offset_metadata_max_bytes,
        )
        self._stream = GroupStream(members, offset_calls)
        service = CoordinatorService(
            members=members,
            offsets=offset_calls,
            admin=AdminCalls(
                self._groups,
                store,
                offsets,
                self._redis_groups,
                all_partitions=self._topics.all_partitions,
            ),
            transactions=TransactionCalls(
                self._transactions, max_timeout_ms=settings.transaction_max_timeout_ms
            ),
            transaction_admin=TransactionAdmin(transaction_store),
            stream=self._stream,
            settings=described_settings(settings),
        )
        self._server = GrpcServer(
            addresses=settings.listen_addresses,
            service_names=[_SERVICE],
            streams={
                f"/{_SERVICE}/GroupStream": Method(service.GroupStream, pb.GroupFrame)
            },
            stream_port=settings.stream_port,
        )
        add_CoordinatorServiceServicer_to_server(service, self._server.grpc)

    async def run(self, stop: asyncio.Event) -> None:
        """Serve until `stop` is set, then hand everything over."""
        await self._server.start()
        log.info("listening on %s", ", ".join(self._settings.listen_addresses))
        try:
            async with asyncio.TaskGroup() as tasks:
                background = [
                    tasks.create_task(self._lane.run()),
                    tasks.create_task(self._run_once_checked()),
                ]
                with REGISTRY.observing(self._transactions.look):
                    await stop.wait()
                log.info("stopping")
                await self._server.set_serving(False)
                # Others may claim the groups at once, and whoever is parked hears of it.
                await self._registration.leave()
                self._groups.close()
                self._transactions.close()
                self._stream.intake.stop()
                # What has just been answered is to arrive before the connection ends.
                await asyncio.sleep(_LINGER_SECONDS)
                await self._server.stop(self._settings.drain_seconds)
                for task in background:
                    task.cancel()
        finally:
            await self._server.stop(0)
            await self._background.close()
            await self._storage.close()
            await self._redis.aclose()

    async def _run_once_checked(self) -> None:
        await self._check()
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._registration.run())
            tasks.create_task(self._tell_health())
            tasks.create_task(self._upkeep.run())
            tasks.create_task(self._transaction_upkeep.run())
            tasks.create_task(self._redis_groups.run())
            tasks.create_task(self._topics.follow(self._upkeep.look))
            tasks.create_task(self._lag.run())

    async def _check(self) -> None:
        """Wait for Redis, and see whether it may be used."""
        is_reported = False
        while True:
            try:
                await check_redis(
                    self._redis,
                    self._keys,
                    coordinator_rights(self._keys),
                    may_evict=self._settings.allow_eviction,
                    setting="KORVET_COORDINATOR_ALLOW_EVICTION",
                )
            except RedisError as error:
                if not is_reported:
                    log.warning("waiting for Redis: %s", error)
                    is_reported = True
                await asyncio.sleep(_RETRY_SECONDS)
            else:
                return

    async def _tell_health(self) -> None:
        while True:
            await self._registration.registered()
            await self._server.set_serving(True)
            log.info("ready")
            await self._registration.lost()
            await self._server.set_serving(False)
            log.warning("not ready: Redis is away")


def _limits(settings: CoordinatorSettings) -> Limits:
    return Limits(
        min_session_timeout=settings.group_min_session_timeout_ms / 1000,
        max_session_timeout=settings.group_max_session_timeout_ms / 1000,
        max_size=settings.group_max_size,
        initial_delay=settings.group_initial_rebalance_delay_ms / 1000,
    )
