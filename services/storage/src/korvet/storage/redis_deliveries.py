"""Delivers what fetches read to Redis's own consumer groups (group.delivery=redis).

The data was chosen by offset, and the caller gets it whatever becomes of this: what a Redis
group shows may be less than what its members have read, never the other way round.
"""

import logging
from typing import Final

import hiredis

from korvet.kafka.errors import KafkaError
from korvet.proto.storage.v1 import storage_service_pb2 as pb
from korvet.redis.lane import ConnectionLost, NotSent
from korvet.runtime.logs import LimitedLog
from korvet.storage.partition_read import ReadResult
from korvet.storage.redis_groups import Delivery, RedisGroups
from korvet.storage.topic import Topic

log = LimitedLog(logging.getLogger(__name__))

# Groups that are known to be there, so that a fetch that finds nothing need not look.
_MOST_KNOWN: Final = 10_000


class RedisDeliveries:
    def __init__(self, groups: RedisGroups) -> None:
        self._groups = groups
        self._known: dict[tuple[bytes, int, str], None] = {}

    async def deliver(
        self, topic: Topic, read: pb.PartitionRead, result: ReadResult
    ) -> None:
        """Deliver what was read; the group is made even where that is nothing."""
        if not topic.config.redis_delivery or topic.config.batch_format:
            return
        known = topic.id, read.partition, read.deliver_to.group
        if not result.entry_count and (known in self._known or not result.high_watermark):
            return
        delivery = Delivery(
            group=read.deliver_to.group,
            consumer=read.deliver_to.consumer,
            fetch_offset=read.offset,
            entries=result.entry_count,
            first_offset=result.first_offset,
            last_offset=result.next_offset - 1,
        )
        try:
            await self._groups.deliver(topic, read.partition, delivery)
        except (NotSent, ConnectionLost, hiredis.ReplyError, KafkaError) as error:
            log.warning("a fetch of %s is not shown in its group: %s", topic.name, error)
            return
        self._known[known] = None
        if len(self._known) > _MOST_KNOWN:
            del self._known[next(iter(self._known))]
