"""Ids for idempotent producers: never the same one twice, whichever replica is asked."""

from redis.asyncio import Redis

from korvet.redis.keys import Keys
from korvet.storage.script_files import script


class ProducerIds:
    def __init__(self, redis: "Redis", keys: Keys) -> None:
        self._keys = keys
        self._allocate = script(redis, "producer_id")

    async def allocate(self) -> int:
        return int(await self._allocate(keys=[self._keys.producer_ids]))
