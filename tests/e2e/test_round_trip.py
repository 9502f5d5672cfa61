"""What any client wrote, in any codec, every client reads back byte for byte."""

import json
import random
import uuid
from collections.abc import Mapping
from typing import Final, NamedTuple

import pytest

from tests.support.client_contract import (
    CODECS,
    KafkaClient,
    NewRecord,
    ReadRecord,
    Written,
)
from tests.support.confluent_client import ConfluentClient
from tests.support.kafka_clients import CLIENTS
from tests.support.korvet_process import KorvetCluster
from tests.support.layouts import LAYOUTS, layout_name
from tests.support.topic_admin import create_topic

_NOISE: Final = random.Random(7).randbytes(3000)
_TEXT: Final = json.dumps([{"order": n, "item": "two apples"} for n in range(90)]).encode()
# Long ago, and not in order: it is the client's word, not ours.
_TIME: Final = 1_500_000_000_000


class _Log(NamedTuple):
    topic: str
    written: list[ReadRecord]


@pytest.fixture(scope="module")
def logs(korvet: KorvetCluster) -> Mapping[str, _Log]:
    """By layout: a topic that every client has written to in every codec."""
    found = {name: _Log(f"trip-{uuid.uuid4().hex}", []) for name in LAYOUTS}
    for name, configs in LAYOUTS.items():
        create_topic(korvet.bootstrap, found[name].topic, configs=configs)
    for client in CLIENTS:
        for codec in CODECS:
            with client.producer(korvet.bootstrap, codec=codec) as producer:
                for log in found.values():
                    records = _records(client, codec)
                    written = producer.send(log.topic, records)
                    log.written.extend(map(_expected, records, written))
    return found


def test_every_client_reads_what_every_client_wrote(
    korvet: KorvetCluster,
    logs: Mapping[str, _Log],
    client: KafkaClient,
    layout: Mapping[str, str],
) -> None:
    log = logs[layout_name(layout)]

    with client.consumer(korvet.bootstrap, log.topic) as consumer:
        found = consumer.read(len(log.written))
        beyond = consumer.read(1, within=0.2)

    assert found == log.written
    assert beyond == []


def test_producers_are_told_offsets_that_only_grow(
    logs: Mapping[str, _Log], layout: Mapping[str, str]
) -> None:
    offsets = [record.offset for record in logs[layout_name(layout)].written]

    assert offsets == sorted(set(offsets))


def test_dense_offsets_are_0_1_2(logs: Mapping[str, _Log]) -> None:
    for storage_format in ("record", "batch"):
        written = logs[f"{storage_format}-dense"].written

        assert [record.offset for record in written] == list(range(len(written)))


def test_records_of_a_log_append_time_topic_have_the_time_of_their_append(
    korvet: KorvetCluster, topic: str, client: KafkaClient, layout: Mapping[str, str]
) -> None:
    configs = {**layout, "message.timestamp.type": "LogAppendTime"}
    create_topic(korvet.bootstrap, topic, configs=configs)
    before = _redis_time_ms(korvet)

    with client.producer(korvet.bootstrap, codec="gzip") as producer:
        producer.send(topic, [NewRecord(b"a", timestamp_ms=_TIME), NewRecord(b"b")])

    after = _redis_time_ms(korvet)
    with client.consumer(korvet.bootstrap, topic) as consumer:
        found = consumer.read(2)
        at_append = consumer.at_time(found[0].timestamp_ms)
    assert [record.value for record in found] == [b"a", b"b"]
    assert [record.is_append_time for record in found] == [True, True]
    times = [record.timestamp_ms for record in found]
    assert before <= times[0] <= times[1] <= after
    assert at_append == found[0].offset


@pytest.mark.parametrize("codec", [*CODECS, "uncompressed"])
def test_a_topic_with_a_codec_of_its_own_returns_the_same_records(
    korvet: KorvetCluster, topic: str, layout: Mapping[str, str], codec: str
) -> None:
    configs = {**layout, "compression.type": codec}
    if codec in CODECS:
        configs["storage.compression"] = codec
    create_topic(korvet.bootstrap, topic, configs=configs)
    writer = ConfluentClient()
    records = _records(writer, codec)

    # On the way it has another codec, most of the time.
    with writer.producer(korvet.bootstrap, codec="lz4") as producer:
        expected = list(map(_expected, records, producer.send(topic, records)))

    for reader in CLIENTS:
        with reader.consumer(korvet.bootstrap, topic) as consumer:
            assert consumer.read(len(expected)) == expected


def _records(client: KafkaClient, codec: str) -> list[NewRecord]:
    """One of each kind that this client can write."""
    mark = f"{client.name} {codec}".encode()
    records = [
        NewRecord(mark, key=b"key"),
        NewRecord(mark),
        NewRecord(b"", key=b""),
        NewRecord(b"", key=b"only the value is empty"),
        NewRecord(b"only the key is empty", key=b""),
        NewRecord(None, key=b"a tombstone"),
        NewRecord(mark + bytes(range(256)), key=bytes(range(255, -1, -1))),
        NewRecord(_NOISE, key=b"does not compress"),
        NewRecord(_TEXT, key=_TEXT),
        NewRecord(bytes(20_000), key=b"compresses well"),
        NewRecord(
            mark,
            headers=(("twice", b"1"), ("other", b""), ("twice", b"2"), ("twice", b"1")),
        ),
        NewRecord(mark, headers=(("", b"no name"), ("größe: 大", bytes(range(256))))),
        NewRecord(mark, headers=tuple((f"h{n}", _TEXT[: n * 40]) for n in range(50))),
    ]
    # kafka-python refuses null header values; the others, records without key and value.
    if client.name != "kafka-python":
        null_headers = (("null", None), ("null", b""), ("null", None))
        records.append(NewRecord(mark, headers=null_headers))
    if client.name == "confluent":
        records.append(NewRecord(None))
    return [
        record._replace(timestamp_ms=_TIME + (number * 7919) % 1000)
        for number, record in enumerate(records)
    ]


def _expected(record: NewRecord, written: Written) -> ReadRecord:
    assert written.offset is not None
    assert record.timestamp_ms is not None
    return ReadRecord(
        partition=written.partition,
        offset=written.offset,
        timestamp_ms=record.timestamp_ms,
        is_append_time=False,
        key=record.key,
        value=record.value,
        headers=record.headers,
    )


def _redis_time_ms(korvet: KorvetCluster) -> int:
    with korvet.redis.client() as redis:
        seconds, microseconds = redis.time()
    return int(seconds) * 1000 + int(microseconds) // 1000
