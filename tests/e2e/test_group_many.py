"""A hundred groups at once, each of one or two members."""

import asyncio
import uuid
from contextlib import AsyncExitStack
from typing import Any

import pytest
from aiokafka import AIOKafkaConsumer

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
    with GroupWire(korvet.gateways[0].address) as wire:
        for partition in range(_PARTITIONS):
            values = [each for each in sorted(_VALUES) if int(each) % 2 == partition]
            answer = wire.produce(topic, batch_of(values), partition=partition)
            assert answer.error is ErrorCode.NONE
    name = f"group-{uuid.uuid4().hex[:8]}"
    groups = [f"{name}-{number}" for number in range(_GROUPS)]

    async with asyncio.timeout(60):
        await asyncio.gather(
            *(
                read_all(korvet.bootstrap, topic, group, members=1 + number % 2)
                for number, group in enumerate(groups)
            )
        )

    with GroupWire(korvet.gateways[0].address) as wire:
        ends = {
            (topic, partition): wire.read_all(topic, partition=partition)[-1].offset + 1
            for partition in range(_PARTITIONS)
        }
        for group in groups:
            committed = wire.all_committed(group)
            assert {place: each.offset for place, each in committed.items()} == ends
            assert wire.delete_group(group) is ErrorCode.NONE


async def read_all(bootstrap: str, topic: str, group: str, *, members: int) -> None:
    """Be all members of a group until it has read everything and committed it."""
    found: set[bytes] = set()
    async with AsyncExitStack() as stack:
        consumers = [
            await stack.enter_async_context(
                AIOKafkaConsumer(
                    topic,
                    bootstrap_servers=bootstrap,
                    group_id=group,
                    auto_offset_reset="earliest",
                    enable_auto_commit=False,
                    heartbeat_interval_ms=300,
                    session_timeout_ms=30_000,
                )
            )
            for _ in range(members)
        ]
        await asyncio.gather(*(read_some(consumer, found) for consumer in consumers))


async def read_some(consumer: Any, found: set[bytes]) -> None:
    while found != _VALUES:
        batches = await consumer.getmany(timeout_ms=100)
        found |= {record.value for batch in batches.values() for record in batch}
        await consumer.commit()
