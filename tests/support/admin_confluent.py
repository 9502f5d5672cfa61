"""librdkafka's admin client behind the tests' common face."""

from collections.abc import Iterator, Mapping
from concurrent.futures import Future
from contextlib import contextmanager
from typing import Any, TypeVar

from confluent_kafka import KafkaException, TopicPartition
from confluent_kafka.admin import (
    AdminClient,
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
    NewPartitions,
    NewTopic,
    ResourceType,
)

from tests.support.admin_contract import (
    DYNAMIC_TOPIC_CONFIG,
    Admin,
    ClusterView,
    ConfigValue,
)
from tests.support.client_contract import PATIENCE, RefusedError

_Result = TypeVar("_Result")


class ConfluentAdmin:
    def __init__(self, bootstrap: str) -> None:
        self._client = AdminClient({"bootstrap.servers": bootstrap})

    def create(
        self,
        name: str,
        partitions: int = 1,
        configs: Mapping[str, str] | None = None,
        *,
        validate_only: bool = False,
    ) -> None:
        topic = NewTopic(name, partitions, 1, config=dict(configs or {}))
        _only(self._client.create_topics([topic], validate_only=validate_only))

    def delete(self, name: str) -> None:
        _only(self._client.delete_topics([name]))

    def add_partitions(self, name: str, count: int) -> None:
        _only(self._client.create_partitions([NewPartitions(name, count)]))

    def leaders(self, name: str) -> dict[int, int]:
        # Of all topics, since asking for one by its name may create it.
        topics = self._client.list_topics(timeout=PATIENCE).topics
        found = topics[name].partitions if name in topics else {}
        return {index: partition.leader for index, partition in found.items()}

    def topic_configs(self, name: str) -> dict[str, ConfigValue]:
        return self._configs(ResourceType.TOPIC, name)

    def broker_configs(self, node_id: int) -> dict[str, ConfigValue]:
        return self._configs(ResourceType.BROKER, str(node_id))

    def set_topic_config(self, name: str, config: str, value: str) -> None:
        self._set(ResourceType.TOPIC, name, config, value)

    def set_broker_config(self, node_id: int, config: str, value: str) -> None:
        self._set(ResourceType.BROKER, str(node_id), config, value)

    def delete_records(self, name: str, partition: int, before: int) -> int:
        cut = TopicPartition(name, partition, before)
        return int(_only(self._client.delete_records([cut])).low_watermark)

    def cluster(self) -> ClusterView:
        found = _finished(self._client.describe_cluster())
        nodes = [node.id for node in found.nodes]
        return ClusterView(found.cluster_id, found.controller.id, sorted(nodes))

    def _configs(self, kind: ResourceType, name: str) -> dict[str, ConfigValue]:
        found = _only(self._client.describe_configs([ConfigResource(kind, name)]))
        return {
            key: ConfigValue(
                entry.value, entry.source == DYNAMIC_TOPIC_CONFIG, entry.is_read_only
            )
            for key, entry in found.items()
        }

    def _set(self, kind: ResourceType, name: str, config: str, value: str) -> None:
        entry = ConfigEntry(config, value, incremental_operation=AlterConfigOpType.SET)
        resource = ConfigResource(kind, name, incremental_configs=[entry])
        _only(self._client.incremental_alter_configs([resource]))


@contextmanager
def confluent(bootstrap: str) -> Iterator[Admin]:
    yield ConfluentAdmin(bootstrap)


def _only(futures: "Mapping[Any, Future[_Result]]") -> _Result:
    (future,) = futures.values()
    return _finished(future)


def _finished(future: "Future[_Result]") -> _Result:
    try:
        return future.result(PATIENCE)
    except KafkaException as error:
        raise RefusedError(error.args[0].code(), error.args[0].str()) from error
