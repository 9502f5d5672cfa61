"""What becomes of groups that nobody asks for: their offsets expire, those of deleted
topics go, and members whose coordinator has died get time to show up, or are taken out.

Each group is looked after by its owner; those of owners that are gone are claimed first.
"""

import asyncio
import logging
import time
from collections.abc import Collection
from functools import partial
from typing import Final, Protocol

from korvet.coordinator.committed_offsets import CommittedOffsets, TopicPartition
from korvet.coordinator.group import State
from korvet.coordinator.group_codec import StoredGroup
from korvet.coordinator.group_store import GroupStore
from korvet.coordinator.groups import Groups
from korvet.coordinator.offset_rules import expired_offsets
from korvet.coordinator.owned_store import NotOwnerError
from korvet.coordinator.pending_offsets import PendingOffsets
from korvet.coordinator.redis_groups import RedisGroups
from korvet.coordinator.refusals import REDIS_IS_AWAY
from korvet.coordinator.registration import Registration
from korvet.kafka.errors import KafkaError
from korvet.runtime.logs import LimitedLog

log = logging.getLogger(__name__)
_unreadable = LimitedLog(log)

_RETRY_SECONDS: Final = 5.0
_NEW_FOR_MS: Final = 60_000


class Topics(Protocol):
    """What is asked of storage."""

    async def gone(self, topic_ids: Collection[str]) -> set[str]:
        """Those of these topics that are no more; none where storage cannot tell."""
        ...

    async def delivering_partitions(self) -> Collection[TopicPartition]:
        """Of topics whose fetches show in Redis's groups, committed or not."""
        ...


class Upkeep:
    def __init__(
        self,
        groups: Groups,
        store: GroupStore,
        offsets: CommittedOffsets,
        pending: PendingOffsets,
        registration: Registration,
        topics: Topics,
        redis_groups: RedisGroups,
        *,
        retention: float,
        interval: float,
    ) -> None:
        self._groups = groups
        self._store = store
        self._offsets = offsets
        self._pending = pending
        self._registration = registration
        self._topics = topics
        self._redis_groups = redis_groups
        self._retention_ms = round(retention * 1000)
        self._interval = interval
        self._wanted = asyncio.Event()
        registration.subscribe_to_others(self.look)

    def look(self) -> None:
        """Do it soon: a topic was deleted, or a coordinator has gone."""
        self._wanted.set()

    async def run(self) -> None:
        while True:
            delay = self._interval
            try:
                await self._registration.registered()
                await self.look_after_all()
            except REDIS_IS_AWAY as error:
                log.debug("groups are looked after later: %s", error)
                delay = min(delay, _RETRY_SECONDS)
            try:
                async with asyncio.timeout(delay):
                    await self._wanted.wait()
            except TimeoutError:
                continue
            self._wanted.clear()

    async def look_after_all(self) -> None:
        names = await self._store.names()
        live = (await self._store.live_coordinators()).items()
        async for name, stored in self._store.load_each(names):
            if stored is None:
                await self._store.forget_name(name)
            elif isinstance(stored, StoredGroup) and self._is_ours(stored, live):
                await self._look_after(name)
        self._groups.forget_idle()

    def _is_ours(self, stored: StoredGroup, live: Collection[tuple[str, str]]) -> bool:
        owner = (stored.owner.address, stored.owner.incarnation)
        ours = (self._registration.address, self._registration.incarnation)
        return owner == ours or owner not in live

    async def _look_after(self, group_id: str) -> None:
        try:
            actor = await self._groups.find(group_id)
            if actor is None:
                return
            # Beforehand: members do not wait while storage takes its time.
            gone = await self._gone_topics(group_id)
            if await actor.in_turn(partial(self._is_done_with, gone)):
                actor.close(NotOwnerError())
        except (NotOwnerError, KafkaError) as error:
            # Another one was quicker, and looks after it; or storage is away.
            log.debug("group %s is left alone: %r", group_id, error)
        except ValueError as error:
            # Of one group, and the others need not wait until somebody has mended it.
            _unreadable.warning("what group %s committed: %s", group_id, error)

    async def _gone_topics(self, group_id: str) -> Collection[str]:
        offsets = await self._offsets.fetch_all(group_id)
        pending = await self._pending.all(group_id)
        commits = [*(each.commit for each in offsets.values()), *pending.values()]
        return await self._topics.gone({commit.topic_id for commit in commits})

    async def _is_done_with(self, gone: Collection[str], stored: StoredGroup) -> bool:
        """Drop the offsets that nobody wants; whether nothing is left of the group."""
        group_id = stored.group.group_id
        offsets = await self._offsets.fetch_all(group_id)
        pending = await self._pending.all(group_id)
        commits = [*((place, each.commit) for place, each in offsets.items())]
        commits += pending.items()
        unwanted = {place for place, commit in commits if commit.topic_id in gone}
        now_ms = time.time_ns() // 1_000_000
        expired = expired_offsets(
            offsets,
            stored.group,
            empty_since_ms=stored.empty_since_ms,
            now_ms=now_ms,
            retention_ms=self._retention_ms,
        )
        # What is about to be committed is wanted.
        unwanted.update(place for place in expired if place not in pending)
        await self._pending.forget_old(group_id, now_ms)
        since = stored.empty_since_ms
        is_done_with = (
            stored.group.state is State.EMPTY
            and unwanted == {*offsets, *pending}
            # One that was made just now may be about to get members or offsets.
            and since is not None
            and now_ms - since > min(self._retention_ms, _NEW_FOR_MS)
        )
        if is_done_with:
            # First, since they are found through the offsets.
            shown = {*unwanted, *await self._topics.delivering_partitions()}
            await self._redis_groups.destroy(group_id, sorted(shown))
        if unwanted or is_done_with:
            await self._offsets.delete(
                group_id, stored.owner, unwanted, with_group=is_done_with
            )
            log.info("group %s: %d offsets have expired", group_id, len(unwanted))
        if is_done_with:
            await self._store.forget_name(group_id)
        else:
            self._redis_groups.forgotten(group_id, unwanted)
        return is_done_with
