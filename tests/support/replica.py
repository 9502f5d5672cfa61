"""The parts of a storage replica that know topics and gateways, without its gRPC server.

Several on one Redis are several replicas: they share nothing but that.
"""

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import Any

from korvet.redis.client import connect
from korvet.redis.keys import Keys
from korvet.storage.catalogue import Catalogue
from korvet.storage.changes import ChangeFollower
from korvet.storage.cluster_feed import ClusterFeed
from korvet.storage.deletion import DeletionCleaner
from korvet.storage.gateways import GatewayRegistry
from korvet.storage.messages import TopicDescriber
from korvet.storage.server_check import ServerCheck
from korvet.storage.topic_calls import TopicCalls
from korvet.storage.topic_configs import TopicConfigs
from korvet.storage.topic_store import TopicStore
from korvet.storage.topic_upkeep import TopicUpkeep
from tests.support.redis_server import RedisServer

KEYS = Keys()


class Replica:
    def __init__(
        self,
        url: str,
        defaults: Mapping[str, str] | None = None,
        *,
        allow_eviction: bool = False,
    ) -> None:
        self.configs = TopicConfigs(defaults)
        self.redis = connect(url)
        self.store = TopicStore(self.redis, KEYS, self.configs)
        self.catalogue = Catalogue(self.store, self.configs, num_partitions=1)
        self.gateways = GatewayRegistry(self.redis, KEYS)
        self.feed = ClusterFeed(self.catalogue, self.gateways)
        self.cleaner = DeletionCleaner(self.redis, KEYS)
        self.calls = TopicCalls(self.catalogue, TopicDescriber(self.configs))
        self.check = ServerCheck(self.redis, KEYS, allow_eviction=allow_eviction)
        self.upkeep = TopicUpkeep(
            self.redis, KEYS, self.configs, self.catalogue.topics, interval=3600
        )
        self.ready = asyncio.Event()
        self.follower = ChangeFollower(
            self.redis,
            KEYS,
            self.catalogue,
            self.gateways,
            address=url,
            prepare=self.check.run,
            set_ready=self._set_ready,
        )

    async def _set_ready(self, ready: bool) -> None:
        if ready:
            self.feed.open(self.check.cluster_id)
            self.ready.set()
        else:
            self.ready.clear()


@asynccontextmanager
async def replica_on(
    server: RedisServer, defaults: Mapping[str, str] | None = None
) -> AsyncIterator[Replica]:
    """A replica that follows what others do, ready when it is yielded."""
    replica = Replica(server.url, defaults)
    following = asyncio.create_task(replica.follower.run())
    try:
        async with asyncio.timeout(10):
            await replica.ready.wait()
        yield replica
    finally:
        following.cancel()
        await asyncio.gather(following, return_exceptions=True)
        await replica.redis.aclose()


def everything(server: RedisServer) -> dict[bytes, Any]:
    """All keys with their whole content, to compare before and after."""
    with server.client() as client:
        return {key: client.dump(key) for key in client.keys("*")}
