"""A topic is deleted and made again while another replica still believes in the old one."""

import asyncio
from collections.abc import AsyncIterator
from typing import NamedTuple

import pytest

from korvet.kafka.errors import ErrorCode
from korvet.proto.storage.v1 import storage_service_pb2 as pb
from korvet.storage import tail_calls
from korvet.storage.find_offsets import Special
from korvet.storage.topic import Topic
from tests.support.eventually import eventually
from tests.support.log_replica import (
    LAYOUTS,
    LogReplica,
    Producer,
    batch_of,
    log_replica_on,
    ref,
)
from tests.support.redis_server import RedisServer

pytestmark = pytest.mark.integration

UNKNOWN = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
# What is made again is laid out otherwise.
CHANGES = [
    ("record-time", "batch-dense"),
    ("batch-dense", "record-time"),
    ("record-dense", "record-time"),
    ("batch-time", "batch-time"),
]


class Remade(NamedTuple):
    """A topic that `stale` knows as it was, and `other` has made again."""

    stale: LogReplica
    other: LogReplica
    old: Topic
    new: Topic
    old_end: int


@pytest.fixture(params=CHANGES, ids="->".join)
async def remade(
    redis_server: RedisServer, request: pytest.FixtureRequest
) -> AsyncIterator[Remade]:
    before, after = request.param
    async with log_replica_on(redis_server) as stale, log_replica_on(redis_server) as other:
        old = await stale.create(configs=LAYOUTS[before])
        end = await stale.appended(batch_of(50, producer=Producer(7, 0, 0))) + 50
        await stale.read_all(0)
        await other.catalogue.delete(name="orders")
        new = await other.create(configs=LAYOUTS[after])
        yield Remade(stale, other, old, new, end)


async def test_nothing_is_appended_to_another_topic_of_the_name(remade: Remade) -> None:
    stale, other = remade.stale, remade.other
    batch = batch_of(3, producer=Producer(7, 0, 50))

    by_id = await stale.append(batch, remade.old.id)
    by_name = await stale.append(batch)

    assert by_id.error_code == ErrorCode.UNKNOWN_TOPIC_ID
    # By the name alone it may be the new one that is meant, once that is known.
    assert by_name.error_code in (ErrorCode.NONE, UNKNOWN)
    expected = 0 if by_name.error_code else 3
    assert (await other.describe()).record_count == expected
    await stale.appended(batch_of(2))
    await stale.appended(batch_of(2), remade.new.id)
    assert (await other.describe()).record_count == expected + 4
    assert (await stale.append(batch, remade.old.id)).error_code == (
        ErrorCode.UNKNOWN_TOPIC_ID
    )


async def test_an_append_by_a_stale_name_is_refused(remade: Remade) -> None:
    answer = await remade.stale.append(batch_of(3, producer=Producer(7, 0, 50)))

    assert answer.error_code == UNKNOWN
    assert (await remade.other.describe()).record_count == 0


async def test_nothing_is_read_from_another_topic_of_the_name(remade: Remade) -> None:
    stale, other = remade.stale, remade.other
    await other.appended(batch_of(60, value=b"new"))

    by_id = await stale.read(remade.old_end - 50, remade.old.id)
    again = await stale.read(remade.old_end - 50, remade.old.id)

    assert by_id.error_code == again.error_code == ErrorCode.UNKNOWN_TOPIC_ID
    assert not by_id.batches
    assert {r.value for r in await stale.read_all(0)} == {b"new"}
    assert {r.value for r in await stale.read_all(0, remade.new.id)} == {b"new"}


async def test_nothing_is_found_in_another_topic_of_the_name(remade: Remade) -> None:
    stale, other = remade.stale, remade.other
    base = await other.appended(batch_of(60))

    for timestamp in (Special.EARLIEST, Special.LATEST, Special.MAX_TIMESTAMP, 0):
        found = await stale.find(timestamp, remade.old.id)
        assert found.error_code == ErrorCode.UNKNOWN_TOPIC_ID
    assert (await stale.find(Special.LATEST)).offset == base + 60


async def test_a_stale_name_is_looked_up_again_after_one_refusal(remade: Remade) -> None:
    stale = remade.stale

    assert (await stale.find(Special.LATEST)).error_code == UNKNOWN
    assert (await stale.find(Special.LATEST)).offset == 0


async def test_nothing_is_cut_from_another_topic_of_the_name(remade: Remade) -> None:
    stale, other = remade.stale, remade.other
    await other.appended(batch_of(60))

    by_name = await stale.cut(-1)
    by_id = await stale.cut(-1, remade.old.id)

    assert (by_name.error_code, by_id.error_code) == (UNKNOWN, ErrorCode.UNKNOWN_TOPIC_ID)
    assert (await other.describe()).record_count == 60


async def test_retention_of_an_old_topic_spares_the_new_one(remade: Remade) -> None:
    stale, other = remade.stale, remade.other
    await other.appended(batch_of(60))
    # As if the old topic had kept nothing.
    await stale.logs.trimmer._trim(remade.old, 0, 0, 0, "")

    assert (await other.describe()).record_count == 60


async def test_logs_of_a_stale_topic_are_unknown_once(remade: Remade) -> None:
    stale = remade.stale

    assert (await stale.describe()).error_code == UNKNOWN
    assert (await stale.describe()).error_code == ErrorCode.NONE


async def test_a_tail_ends_with_its_topic(remade: Remade) -> None:
    stale, other = remade.stale, remade.other
    await other.appended(batch_of(60, value=b"new"))
    request = pb.TailRequest(topic=ref("orders"), offset=remade.old_end, partitions=[0])

    answers = [answer async for answer in stale.tails.tail(request)]

    assert [answer.error_code for answer in answers] == [UNKNOWN]


@pytest.mark.parametrize("is_written", [True, False])
async def test_a_tail_does_not_go_on_with_the_topic_that_was_made_again(
    redis_server: RedisServer, monkeypatch: pytest.MonkeyPatch, is_written: bool
) -> None:
    if not is_written:
        monkeypatch.setattr(tail_calls, "_WAIT_SECONDS", 0.1)
    async with log_replica_on(redis_server) as replica:
        await replica.create()
        end = await replica.appended(batch_of(9)) + 9
        request = pb.TailRequest(topic=ref("orders"), offset=end, partitions=[0])
        answers = aiter(replica.tails.tail(request))
        waiting = asyncio.ensure_future(anext(answers))
        with redis_server.client() as client:
            await eventually(lambda: bool(client.pubsub_channels()))

        # Here it is known at once, so that the name finds the new topic.
        await replica.catalogue.delete(name="orders")
        await replica.create()
        if is_written:
            await replica.appended(batch_of(1, value=b"new"))

        answer = await waiting
        assert (answer.error_code, len(answer.records)) == (UNKNOWN, 0)
        with pytest.raises(StopAsyncIteration):
            await anext(answers)


async def test_a_deleted_topic_is_unknown(redis_server: RedisServer) -> None:
    async with log_replica_on(redis_server) as stale, log_replica_on(redis_server) as other:
        topic = await stale.create()
        await stale.appended(batch_of(1))
        await other.catalogue.delete(name="orders")

        for _ in range(2):
            assert (await stale.append(batch_of(1))).error_code == UNKNOWN
            assert (await stale.read(0)).error_code == UNKNOWN
            assert (await stale.find(0)).error_code == UNKNOWN
            assert (await stale.describe()).error_code == UNKNOWN
            by_id = await stale.append(batch_of(1), topic.id)
            assert by_id.error_code == ErrorCode.UNKNOWN_TOPIC_ID
        with redis_server.client() as client:
            left = client.keys("korvet:*:orders*")
        assert left == []
