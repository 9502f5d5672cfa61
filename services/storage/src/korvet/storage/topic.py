"""PURE: one topic, as the catalogue knows it."""

from dataclasses import dataclass

from korvet.storage.topic_configs import StoredConfigs, TopicConfig


@dataclass(frozen=True, slots=True, kw_only=True)
class Topic:
    name: str
    # 16 bytes. A topic made again under the same name has another id.
    id: bytes
    # When this was true: of two descriptions, the one with the higher version is newer.
    version: int
    # The version at which the topic was last changed.
    changed_at: int
    # The newest leader epoch of each partition.
    leader_epochs: tuple[int, ...]
    configs: StoredConfigs
    # `configs` laid over the server's defaults, parsed.
    config: TopicConfig
    # The id as Kafka's tools and our keys in Redis write it.
    id_text: str

    @property
    def partitions(self) -> int:
        return len(self.leader_epochs)


@dataclass(frozen=True, slots=True, kw_only=True)
class Deletion:
    """A topic that is gone."""

    name: str
    id: bytes
    version: int
