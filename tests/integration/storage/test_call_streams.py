"""AppendStream and Tail: many calls at once over one stream."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any, cast

import pytest

from korvet.kafka.errors import ErrorCode
from korvet.proto.storage.v1 import storage_service_pb2 as pb
from korvet.storage.find_offsets import Special
from tests.support.call_streams import AppendStream, append_call, running
from tests.support.eventually import eventually
from tests.support.log_replica import (
    LAYOUTS,
    LogReplica,
    batch_of,
    batch_of_records,
    log_replica_on,
    ref,
)
from tests.support.redis_server import RedisServer

pytestmark = pytest.mark.integration


@pytest.fixture
async def replica(redis_server: RedisServer) -> AsyncIterator[LogReplica]:
    async with log_replica_on(redis_server) as replica:
        yield replica


# --- appends ---


async def test_a_stopping_server_answers_what_it_took_and_ends_the_stream(
    replica: LogReplica,
) -> None:
    await replica.create()
    stream = AppendStream()
    serving = asyncio.create_task(
        replica.appends.append_stream(stream.frames(), cast(Any, stream))
    )
    batch = pb.PartitionAppend(topic=ref("orders"), batch=batch_of(1))
    for number in range(50):
        stream.send(pb.AppendFrame(calls=[append_call(number, batch)]))
        # Somewhere in the middle of them.
        if number == 20:
            await asyncio.sleep(0.001)

    replica.appends.intake.stop()
    async with asyncio.timeout(10):
        await serving

    # What was appended was answered, and nothing else was appended.
    offsets = [answer.partitions[0].base_offset for answer in stream.answers.values()]
    assert offsets == [record.offset for record in await replica.read_all(0)]
    assert sorted(stream.answers) == [*range(len(offsets))]
    assert len(offsets) < 50


@pytest.mark.parametrize("layout", LAYOUTS)
async def test_appends_of_one_stream_are_applied_in_their_order(
    replica: LogReplica, layout: str
) -> None:
    await replica.create(configs=LAYOUTS[layout], partitions=2)
    stream = AppendStream()
    numbers = range(200)

    async with running(replica.appends.append_stream, stream):
        for first in range(0, 200, 20):
            calls = [
                append_call(
                    number,
                    *(
                        pb.PartitionAppend(
                            topic=ref("orders"),
                            partition=partition,
                            batch=batch_of_records([(number, b"k", b"v")]),
                        )
                        for partition in (0, 1)
                    ),
                )
                for number in numbers[first : first + 20]
            ]
            stream.send(pb.AppendFrame(calls=calls))

    for partition in (0, 1):
        offsets = [stream.answers[n].partitions[partition].base_offset for n in numbers]
        records = await replica.read_all(0, partition=partition)
        assert [r.timestamp for r in records] == [*numbers]
        assert [r.offset for r in records] == offsets


async def test_order_is_kept_when_redis_forgets_the_scripts(
    replica: LogReplica, redis_server: RedisServer
) -> None:
    await replica.create()
    stream = AppendStream()

    with redis_server.client() as client:
        async with running(replica.appends.append_stream, stream):
            for number in range(100):
                batch = batch_of_records([(number, b"k", b"v")])
                append = pb.PartitionAppend(topic=ref("orders"), batch=batch)
                stream.send(pb.AppendFrame(calls=[append_call(number, append)]))
                if number % 10 == 5:
                    await asyncio.to_thread(client.script_flush)

    assert [r.timestamp for r in await replica.read_all(0)] == [*range(100)]
    codes = {answer.partitions[0].error_code for answer in stream.answers.values()}
    assert codes == {ErrorCode.NONE}


async def test_each_partition_of_an_append_succeeds_or_fails_by_itself(
    replica: LogReplica,
) -> None:
    await replica.create()
    stream = AppendStream()
    good = pb.PartitionAppend(topic=ref("orders"), batch=batch_of(1))
    corrupt = pb.PartitionAppend(topic=ref("orders"), batch=batch_of(1)[:-1] + b"x")
    nobody = pb.PartitionAppend(topic=ref("nobody"), batch=batch_of(1))
    empty = pb.PartitionAppend(topic=ref("orders"))
    none = pb.PartitionAppend(topic=ref("orders"), records=pb.RecordSet())

    async with running(replica.appends.append_stream, stream):
        calls = [append_call(1, good, corrupt, nobody, empty, none, good), append_call(2)]
        stream.send(pb.AppendFrame(calls=calls))

    assert [p.error_code for p in stream.answers[1].partitions] == [
        ErrorCode.NONE,
        ErrorCode.CORRUPT_MESSAGE,
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        ErrorCode.INVALID_RECORD,
        ErrorCode.INVALID_RECORD,
        ErrorCode.NONE,
    ]
    assert not stream.answers[2].partitions
    assert len(await replica.read_all(0)) == 2


# --- tails ---


def tail(replica: LogReplica, **start: Any) -> AsyncIterator[pb.TailResponse]:
    return aiter(replica.tails.tail(pb.TailRequest(topic=ref("orders"), **start)))


@pytest.mark.parametrize("layout", LAYOUTS)
async def test_a_tail_follows_all_partitions_from_now_on(
    replica: LogReplica, layout: str
) -> None:
    await replica.create(configs=LAYOUTS[layout], partitions=3)
    for partition in range(3):
        await replica.appended(batch_of(1, value=b"before"), partition=partition)
    answers = tail(replica)
    first = asyncio.ensure_future(anext(answers))
    await eventually(lambda: bool(replica.logs.wakeups._channels))

    for round_ in range(3):
        for partition in range(3):
            value = b"%d" % round_
            await replica.appended(batch_of(2, value=value), partition=partition)

    seen: dict[int, list[bytes]] = {0: [], 1: [], 2: []}
    answer = await first
    while True:
        seen[answer.partition] += [record.value for record in answer.records]
        if sum(map(len, seen.values())) == 18:
            break
        answer = await anext(answers)
    assert all(values == [b"0", b"0", b"1", b"1", b"2", b"2"] for values in seen.values())
    await cast(Any, answers).aclose()


@pytest.mark.parametrize("layout", LAYOUTS)
async def test_a_tail_may_begin_anywhere(replica: LogReplica, layout: str) -> None:
    await replica.create(configs=LAYOUTS[layout])
    base = await replica.appended(
        batch_of_records([(1000 + n, b"k", b"%d" % n) for n in range(10)])
    )

    for start, first in (
        ({"timestamp_ms": Special.EARLIEST}, 0),
        ({"timestamp_ms": 1004}, 4),
        ({"offset": base + 7, "partitions": [0]}, 7),
    ):
        answers = tail(replica, **cast(dict[str, Any], start))
        answer = await anext(answers)
        assert [r.offset for r in answer.records] == [*range(base + first, base + 10)]
        assert (answer.next_offset, answer.high_watermark) == (base + 10, base + 10)
        await cast(Any, answers).aclose()


@pytest.mark.parametrize(
    ("start", "code"),
    [
        ({"topic": ref("nobody")}, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
        ({"topic": ref(b"x" * 16)}, ErrorCode.UNKNOWN_TOPIC_ID),
        ({"partitions": [5]}, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
        ({"partitions": [-1]}, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
        ({"offset": 3}, ErrorCode.INVALID_REQUEST),
        ({"offset": -3, "partitions": [0]}, ErrorCode.OFFSET_OUT_OF_RANGE),
        ({"timestamp_ms": -7}, ErrorCode.INVALID_REQUEST),
    ],
)
async def test_a_tail_that_cannot_begin_says_why(
    replica: LogReplica, start: dict[str, Any], code: ErrorCode
) -> None:
    await replica.create(partitions=2)
    request = pb.TailRequest(**{"topic": ref("orders"), **start})

    answers = [answer async for answer in replica.tails.tail(request)]

    assert [answer.error_code for answer in answers] == [code]


# --- descriptions ---


async def test_logs_are_described(replica: LogReplica) -> None:
    orders = await replica.create(partitions=2)
    await replica.create("payments", LAYOUTS["batch-dense"])
    await replica.appended(batch_of(5), "payments")
    topics = [
        pb.DescribeLogsRequest.Selection(topic=ref(orders.id), partitions=[1, 7]),
        pb.DescribeLogsRequest.Selection(topic=ref("nobody")),
    ]
    request = pb.DescribeLogsRequest(topics=topics, all=True)

    response = await replica.lookups.describe_logs(request, replica.catalogue.topics())

    assert [(log.topic, log.partition, log.error_code) for log in response.logs] == [
        ("orders", 0, 0),
        ("orders", 1, 0),
        ("payments", 0, 0),
        ("orders", 1, 0),
        ("orders", 7, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
        ("nobody", 0, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
    ]
    payments = response.logs[2]
    assert payments.size_bytes == len(batch_of(5))
    assert (payments.record_count, payments.log_start_offset) == (5, 0)
    assert payments.high_watermark == 5
    assert response.memory_limit_bytes == 0
    assert response.memory_used_bytes > 0
