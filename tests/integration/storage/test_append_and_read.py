"""What is appended is read back exactly, and lies in Redis as documented."""

import gzip
from collections.abc import AsyncIterator
from itertools import pairwise
from typing import Any

import pytest

from korvet.kafka.compression import CODEC_NAMES, CODECS, decompress
from korvet.kafka.errors import ErrorCode
from korvet.kafka.records import Headers, Record, build_batch, split_batches
from korvet.proto.storage.v1 import storage_service_pb2 as pb
from korvet.storage.find_offsets import Special
from korvet.storage.record_arguments import to_arguments
from korvet.storage.topic_configs import ConfigChange
from tests.support.log_replica import (
    KEYS,
    LAYOUTS,
    LogReplica,
    batch_of,
    batch_of_records,
    log_replica_on,
    records_in,
    ref,
)
from tests.support.redis_server import RedisServer
from tests.support.written_entries import entries_of

pytestmark = pytest.mark.integration

NOW = 1_700_000_000_000
STREAM = KEYS.stream("orders", 0)
PARTITION = KEYS.partition("orders", 0)

# Whatever may differ between absent, empty, repeated and binary.
ODD_RECORDS: list[tuple[int, bytes | None, bytes | None, Headers]] = [
    (NOW, b"key", b"value", []),
    (NOW + 5, None, b"value", []),
    (NOW - 5, b"key", None, []),
    (NOW, None, None, []),
    (NOW, b"", b"", []),
    (NOW, b"\x00\xff", bytes(range(256)), [("h", b"1")]),
    (NOW, b"k", b"v", [("b", b"2"), ("a", b"1"), ("b", None), ("b", b""), ("", b"3")]),
    (NOW, b"k", b"v", [("value", b"x"), ("header.a", b"y"), ("ключ", b"z")]),
    (0, b"k", b"large " * 2000, [("codec", b"lz4")]),
    (-1, b"k", b"no timestamp", []),
]


@pytest.fixture
async def replica(redis_server: RedisServer) -> AsyncIterator[LogReplica]:
    async with log_replica_on(redis_server) as replica:
        yield replica


def odd_batch(codec: int = 0) -> bytes:
    records = [(index, *record) for index, record in enumerate(ODD_RECORDS)]
    return build_batch(records, base_offset=0, codec=codec)


def as_appended(base: int) -> list[Record]:
    return [Record(base + index, *record) for index, record in enumerate(ODD_RECORDS)]


@pytest.mark.parametrize("codec", CODEC_NAMES)
@pytest.mark.parametrize("layout", LAYOUTS)
async def test_records_are_read_back_exactly(
    replica: LogReplica, layout: str, codec: str
) -> None:
    await replica.create(configs=LAYOUTS[layout])

    first = await replica.appended(odd_batch(CODECS[codec]))
    second = await replica.appended(odd_batch())

    assert await replica.read_all(0) == as_appended(first) + as_appended(second)
    assert await replica.read_all(second) == as_appended(second)
    decoded = await replica.read(first, decoded=True)
    assert [record_of(r) for r in decoded.records] == (
        as_appended(first) + as_appended(second)
    )


@pytest.mark.parametrize("layout", LAYOUTS)
async def test_records_without_a_batch_are_read_back_exactly(
    replica: LogReplica, layout: str
) -> None:
    await replica.create(configs=LAYOUTS[layout])
    given = [message_of(Record(0, *record)) for record in ODD_RECORDS]
    append = pb.PartitionAppend(topic=ref("orders"), records=pb.RecordSet(records=given))

    response = await replica.appends.append(pb.AppendRequest(partitions=[append]))

    base = response.partitions[0].base_offset
    assert response.partitions[0].error_code == ErrorCode.NONE
    assert await replica.read_all(0) == as_appended(base)


def record_of(message: pb.Record) -> Record:
    return Record(
        message.offset,
        message.timestamp_ms,
        message.key if message.HasField("key") else None,
        message.value if message.HasField("value") else None,
        [(h.name, h.value if h.HasField("value") else None) for h in message.headers],
    )


def message_of(record: Record) -> pb.Record:
    message = pb.Record(timestamp_ms=record.timestamp, key=record.key, value=record.value)
    for name, value in record.headers:
        message.headers.add(name=name, value=value)
    return message


# --- how it lies in Redis ---


async def test_a_record_lies_in_redis_as_documented(
    replica: LogReplica, redis_server: RedisServer
) -> None:
    await replica.create()
    batch = build_batch(
        [
            (0, 1234567890000, b"order-123", b'{"quantity": 5}',
             [("source", b"web"), ("version", b"1.0"), ("note", None)]),
            (1, 1234567891000, b"order-124", None, []),
            (2, 1234567892000, None, b"", []),
        ],
        base_offset=0,
    )  # fmt: skip

    base = await replica.appended(batch)

    milliseconds, sequence = base >> 10, base & 1023
    assert raw_entries(redis_server) == [
        [
            f"{milliseconds}-{sequence}".encode(),
            [
                b"key", b"order-123",
                b"value", b'{"quantity": 5}',
                b"timestamp", b"1234567890000",
                b"header.source", b"web",
                b"header.version", b"1.0",
                b"nullheader.note", b"",
            ],
        ],
        [
            f"{milliseconds}-{sequence + 1}".encode(),
            [b"key", b"order-124", b"timestamp", b"1234567891000"],
        ],
        [
            f"{milliseconds}-{sequence + 2}".encode(),
            [b"value", b"", b"timestamp", b"1234567892000"],
        ],
    ]  # fmt: skip


def raw_entries(redis_server: RedisServer) -> list[list[Any]]:
    """As Redis has them: redis-py would make dictionaries of the fields."""
    script = "return redis.call('XRANGE', KEYS[1], '-', '+')"
    with redis_server.client() as client:
        entries: list[list[Any]] = client.execute_command("EVAL", script, 1, STREAM)
    return entries


async def test_large_values_lie_in_redis_compressed_where_that_helps(
    replica: LogReplica, redis_server: RedisServer
) -> None:
    incompressible = gzip.compress(bytes(range(256)) * 40, mtime=0)[:1100] * 1
    records = [(NOW, b"k", value) for value in (b"x" * 2000, b"x" * 1023, incompressible)]
    await replica.create("orders")
    await replica.create("plain", configs={"storage.compression": "none"})
    for topic in ("orders", "plain"):
        await replica.appended(batch_of_records(records), topic)

    with redis_server.client() as client:
        compressed: Any = client.xrange(STREAM)
        plain: Any = client.xrange(KEYS.stream("plain", 0))
    assert compressed[0][1][b"codec"] == b"lz4"
    packed = memoryview(compressed[0][1][b"value"])
    assert decompress(CODECS["lz4"], packed, 10_000, 0, 0) == b"x" * 2000
    assert b"codec" not in compressed[1][1]
    assert all(b"codec" not in fields for _, fields in plain)
    assert [fields[b"value"] for _, fields in plain] == [value for _, _, value in records]


async def test_a_batch_lies_in_redis_as_it_was_sent_under_its_last_offset(
    replica: LogReplica, redis_server: RedisServer
) -> None:
    await replica.create(configs={"storage.format": "batch", "offset.encoding": "dense"})
    sent = odd_batch(CODECS["zstd"])

    base = await replica.appended(sent)

    with redis_server.client() as client:
        assert client.xrange(STREAM) == [(b"%d-0" % len(ODD_RECORDS), {b"batch": sent})]
    assert base == 0


# --- offsets ---


@pytest.mark.parametrize("bits", ["1", "3", "20"])
@pytest.mark.parametrize("storage_format", ["record", "batch"])
async def test_offsets_of_a_batch_are_consecutive_over_the_sequences_end(
    replica: LogReplica, storage_format: str, bits: str
) -> None:
    configs = {"storage.format": storage_format, "offset.sequence.bits": bits}
    await replica.create(configs=configs)

    bases = [await replica.appended(batch_of(40)) for _ in range(5)]

    records = await replica.read_all(0)
    assert [r.offset for r in records] == [b + i for b in bases for i in range(40)]
    assert all(later >= base + 40 for base, later in pairwise(bases))


@pytest.mark.parametrize("storage_format", ["record", "batch"])
async def test_a_clock_that_steps_back_gives_no_offset_again(
    replica: LogReplica, redis_server: RedisServer, storage_format: str
) -> None:
    topic = await replica.create(configs={"storage.format": storage_format})
    await replica.appended(batch_of(3))
    with redis_server.client() as client:
        # Far ahead of the clock, and in the middle of a full millisecond.
        client.hset(PARTITION, "last", "4102444800000-1020")
    ahead = topic.config.encoding.offset(b"4102444800000-1020")

    first = await replica.appended(batch_of(10))
    second = await replica.appended(batch_of(10))

    assert (first, second) == (ahead + 1, ahead + 11)
    assert [r.offset for r in await replica.read_all(ahead)] == [
        *range(ahead + 1, ahead + 21)
    ]


async def test_dense_offsets_count_from_zero(replica: LogReplica) -> None:
    await replica.create(configs={"offset.encoding": "dense"})

    assert [await replica.appended(batch_of(3)) for _ in range(3)] == [0, 3, 6]
    assert (await replica.describe()).high_watermark == 9


# The digits of ids, and with one bit also the milliseconds, change within batches.
@pytest.mark.parametrize(
    "configs",
    [
        {"offset.encoding": "dense", "storage.format": "record"},
        {"offset.encoding": "dense", "storage.format": "batch"},
        {"offset.sequence.bits": "1", "storage.format": "record"},
        {"offset.sequence.bits": "10", "storage.format": "record"},
    ],
    ids=["dense-record", "dense-batch", "1-bit", "10-bits"],
)
async def test_the_records_of_a_batch_have_consecutive_offsets(
    replica: LogReplica, configs: dict[str, str]
) -> None:
    await replica.create(configs=configs)
    counts = (7, 1, 1, 1, 9, 80, 1, 2, 899, 30, 1100)

    bases = [await replica.appended(batch_of(count)) for count in counts]

    expected = [
        base + place
        for base, count in zip(bases, counts, strict=True)
        for place in range(count)
    ]
    assert [r.offset for r in await replica.read_all(0)] == expected
    if configs.get("offset.encoding") == "dense":
        assert expected == list(range(sum(counts)))


SHAPES: dict[str, list[tuple[int, bytes | None, bytes | None, Headers]]] = {
    "values": [(NOW, None, b"%d" % n, []) for n in range(12)],
    "keys": [(NOW + n // 6, b"%d" % n, b"", []) for n in range(12)],
    "a time each": [(NOW + n, b"%d" % n, b"v", []) for n in range(12)],
    "headers": [(NOW, None, b"%d" % n, [("a", b"%d" % n), ("a", b"")]) for n in range(12)],
    "headers, a time each": [(NOW - n, b"k", b"v", [("a", b"%d" % n)]) for n in range(12)],
    "odd": ODD_RECORDS,
}


@pytest.mark.parametrize("kind", ["CreateTime", "LogAppendTime"])
@pytest.mark.parametrize("shape", SHAPES)
async def test_records_of_any_shape_are_written_in_the_documented_fields(
    replica: LogReplica, redis_server: RedisServer, shape: str, kind: str
) -> None:
    await replica.create(
        configs={"offset.encoding": "dense", "message.timestamp.type": kind}
    )
    records = [Record(place, *record) for place, record in enumerate(SHAPES[shape])]

    await replica.appended(build_batch(records, base_offset=0))

    found = raw_entries(redis_server)
    if kind == "LogAppendTime":
        stamps = [fields[-2:] for _, fields in found]
        assert stamps[0][0] == b"appended"
        assert stamps == [stamps[0]] * len(found)
        found = [[entry_id, fields[:-2]] for entry_id, fields in found]
    expected = entries_of(to_arguments(records, CODECS["lz4"]))
    assert found == [list(entry) for entry in expected]


# --- time of the append, and compression ---


@pytest.mark.parametrize("layout", LAYOUTS)
async def test_log_append_time_replaces_the_producers_timestamps(
    replica: LogReplica, layout: str
) -> None:
    await replica.create(
        configs={**LAYOUTS[layout], "message.timestamp.type": "LogAppendTime"}
    )
    answers = [await replica.append(batch_of(2)) for _ in range(2)]
    times = [answer.log_append_time_ms for answer in answers for _ in range(2)]

    data = await replica.read(0)
    decoded = await replica.read(0, decoded=True)
    found = await replica.find(times[0])

    assert abs(times[0] - NOW) > 1_000_000
    assert all(header.is_log_append_time for header, _ in split_batches(data.batches))
    assert [r.timestamp for r in records_in(data.batches)] == times
    assert [r.timestamp_ms for r in decoded.records] == times
    assert (found.offset, found.timestamp_ms) == (answers[0].base_offset, times[0])
    assert (await replica.find(times[-1] + 1)).offset == -1


@pytest.mark.parametrize("layout", LAYOUTS)
async def test_the_timestamp_type_may_change_in_the_middle_of_a_log(
    replica: LogReplica, layout: str
) -> None:
    await replica.create(configs=LAYOUTS[layout])
    times = []
    for kind in ("CreateTime", "LogAppendTime", "CreateTime"):
        change = pb.CONFIG_OPERATION_SET
        await replica.catalogue.alter_configs(
            "orders", [ConfigChange("message.timestamp.type", change, kind)]
        )
        answer = await replica.append(batch_of(1))
        times.append(NOW if kind == "CreateTime" else answer.log_append_time_ms)
        assert (answer.log_append_time_ms == -1) == (kind == "CreateTime")

    assert [r.timestamp for r in await replica.read_all(0)] == times


@pytest.mark.parametrize("wanted", ["none", "producer", "zstd", "gzip"])
@pytest.mark.parametrize("storage_format", ["record", "batch"])
async def test_consumers_get_the_topics_compression(
    replica: LogReplica, storage_format: str, wanted: str
) -> None:
    configs = {"storage.format": storage_format, "compression.type": wanted}
    await replica.create(configs=configs)
    base = await replica.appended(odd_batch(CODECS["lz4"]))

    batches = (await replica.read(0)).batches

    as_sent = "lz4" if storage_format == "batch" else "none"
    expected = wanted if wanted in ("zstd", "gzip") else as_sent
    assert [h.codec for h, _ in split_batches(batches)] == [CODECS[expected]]
    assert records_in(batches) == as_appended(base)


# --- what other programs write ---


async def test_entries_of_other_programs_are_read_as_far_as_they_go(
    replica: LogReplica, redis_server: RedisServer
) -> None:
    await replica.create()
    with redis_server.client() as client:
        for fields in (
            {"anything": "else"},
            {"value": "v", "timestamp": "soon"},
            {"value": "v", "timestamp": "9" * 30},
            {"key": "k", "value": "not lz4", "codec": "lz4"},
            {"value": "v", "codec": "unheard of"},
            {"header.\udcff".encode(errors="surrogateescape"): "x"},
        ):
            client.xadd(STREAM, fields)
        client.xadd(STREAM, {"value": "beyond the bits"}, id="4102444800000-99999")
        client.hset(PARTITION, "last", "4102444800001-0")

    records = await replica.read_all(0)

    assert [r.value for r in records] == [None, b"v", b"v", b"not lz4", b"v", None]
    assert [r.timestamp for r in records] == [-1] * 6
    await replica.appended(batch_of(1))
    assert len(await replica.read_all(0)) == 7


async def test_entries_that_are_no_batches_are_passed_over(
    replica: LogReplica, redis_server: RedisServer
) -> None:
    await replica.create(configs={"storage.format": "batch"})
    with redis_server.client() as client:
        client.xadd(STREAM, {"anything": "else"})
        client.xadd(STREAM, {"batch": "too short"})
        client.xadd(STREAM, {"batch": "long enough for a header, but not a batch" * 3})
        client.hset(PARTITION, "last", "4102444800001-0")

    base = await replica.appended(batch_of(3))

    assert [r.offset for r in await replica.read_all(0)] == [base, base + 1, base + 2]
    assert (await replica.find(NOW)).offset == base
    earliest = await replica.find(Special.EARLIEST)
    assert earliest.error_code == ErrorCode.NONE
    assert earliest.offset <= base


@pytest.mark.parametrize("name", ["orders", "nowhere"])
async def test_redis_is_asked_once_for_what_a_request_names_in_vain(
    replica: LogReplica, redis_server: RedisServer, name: str
) -> None:
    await replica.create()
    appends = [
        pb.PartitionAppend(topic=ref(name), partition=partition, batch=batch_of(1))
        for partition in range(1, 501)
    ]
    with redis_server.client() as client:
        before = client.info("stats")["total_commands_processed"]

        response = await replica.appends.append(pb.AppendRequest(partitions=appends))

        asked = client.info("stats")["total_commands_processed"] - before
    codes = {partition.error_code for partition in response.partitions}
    assert codes == {ErrorCode.UNKNOWN_TOPIC_OR_PARTITION}
    assert asked < 50
