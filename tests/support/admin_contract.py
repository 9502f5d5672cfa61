"""One face for the admin clients of every library, so that a test says things once.

All calls block. What the server refuses is a RefusedError.
"""

from collections.abc import Mapping
from typing import Final, NamedTuple, Protocol

# Kafka's number for a value that is set on the topic itself.
DYNAMIC_TOPIC_CONFIG: Final = 1


class ConfigValue(NamedTuple):
    value: str | None
    # Set on this topic.
    is_set: bool
    is_read_only: bool


class ClusterView(NamedTuple):
    cluster_id: str
    controller_id: int
    node_ids: list[int]


class Admin(Protocol):
    def create(
        self,
        name: str,
        partitions: int = 1,
        configs: Mapping[str, str] | None = None,
        *,
        validate_only: bool = False,
    ) -> None: ...

    def delete(self, name: str) -> None: ...

    def add_partitions(self, name: str, count: int) -> None:
        """Make it `count` in all."""

    def leaders(self, name: str) -> dict[int, int]:
        """The leader of each partition; empty where there is no such topic."""

    def topic_configs(self, name: str) -> dict[str, ConfigValue]: ...

    def broker_configs(self, node_id: int) -> dict[str, ConfigValue]: ...

    def set_topic_config(self, name: str, config: str, value: str) -> None: ...

    def set_broker_config(self, node_id: int, config: str, value: str) -> None: ...

    def delete_records(self, name: str, partition: int, before: int) -> int:
        """Returns where the log starts now."""

    def cluster(self) -> ClusterView: ...
