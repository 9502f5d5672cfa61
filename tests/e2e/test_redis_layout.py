"""The log as any Redis client sees it: a promise to those who read it with XRANGE."""

import base64
import shutil
import socket
import subprocess
from collections.abc import Sequence
from typing import Final, TypeAlias

import hiredis
import pytest

from korvet.kafka.compression import CODECS, decompress
from korvet.kafka.records import read_header, read_records
from tests.support.client_contract import KafkaClient, NewRecord, Written
from tests.support.confluent_client import ConfluentClient
from tests.support.korvet_process import KorvetCluster
from tests.support.topic_admin import create_topic
from tests.support.wire_client import WireClient

pytestmark = pytest.mark.e2e

Entry: TypeAlias = tuple[str, list[bytes]]

_REDIS_CLI: Final = shutil.which("redis-cli")
_TIME: Final = 1_234_567_890_000
_BITS: Final = 10
_ORDER: Final = b'{"product":"widget","quantity":5}'
_RECORDS: Final = (
    NewRecord(_ORDER, key=b"order-123", headers=(("source", b"web"), ("version", b"1.0"))),
    NewRecord(b"", key=b"order-124"),
    NewRecord(None, key=b"order-125"),
    NewRecord(b"no key"),
    NewRecord(bytes(range(256)), key=b"", headers=(("a", b"1"), ("b", b""), ("a", b"2"))),
)
_FIELDS: Final = (
    [
        *(b"key", b"order-123", b"value", _ORDER, b"timestamp", b"1234567890000"),
        *(b"header.source", b"web", b"header.version", b"1.0"),
    ],
    [b"key", b"order-124", b"value", b"", b"timestamp", b"1234567890001"],
    [b"key", b"order-125", b"timestamp", b"1234567890002"],
    [b"value", b"no key", b"timestamp", b"1234567890003"],
    [
        *(b"key", b"", b"value", bytes(range(256)), b"timestamp", b"1234567890004"),
        *(b"header.a", b"1", b"header.b", b"", b"header.a", b"2"),
    ],
)


def test_a_record_is_an_entry_with_the_documented_fields(
    korvet: KorvetCluster, topic: str, client: KafkaClient
) -> None:
    create_topic(korvet.bootstrap, topic)

    written = _produce(korvet, topic, client, _RECORDS)

    found = _xrange(korvet, f"korvet:stream:{topic}:0")
    assert [fields for _, fields in found] == [*_FIELDS]
    assert [entry_id for entry_id, _ in found] == [
        f"{each >> _BITS}-{each & ((1 << _BITS) - 1)}" for each in _offsets(written)
    ]


def test_the_entries_of_a_dense_topic_are_numbered_from_one(
    korvet: KorvetCluster, topic: str, client: KafkaClient
) -> None:
    create_topic(korvet.bootstrap, topic, configs={"offset.encoding": "dense"})

    _produce(korvet, topic, client, _RECORDS)

    found = _xrange(korvet, f"korvet:stream:{topic}:0")
    assert [fields for _, fields in found] == [*_FIELDS]
    assert [entry_id for entry_id, _ in found] == ["1-0", "2-0", "3-0", "4-0", "5-0"]


@pytest.mark.skipif(_REDIS_CLI is None, reason="there is no redis-cli on this machine")
def test_redis_cli_shows_the_log(korvet: KorvetCluster, topic: str) -> None:
    create_topic(korvet.bootstrap, topic, configs={"offset.encoding": "dense"})
    _produce(korvet, topic, ConfluentClient(), _RECORDS[:2])

    command = [str(_REDIS_CLI), "-p", str(korvet.redis.port)]
    command += ["XRANGE", f"korvet:stream:{topic}:0", "-", "+"]
    shown = subprocess.run(command, capture_output=True, check=True, timeout=10).stdout

    expected = [b"1-0", *_FIELDS[0], b"2-0", *_FIELDS[1]]
    assert shown.splitlines() == expected


def test_a_null_header_value_has_a_field_name_of_its_own(
    korvet: KorvetCluster, topic: str
) -> None:
    create_topic(korvet.bootstrap, topic)
    headers = (("a", None), ("a", b""), ("b", None))

    _produce(korvet, topic, ConfluentClient(), [NewRecord(b"v", headers=headers)])

    ((_, fields),) = _xrange(korvet, f"korvet:stream:{topic}:0")
    assert fields[:4] == [b"value", b"v", b"timestamp", b"1234567890000"]
    assert fields[4:] == [b"nullheader.a", b"", b"header.a", b"", b"nullheader.b", b""]


@pytest.mark.parametrize("codec", ["none", "gzip", "snappy", "lz4", "zstd"])
def test_only_large_values_are_compressed_and_say_so(
    korvet: KorvetCluster, topic: str, codec: str
) -> None:
    create_topic(korvet.bootstrap, topic, configs={"storage.compression": codec})
    small, large = b"x" * 1023, b"x" * 1024

    _produce(korvet, topic, ConfluentClient(), [NewRecord(small), NewRecord(large)])

    (_, plain), (_, packed) = _xrange(korvet, f"korvet:stream:{topic}:0")
    assert plain == [b"value", small, b"timestamp", b"1234567890000"]
    if codec == "none":
        assert packed == [b"value", large, b"timestamp", b"1234567890001"]
    else:
        named = dict(zip(packed[::2], packed[1::2], strict=True))
        assert named.keys() == {b"value", b"codec", b"timestamp"}
        assert named[b"codec"] == codec.encode()
        value = memoryview(named[b"value"])
        assert len(value) < len(large)
        assert bytes(decompress(CODECS[codec], value, 2048, 0, 0)) == large


def test_log_append_time_is_a_field_beside_the_clients_timestamp(
    korvet: KorvetCluster, topic: str
) -> None:
    configs = {"message.timestamp.type": "LogAppendTime"}
    create_topic(korvet.bootstrap, topic, configs=configs)

    _produce(korvet, topic, ConfluentClient(), [NewRecord(b"v")])

    ((entry_id, fields),) = _xrange(korvet, f"korvet:stream:{topic}:0")
    named = dict(zip(fields[::2], fields[1::2], strict=True))
    assert named == {
        b"value": b"v",
        b"timestamp": b"1234567890000",
        b"appended": entry_id.split("-")[0].encode(),
    }


@pytest.mark.parametrize("encoding", ["time", "dense"])
def test_a_batch_is_an_entry_under_its_last_offset(
    korvet: KorvetCluster, topic: str, client: KafkaClient, encoding: str
) -> None:
    configs = {"storage.format": "batch", "offset.encoding": encoding}
    create_topic(korvet.bootstrap, topic, configs=configs)

    written = _offsets(_produce(korvet, topic, client, _RECORDS))

    found = _xrange(korvet, f"korvet:stream:{topic}:0")
    assert len(found) < len(_RECORDS), "the client sent no batch of several records"
    assert {fields[0] for _, fields in found} == {b"batch"}
    batches = [fields[1] for _, fields in found]
    records = [record for batch in batches for record in read_records(batch, 1 << 20)]
    assert [(r.key, r.value) for r in records] == [(r.key, r.value) for r in _RECORDS]
    last = -1
    for (entry_id, _), batch in zip(found, batches, strict=True):
        last += read_header(batch).last_offset_delta + 1
        left, right = map(int, entry_id.split("-"))
        offset = left - 1 if encoding == "dense" else (left << _BITS) | right
        assert offset == written[last]


@pytest.mark.parametrize("storage_format", ["record", "batch"])
def test_entries_that_are_no_records_do_not_keep_readers_from_those_behind_them(
    korvet: KorvetCluster, topic: str, client: KafkaClient, storage_format: str
) -> None:
    create_topic(korvet.bootstrap, topic, configs={"storage.format": storage_format})
    stream = f"korvet:stream:{topic}:0"
    _produce(korvet, topic, client, _RECORDS[:2])
    (last, _), *_ = reversed(_xrange(korvet, stream))
    with korvet.redis.client() as redis, redis.pipeline() as pipe:
        for number in range(2000):
            # No offset has so large a sequence.
            pipe.xadd(
                stream, {"hello": "world"}, id=f"{last.split('-')[0]}-{5000 + number}"
            )
        pipe.execute()
    _produce(korvet, topic, client, _RECORDS[2:])

    with client.consumer(korvet.bootstrap, topic) as consumer:
        found = consumer.read(len(_RECORDS))

    assert [(r.key, r.value) for r in found] == [(r.key, r.value) for r in _RECORDS]


def test_a_topic_is_in_the_documented_keys(korvet: KorvetCluster, topic: str) -> None:
    configs = {"retention.ms": "3600000", "retention.bytes": "1000000"}
    create_topic(korvet.bootstrap, topic, partitions=3, configs=configs)
    with WireClient(korvet.bootstrap) as wire:
        topic_id = wire.find_topic(topic).topic_id

    with korvet.redis.client() as client:
        fields = client.hgetall(f"korvet:topic:{topic}")
        is_listed = client.sismember("korvet:topics", topic)
        names = client.hgetall("korvet:topic-ids")
        streams = client.keys(f"korvet:stream:{topic}:*")

    # As Kafka's own tools write a topic's id.
    shown_id = base64.urlsafe_b64encode(topic_id).rstrip(b"=")
    assert is_listed
    assert names[shown_id] == topic.encode()
    expected = {
        b"id": shown_id,
        b"name": topic.encode(),
        b"partitions": b"3",
        b"retentionTime": b"3600000",
        b"retentionBytes": b"1000000",
        b"compression": b"none",
        b"valueType": b"BYTES",
        b"offsetSequenceBits": b"10",
    }
    assert {name: fields.get(name) for name in expected} == expected
    assert int(fields[b"messageBytes"]) >= 0
    # Streams are made by their first record.
    assert streams == []


def _produce(
    korvet: KorvetCluster,
    topic: str,
    client: KafkaClient,
    records: Sequence[NewRecord],
) -> list[Written]:
    timed = [r._replace(timestamp_ms=_TIME + number) for number, r in enumerate(records)]
    with client.producer(korvet.bootstrap, linger=0.05) as producer:
        return producer.send(topic, timed)


def _xrange(korvet: KorvetCluster, key: str) -> list[Entry]:
    """Every entry, with its fields in their order and with duplicates."""
    # A bare connection: client libraries make dictionaries of the fields.
    reader = hiredis.Reader()
    address = (korvet.redis.host, korvet.redis.port)
    with socket.create_connection(address, timeout=10) as connection:
        connection.sendall(f"XRANGE {key} - +\r\n".encode())
        while (found := reader.gets()) is False:
            reader.feed(connection.recv(1 << 16))
    return [(entry_id.decode(), fields) for entry_id, fields in found]


def _offsets(written: list[Written]) -> list[int]:
    return [each.offset for each in written if each.offset is not None]
