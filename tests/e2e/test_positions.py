"""Where a consumer can start, and what it finds there."""

import contextlib
import time
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Final

import pytest

from tests.support.client_contract import KafkaClient, NewRecord, ReadRecord, Start
from tests.support.korvet_process import KorvetCluster
from tests.support.topic_admin import create_topic, delete_records

pytestmark = pytest.mark.e2e

_TIME: Final = 1_700_000_000_000
# Long, so that records handed over together travel in one batch.
_LINGER: Final = 0.05


def test_a_consumer_can_start_at_any_record(
    korvet: KorvetCluster, log: str, client: KafkaClient
) -> None:
    values = [b"%d" % number for number in range(60)]
    with client.producer(korvet.bootstrap, linger=_LINGER) as producer:
        written = [
            each
            for first in (0, 20, 40)
            for each in producer.send(log, [NewRecord(v) for v in values[first:][:20]])
        ]

    with client.consumer(korvet.bootstrap, log) as consumer:
        for index in (59, 0, 31, 20, 7, 39, 40):
            consumer.seek(0, _offset(written[index].offset))
            found = consumer.read(60 - index)

            assert [record.value for record in found] == values[index:]
            assert [record.offset for record in found] == [
                each.offset for each in written[index:]
            ]


def test_an_offset_in_a_gap_is_the_next_record(
    korvet: KorvetCluster, topic: str, client: KafkaClient
) -> None:
    create_topic(korvet.bootstrap, topic)
    with client.producer(korvet.bootstrap) as producer:
        (first,) = producer.send(topic, [NewRecord(b"first")])
        (second,) = producer.send(topic, [NewRecord(b"second")])

    start = _offset(first.offset) + 1
    assert start < _offset(second.offset), "no gap"
    with client.consumer(korvet.bootstrap, topic, start) as consumer:
        (found,) = consumer.read(1)

    assert (found.value, found.offset) == (b"second", second.offset)


def test_the_beginning_and_the_end_are_where_the_records_are(
    korvet: KorvetCluster, log: str, client: KafkaClient
) -> None:
    with (
        client.consumer(korvet.bootstrap, log) as consumer,
        client.producer(korvet.bootstrap) as producer,
    ):
        assert (consumer.beginning(), consumer.end()) == (0, 0)

        written = producer.send(log, [NewRecord(b"a"), NewRecord(b"b"), NewRecord(b"c")])

        first, _, last = (_offset(each.offset) for each in written)
        assert (consumer.beginning(), consumer.end()) == (first, last + 1)


def test_a_time_finds_the_first_record_at_or_after_it(
    korvet: KorvetCluster, log: str, client: KafkaClient
) -> None:
    # The clients' times, so not in the order of the log.
    times = [100, 300, 200, 250, 400, 150, 400, 900]
    records = [NewRecord(b"%d" % at, timestamp_ms=_TIME + at) for at in times]
    with client.producer(korvet.bootstrap, linger=_LINGER) as producer:
        written = producer.send(log, records[:5]) + producer.send(log, records[5:])

    with client.consumer(korvet.bootstrap, log) as consumer:
        found = {
            at: consumer.at_time(_TIME + at)
            for at in (-_TIME, 99, 100, 101, 250, 300, 301, 400, 401, 900, 901)
        }

    offsets = [each.offset for each in written]
    assert found == {
        -_TIME: offsets[0],
        99: offsets[0],
        100: offsets[0],
        101: offsets[1],
        250: offsets[1],
        300: offsets[1],
        301: offsets[4],
        400: offsets[4],
        401: offsets[7],
        900: offsets[7],
        901: None,
    }


def test_who_waits_at_an_empty_partition_gets_its_first_record(
    korvet: KorvetCluster, log: str, client: KafkaClient
) -> None:
    starts: tuple[Start, ...] = (0, "earliest", "latest")
    with contextlib.ExitStack() as stack:
        consumers = [
            stack.enter_context(client.consumer(korvet.bootstrap, log, start))
            for start in starts
        ]
        producer = stack.enter_context(client.producer(korvet.bootstrap))
        assert [consumer.read(1, within=0.1) for consumer in consumers] == [[], [], []]

        producer.send(log, [NewRecord(b"first")])

        found = [consumer.read(1) for consumer in consumers]
    assert [[record.value for record in records] for records in found] == [[b"first"]] * 3


def test_who_waits_at_an_emptied_partition_gets_the_next_record(
    korvet: KorvetCluster, log: str, client: KafkaClient
) -> None:
    with client.producer(korvet.bootstrap) as producer:
        written = producer.send(log, [NewRecord(b"a"), NewRecord(b"b")])
        end = _offset(written[-1].offset) + 1
        delete_records(korvet.bootstrap, log, before=end)

        with client.consumer(korvet.bootstrap, log, "earliest") as consumer:
            assert (consumer.beginning(), consumer.end()) == (end, end)
            assert consumer.read(1, within=0.2) == []
            producer.send(log, [NewRecord(b"c")])
            (found,) = consumer.read(1)

    assert found.value == b"c"


def test_a_waiting_fetch_is_woken_by_a_produce(
    korvet: KorvetCluster, log: str, client: KafkaClient
) -> None:
    max_wait = 10.0
    with (
        client.producer(korvet.bootstrap, linger=0.0) as producer,
        client.consumer(korvet.bootstrap, log, 0, max_wait=max_wait) as consumer,
        ThreadPoolExecutor(1) as pool,
    ):
        for number in range(3):
            reading = pool.submit(consumer.read, 1)
            # So that the fetch is there before the record; nothing depends on it.
            time.sleep(0.1)
            producer.send(log, [NewRecord(b"%d" % number)])
            acknowledged = time.monotonic()

            (found,) = reading.result()

            assert found.value == b"%d" % number
            assert time.monotonic() - acknowledged < max_wait / 5


def test_records_with_keys_keep_their_order_over_many_partitions(
    korvet: KorvetCluster, topic: str, client: KafkaClient, layout: Mapping[str, str]
) -> None:
    partitions = 32
    create_topic(korvet.bootstrap, topic, partitions=partitions, configs=layout)
    records = [
        NewRecord(b"%d" % number, key=b"key-%d" % (number % 100), partition=None)
        for number in range(1000)
    ]

    with client.producer(korvet.bootstrap) as producer:
        written = producer.send(topic, records)
    starts: dict[int, Start] = dict.fromkeys(range(partitions), "earliest")
    with client.consumer(korvet.bootstrap, topic, starts) as consumer:
        found = consumer.read(len(records))

    assert _by_partition(found) == {
        partition: [
            (each.offset, record.key, record.value)
            for record, each in zip(records, written, strict=True)
            if each.partition == partition
        ]
        for partition in {each.partition for each in written}
    }
    assert len(_by_partition(found)) > partitions / 2


def _by_partition(
    records: list[ReadRecord],
) -> dict[int, list[tuple[int, bytes | None, bytes | None]]]:
    found: dict[int, list[tuple[int, bytes | None, bytes | None]]] = {}
    for record in records:
        of_partition = found.setdefault(record.partition, [])
        of_partition.append((record.offset, record.key, record.value))
    return found


def _offset(offset: int | None) -> int:
    assert offset is not None
    return offset
