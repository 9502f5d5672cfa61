"""Transactions in one partition: who may write, what markers are, what comes too late."""

from collections.abc import AsyncIterator

import pytest

from korvet.kafka.control_records import MARKER_SIZE
from korvet.kafka.errors import ErrorCode
from korvet.kafka.records import read_header
from korvet.proto.storage.v1 import storage_service_pb2 as pb
from tests.support.log_replica import (
    KEYS,
    LAYOUTS,
    LogReplica,
    Producer,
    batch_of,
    log_replica_on,
    ref,
    snapshot,
)
from tests.support.partition_transaction import TransactionalProducer
from tests.support.redis_server import RedisServer

pytestmark = pytest.mark.integration

PARTITION = KEYS.partition("orders", 0)
STREAM = KEYS.stream("orders", 0)
ABORTED = KEYS.aborted("orders", 0)
TRANSACTIONS = KEYS.transactions("orders", 0)


@pytest.fixture
async def replica(redis_server: RedisServer) -> AsyncIterator[LogReplica]:
    async with log_replica_on(redis_server) as replica:
        yield replica


# --- what is written ---


@pytest.mark.parametrize("outcome", ["commit", "abort"])
@pytest.mark.parametrize("encoding", ["time", "dense"])
async def test_a_record_topic_shows_transactions_in_plain_fields(
    replica: LogReplica, redis_server: RedisServer, encoding: str, outcome: str
) -> None:
    await replica.create(configs=LAYOUTS[f"record-{encoding}"])
    producer = TransactionalProducer(replica, producer_id=12, epoch=3)
    await producer.begin()
    await producer.written(2)

    assert await getattr(producer, outcome)() is ErrorCode.NONE

    with redis_server.client() as client:
        *records, (marker_id, marker) = client.xrange(STREAM)
        assert [entry[1][b"producer"] for entry in records] == [b"12:3", b"12:3"]
        time = marker.pop(b"timestamp")
        assert time.isdigit()
        assert marker == {
            b"control": outcome.encode(), b"producer": b"12:3", b"coordinator": b"1"
        }  # fmt: skip
        assert client.hget(PARTITION, "last") == marker_id
        assert client.hget(PARTITION, "open") == b""
        assert client.hget(PARTITION, "records") == b"3"


@pytest.mark.parametrize("commit", [True, False])
@pytest.mark.parametrize("encoding", ["time", "dense"])
async def test_a_batch_topic_has_control_batches_for_markers(
    replica: LogReplica, redis_server: RedisServer, encoding: str, commit: bool
) -> None:
    await replica.create(configs=LAYOUTS[f"batch-{encoding}"])
    producer = TransactionalProducer(replica, producer_id=12, epoch=3)
    await producer.begin()
    await producer.written(2)

    await (producer.commit() if commit else producer.abort())

    with redis_server.client() as client:
        (_, first), (_, marker) = client.xrange(STREAM)
    header = read_header(marker[b"batch"])
    assert read_header(first[b"batch"]).is_transactional
    assert header.is_control
    assert header.is_transactional
    assert (header.producer_id, header.producer_epoch, header.base_sequence) == (12, 3, -1)
    assert header.size == len(marker[b"batch"]) == MARKER_SIZE
    # Version 0 and the type; version 0 and the coordinator's epoch.
    key = b"\0\0\0\1" if commit else b"\0\0\0\0"
    assert key + b"\x0c" + b"\0\0\0\0\0\1" in marker[b"batch"]


@pytest.mark.parametrize("layout", LAYOUTS)
async def test_open_transactions_are_known_oldest_first(
    replica: LogReplica, redis_server: RedisServer, layout: str
) -> None:
    topic = await replica.create(configs=LAYOUTS[layout])
    entry_id = topic.config.encoding.entry_id
    one = TransactionalProducer(replica, producer_id=1)
    two = TransactionalProducer(replica, producer_id=2)
    eleven = TransactionalProducer(replica, producer_id=11)
    for producer in (one, two, eleven):
        await producer.begin()
    first = {producer.producer_id: await producer.written(2) for producer in (two, eleven)}
    await two.written(3)
    await replica.appended(batch_of(1))
    first[1] = await one.written()

    def is_open(*producers: int) -> bytes:
        return " ".join(f"{p}:{entry_id(first[p])}" for p in producers).encode()

    with redis_server.client() as client:
        assert client.hget(PARTITION, "open") == is_open(2, 11, 1)
        await two.abort()
        assert client.hget(PARTITION, "open") == is_open(11, 1)
        await one.abort()
        assert client.hget(PARTITION, "open") == is_open(11)
        await eleven.commit()
        assert client.hget(PARTITION, "open") == b""
        aborted = [fields for _, fields in client.xrange(ABORTED)]
    assert [fields[b"producer"] for fields in aborted] == [b"2", b"1"]
    assert [fields[b"first"].decode() for fields in aborted] == [
        entry_id(first[2]),
        entry_id(first[1]),
    ]
    # Up to where everything was decided then: the oldest that was still open.
    assert [fields[b"stable"].decode() for fields in aborted] == [entry_id(first[11])] * 2


@pytest.mark.parametrize("layout", LAYOUTS)
async def test_a_transaction_that_wrote_nothing_leaves_no_marker(
    replica: LogReplica, redis_server: RedisServer, layout: str
) -> None:
    await replica.create(configs=LAYOUTS[layout])
    producer = TransactionalProducer(replica)
    await producer.begin()

    assert await producer.commit() is ErrorCode.NONE

    with redis_server.client() as client:
        assert client.xlen(STREAM) == 0


@pytest.mark.parametrize("layout", LAYOUTS)
async def test_what_is_trimmed_takes_its_aborted_transactions_along(
    replica: LogReplica, redis_server: RedisServer, layout: str
) -> None:
    await replica.create(configs=LAYOUTS[layout])
    producer = TransactionalProducer(replica)
    for _ in range(3):
        await producer.begin()
        await producer.written(2)
        await producer.abort()
    await producer.begin()
    last = await producer.written()
    await producer.abort()

    await replica.cut(last)

    with redis_server.client() as client:
        assert client.xlen(ABORTED) == 1
        await replica.cut(-1)
        assert client.xlen(ABORTED) == 0


# --- who may write ---


@pytest.mark.parametrize("layout", LAYOUTS)
async def test_batches_without_a_registration_are_refused_and_change_no_key(
    replica: LogReplica, redis_server: RedisServer, layout: str
) -> None:
    await replica.create(configs=LAYOUTS[layout])
    producer = TransactionalProducer(replica)
    before = snapshot(redis_server)

    assert (await producer.write()).error_code == ErrorCode.INVALID_TXN_STATE

    assert snapshot(redis_server) == before
    await producer.begin()
    await producer.written()
    await producer.commit()
    ended = snapshot(redis_server)
    # The one that arrives after the end opens nothing.
    assert (await producer.write()).error_code == ErrorCode.INVALID_TXN_STATE
    assert snapshot(redis_server) == ended


async def test_a_batch_that_was_appended_is_a_duplicate_even_after_the_end(
    replica: LogReplica,
) -> None:
    await replica.create()
    producer = TransactionalProducer(replica)
    await producer.begin()
    first = await producer.written()
    await producer.commit()

    producer.sequence = 0

    assert await producer.written() == first


async def test_epochs_fence_both_ways(replica: LogReplica) -> None:
    await replica.create()
    zombie = TransactionalProducer(replica, epoch=4)
    await zombie.begin()
    await zombie.written()
    # A coordinator that fences ends with the next epoch.
    fencing = TransactionalProducer(replica, epoch=5, number=zombie.number)
    assert await fencing.abort() is ErrorCode.NONE

    assert (await zombie.write()).error_code == ErrorCode.INVALID_PRODUCER_EPOCH
    assert await zombie.begin() is ErrorCode.INVALID_PRODUCER_EPOCH
    # A new epoch begins its sequence anew, and only so.
    fencing.sequence = 3
    assert await fencing.begin() is ErrorCode.NONE
    assert (await fencing.write()).error_code == ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
    fencing.sequence = 0
    await fencing.written()
    ahead = TransactionalProducer(replica, epoch=6)
    assert (await ahead.write()).error_code == ErrorCode.INVALID_TXN_STATE


async def test_plain_batches_do_not_mix_with_an_open_transaction(
    replica: LogReplica,
) -> None:
    await replica.create()
    producer = TransactionalProducer(replica)
    await producer.begin()
    await producer.written()

    plain = await replica.append(batch_of(1, producer=Producer(7, 0, 1)))
    other = await replica.append(batch_of(1, producer=Producer(77, 0, 0)))

    assert plain.error_code == ErrorCode.INVALID_TXN_STATE
    assert other.error_code == ErrorCode.NONE


# --- what comes late, or twice ---


@pytest.mark.parametrize("layout", LAYOUTS)
async def test_an_end_that_comes_twice_or_late_changes_no_key(
    replica: LogReplica, redis_server: RedisServer, layout: str
) -> None:
    await replica.create(configs=LAYOUTS[layout])
    producer = TransactionalProducer(replica)
    await producer.begin()
    await producer.written()
    await producer.commit()
    ended = snapshot(redis_server)

    assert await producer.commit() is ErrorCode.NONE
    # Even the other way: what was decided was carried out.
    assert await producer.abort() is ErrorCode.NONE
    assert snapshot(redis_server) == ended

    late = TransactionalProducer(replica, number=producer.number)
    await producer.begin()
    await producer.written()
    begun = snapshot(redis_server)
    assert await late.abort() is ErrorCode.NONE
    assert snapshot(redis_server) == begun


async def test_a_registration_that_comes_after_the_end_is_refused(
    replica: LogReplica,
) -> None:
    await replica.create()
    producer = TransactionalProducer(replica, number=5)
    # Ended where it was never registered: its coordinator was paused on the way here.
    assert await producer.abort() is ErrorCode.NONE

    assert await producer.register() is ErrorCode.INVALID_TXN_STATE

    assert (await producer.write()).error_code == ErrorCode.INVALID_TXN_STATE
    producer.number = 3
    assert await producer.register() is ErrorCode.INVALID_TXN_STATE


async def test_a_coordinator_that_was_overtaken_is_refused(replica: LogReplica) -> None:
    await replica.create()
    new = TransactionalProducer(replica, coordinator_epoch=3)
    await new.begin()
    await new.written()
    old = TransactionalProducer(replica, coordinator_epoch=2, number=new.number)

    fenced = ErrorCode.TRANSACTION_COORDINATOR_FENCED
    assert await old.abort() is fenced
    assert await old.begin() is fenced
    assert await new.commit() is ErrorCode.NONE


async def test_registering_again_changes_nothing(
    replica: LogReplica, redis_server: RedisServer
) -> None:
    await replica.create()
    producer = TransactionalProducer(replica)
    await producer.begin()
    await producer.written()
    with redis_server.client() as client:
        before = client.hget(PARTITION, "open")

        assert await producer.register() is ErrorCode.NONE

        assert client.hget(PARTITION, "open") == before


@pytest.mark.parametrize("call", ["begin", "commit"])
async def test_a_transaction_whose_end_was_lost_is_aborted_by_the_next(
    replica: LogReplica, redis_server: RedisServer, call: str
) -> None:
    await replica.create()
    producer = TransactionalProducer(replica)
    await producer.begin()
    await producer.written()
    producer.number += 1

    assert await getattr(producer, call)() is ErrorCode.NONE

    with redis_server.client() as client:
        assert client.hget(PARTITION, "open") == b""
        assert client.xrevrange(STREAM, count=1)[0][1][b"control"] == b"abort"


async def test_a_topic_that_is_gone_has_nothing_to_begin_or_end(
    replica: LogReplica,
) -> None:
    topic = await replica.create()
    producer = TransactionalProducer(replica)
    await producer.begin()
    await producer.written()
    await replica.catalogue.delete(name="orders")
    await replica.create()
    wanted = pb.TransactionPartition(topic=ref(topic.id), partition=0)
    transaction = pb.Transaction(producer_id=7, number=1, coordinator_epoch=1)

    begun = await replica.transactions.begin(
        pb.BeginTransactionRequest(transaction=transaction, partitions=[wanted])
    )
    ended = await replica.transactions.end(
        pb.EndTransactionRequest(transaction=transaction, partitions=[wanted])
    )

    gone = [ErrorCode.UNKNOWN_TOPIC_OR_PARTITION]
    assert list(begun.error_codes) == list(ended.error_codes) == gone
    # The new topic of the name knows nothing of it.
    assert (await producer.write()).error_code == ErrorCode.INVALID_TXN_STATE


# --- nothing is half-written ---


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize(
    "injury",
    ["stream", "index", "producers", "transactions", "aborted", "stream ahead",
     "aborted ahead", "full", "malformed open", "malformed transaction"],
)  # fmt: skip
async def test_a_failed_end_changes_no_key_and_can_be_repeated(
    replica: LogReplica, redis_server: RedisServer, layout: str, injury: str
) -> None:
    await replica.create(configs=LAYOUTS[layout])
    producer = TransactionalProducer(replica)
    await producer.begin()
    # The marker closes a block.
    await producer.written(511)
    await producer.abort()
    await producer.begin()
    await producer.written(511)
    keys = KEYS.of_partition("orders", 0)
    with redis_server.client() as client:
        whole = snapshot(redis_server)
        if injury in keys:
            client.delete(keys[injury])
            client.set(keys[injury], "not what it should be")
        elif injury.endswith("ahead"):
            client.xadd(keys[injury.split()[0]], {"a": "b"}, id="9999999999999-0")
        elif injury == "full":
            client.config_set("maxmemory", "1")
        elif injury == "malformed open":
            client.hset(PARTITION, "open", "nonsense")
        else:
            client.hset(TRANSACTIONS, "7", "nonsense")
        injured = snapshot(redis_server)

        assert await producer.abort() is ErrorCode.KAFKA_STORAGE_ERROR

        assert snapshot(redis_server) == injured
        client.config_set("maxmemory", "0")
        for key, content in whole.items():
            client.restore(key, 0, content, replace=True)
    assert await producer.abort() is ErrorCode.NONE


# --- who is there ---


@pytest.mark.parametrize("layout", LAYOUTS)
async def test_producers_are_described(replica: LogReplica, layout: str) -> None:
    await replica.create(configs=LAYOUTS[layout])
    producer = TransactionalProducer(replica, epoch=2, coordinator_epoch=4)
    await producer.begin()
    first = await producer.written(3)
    await replica.appended(batch_of(2, producer=Producer(9, 1, 0)))

    response = await replica.transactions.describe_producers(
        pb.DescribeProducersRequest(
            partitions=[pb.TransactionPartition(topic=ref("orders"), partition=0)]
        )
    )

    open_one, plain = response.partitions[0].producers
    assert open_one.last_timestamp_ms > 0
    open_one.ClearField("last_timestamp_ms")
    plain.ClearField("last_timestamp_ms")
    assert open_one == pb.DescribeProducersResponse.Producer(
        producer_id=7,
        producer_epoch=2,
        last_sequence=2,
        coordinator_epoch=4,
        transaction_start_offset=first,
    )
    assert plain == pb.DescribeProducersResponse.Producer(
        producer_id=9,
        producer_epoch=1,
        last_sequence=1,
        coordinator_epoch=-1,
        transaction_start_offset=-1,
    )


async def test_ended_transactions_are_forgotten_with_time_and_open_ones_are_not(
    redis_server: RedisServer,
) -> None:
    async with log_replica_on(redis_server) as replica:
        topic = await replica.create()
        ended = TransactionalProducer(replica, producer_id=1)
        open_one = TransactionalProducer(replica, producer_id=2)
        for producer in (ended, open_one):
            await producer.begin()
            await producer.written()
        await ended.commit()

        await replica.logs.trimmer.forget_producers(topic, 0, before_ms=1 << 50)

        with redis_server.client() as client:
            assert list(client.hgetall(TRANSACTIONS)) == [b"2"]
