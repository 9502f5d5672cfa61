"""Looks at Redis before anything is served, and learns the cluster's id."""

from redis.asyncio import Redis

from korvet.redis.keys import Keys
from korvet.redis.server_check import check_redis
from korvet.redis.topic_ids import new_topic_id, topic_id_text
from korvet.storage.storage_rights import storage_rights


class ServerCheck:
    def __init__(self, redis: "Redis", keys: Keys, *, allow_eviction: bool) -> None:
        self._redis = redis
        self._keys = keys
        self._allow_eviction = allow_eviction
        # Empty until the first check.
        self.cluster_id = ""

    async def run(self) -> None:
        """Check, claim the keyspace, and learn the cluster's id."""
        await check_redis(
            self._redis,
            self._keys,
            storage_rights(self._keys),
            may_evict=self._allow_eviction,
            setting="KORVET_STORAGE_ALLOW_EVICTION",
        )
        # As in Kafka, written like a topic id.
        fresh = topic_id_text(new_topic_id())
        await self._redis.set(self._keys.cluster_id, fresh, nx=True)
        self.cluster_id = str(await self._redis.get(self._keys.cluster_id))
