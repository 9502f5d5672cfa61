"""Counting records: in blocks of real sizes, and where there is nothing to count.

That counts are exact from any offset on, `test_log_model` shows.
"""

from collections.abc import AsyncIterator

import pytest

from korvet.kafka.errors import ErrorCode
from korvet.proto.storage.v1 import storage_service_pb2 as pb
from tests.support.log_replica import LAYOUTS, LogReplica, batch_of, log_replica_on, ref
from tests.support.redis_server import RedisServer

pytestmark = pytest.mark.integration


@pytest.fixture
async def replica(redis_server: RedisServer) -> AsyncIterator[LogReplica]:
    async with log_replica_on(redis_server) as replica:
        yield replica


@pytest.fixture
async def other(redis_server: RedisServer) -> AsyncIterator[LogReplica]:
    async with log_replica_on(redis_server) as replica:
        yield replica


@pytest.mark.parametrize("layout", LAYOUTS)
async def test_large_and_small_batches_are_counted_record_by_record(
    replica: LogReplica, layout: str
) -> None:
    await replica.create(configs=LAYOUTS[layout])
    offsets: list[int] = []
    # Some fill a block by themselves, some lie alone in their millisecond.
    for count in (1, 1, 1, 700, 1, 1300, 3, 3, 400, *[1] * 40):
        base = await replica.appended(batch_of(count, codec=1))
        offsets += range(base, base + count)

    asked = [*range(0, len(offsets), 37), len(offsets) - 1]
    counts = await replica.count_all([offsets[index] for index in asked])

    assert [count.records for count in counts] == [len(offsets) - i for i in asked]


@pytest.mark.parametrize("layout", LAYOUTS)
async def test_records_between_two_offsets_are_counted(
    replica: LogReplica, layout: str
) -> None:
    await replica.create(configs=LAYOUTS[layout])
    offsets: list[int] = []
    for count in (3, 700, 1, 900):
        base = await replica.appended(batch_of(count))
        offsets += range(base, base + count)
    end = offsets[-1] + 1

    request = pb.CountRecordsRequest()
    asked = [(0, 1), (2, 703), (650, 1200), (5, 5), (900, 4), (0, len(offsets))]
    for start, stop in asked:
        request.positions.add(
            topic=ref("orders"), offset=offsets[start], end_offset=[*offsets, end][stop]
        )
    request.positions.add(topic=ref("orders"), offset=0, end_offset=0)
    request.positions.add(topic=ref("orders"), offset=0, end_offset=end + (1 << 40))
    counts = (await replica.lookups.count_records(request)).counts

    assert [count.records for count in counts] == [
        *(max(0, stop - start) for start, stop in asked),
        0,
        len(offsets),
    ]


async def test_what_is_not_there_has_its_own_error(replica: LogReplica) -> None:
    await replica.create()
    request = pb.CountRecordsRequest()
    for topic, partition in (("orders", 0), ("orders", 1), ("nothing", 0), (b"a" * 16, 0)):
        request.positions.add(topic=ref(topic), partition=partition)

    counts = (await replica.lookups.count_records(request)).counts

    assert [count.error_code for count in counts] == [
        ErrorCode.NONE,
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        ErrorCode.UNKNOWN_TOPIC_ID,
    ]
    assert [count.records for count in counts] == [0, -1, -1, -1]


async def test_a_stale_replica_does_not_count_a_topic_that_was_made_again(
    replica: LogReplica, other: LogReplica
) -> None:
    topic = await replica.create()
    await other.catalogue.delete(topic_id=topic.id)
    await other.create()
    await other.appended(batch_of(3))

    (count,) = await replica.count_all([0], topic.id)

    assert count.error_code == ErrorCode.UNKNOWN_TOPIC_ID
