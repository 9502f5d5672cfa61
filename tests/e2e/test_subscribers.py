"""Consumers as their libraries' guides show them: most name a topic but no group, and read
all of it, each by itself."""

import itertools
from collections.abc import Mapping

import pytest
from aiokafka import AIOKafkaConsumer
from kafka import KafkaConsumer

from tests.support.client_contract import PATIENCE, NewRecord
from tests.support.confluent_client import ConfluentClient
from tests.support.korvet_process import KorvetCluster
from tests.support.topic_admin import create_topic

pytestmark = pytest.mark.e2e


@pytest.fixture
def values(korvet: KorvetCluster, topic: str, layout: Mapping[str, str]) -> set[bytes]:
    """What is in a topic of three partitions."""
    create_topic(korvet.bootstrap, topic, partitions=3, configs=layout)
    written = [NewRecord(b"%d" % number, partition=number % 3) for number in range(300)]
    with ConfluentClient().producer(korvet.bootstrap) as producer:
        producer.send(topic, written)
    return {record.value or b"" for record in written}


def test_kafka_python_iterates_over_all_partitions(
    korvet: KorvetCluster, topic: str, values: set[bytes]
) -> None:
    with KafkaConsumer(
        topic,
        bootstrap_servers=korvet.bootstrap,
        auto_offset_reset="earliest",
        consumer_timeout_ms=int(PATIENCE * 1000),
    ) as consumer:
        found = {record.value for record in itertools.islice(consumer, len(values))}

    assert found == values


def test_a_group_of_kafka_python_as_it_is_goes_on_where_it_was(
    korvet: KorvetCluster, topic: str
) -> None:
    create_topic(korvet.bootstrap, topic, partitions=3)
    written = [NewRecord(b"%d" % number, partition=number % 3) for number in range(300)]
    found: list[bytes] = []

    for part in (written[:150], written[150:]):
        with ConfluentClient().producer(korvet.bootstrap) as producer:
            producer.send(topic, part)
        with KafkaConsumer(
            topic,
            bootstrap_servers=korvet.bootstrap,
            group_id=f"group-{topic}",
            auto_offset_reset="earliest",
            consumer_timeout_ms=int(PATIENCE * 1000),
        ) as consumer:
            # Closing commits what was handed out.
            found += [record.value for record in itertools.islice(consumer, len(part))]

    assert sorted(found) == sorted(record.value or b"" for record in written)


async def test_aiokafka_iterates_over_all_partitions(
    korvet: KorvetCluster, topic: str, values: set[bytes]
) -> None:
    found: set[bytes] = set()
    async with AIOKafkaConsumer(
        topic, bootstrap_servers=korvet.bootstrap, auto_offset_reset="earliest"
    ) as consumer:
        while len(found) < len(values):
            batches = await consumer.getmany(timeout_ms=int(PATIENCE * 1000))
            assert batches, f"{len(found)} records of {len(values)}"
            found |= {record.value for batch in batches.values() for record in batch}

    assert found == values
