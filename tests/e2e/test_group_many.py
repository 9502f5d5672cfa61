"""A hundred groups at once, of one or two members; in some, one more comes and goes."""

import asyncio
import uuid
from collections.abc import Mapping, Sequence
from contextlib import AsyncExitStack
from typing import Any

import pytest
from aiokafka import AIOKafkaConsumer, TopicPartition
from aiokafka.errors import CommitFailedError

from korvet.kafka.errors import ErrorCode
from tests.support.group_wire import GroupWire
from tests.support.korvet_process import KorvetCluster
from tests.support.topic_admin import create_topic
from tests.support.wire_client import batch_of

pytestmark = pytest.mark.e2e

_GROUPS = 100
_PARTITIONS = 2
_VALUES = {b"%d" % number for number in range(40)}


async def test_a_hundred_groups_read_the_same_topic_each_by_itself(
    korvet: KorvetCluster, topic: str
) -> None:
    create_topic(korvet.bootstrap, topic, partitions=_PARTITIONS)
    ends: dict[tuple[str, int], int] = {}
    with GroupWire(korvet.gateways[0].address) as wire:
        for partition in range(_PARTITIONS):
            values = [each for each in sorted(_VALUES) if int(each) % 2 == partition]
            answer = wire.produce(topic, batch_of(values), partition=partition)
            assert answer.error is ErrorCode.NONE
            records = wire.read_all(topic, partition=partition)
            ends[topic, partition] = records[-1].offset + 1
    name = f"group-{uuid.uuid4().hex[:8]}"
    groups = [
        Reading(korvet.bootstrap, topic, f"{name}-{number}", ends)
        for number in range(_GROUPS)
    ]

    async with asyncio.timeout(90):
        await asyncio.gather(
            *(
                group.read(members=1 + number % 2, has_visitor=number % 4 == 0)
                for number, group in enumerate(groups)
            )
        )

    with GroupWire(korvet.gateways[0].address) as wire:
        for group in groups:
            committed = wire.all_committed(group.name)
            assert {place: each.offset for place, each in committed.items()} == ends
            assert wire.delete_group(group.name) is ErrorCode.NONE


class Reading:
    """One group, which reads a topic to its end and commits that."""

    def __init__(
        self, bootstrap: str, topic: str, group: str, ends: Mapping[tuple[str, int], int]
    ) -> None:
        self.name = group
        self._bootstrap = bootstrap
        self._topic = topic
        self._ends = {TopicPartition(*place): end for place, end in ends.items()}
        self._found: set[bytes] = set()

    async def read(self, *, members: int, has_visitor: bool) -> None:
        async with AsyncExitStack() as stack:
            consumers = [
                await stack.enter_async_context(self._member()) for _ in range(members)
            ]
            reading = [self._read_with(consumer) for consumer in consumers]
            if has_visitor:
                reading.append(self._visit())
            await asyncio.gather(*reading)
            # What was read while members came and went need not be committed yet.
            await asyncio.gather(*(self._read_with(consumer) for consumer in consumers))

    def _member(self) -> Any:
        return AIOKafkaConsumer(
            self._topic,
            bootstrap_servers=self._bootstrap,
            group_id=self.name,
            auto_offset_reset="earliest",
            enable_auto_commit=False,
            heartbeat_interval_ms=300,
            session_timeout_ms=30_000,
        )

    async def _visit(self) -> None:
        """Be a member until there is a partition to read, and go without a commit."""
        async with self._member() as consumer:
            while not consumer.assignment():
                self._note(await consumer.getmany(timeout_ms=100))

    async def _read_with(self, consumer: Any) -> None:
        while self._found != _VALUES or not await self._is_all_committed(consumer):
            self._note(await consumer.getmany(timeout_ms=100))
            try:
                await consumer.commit()
            except CommitFailedError:
                # A rebalance came first: what is not committed is read again.
                continue

    def _note(self, batches: Mapping[TopicPartition, Sequence[Any]]) -> None:
        self._found |= {record.value for batch in batches.values() for record in batch}

    async def _is_all_committed(self, consumer: Any) -> bool:
        return all(
            [
                await consumer.committed(partition) == end
                for partition, end in self._ends.items()
            ]
        )
