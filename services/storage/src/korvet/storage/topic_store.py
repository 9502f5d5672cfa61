"""Topics in Redis: the truth about them, read and changed there; nothing is kept here.

Every change is one script: the catalogue's keys and those of the partitions never
disagree, two replicas cannot both create a name, and every change has a version of its
own and is published on the channel of changes.
"""

import logging
from collections.abc import Awaitable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import Final, NamedTuple, TypeVar, cast

from redis.asyncio import Redis

from korvet.kafka.errors import ErrorCode, KafkaError
from korvet.redis.keys import Keys
from korvet.redis.topic_ids import new_topic_id, parse_topic_id, topic_id_text
from korvet.storage.script_files import script
from korvet.storage.topic import Deletion, Topic
from korvet.storage.topic_configs import StoredConfigs, TopicConfigs
from korvet.storage.topic_names import check_topic_name, collision_form, is_topic_name

log = logging.getLogger(__name__)

# What one command asks for at most, so that none blocks Redis or us for long.
_TOPICS_AT_ONCE: Final = 200
_PARTITIONS_AT_ONCE: Final = 2000
_IDS_AT_ONCE: Final = 2000

_Item = TypeVar("_Item")


class Known(NamedTuple):
    """What Redis knew of a name at version `as_of`: changes to come have higher ones."""

    topic: Topic | None
    as_of: int


class ChangedMeanwhile(Exception):
    """Somebody else changed the topic after it was read: read again."""


class TopicStore:
    def __init__(self, redis: "Redis", keys: Keys, configs: TopicConfigs) -> None:
        self._redis = redis
        self._keys = keys
        self._configs = configs
        self._create = script(redis, "versions", "history", "create_topic")
        self._change = script(redis, "versions", "history", "change_topic")
        self._delete = script(redis, "versions", "delete_topic")
        self._read = script(redis, "read_topics")
        self._leader_epochs = script(redis, "leader_epochs")

    # --- reading ---

    async def version(self) -> int:
        """The catalogue's version now: changes to come have higher ones."""
        [version] = await self._read(keys=[self._keys.catalogue_version])
        return int(version)

    async def names(self) -> set[str]:
        members = self._redis.smembers(self._keys.topics)
        return cast(set[str], await cast(Awaitable[object], members))

    async def names_of(self, topic_ids: Collection[bytes]) -> dict[bytes, str]:
        """The name of each topic id that there is."""
        found: dict[bytes, str] = {}
        for some in _pieces(list(topic_ids), _IDS_AT_ONCE):
            texts = [topic_id_text(topic_id) for topic_id in some]
            answer = self._redis.hmget(self._keys.topic_ids, texts)
            names = cast(list[str | None], await cast(Awaitable[object], answer))
            found |= {i: name for i, name in zip(some, names, strict=True) if name}
        return found

    async def load(self, names: Iterable[str]) -> dict[str, Known]:
        """Read topics; a name that cannot be one is not asked for, and unknown."""
        known: dict[str, Known] = {}
        for some in _pieces(list(names), _TOPICS_AT_ONCE):
            known |= await self._load_some([name for name in some if is_topic_name(name)])
            known |= {name: Known(None, 0) for name in some if name not in known}
        return known

    async def _load_some(self, names: Sequence[str]) -> dict[str, Known]:
        if not names:
            return {}
        version, *answers = await self._read(
            keys=[self._keys.catalogue_version, *map(self._keys.topic, names)]
        )
        hashes = [dict(zip(flat[::2], flat[1::2], strict=True)) for flat in answers]
        epochs = await self._load_epochs(dict(zip(names, hashes, strict=True)))
        as_of = int(version)
        return {
            name: Known(self._parse(name, fields, epochs.get(name, {}), as_of), as_of)
            for name, fields in zip(names, hashes, strict=True)
        }

    async def _load_epochs(
        self, hashes: Mapping[str, Mapping[str, str]]
    ) -> dict[str, dict[int, int]]:
        """The newest epoch of each partition that is not in its first.

        They are read after the topics. A partition that has meanwhile got another topic's
        id counts as new: a change that took its topic away is on its way to us.
        """
        wanted = [
            (name, partition, fields.get("id", ""))
            for name, fields in hashes.items()
            for partition in range(_partition_count(fields))
        ]
        newest: dict[str, dict[int, int]] = {}
        for some in _pieces(wanted, _PARTITIONS_AT_ONCE):
            keys = [self._keys.partition(name, partition) for name, partition, _ in some]
            ids = [topic_id for _, _, topic_id in some]
            found = await self._leader_epochs(keys=keys, args=ids)
            for index, topic_id, epochs in found:
                name, partition, expected = some[index - 1]
                if topic_id == expected:
                    last_epoch = epochs.rpartition(",")[2].partition(":")[0]
                    newest.setdefault(name, {})[partition] = int(last_epoch)
        return newest

    def _parse(
        self, name: str, fields: Mapping[str, str], epochs: Mapping[int, int], as_of: int
    ) -> Topic | None:
        if not fields:
            return None
        try:
            topic_id = parse_topic_id(fields["id"])
            changed_at = int(fields["version"])
        except (KeyError, ValueError) as error:
            key = self._keys.topic(name)
            log.warning("%s does not describe a topic, and is left out: %r", key, error)
            return None
        count = _partition_count(fields)
        return self._topic(
            name=name,
            topic_id=topic_id,
            version=as_of,
            changed_at=changed_at,
            leader_epochs=tuple(epochs.get(partition, 0) for partition in range(count)),
            configs=self._configs.from_fields(fields),
        )

    # --- changing ---

    async def create(
        self,
        name: str,
        partitions: int,
        configs: StoredConfigs,
        *,
        check_only: bool = False,
    ) -> Topic:
        check_topic_name(name)
        # Kafka's id of no topic stands for one that is not created.
        topic_id = bytes(16) if check_only else new_topic_id()
        fields = {
            "partitions": str(partitions),
            # Nothing is known yet about the mean size of its records.
            "messageBytes": "0",
            **self._configs.to_fields(configs),
        }
        status, detail = await self._create(
            keys=[
                self._keys.topics,
                self._keys.topic_ids,
                self._keys.topic(name),
                self._keys.catalogue_version,
                *(self._keys.partition(name, partition) for partition in range(partitions)),
            ],
            args=[
                name,
                topic_id_text(topic_id),
                self._keys.changes,
                collision_form(name) or "",
                "1" if check_only else "0",
                *_flat(fields),
            ],
        )
        if status == "EXISTS":
            raise KafkaError(
                ErrorCode.TOPIC_ALREADY_EXISTS, f"Topic '{name}' already exists."
            )
        if status == "COLLIDES":
            raise KafkaError(
                ErrorCode.INVALID_TOPIC_EXCEPTION,
                f"Topic '{name}' collides with existing topic: {detail}",
            )
        return self._topic(
            name=name,
            topic_id=topic_id,
            version=int(detail),
            changed_at=int(detail),
            leader_epochs=(0,) * partitions,
            configs=configs,
        )

    async def alter_configs(
        self, topic: Topic, configs: StoredConfigs, *, check_only: bool = False
    ) -> Topic:
        fields = self._configs.to_fields(configs)
        gone = [f for f in self._configs.to_fields(topic.configs) if f not in fields]
        version = topic.changed_at
        if not check_only:
            version = await self._apply(topic, gone=gone, fields=fields)
        return self._topic(
            name=topic.name,
            topic_id=topic.id,
            version=version,
            changed_at=version,
            leader_epochs=topic.leader_epochs,
            configs=configs,
        )

    async def add_partitions(
        self, topic: Topic, count: int, *, check_only: bool = False
    ) -> Topic:
        """Grow a topic to `count` partitions."""
        added = range(topic.partitions, count)
        version = topic.changed_at
        if not check_only:
            version = await self._apply(
                topic,
                fields={"partitions": str(count)},
                keys=[self._keys.partition(topic.name, partition) for partition in added],
            )
        return self._topic(
            name=topic.name,
            topic_id=topic.id,
            version=version,
            changed_at=version,
            leader_epochs=topic.leader_epochs + (0,) * len(added),
            configs=topic.configs,
        )

    async def delete(self, topic: Topic) -> Deletion:
        partition_keys: list[str] = []
        channels: list[str] = []
        for partition in range(topic.partitions):
            channels.append(self._keys.appended(topic.name, partition))
            retired = self._keys.retired(topic.id_text, partition)
            for kind, key in self._keys.of_partition(topic.name, partition).items():
                partition_keys += (key, retired[kind])
        status, *detail = await self._delete(
            keys=[
                self._keys.topics,
                self._keys.topic_ids,
                self._keys.topic(topic.name),
                self._keys.catalogue_version,
                self._keys.deletions,
                *partition_keys,
            ],
            args=[
                topic.name,
                topic.id_text,
                topic.partitions,
                self._keys.changes,
                *channels,
            ],
        )
        if status != "OK":
            raise ChangedMeanwhile(topic.name)
        return Deletion(name=topic.name, id=topic.id, version=int(detail[0]))

    async def _apply(
        self,
        topic: Topic,
        *,
        gone: Sequence[str] = (),
        fields: Mapping[str, str],
        keys: Sequence[str] = (),
    ) -> int:
        status, *detail = await self._change(
            keys=[self._keys.topic(topic.name), self._keys.catalogue_version, *keys],
            args=[
                topic.name,
                topic.id_text,
                topic.changed_at,
                self._keys.changes,
                len(gone),
                *gone,
                *_flat(fields),
            ],
        )
        if status != "OK":
            raise ChangedMeanwhile(topic.name)
        return int(detail[0])

    def _topic(
        self,
        *,
        name: str,
        topic_id: bytes,
        version: int,
        changed_at: int,
        leader_epochs: tuple[int, ...],
        configs: StoredConfigs,
    ) -> Topic:
        return Topic(
            name=name,
            id=topic_id,
            id_text=topic_id_text(topic_id),
            version=version,
            changed_at=changed_at,
            leader_epochs=leader_epochs,
            configs=configs,
            config=self._configs.view(configs),
        )


def _partition_count(fields: Mapping[str, str]) -> int:
    count = fields.get("partitions", "")
    return int(count) if count.isdecimal() else 0


def _flat(fields: Mapping[str, str]) -> list[str]:
    return [text for pair in fields.items() for text in pair]


def _pieces(items: Sequence[_Item], size: int) -> Iterator[Sequence[_Item]]:
    for start in range(0, len(items), size):
        yield items[start : start + size]
