"""kafka-python's admin client behind the tests' common face."""

import re
from collections.abc import Iterator, Mapping
from contextlib import closing, contextmanager
from typing import Any, Final

import kafka
import kafka.admin
import kafka.errors

from tests.support.admin_contract import Admin, ClusterView, ConfigValue
from tests.support.client_contract import RefusedError

# It makes text of the errors of this API.
_ERROR: Final = re.compile(r"\[Error (-?\d+)\]")


class KafkaPythonAdmin:
    def __init__(self, client: Any) -> None:
        self._client = client

    def create(
        self,
        name: str,
        partitions: int = 1,
        configs: Mapping[str, str] | None = None,
        *,
        validate_only: bool = False,
    ) -> None:
        topic = kafka.admin.NewTopic(name, partitions, 1, topic_configs=configs)
        self._call("create_topics", [topic], validate_only=validate_only)

    def delete(self, name: str) -> None:
        self._call("delete_topics", [name])

    def add_partitions(self, name: str, count: int) -> None:
        self._call("create_partitions", {name: kafka.admin.NewPartitions(count)})

    def leaders(self, name: str) -> dict[int, int]:
        (topic,) = self._call("describe_topics", [name])
        return {each["partition_index"]: each["leader_id"] for each in topic["partitions"]}

    def topic_configs(self, name: str) -> dict[str, ConfigValue]:
        return self._configs(kafka.admin.ConfigResourceType.TOPIC, name)

    def broker_configs(self, node_id: int) -> dict[str, ConfigValue]:
        return self._configs(kafka.admin.ConfigResourceType.BROKER, str(node_id))

    def set_topic_config(self, name: str, config: str, value: str) -> None:
        self._set(kafka.admin.ConfigResourceType.TOPIC, name, config, value)

    def set_broker_config(self, node_id: int, config: str, value: str) -> None:
        kind = kafka.admin.ConfigResourceType.BROKER
        self._set(kind, str(node_id), config, value)

    def delete_records(self, name: str, partition: int, before: int) -> int:
        target = kafka.TopicPartition(name, partition)
        found = self._call("delete_records", {target: before})[target]
        return int(found["low_watermark"])

    def cluster(self) -> ClusterView:
        found = self._call("describe_cluster")
        nodes = [broker["broker_id"] for broker in found["brokers"]]
        return ClusterView(found["cluster_id"], found["controller_id"], sorted(nodes))

    def _configs(self, kind: Any, name: str) -> dict[str, ConfigValue]:
        resource = kafka.admin.ConfigResource(kind, name)
        found = self._call("describe_configs", [resource], config_filter="all")
        return {
            key: ConfigValue(
                entry["value"],
                entry["config_source"] == "DYNAMIC_TOPIC_CONFIG",
                entry["read_only"],
            )
            for key, entry in found[kind.name.lower()][name].items()
        }

    def _set(self, kind: Any, name: str, config: str, value: str) -> None:
        resource = kafka.admin.ConfigResource(kind, name, configs={config: value})
        # Otherwise it refuses names by itself that are not among those it can alter.
        found = self._call("alter_configs", [resource], raise_on_unknown=False)
        error = _ERROR.match(found[kind.name.lower()][name])
        if error:
            raise RefusedError(int(error[1]), error.string)

    def _call(self, method: str, *arguments: Any, **options: Any) -> Any:
        try:
            return getattr(self._client, method)(*arguments, **options)
        except kafka.errors.KafkaError as error:
            raise RefusedError(error.errno, str(error)) from error


@contextmanager
def kafka_python(bootstrap: str) -> Iterator[Admin]:
    client = kafka.admin.KafkaAdminClient(bootstrap_servers=bootstrap.split(","))
    with closing(client):
        yield KafkaPythonAdmin(client)
