"""Keeps true what topics' hashes say to those who read them at a Redis prompt.

Two things there change without anybody changing the topic: the mean size of its records,
and the defaults of this server, which are written out where the topic has no value of its
own. Nothing in Korvet reads either from there.
"""

import asyncio
import logging
from collections.abc import Callable, Iterable

from redis.asyncio import Redis
from redis.exceptions import RedisError

from korvet.redis.cancellation import stop_if_cancelled
from korvet.redis.keys import Keys
from korvet.storage.script_files import script
from korvet.storage.topic import Topic
from korvet.storage.topic_configs import TopicConfigs

log = logging.getLogger(__name__)


class TopicUpkeep:
    def __init__(
        self,
        redis: "Redis",
        keys: Keys,
        configs: TopicConfigs,
        topics: Callable[[], Iterable[Topic]],
        *,
        interval: float,
    ) -> None:
        self._keys = keys
        self._configs = configs
        self._topics = topics
        self._interval = interval
        self._write = script(redis, "upkeep")

    async def run(self) -> None:
        while True:
            try:
                await self.write()
            except RedisError as error:
                log.warning("the fields of topics are written later: %s", error)
            stop_if_cancelled()
            await asyncio.sleep(self._interval)

    async def write(self) -> None:
        for topic in list(self._topics()):
            # A topic that was changed in between is left for the next time.
            await self._write(
                keys=[
                    self._keys.topic(topic.name),
                    *(self._keys.partition(topic.name, p) for p in range(topic.partitions)),
                ],
                args=[
                    topic.id_text,
                    topic.changed_at,
                    *(
                        text
                        for field in self._configs.to_fields(topic.configs).items()
                        for text in field
                    ),
                ],
            )
