"""aiokafka's admin client behind the tests' common face, with an event loop of its own."""

import asyncio
from collections.abc import Callable, Coroutine, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import aiokafka
import aiokafka.admin
import aiokafka.errors
from aiokafka.admin.config_resource import ConfigResource, ConfigResourceType
from aiokafka.admin.records_to_delete import RecordsToDelete

from tests.support.admin_contract import (
    DYNAMIC_TOPIC_CONFIG,
    Admin,
    ClusterView,
    ConfigValue,
)
from tests.support.client_contract import RefusedError


class AiokafkaAdmin:
    def __init__(self, client: Any, run: Callable[[Coroutine[Any, Any, Any]], Any]) -> None:
        self._client = client
        self._run_to_end = run

    def create(
        self,
        name: str,
        partitions: int = 1,
        configs: Mapping[str, str] | None = None,
        *,
        validate_only: bool = False,
    ) -> None:
        topic = aiokafka.admin.NewTopic(name, partitions, 1, topic_configs=configs)
        answer = self._run(self._client.create_topics([topic], validate_only=validate_only))
        for _, code, message in answer.topic_errors:
            _check(code, message)

    def delete(self, name: str) -> None:
        for _, code in self._run(self._client.delete_topics([name])).topic_error_codes:
            _check(code)

    def add_partitions(self, name: str, count: int) -> None:
        growth = {name: aiokafka.admin.NewPartitions(count)}
        answer = self._run(self._client.create_partitions(growth))
        for _, code, message in answer.topic_errors:
            _check(code, message)

    def leaders(self, name: str) -> dict[int, int]:
        # Of all topics, since asking for one by its name may create it.
        topics = self._run(self._client.describe_topics())
        found = [topic["partitions"] for topic in topics if topic["topic"] == name]
        return {each["partition"]: each["leader"] for all_ in found for each in all_}

    def topic_configs(self, name: str) -> dict[str, ConfigValue]:
        return self._configs(ConfigResourceType.TOPIC, name)

    def broker_configs(self, node_id: int) -> dict[str, ConfigValue]:
        return self._configs(ConfigResourceType.BROKER, str(node_id))

    def set_topic_config(self, name: str, config: str, value: str) -> None:
        self._set(ConfigResourceType.TOPIC, name, config, value)

    def set_broker_config(self, node_id: int, config: str, value: str) -> None:
        self._set(ConfigResourceType.BROKER, str(node_id), config, value)

    def delete_records(self, name: str, partition: int, before: int) -> int:
        target = aiokafka.TopicPartition(name, partition)
        cut = RecordsToDelete(before_offset=before)
        return int(self._run(self._client.delete_records({target: cut}))[target])

    def cluster(self) -> ClusterView:
        found = self._run(self._client.describe_cluster())
        nodes = [broker["node_id"] for broker in found["brokers"]]
        return ClusterView(found["cluster_id"], found["controller_id"], sorted(nodes))

    def _run(self, call: Coroutine[Any, Any, Any]) -> Any:
        # Some calls raise what others leave in the answer.
        try:
            return self._run_to_end(call)
        except aiokafka.errors.KafkaError as error:
            raise RefusedError(error.errno, str(error)) from error

    def _configs(self, kind: Any, name: str) -> dict[str, ConfigValue]:
        resource = _resource(kind, name)
        (answer,) = self._run(self._client.describe_configs([resource]))
        ((code, message, _, _, entries),) = answer.resources
        _check(code, message)
        return {
            key: ConfigValue(value, source == DYNAMIC_TOPIC_CONFIG, read_only)
            for key, value, read_only, source, *_ in entries
        }

    def _set(self, kind: Any, name: str, config: str, value: str) -> None:
        resource = _resource(kind, name, {config: value})
        # One answer of the broker itself, and one for all other resources, if none.
        for answer in self._run(self._client.alter_configs([resource])):
            for code, message, *_ in answer.resources:
                _check(code, message)


@contextmanager
def aiokafka_admin(bootstrap: str) -> Iterator[Admin]:
    with asyncio.Runner() as runner:

        async def start() -> Any:
            client = aiokafka.admin.AIOKafkaAdminClient(bootstrap_servers=bootstrap)
            await client.start()
            return client

        client = runner.run(start())
        yield AiokafkaAdmin(client, runner.run)
        runner.run(client.close())


def _resource(kind: Any, name: str, configs: Mapping[str, str] | None = None) -> Any:
    return ConfigResource(kind, name, configs=configs)


def _check(code: int, message: str | None = None) -> None:
    if code:
        raise RefusedError(code, message or "")
