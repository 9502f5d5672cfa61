"""The Java client, which names topics by their ids, beside the Python ones."""

import uuid
from collections.abc import Mapping
from typing import Final

import pytest

from tests.support.client_contract import CODECS, KafkaClient, NewRecord, ReadRecord
from tests.support.confluent_client import ConfluentClient
from tests.support.java_client import JavaClient, JavaMissingError, JavaPrograms, Write
from tests.support.kafka_clients import CLIENTS
from tests.support.korvet_process import KorvetCluster
from tests.support.layouts import LAYOUTS
from tests.support.topic_admin import create_topic

pytestmark = pytest.mark.e2e

_TIME: Final = 1_500_000_000_000
_RECORDS: Final = tuple(
    record._replace(timestamp_ms=_TIME + number * 37 % 100)
    for number, record in enumerate(
        [
            NewRecord(b"value", key=b"key"),
            NewRecord(b"", key=b""),
            NewRecord(None, key=b"a tombstone"),
            NewRecord(None),
            NewRecord(bytes(range(256)) * 40),
            NewRecord(b"v", headers=(("twice", b"1"), ("twice", b""), ("größe", None))),
        ]
    )
)


@pytest.fixture(scope="module")
def java(tmp_path_factory: pytest.TempPathFactory) -> JavaClient:
    try:
        return JavaClient(JavaPrograms(tmp_path_factory.mktemp("java")))
    except JavaMissingError as missing:
        pytest.skip(str(missing))


@pytest.fixture
def topics(korvet: KorvetCluster) -> Mapping[str, str]:
    """By layout."""
    names = {layout: f"java-{uuid.uuid4().hex}" for layout in LAYOUTS}
    for layout, configs in LAYOUTS.items():
        create_topic(korvet.bootstrap, names[layout], configs=configs)
    return names


def test_java_reads_what_another_client_wrote(
    korvet: KorvetCluster, java: JavaClient, topics: Mapping[str, str]
) -> None:
    expected: list[ReadRecord] = []
    client: KafkaClient = ConfluentClient()
    for topic in topics.values():
        for codec in CODECS:
            with client.producer(korvet.bootstrap, codec=codec) as producer:
                written = producer.send(topic, _RECORDS)
            expected += _expected([each.offset or 0 for each in written])

    count = len(CODECS) * len(_RECORDS)
    found = java.read(korvet.bootstrap, dict.fromkeys(topics.values(), count))

    assert found == expected


def test_every_client_reads_what_java_wrote(
    korvet: KorvetCluster, java: JavaClient, topics: Mapping[str, str]
) -> None:
    writes = [
        Write(topic, codec, record)
        for topic in topics.values()
        for codec in CODECS
        for record in _RECORDS
    ]

    offsets = java.write(korvet.bootstrap, writes)

    count = len(CODECS) * len(_RECORDS)
    for number, (layout, topic) in enumerate(topics.items()):
        told = offsets[number * count :][:count]
        for client in CLIENTS:
            with client.consumer(korvet.bootstrap, topic) as consumer:
                assert consumer.read(count) == _expected(told)
        if layout.endswith("dense"):
            assert told == list(range(count))


def test_java_administers_a_topic(
    korvet: KorvetCluster, java: JavaClient, topic: str
) -> None:
    found = java.administer(korvet.bootstrap, topic)

    assert found == {
        "listed": "true",
        "partitions": "3",
        "leader": "1",
        "retention.ms": "3600000",
        "retention.bytes": "5000",
        "maxTimestampIsLast": "true",
        "logDirs": "1",
        "emptied": "true",
        "nodes": "1",
        "quorum": "1",
        "stillListed": "false",
    }


def _expected(offsets: list[int]) -> list[ReadRecord]:
    """The records, once for each codec, at these offsets."""
    return [
        ReadRecord(
            partition=0,
            offset=offset,
            timestamp_ms=record.timestamp_ms or 0,
            is_append_time=False,
            key=record.key,
            value=record.value,
            headers=record.headers,
        )
        for offset, record in zip(
            offsets, [*_RECORDS] * (len(offsets) // len(_RECORDS)), strict=True
        )
    ]
