"""Produce with transactional batches, and how their partitions join the transaction."""

import asyncio

import pytest

from korvet.gateway.handler import RequestContext
from korvet.gateway.handlers import produce as api
from korvet.kafka.errors import ErrorCode
from korvet.kafka.messages.produce import ProduceRequest, ProduceResponse
from korvet.kafka.records import build_batch
from korvet.proto.coordinator.v1 import coordinator_service_pb2 as group_pb
from korvet.proto.storage.v1 import storage_service_pb2 as pb
from tests.support.fake_storage import FakeStorage
from tests.support.fake_transactions import FakeTransactions
from tests.support.gateway_context import request_context
from tests.support.gateway_requests import BATCH, produce
from tests.support.handler_calls import call
from tests.support.kafka_client import settle

UNKNOWN = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


def transactional(producer_id: int = 4000, epoch: int = 3, sequence: int = 0) -> bytes:
    return build_batch(
        [(0, 1000, None, b"value", [])],
        base_offset=0,
        producer_id=producer_id,
        producer_epoch=epoch,
        base_sequence=sequence,
        transactional=True,
    )


def request(
    topic: str = "orders",
    partition: int = 0,
    *,
    batch: bytes | None = None,
    topic_id: bytes = bytes(16),
    transactional_id: str | None = "id",
) -> ProduceRequest:
    return produce(
        topic,
        partition=partition,
        batch=batch or transactional(),
        topic_id=topic_id,
        transactional_id=transactional_id,
        acks=-1,
    )


@pytest.fixture
def storage() -> FakeStorage:
    storage = FakeStorage()
    storage.add_topic("orders", 2)
    return storage


@pytest.fixture
def transactions() -> FakeTransactions:
    return FakeTransactions()


@pytest.fixture
def context(storage: FakeStorage, transactions: FakeTransactions) -> RequestContext:
    return request_context(storage, 12, transactions=transactions)


def codes(answer: ProduceResponse | None) -> list[tuple[str, int, int]]:
    assert answer is not None
    return [
        (topic.name, partition.index, partition.error_code)
        for topic in answer.responses
        for partition in topic.partition_responses
    ]


def added(transactions: FakeTransactions) -> list[group_pb.AddPartitionsRequest]:
    return [
        each
        for each in transactions.requests
        if isinstance(each, group_pb.AddPartitionsRequest)
    ]


# ---------------------------------------------------------------- whose batches


@pytest.mark.parametrize("version", range(3, 12))
async def test_before_v12_batches_go_to_storage_as_they_are(
    storage: FakeStorage, transactions: FakeTransactions, version: int
) -> None:
    answer = await call(api.HANDLER, request(), version, storage, transactions=transactions)

    assert codes(answer) == [("orders", 0, 0)]
    assert storage.appends[0][0][0].batch == transactional()
    assert transactions.requests == []


@pytest.mark.parametrize(("version", "is_own"), [(3, False), (11, False), (12, True)])
async def test_from_v12_on_each_transaction_has_an_epoch_of_its_own(
    storage: FakeStorage, version: int, is_own: bool
) -> None:
    await call(api.HANDLER, request(), version, storage, transactions=FakeTransactions())

    assert storage.appends[0][0][0].epoch_per_transaction is is_own


async def test_without_transactions_no_epoch_belongs_to_one(storage: FakeStorage) -> None:
    await call(api.HANDLER, request(batch=BATCH, transactional_id=None), 12, storage)

    assert storage.appends[0][0][0].epoch_per_transaction is False


@pytest.mark.parametrize("version", [3, 11, 12])
@pytest.mark.parametrize("transactional_id", [None, ""])
async def test_a_transactional_batch_needs_a_transactional_id(
    storage: FakeStorage, version: int, transactional_id: str | None
) -> None:
    asked = request(transactional_id=transactional_id)

    answer = await call(api.HANDLER, asked, version, storage)

    assert codes(answer) == [("orders", 0, ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED)]
    assert storage.appends == []


@pytest.mark.parametrize("version", [3, 12])
@pytest.mark.parametrize("other", [transactional(4001), transactional(epoch=4)])
async def test_one_request_has_transactional_batches_of_one_producer(
    storage: FakeStorage, version: int, other: bytes
) -> None:
    asked = request()
    asked.topic_data += request(partition=1, batch=other).topic_data

    answer = await call(api.HANDLER, asked, version, storage)

    refused = ErrorCode.INVALID_PRODUCER_ID_MAPPING
    assert codes(answer) == [("orders", 0, refused), ("orders", 1, refused)]
    assert storage.appends == []


async def test_without_transactional_batches_a_transactional_id_is_nothing(
    context: RequestContext, transactions: FakeTransactions
) -> None:
    answer = await api.handle(request(batch=BATCH), context)

    assert codes(answer) == [("orders", 0, 0)]
    assert transactions.requests == []


async def test_what_is_no_batch_is_left_to_storage(context: RequestContext) -> None:
    answer = await api.handle(request(batch=b"garbage"), context)

    assert codes(answer) == [("orders", 0, ErrorCode.CORRUPT_MESSAGE)]


# ---------------------------------------------------------------- joining


async def test_from_v12_on_a_partition_is_added_before_it_is_written_to(
    context: RequestContext, storage: FakeStorage, transactions: FakeTransactions
) -> None:
    first = await api.handle(request(), context)
    second = await api.handle(request(batch=transactional(sequence=1)), context)

    assert codes(first) == codes(second) == [("orders", 0, 0)]
    assert len(storage.appends) == 2
    partition = group_pb.AddPartitionsRequest.Partition(
        topic="orders", topic_id=storage.topics["orders"].id, partition=0
    )
    assert added(transactions) == [
        group_pb.AddPartitionsRequest(
            transactional_id="id",
            producer_id=4000,
            producer_epoch=3,
            partitions=[partition],
        )
    ]


async def test_by_id_and_by_name_it_is_the_same_partition(
    storage: FakeStorage, transactions: FakeTransactions
) -> None:
    topic_id = storage.topics["orders"].id
    context = request_context(storage, 13, transactions=transactions)

    answer = await api.handle(request("", topic_id=topic_id), context)

    assert codes(answer) == [("", 0, 0)]
    (asked,) = added(transactions)
    assert [(each.topic, each.topic_id) for each in asked.partitions] == [
        ("orders", topic_id)
    ]


async def test_the_next_epoch_adds_the_partition_again(
    context: RequestContext, transactions: FakeTransactions
) -> None:
    await api.handle(request(), context)
    await api.handle(request(batch=transactional(epoch=4)), context)

    assert [each.producer_epoch for each in added(transactions)] == [3, 4]


async def test_only_what_was_added_is_written(
    context: RequestContext, storage: FakeStorage, transactions: FakeTransactions
) -> None:
    asked = request()
    asked.topic_data += request(partition=1).topic_data
    asked.topic_data += request("nowhere").topic_data
    asked.topic_data += request(partition=7).topic_data
    transactions.partition_codes["orders", 0] = ErrorCode.KAFKA_STORAGE_ERROR

    answer = await api.handle(asked, context)

    assert codes(answer) == [
        ("orders", 0, ErrorCode.KAFKA_STORAGE_ERROR),
        ("orders", 1, 0),
        ("nowhere", 0, UNKNOWN),
        ("orders", 7, UNKNOWN),
    ]
    assert [batch.target.partition for batch in storage.appends[0][0]] == [1]


@pytest.mark.parametrize(
    ("refusal", "told"),
    [
        (ErrorCode.PRODUCER_FENCED, ErrorCode.INVALID_PRODUCER_EPOCH),
        (ErrorCode.INVALID_PRODUCER_ID_MAPPING, ErrorCode.INVALID_PRODUCER_ID_MAPPING),
        (ErrorCode.INVALID_TXN_STATE, ErrorCode.INVALID_TXN_STATE),
        (ErrorCode.CONCURRENT_TRANSACTIONS, ErrorCode.CONCURRENT_TRANSACTIONS),
        (ErrorCode.COORDINATOR_NOT_AVAILABLE, ErrorCode.NOT_ENOUGH_REPLICAS),
        (ErrorCode.OPERATION_NOT_ATTEMPTED, ErrorCode.NOT_ENOUGH_REPLICAS),
    ],
)
async def test_a_coordinators_refusal_is_told_as_producers_know_it(
    context: RequestContext,
    storage: FakeStorage,
    transactions: FakeTransactions,
    refusal: ErrorCode,
    told: ErrorCode,
) -> None:
    transactions.code = refusal

    answer = await api.handle(request(), context)

    assert codes(answer) == [("orders", 0, told)]
    assert all(not batches for batches, _, _ in storage.appends)


async def test_while_the_coordinator_is_away_the_batch_is_to_be_sent_again(
    context: RequestContext, transactions: FakeTransactions
) -> None:
    transactions.is_away_with = ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
    assert codes(await api.handle(request(), context)) == [
        ("orders", 0, ErrorCode.NOT_ENOUGH_REPLICAS)
    ]

    transactions.is_away_with = None
    assert codes(await api.handle(request(), context)) == [("orders", 0, 0)]


async def test_while_topics_cannot_be_looked_up_the_batch_is_to_be_sent_again(
    context: RequestContext, storage: FakeStorage
) -> None:
    storage.is_away_with = ErrorCode.LEADER_NOT_AVAILABLE

    answer = await api.handle(request(), context)

    assert codes(answer) == [("orders", 0, ErrorCode.KAFKA_STORAGE_ERROR)]


# ---------------------------------------------------------------- what storage refuses


@pytest.mark.parametrize(
    "refusal", [ErrorCode.INVALID_TXN_STATE, ErrorCode.INVALID_PRODUCER_EPOCH]
)
async def test_after_a_transaction_has_ended_elsewhere_partitions_are_added_anew(
    context: RequestContext,
    storage: FakeStorage,
    transactions: FakeTransactions,
    refusal: ErrorCode,
) -> None:
    await api.handle(request(), context)
    storage.refusals["orders", 0] = pb.PartitionAppended(error_code=refusal)
    answer = await api.handle(request(), context)
    storage.refusals.clear()
    await api.handle(request(), context)

    assert codes(answer) == [("orders", 0, refusal)]
    assert len(added(transactions)) == 2


@pytest.mark.parametrize("version", range(3, 13))
async def test_in_v11_a_transaction_that_has_ended_is_to_be_aborted(
    storage: FakeStorage, version: int
) -> None:
    storage.refusals["orders", 0] = pb.PartitionAppended(
        error_code=ErrorCode.INVALID_TXN_STATE
    )

    answer = await call(api.HANDLER, request(), version, storage)

    told = ErrorCode.TRANSACTION_ABORTABLE if version == 11 else ErrorCode.INVALID_TXN_STATE
    assert codes(answer) == [("orders", 0, told)]


# ---------------------------------------------------------------- the order


class SlowTransactions(FakeTransactions):
    """Adds nothing until it may."""

    def __init__(self) -> None:
        super().__init__()
        self.may_add = asyncio.Event()

    async def add_partitions(
        self, request: group_pb.AddPartitionsRequest
    ) -> group_pb.AddPartitionsResponse:
        await self.may_add.wait()
        return await super().add_partitions(request)


async def test_a_connections_requests_keep_their_order_while_the_first_is_joining(
    storage: FakeStorage,
) -> None:
    transactions = SlowTransactions()
    context = request_context(storage, 12, transactions=transactions)
    sent = [transactional(sequence=0), transactional(sequence=1)]
    running = [
        asyncio.create_task(api.handle(request(batch=batch), context)) for batch in sent
    ]
    await settle()
    assert storage.appends == []

    transactions.may_add.set()
    await asyncio.gather(*running)

    assert [batches[0].batch for batches, _, _ in storage.appends] == sent
    assert len(added(transactions)) == 1
