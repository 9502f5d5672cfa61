"""Shows in Redis's own consumer groups what Kafka's groups have committed.

It is for people at a Redis prompt (XINFO GROUPS), so it may be a moment late, and of what
happens to one partition's offset only the last is told. Storage owns the streams, and moves
the groups.
"""

import asyncio
import logging
from collections.abc import Iterable, Mapping, Sequence
from typing import Final, TypeAlias

from korvet.coordinator.committed_offsets import Commit, TopicPartition
from korvet.coordinator.storage_client import StorageAwayError, StorageClient
from korvet.kafka.errors import ErrorCode, KafkaError
from korvet.proto.storage.v1 import storage_service_pb2 as pb
from korvet.redis.topic_ids import parse_topic_id
from korvet.runtime.logs import LimitedLog

log = LimitedLog(logging.getLogger(__name__))

# What became of offsets, by group and partition; None: they are no more.
_News: TypeAlias = Mapping[tuple[str, TopicPartition], Commit | None]

_AT_ONCE: Final = 1000
# Should storage be away for long, the oldest positions are not shown.
_MAX_WAITING: Final = 100_000
# For the eye it is at once, and under load it gathers many commits into one call.
_PAUSE_SECONDS: Final = 0.1
_RETRY_SECONDS: Final = 1.0


class RedisGroups:
    def __init__(self, storage: StorageClient) -> None:
        self._storage = storage
        self._waiting: dict[tuple[str, TopicPartition], Commit | None] = {}
        self._wanted = asyncio.Event()
        # A group that was destroyed must not be shown again by what was under way.
        self._turn = asyncio.Lock()

    def committed(self, group_id: str, commits: Mapping[TopicPartition, Commit]) -> None:
        """Have these shown soon."""
        self._tell({(group_id, place): commit for place, commit in commits.items()})

    def forgotten(self, group_id: str, places: Iterable[TopicPartition]) -> None:
        """Have the group taken off these partitions soon."""
        self._tell({(group_id, place): None for place in places})

    def _tell(self, news: _News) -> None:
        self._waiting.update(news)
        while len(self._waiting) > _MAX_WAITING:
            del self._waiting[next(iter(self._waiting))]
        self._wanted.set()

    async def run(self) -> None:
        while True:
            await self._wanted.wait()
            async with self._turn:
                has_told = await self._tell_some()
            await asyncio.sleep(_PAUSE_SECONDS if has_told else _RETRY_SECONDS)

    async def _tell_some(self) -> bool:
        some = dict(list(self._waiting.items())[:_AT_ONCE])
        for key in some:
            del self._waiting[key]
        if not self._waiting:
            self._wanted.clear()
        try:
            await self._move(some)
            await self._take_off(some)
        except StorageAwayError as error:
            log.warning("commits are not shown in Redis's groups yet: %s", error)
            # What has happened since is newer.
            self._waiting = {**some, **self._waiting}
            self._wanted.set()
            return False
        return True

    async def _move(self, news: _News) -> None:
        request = pb.MoveRedisGroupsRequest()
        for (group_id, place), commit in news.items():
            if commit is not None:
                request.positions.add(
                    topic=pb.TopicRef(name=place.topic, id=parse_topic_id(commit.topic_id)),
                    partition=place.partition,
                    group=group_id,
                    offset=commit.offset,
                )
        if request.positions:
            await self._storage.move_redis_groups(request)

    async def _take_off(self, news: _News) -> None:
        places: dict[str, list[TopicPartition]] = {}
        for (group_id, place), commit in news.items():
            if commit is None:
                places.setdefault(group_id, []).append(place)
        for group_id, its_places in places.items():
            await self._storage.destroy_redis_group(_destruction(group_id, its_places))

    async def destroy(
        self, group_id: str, places: Sequence[TopicPartition], *, is_queue: bool = False
    ) -> None:
        """Take a group off the streams; COORDINATOR_NOT_AVAILABLE where that fails."""
        if not places:
            return
        async with self._turn:
            for place in places:
                self._waiting.pop((group_id, place), None)
            try:
                await self._storage.destroy_redis_group(
                    _destruction(group_id, places, is_queue=is_queue)
                )
            except StorageAwayError as error:
                raise KafkaError(
                    ErrorCode.COORDINATOR_NOT_AVAILABLE, f"storage: {error}"
                ) from error


def _destruction(
    group_id: str, places: Iterable[TopicPartition], *, is_queue: bool = False
) -> pb.DestroyRedisGroupRequest:
    request = pb.DestroyRedisGroupRequest(group=group_id, queue=is_queue)
    for place in places:
        request.partitions.add(
            topic=pb.TopicRef(name=place.topic), partition=place.partition
        )
    return request
