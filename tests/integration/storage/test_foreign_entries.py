"""Records behind entries that other programs have put into a log are read all the same."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

import pytest

from korvet.kafka.errors import ErrorCode
from korvet.storage import read_plan
from tests.support.eventually import eventually
from tests.support.log_replica import (
    KEYS,
    LAYOUTS,
    LogReplica,
    batch_of,
    log_replica_on,
    records_in,
)
from tests.support.redis_server import RedisServer

pytestmark = pytest.mark.integration

PATIENCE_MS = 20_000
FOREIGN = 2000
# More than any offset's right half may be, so that no id of this kind is an offset.
NO_SEQUENCE = 1 << 20


@pytest.fixture
async def replica(redis_server: RedisServer) -> AsyncIterator[LogReplica]:
    async with log_replica_on(redis_server) as replica:
        yield replica


async def add_foreign(server: RedisServer, *, offsets: bool = False) -> None:
    """Add entries behind the last one of ours, and wait until ours can follow again.

    With `offsets` their ids are those of records, on time encoding; else of none.
    """
    stream = KEYS.stream("orders", 0)
    with server.client() as client:
        last: Any = client.xrevrange(stream, count=1)
        left = int(last[0][0].partition(b"-")[0])
        if left > 1_000_000:
            await eventually(lambda: server_ms(client) > left + 2)
        with client.pipeline() as pipe:
            for number in range(FOREIGN):
                more, right = divmod(number, 1000)
                entry_id = f"{left}-{NO_SEQUENCE + number}"
                if offsets:
                    entry_id = f"{left + 1 + more}-{right}"
                pipe.xadd(stream, {"hello": "world"}, id=entry_id)
            pipe.execute()


def server_ms(client: Any) -> int:
    seconds, microseconds = client.time()
    return int(seconds) * 1000 + int(microseconds) // 1000


def ranges(client: Any) -> int:
    """How many ranges of streams were read until now."""
    return int(client.info("commandstats").get("cmdstat_xrange", {"calls": 0})["calls"])


@pytest.mark.parametrize("layout", LAYOUTS)
async def test_records_behind_deleted_foreign_entries_are_not_deleted(
    replica: LogReplica, redis_server: RedisServer, layout: str
) -> None:
    await replica.create(configs=LAYOUTS[layout])
    await replica.appended(batch_of(3))
    await add_foreign(redis_server)
    behind = await replica.appended(batch_of(3))

    cut = await replica.cut(behind)

    assert (cut.error_code, cut.low_watermark) == (ErrorCode.NONE, behind)
    assert (await replica.describe()).log_start_offset == behind
    read = [record.offset for record in await replica.read_all(behind)]
    assert read == [behind, behind + 1, behind + 2]


KINDS = [*((layout, False) for layout in LAYOUTS), ("batch-time", True)]


@pytest.mark.parametrize(("layout", "offsets"), KINDS)
@pytest.mark.parametrize("count", [3, 700], ids=["open block", "closed block"])
async def test_records_behind_many_foreign_entries_are_read(
    replica: LogReplica, redis_server: RedisServer, layout: str, offsets: bool, count: int
) -> None:
    await replica.create(configs=LAYOUTS[layout])
    expected: list[int] = []
    for _ in range(2):
        base = await replica.appended(batch_of(3))
        await add_foreign(redis_server, offsets=offsets)
        behind = await replica.appended(batch_of(count))
        expected += [*range(base, base + 3), *range(behind, behind + count)]

    records = await replica.read_all(0)
    from_the_middle = await replica.read_all(expected[3])

    assert [record.offset for record in records] == expected
    assert [record.offset for record in from_the_middle] == expected[3:]


@pytest.mark.parametrize(("layout", "offsets"), KINDS)
async def test_who_waits_behind_foreign_entries_asks_nothing_of_redis(
    replica: LogReplica,
    redis_server: RedisServer,
    monkeypatch: pytest.MonkeyPatch,
    layout: str,
    offsets: bool,
) -> None:
    # However long ago it was that the index was looked at.
    monkeypatch.setattr(read_plan, "_OPEN_SECONDS", -1.0)
    await replica.create(configs=LAYOUTS[layout])
    end = await replica.appended(batch_of(3)) + 3
    await add_foreign(redis_server, offsets=offsets)
    # It has found out, and is remembered.
    assert not (await replica.read(end)).batches
    with redis_server.client() as client:
        before = ranges(client)
        assert not (await replica.read(end)).batches
        assert ranges(client) - before <= 4

        waiting = asyncio.create_task(replica.read(end, max_wait_ms=PATIENCE_MS))
        await eventually(lambda: bool(client.pubsub_channels()))
        counts = [-1, -2]
        while counts[-1] != counts[-2]:
            await asyncio.sleep(0.1)
            counts.append(ranges(client))
        assert not waiting.done()
    base = await replica.appended(batch_of(1))

    assert [r.offset for r in records_in((await waiting).batches)] == [base]


async def test_foreign_entries_in_a_closed_block_are_read_in_pages(
    replica: LogReplica, redis_server: RedisServer
) -> None:
    await replica.create(configs=LAYOUTS["batch-time"])
    end = await replica.appended(batch_of(3)) + 3
    for _ in range(5):
        await add_foreign(redis_server, offsets=True)
    await replica.appended(batch_of(600))

    with redis_server.client() as client:
        before = ranges(client)
        assert (await replica.read(end)).batches
        # Redis sends no more entries at once than the block has records.
        assert ranges(client) - before >= 5 * FOREIGN // 603
