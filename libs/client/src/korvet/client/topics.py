"""The topics as the client knows them: administration, and how many partitions each has."""

import asyncio
import time
from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

from korvet.client.connection import CALL_DEADLINE, Connection
from korvet.client.errors import ErrorCode, KorvetError
from korvet.client.model import PartitionLog, Topic
from korvet.client.repeating import until_answered
from korvet.proto.storage.v1 import storage_service_pb2 as pb

# Partitions may be added; a key's records go to its new partition after so long at most.
_COUNT_LIFETIME: Final = 60.0


class PartitionCount(NamedTuple):
    partitions: int
    asked_at: float


class Identity(NamedTuple):
    ref: pb.TopicRef
    partitions: int


class Topics:
    def __init__(self, connection: Connection, retry_for: float) -> None:
        """What appends ask for is repeated for `retry_for` seconds, as they are."""
        self._connection = connection
        self._retry_for = retry_for
        self._counts: dict[str, PartitionCount] = {}
        self._asking = asyncio.Lock()

    async def create(
        self, name: str, partitions: int | None, configs: Mapping[str, str]
    ) -> Topic:
        request = pb.CreateTopicsRequest(
            topics=[pb.NewTopic(name=name, partitions=partitions, configs=configs)]
        )
        answer = await self._connection.ask(
            lambda stub: stub.CreateTopics(request, timeout=CALL_DEADLINE)
        )
        return _topic(answer.topics)

    async def describe(self, name: str) -> Topic:
        return Topic.from_proto(await self._found(name))

    async def identify(self, name: str) -> Identity:
        """The topic as it is now, not one that is made again under the name."""
        found = await self._found(name)
        return Identity(pb.TopicRef(name=name, id=found.id), len(found.leader_epochs))

    async def describe_all(self) -> list[Topic]:
        request = pb.DescribeTopicsRequest(all=True)
        answer = await self._connection.ask(
            lambda stub: stub.DescribeTopics(request, timeout=CALL_DEADLINE)
        )
        results = answer.topics
        found = (Topic.from_proto(each.topic) for each in results if not each.error_code)
        return sorted(found, key=lambda topic: topic.name)

    async def alter(
        self, name: str, configs: Mapping[str, str], reset: Sequence[str]
    ) -> Topic:
        changes = [
            pb.ConfigChange(name=config, operation=pb.CONFIG_OPERATION_SET, value=value)
            for config, value in configs.items()
        ]
        changes += (
            pb.ConfigChange(name=config, operation=pb.CONFIG_OPERATION_DELETE)
            for config in reset
        )
        request = pb.AlterTopicConfigsRequest(
            topics=[pb.TopicConfigChange(topic=name, changes=changes)]
        )
        answer = await self._connection.ask(
            lambda stub: stub.AlterTopicConfigs(request, timeout=CALL_DEADLINE)
        )
        return _topic(answer.topics)

    async def add_partitions(self, name: str, count: int) -> Topic:
        growth = pb.CreatePartitionsRequest.Growth(topic=name, count=count)
        request = pb.CreatePartitionsRequest(topics=[growth])
        try:
            answer = await self._connection.ask(
                lambda stub: stub.CreatePartitions(request, timeout=CALL_DEADLINE)
            )
        finally:
            self.forget(name)
        return _topic(answer.topics)

    async def delete(self, name: str) -> None:
        request = pb.DeleteTopicsRequest(topics=[pb.TopicRef(name=name)])
        try:
            answer = await self._connection.ask(
                lambda stub: stub.DeleteTopics(request, timeout=CALL_DEADLINE)
            )
        finally:
            self.forget(name)
        (result,) = answer.topics
        if result.error_code != ErrorCode.NONE:
            raise KorvetError(result.error_code, result.error_message)

    async def describe_logs(self, names: Sequence[str]) -> list[PartitionLog]:
        request = pb.DescribeLogsRequest(
            topics=[
                pb.DescribeLogsRequest.Selection(topic=pb.TopicRef(name=name))
                for name in names
            ],
            all=not names,
        )
        answer = await self._connection.ask(
            lambda stub: stub.DescribeLogs(request, timeout=CALL_DEADLINE)
        )
        logs = []
        for log in answer.logs:
            if log.error_code != ErrorCode.NONE:
                raise KorvetError(log.error_code, f"{log.topic}-{log.partition}")
            logs.append(
                PartitionLog(
                    topic=log.topic,
                    partition=log.partition,
                    size_bytes=log.size_bytes,
                    record_count=log.record_count,
                    log_start_offset=log.log_start_offset,
                    high_watermark=log.high_watermark,
                )
            )
        return sorted(logs, key=lambda log: (log.topic, log.partition))

    async def partition_count(self, name: str) -> tuple[int, bool]:
        """How many partitions a topic has, and whether that was asked just now."""
        # One question for all that want to know; its waiters go on in their order, so that
        # concurrent appends keep theirs.
        async with self._asking:
            known = self._counts.get(name)
            if known is not None and time.monotonic() - known.asked_at < _COUNT_LIFETIME:
                return known.partitions, False
            found = await until_answered(lambda: self._found(name), self._retry_for)
            partitions = len(found.leader_epochs)
            self._counts[name] = PartitionCount(partitions, time.monotonic())
            return partitions, True

    async def _found(self, name: str) -> pb.Topic:
        request = pb.DescribeTopicsRequest(topics=[pb.TopicRef(name=name)])
        answer = await self._connection.ask(
            lambda stub: stub.DescribeTopics(request, timeout=CALL_DEADLINE)
        )
        return _described(answer.topics)

    def forget(self, name: str) -> None:
        """Ask again before the next append."""
        self._counts.pop(name, None)


def _topic(results: Sequence[pb.TopicResult]) -> Topic:
    return Topic.from_proto(_described(results))


def _described(results: Sequence[pb.TopicResult]) -> pb.Topic:
    (result,) = results
    if result.error_code != ErrorCode.NONE:
        raise KorvetError(result.error_code, result.error_message)
    return result.topic
