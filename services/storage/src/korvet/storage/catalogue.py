"""The catalogue of topics: changed in Redis, and known here without asking.

What `by_name` and `by_id` answer is what this replica last heard of, quickly enough for
the hot path. Nothing may rely on its being the newest: whoever writes passes the topic's
id along, and the script that writes compares it. `refresh` asks Redis.
"""

import logging
from collections.abc import AsyncIterator, Callable, Collection, Iterable, Mapping, Sequence
from typing import Final, NamedTuple, TypeAlias

from korvet.kafka.errors import ErrorCode, KafkaError
from korvet.storage.topic import Deletion, Topic
from korvet.storage.topic_cache import Change, TopicCache
from korvet.storage.topic_configs import ConfigChange, TopicConfigs
from korvet.storage.topic_names import check_topic_name
from korvet.storage.topic_store import ChangedMeanwhile, TopicStore

log = logging.getLogger(__name__)

# Changes, or None: everything may have changed.
Listener: TypeAlias = Callable[[Sequence[Change] | None], None]

# Kafka's own limit on what one request may create.
MAX_PARTITIONS: Final = 10_000
# Each further attempt means that somebody else has changed the topic in between.
_ATTEMPTS: Final = 20


class Announcement(NamedTuple):
    """A change of a topic, as the scripts publish it."""

    version: int
    name: str
    is_deletion: bool


class Catalogue:
    def __init__(
        self, store: TopicStore, configs: TopicConfigs, *, num_partitions: int
    ) -> None:
        self._store = store
        self._configs = configs
        self._num_partitions = num_partitions
        self._cache = TopicCache()
        self._listeners: list[Listener] = []

    # --- known here ---

    def by_name(self, name: str) -> Topic | None:
        return self._cache.by_name(name)

    def by_id(self, topic_id: bytes) -> Topic | None:
        return self._cache.by_id(topic_id)

    def topics(self) -> Collection[Topic]:
        """All topics; a view, so copy it before awaiting anything."""
        return self._cache.all().values()

    def set_epochs(self, topic: Topic, epochs: Iterable[int]) -> None:
        """Take a topic's newest leader epochs, one a partition."""
        self._notify(self._cache.set_epochs(topic, epochs))

    def subscribe(self, listener: Listener) -> None:
        """Call `listener` after each change of what is known here."""
        self._listeners.append(listener)

    # --- asked of Redis ---

    async def refresh(
        self,
        *,
        name: str | None = None,
        topic_id: bytes | None = None,
    ) -> Topic | None:
        """What Redis has now under an id or, where that is not given, under a name."""
        if topic_id is not None:
            return (await self.describe_ids([topic_id]))[topic_id]
        return None if name is None else (await self.describe([name]))[name]

    async def describe(self, names: Iterable[str]) -> Mapping[str, Topic | None]:
        """What Redis has now under each name."""
        changes: list[Change] = []
        known = await self._store.load(names)
        for name, (topic, as_of) in known.items():
            changes += self._cache.apply(name, topic, as_of)
        self._notify(changes)
        return {name: topic for name, (topic, _) in known.items()}

    async def describe_ids(
        self, topic_ids: Collection[bytes]
    ) -> Mapping[bytes, Topic | None]:
        """What Redis has now under each id."""
        names = await self._store.names_of(topic_ids)
        topics = {t.id: t for t in (await self.describe(names.values())).values() if t}
        return {topic_id: topics.get(topic_id) for topic_id in topic_ids}

    async def describe_all(self) -> list[Topic]:
        found = await self.describe(await self._store.names())
        return [topic for _, topic in sorted(found.items()) if topic]

    # --- changing ---

    async def create(
        self,
        name: str,
        *,
        partitions: int | None = None,
        configs: Mapping[str, str] | None = None,
        validate_only: bool = False,
    ) -> Topic:
        check_topic_name(name)
        count = self._num_partitions if partitions is None else partitions
        if count < 1:
            detail = f"A topic needs at least 1 partition, not {count}."
            raise KafkaError(ErrorCode.INVALID_PARTITIONS, detail)
        _check_count(count)
        stored = self._configs.create(configs or {})
        topic = await self._store.create(name, count, stored, check_only=validate_only)
        if not validate_only:
            self._notify(self._cache.apply(name, topic, topic.version))
            log.info("created topic %s (%s, %d partitions)", name, topic.id_text, count)
        return topic

    async def delete(
        self,
        *,
        name: str | None = None,
        topic_id: bytes | None = None,
    ) -> Deletion:
        async for topic in self._attempts(name=name, topic_id=topic_id):
            try:
                deletion = await self._store.delete(topic)
            except ChangedMeanwhile:
                continue
            self._notify(self._cache.apply(deletion.name, None, deletion.version))
            log.info("deleted topic %s (%s)", topic.name, topic.id_text)
            return deletion
        raise _contended(name)

    async def add_partitions(
        self, name: str, count: int, *, validate_only: bool = False
    ) -> Topic:
        async for topic in self._attempts(name=name):
            if count <= topic.partitions:
                detail = (
                    f"The topic {name} currently has {topic.partitions} partition(s); "
                    f"{count} would not be an increase."
                )
                raise KafkaError(ErrorCode.INVALID_PARTITIONS, detail)
            _check_count(count)
            try:
                grown = await self._store.add_partitions(
                    topic, count, check_only=validate_only
                )
            except ChangedMeanwhile:
                continue
            if not validate_only:
                self._notify(self._cache.apply(name, grown, grown.version))
                log.info("topic %s has %d partitions now", name, count)
            return grown
        raise _contended(name)

    async def alter_configs(
        self,
        name: str,
        changes: Sequence[ConfigChange],
        *,
        replace_all: bool = False,
        validate_only: bool = False,
    ) -> Topic:
        async for topic in self._attempts(name=name):
            stored = self._configs.alter(topic.configs, changes, replace_all=replace_all)
            try:
                altered = await self._store.alter_configs(
                    topic, stored, check_only=validate_only
                )
            except ChangedMeanwhile:
                continue
            if not validate_only:
                self._notify(self._cache.apply(name, altered, altered.version))
                log.info("topic %s: configs are now %s", name, dict(stored.own))
            return altered
        raise _contended(name)

    async def _attempts(
        self,
        *,
        name: str | None = None,
        topic_id: bytes | None = None,
    ) -> AsyncIterator[Topic]:
        """The topic as it is now, again for each attempt to change it."""
        for _ in range(_ATTEMPTS):
            topic = await self.refresh(name=name, topic_id=topic_id)
            if topic is None and topic_id is not None:
                raise KafkaError(
                    ErrorCode.UNKNOWN_TOPIC_ID, "There is no topic of this id."
                )
            if topic is None:
                detail = f"Topic '{name}' does not exist."
                raise KafkaError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, detail)
            yield topic

    # --- hearing of others' changes ---

    async def reload(self) -> None:
        """Read everything, after a time in which changes may have been missed."""
        if await self._store.version() < self._cache.version:
            log.warning("Redis's clock and catalogue have gone back: taking what is there")
            self._cache.clear()
        # Those that are known here too, so that the deleted ones among them are noticed.
        names = await self._store.names() | set(self._cache.all())
        for name, (topic, as_of) in (await self._store.load(names)).items():
            self._cache.apply(name, topic, as_of)
        for listener in self._listeners:
            listener(None)

    async def hear(self, announcements: Sequence[Announcement]) -> None:
        """Take over what another replica, or this one, has announced."""
        outdated: set[str] = set()
        changes: list[Change] = []
        for version, name, is_deletion in announcements:
            if is_deletion:
                changes += self._cache.apply(name, None, version)
                outdated.discard(name)
            elif (topic := self.by_name(name)) is None or topic.version < version:
                outdated.add(name)
        self._notify(changes)
        if outdated:
            await self.describe(outdated)

    def _notify(self, changes: Sequence[Change]) -> None:
        if changes:
            for listener in self._listeners:
                listener(changes)


def _check_count(count: int) -> None:
    if count > MAX_PARTITIONS:
        detail = f"A topic has at most {MAX_PARTITIONS} partitions, not {count}."
        raise KafkaError(ErrorCode.POLICY_VIOLATION, detail)


def _contended(name: str | None) -> KafkaError:
    detail = f"The topic {name or ''} was changed by others again and again; try again."
    return KafkaError(ErrorCode.REQUEST_TIMED_OUT, detail)
