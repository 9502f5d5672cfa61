"""Retention where transactions are open: it waits for nobody, and nobody waits for ever.

Compacted topics keep all of a transaction."""

import asyncio
from collections.abc import AsyncIterator

import pytest

from korvet.kafka.errors import ErrorCode
from korvet.kafka.records import build_batch
from korvet.proto.storage.v1 import storage_service_pb2 as pb
from korvet.storage.topic_configs import ConfigChange
from tests.support.committed_reader import read_committed
from tests.support.log_replica import (
    LAYOUTS,
    TIMESTAMP,
    LogReplica,
    batch_of,
    log_replica_on,
)
from tests.support.partition_transaction import TransactionalProducer
from tests.support.redis_server import RedisServer

pytestmark = pytest.mark.integration

LATEST = -1
# The smallest limits, and what they leave of a log: by size, its last entry always.
LIMITS = {"retention.ms": ("1", []), "retention.bytes": ("0", [b"behind"])}


@pytest.fixture
async def replica(redis_server: RedisServer) -> AsyncIterator[LogReplica]:
    async with log_replica_on(redis_server) as replica:
        yield replica


async def trim(replica: LogReplica, limit: str) -> None:
    """Apply a limit once, to what is there now."""
    value, _ = LIMITS[limit]
    await replica.catalogue.alter_configs(
        "orders", [ConfigChange(limit, pb.CONFIG_OPERATION_SET, value)]
    )
    # It is an age in milliseconds, of Redis's clock.
    await asyncio.sleep(0.005)
    await replica.apply_retention()
    await replica.catalogue.alter_configs(
        "orders", [ConfigChange(limit, pb.CONFIG_OPERATION_DELETE, "")]
    )


async def last_stable_offset(replica: LogReplica) -> int:
    return (await replica.find(LATEST, committed=True)).offset


@pytest.mark.parametrize("commit", [True, False])
@pytest.mark.parametrize("limit", LIMITS)
@pytest.mark.parametrize("layout", LAYOUTS)
async def test_a_transaction_whose_beginning_was_deleted_goes_on_and_ends(
    replica: LogReplica, layout: str, limit: str, commit: bool
) -> None:
    await replica.create(configs=LAYOUTS[layout])
    producer = TransactionalProducer(replica)
    await producer.begin()
    first = await producer.written(2, value=b"gone")
    await replica.appended(batch_of(value=b"behind"))

    await trim(replica, limit)

    start = (await replica.describe()).log_start_offset
    assert start > first
    assert await last_stable_offset(replica) == start
    reading = asyncio.create_task(replica.read(start, committed=True, max_wait_ms=60_000))
    await producer.written(value=b"late")
    await replica.appended(batch_of(value=b"after"))
    assert await last_stable_offset(replica) == start
    assert await read_committed(replica, start) == []
    assert not reading.done()

    assert await (producer.commit() if commit else producer.abort()) is ErrorCode.NONE

    async with asyncio.timeout(20):
        assert (await reading).batches
    _, left = LIMITS[limit]
    late = [b"late"] if commit else []
    seen = [record.value for record in await read_committed(replica, start)]
    assert seen == [*left, *late, b"after"]
    log = await replica.describe()
    assert await last_stable_offset(replica) == log.high_watermark
    assert log.log_start_offset == start


@pytest.mark.parametrize("layout", LAYOUTS)
async def test_a_transaction_larger_than_what_is_kept_is_deleted_as_it_is_written(
    replica: LogReplica, layout: str
) -> None:
    await replica.create(configs={**LAYOUTS[layout], "retention.bytes": "0"})
    producer = TransactionalProducer(replica)
    await producer.begin()

    first, *_, last = [await producer.written(value=b"open") for _ in range(3)]
    start = await start_of(replica)
    assert first < start <= last
    assert await last_stable_offset(replica) == start
    await producer.abort()

    assert await last_stable_offset(replica) == (await replica.describe()).high_watermark
    await replica.appended(batch_of(value=b"after"))
    seen = await read_committed(replica, await start_of(replica))
    assert [record.value for record in seen] == [b"after"]


@pytest.mark.parametrize("limit", LIMITS)
@pytest.mark.parametrize("layout", LAYOUTS)
async def test_what_was_aborted_stays_aborted_when_its_beginning_is_deleted(
    replica: LogReplica, layout: str, limit: str
) -> None:
    await replica.create(configs=LAYOUTS[layout])
    producer = TransactionalProducer(replica)
    await producer.begin()
    await producer.written(2, value=b"gone")
    await replica.appended(batch_of(value=b"behind"))
    await trim(replica, limit)
    start = await start_of(replica)
    await producer.written(value=b"aborted")
    await producer.abort()
    await producer.begin()

    await producer.written(value=b"open")

    _, left = LIMITS[limit]
    decoded = await replica.read(start, committed=True, decoded=True)
    assert [record.value for record in decoded.records] == left


@pytest.mark.parametrize("policy", ["compact", "compact,delete"])
@pytest.mark.parametrize("layout", LAYOUTS)
async def test_on_a_compacted_topic_transactions_commit_and_abort(
    replica: LogReplica, layout: str, policy: str
) -> None:
    await replica.create(configs={**LAYOUTS[layout], "cleanup.policy": policy})
    producer = TransactionalProducer(replica)
    await producer.begin()
    first = await producer.written(2, value=b"committed")
    assert await last_stable_offset(replica) == first
    assert await producer.commit() is ErrorCode.NONE
    await producer.begin()
    await producer.written(2, value=b"aborted")
    assert await producer.abort() is ErrorCode.NONE
    await replica.appended(batch_of(value=b"after"))

    seen = await read_committed(replica)

    assert [record.value for record in seen] == [b"committed", b"committed", b"after"]
    # Five records and two markers.
    assert len(await replica.read_all(0)) == 7
    assert await last_stable_offset(replica) == (await replica.describe()).high_watermark


@pytest.mark.parametrize("layout", LAYOUTS)
async def test_a_compacted_topic_keeps_an_open_transaction_whole(
    replica: LogReplica, layout: str
) -> None:
    limits = {"cleanup.policy": "compact", "retention.ms": "0", "retention.bytes": "0"}
    await replica.create(configs={**LAYOUTS[layout], **limits})
    producer = TransactionalProducer(replica)
    await producer.begin()
    first = await producer.written(2, value=b"open")
    await replica.appended(batch_of(value=b"behind"))

    await replica.logs._sweeper.sweep()

    assert await last_stable_offset(replica) == first
    assert await producer.commit() is ErrorCode.NONE
    seen = [record.value for record in await read_committed(replica)]
    assert seen == [b"open", b"open", b"behind"]


@pytest.mark.parametrize("layout", LAYOUTS)
async def test_a_compacted_topic_refuses_what_has_no_key_and_the_transaction_goes_on(
    replica: LogReplica, layout: str
) -> None:
    await replica.create(configs={**LAYOUTS[layout], "cleanup.policy": "compact"})
    producer = TransactionalProducer(replica)
    await producer.begin()
    keyless = build_batch(
        [(0, TIMESTAMP, None, b"keyless", [])],
        base_offset=0,
        producer_id=producer.producer_id,
        producer_epoch=producer.epoch,
        base_sequence=producer.sequence,
        transactional=True,
    )

    refused = await replica.append(keyless)

    assert refused.error_code == ErrorCode.INVALID_RECORD
    assert await last_stable_offset(replica) == (await replica.describe()).high_watermark
    await producer.written(value=b"with a key")
    assert await producer.commit() is ErrorCode.NONE
    seen = [record.value for record in await read_committed(replica)]
    assert seen == [b"with a key"]


async def start_of(replica: LogReplica) -> int:
    return (await replica.describe()).log_start_offset
