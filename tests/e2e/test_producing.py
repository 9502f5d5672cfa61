"""Producers as people configure them: acks, idempotence, large and small batches."""

import random
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.support.client_contract import (
    Acks,
    KafkaClient,
    NewRecord,
    RefusedError,
    Start,
    Written,
)
from tests.support.confluent_client import ConfluentClient
from tests.support.korvet_process import KorvetCluster
from tests.support.topic_admin import create_topic

pytestmark = pytest.mark.e2e

_MESSAGE_TOO_LARGE = 10


# All other tests wait for all.
@pytest.mark.parametrize("acks", ["0", "1"])
def test_records_are_there_with_fewer_acks(
    korvet: KorvetCluster, log: str, client: KafkaClient, acks: Acks
) -> None:
    values = [b"%d" % number for number in range(50)]

    with client.producer(korvet.bootstrap, acks=acks) as producer:
        written = producer.send(log, [NewRecord(value) for value in values])

    with client.consumer(korvet.bootstrap, log) as consumer:
        found = consumer.read(len(values))
    assert [record.value for record in found] == values
    if acks != "0":
        assert [record.offset for record in found] == [each.offset for each in written]


def test_an_idempotent_producer_writes_each_record_once_and_in_order(
    korvet: KorvetCluster, topic: str, client: KafkaClient, layout: Mapping[str, str]
) -> None:
    create_topic(korvet.bootstrap, topic, partitions=2, configs=layout)
    records = [NewRecord(b"%d" % number, partition=number % 2) for number in range(1000)]

    # Small batches: many of them are in flight at the same time.
    with client.producer(
        korvet.bootstrap, idempotent=True, linger=0.0, batch_bytes=500
    ) as producer:
        written = producer.send(topic, records)

    starts: dict[int, Start] = {0: "earliest", 1: "earliest"}
    with client.consumer(korvet.bootstrap, topic, starts) as consumer:
        found = consumer.read(len(records))
        beyond = consumer.read(1, within=0.1)
    assert sorted((r.partition, r.offset, r.value) for r in found) == sorted(
        (each.partition, each.offset, record.value)
        for record, each in zip(records, written, strict=True)
    )
    for partition in (0, 1):
        values = [int(r.value or b"") for r in found if r.partition == partition]
        assert values == list(range(partition, 1000, 2))
    assert beyond == []


def test_a_busy_producer_keeps_its_order_with_many_batches_in_flight(
    korvet: KorvetCluster, log: str
) -> None:
    values = [b"%06d" % number + bytes(94) for number in range(30_000)]
    client = ConfluentClient()

    with client.producer(korvet.bootstrap, acks="1", batch_bytes=20_000) as producer:
        written = producer.send(log, [NewRecord(value) for value in values])

    with client.consumer(korvet.bootstrap, log) as consumer:
        found = consumer.read(len(values))
    assert [record.value for record in found] == values
    assert [record.offset for record in found] == [each.offset for each in written]


def test_many_producers_at_once_lose_nothing(
    korvet: KorvetCluster, log: str, client: KafkaClient
) -> None:
    def produce(mark: int) -> list[Written]:
        records = [NewRecord(b"%d %d" % (mark, number)) for number in range(300)]
        with client.producer(korvet.bootstrap, batch_bytes=2000, acks="1") as producer:
            return producer.send(log, records)

    with ThreadPoolExecutor(4) as pool:
        written = list(pool.map(produce, range(4)))

    with client.consumer(korvet.bootstrap, log) as consumer:
        found = {record.offset: record.value for record in consumer.read(1200)}
    assert found == {
        each.offset: b"%d %d" % (mark, number)
        for mark, answers in enumerate(written)
        for number, each in enumerate(answers)
    }


def test_a_batch_larger_than_a_millisecond_has_room_for_is_consecutive(
    korvet: KorvetCluster, log: str, client: KafkaClient
) -> None:
    # Time offsets have room for 1024 records a millisecond; then they carry.
    values = [b"%04d" % number for number in range(5000)]

    with client.producer(korvet.bootstrap, linger=0.1) as producer:
        written = producer.send(log, [NewRecord(value) for value in values])

    with client.consumer(korvet.bootstrap, log) as consumer:
        found = consumer.read(len(values))
    assert [record.value for record in found] == values
    assert [record.offset for record in found] == [each.offset for each in written]


def test_a_message_of_5_mb_is_taken_where_the_topic_allows_it(
    korvet: KorvetCluster, topic: str, client: KafkaClient, layout: Mapping[str, str]
) -> None:
    configs = {**layout, "max.message.bytes": str(6 << 20)}
    create_topic(korvet.bootstrap, topic, configs=configs)
    large = random.Random(5).randbytes(5_000_000)

    with client.producer(korvet.bootstrap, max_bytes=6 << 20) as producer:
        producer.send(topic, [NewRecord(large), NewRecord(b"small")])

    with client.consumer(korvet.bootstrap, topic) as consumer:
        found = consumer.read(2)
    # Not compared as bytes: the report of a failure would be 10 MB long.
    assert [len(record.value or b"") for record in found] == [5_000_000, 5]
    assert hash(found[0].value) == hash(large)


def test_a_message_of_5_mb_is_refused_where_the_topic_does_not_allow_it(
    korvet: KorvetCluster, log: str, client: KafkaClient
) -> None:
    large = random.Random(5).randbytes(5_000_000)
    with client.producer(korvet.bootstrap, max_bytes=6 << 20) as producer:
        with pytest.raises(RefusedError) as refused:
            producer.send(log, [NewRecord(large)])
        producer.send(log, [NewRecord(b"small")])

    with client.consumer(korvet.bootstrap, log) as consumer:
        found = consumer.read(1)
    assert refused.value.code == _MESSAGE_TOO_LARGE
    assert [record.value for record in found] == [b"small"]
