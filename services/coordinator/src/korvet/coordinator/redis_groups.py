"""Shows in Redis's own consumer groups what Kafka's groups have committed.

It is for people at a Redis prompt (XINFO GROUPS), so it may be a moment late, and of many
commits of one partition only the newest is told. Storage owns the streams, and moves the
groups.
"""

import asyncio
import logging
from collections.abc import Mapping, Sequence
from typing import Final

from korvet.coordinator.committed_offsets import Commit, TopicPartition
from korvet.coordinator.storage_client import StorageAwayError, StorageClient
from korvet.kafka.errors import ErrorCode, KafkaError
from korvet.proto.storage.v1 import storage_service_pb2 as pb
from korvet.redis.topic_ids import parse_topic_id
from korvet.runtime.logs import LimitedLog

log = LimitedLog(logging.getLogger(__name__))

_AT_ONCE: Final = 1000
# Should storage be away for long, the oldest positions are not shown.
_MAX_WAITING: Final = 100_000
# For the eye it is at once, and under load it gathers many commits into one call.
_PAUSE_SECONDS: Final = 0.1
_RETRY_SECONDS: Final = 1.0


class RedisGroups:
    def __init__(self, storage: StorageClient) -> None:
        self._storage = storage
        self._waiting: dict[tuple[str, TopicPartition], Commit] = {}
        self._wanted = asyncio.Event()
        # A group that was destroyed must not be shown again by what was under way.
        self._turn = asyncio.Lock()

    def committed(self, group_id: str, commits: Mapping[TopicPartition, Commit]) -> None:
        """Have these shown soon."""
        for place, commit in commits.items():
            self._waiting[group_id, place] = commit
        while len(self._waiting) > _MAX_WAITING:
            del self._waiting[next(iter(self._waiting))]
        self._wanted.set()

    async def run(self) -> None:
        while True:
            await self._wanted.wait()
            async with self._turn:
                has_moved = await self._move_some()
            await asyncio.sleep(_PAUSE_SECONDS if has_moved else _RETRY_SECONDS)

    async def _move_some(self) -> bool:
        some = dict(list(self._waiting.items())[:_AT_ONCE])
        for key in some:
            del self._waiting[key]
        if not self._waiting:
            self._wanted.clear()
        if some and not await self._move(some):
            # What has been committed since is newer.
            self._waiting = {**some, **self._waiting}
            self._wanted.set()
            return False
        return True

    async def _move(self, positions: Mapping[tuple[str, TopicPartition], Commit]) -> bool:
        request = pb.MoveRedisGroupsRequest()
        for (group_id, place), commit in positions.items():
            request.positions.add(
                topic=pb.TopicRef(name=place.topic, id=parse_topic_id(commit.topic_id)),
                partition=place.partition,
                group=group_id,
                offset=commit.offset,
            )
        try:
            await self._storage.move_redis_groups(request)
        except StorageAwayError as error:
            log.warning("commits are not shown in Redis's groups yet: %s", error)
            return False
        return True

    async def destroy(self, group_id: str, places: Sequence[TopicPartition]) -> None:
        """Take a group off the streams; COORDINATOR_NOT_AVAILABLE where that fails."""
        request = pb.DestroyRedisGroupRequest(group=group_id)
        for place in places:
            request.partitions.add(
                topic=pb.TopicRef(name=place.topic), partition=place.partition
            )
        if not places:
            return
        async with self._turn:
            for key in [key for key in self._waiting if key[0] == group_id]:
                del self._waiting[key]
            try:
                await self._storage.destroy_redis_group(request)
            except StorageAwayError as error:
                raise KafkaError(
                    ErrorCode.COORDINATOR_NOT_AVAILABLE, f"storage: {error}"
                ) from error
