"""Produce before v12: why a partition that knows of no transaction takes no batch of it."""

from collections.abc import Sequence

import pytest

from korvet.gateway.handlers import produce as api
from korvet.kafka.errors import ErrorCode
from korvet.kafka.messages.produce import ProduceRequest
from korvet.kafka.records import build_batch
from korvet.proto.coordinator.v1 import coordinator_service_pb2 as group_pb
from korvet.proto.storage.v1 import storage_service_pb2 as pb
from tests.support.fake_storage import FakeStorage
from tests.support.fake_transactions import FakeTransactions
from tests.support.gateway_requests import BATCH, produce
from tests.support.handler_calls import call

BEFORE_JOINS = range(3, 12)
TRANSACTIONAL = build_batch(
    [(0, 1000, None, b"value", [])],
    base_offset=0,
    producer_id=4000,
    producer_epoch=3,
    base_sequence=0,
    transactional=True,
)
NOT_BEGUN = pb.PartitionAppended(error_code=ErrorCode.INVALID_TXN_STATE)


@pytest.fixture
def storage() -> FakeStorage:
    storage = FakeStorage()
    storage.add_topic("orders", 2)
    storage.refusals["orders", 0] = NOT_BEGUN
    return storage


@pytest.fixture
def transactions() -> FakeTransactions:
    return FakeTransactions()


def request(*partitions: int, batch: bytes = TRANSACTIONAL) -> ProduceRequest:
    first, *others = [
        produce("orders", partition=index, batch=batch, transactional_id="id", acks=-1)
        for index in partitions
    ]
    for other in others:
        first.topic_data += other.topic_data
    return first


async def told(
    storage: FakeStorage,
    transactions: FakeTransactions,
    asked: ProduceRequest,
    version: int,
) -> Sequence[int]:
    answer = await call(api.HANDLER, asked, version, storage, transactions=transactions)
    assert answer is not None
    return [
        partition.error_code
        for topic in answer.responses
        for partition in topic.partition_responses
    ]


@pytest.mark.parametrize("version", BEFORE_JOINS)
@pytest.mark.parametrize(
    ("verdict", "expected"),
    [
        (ErrorCode.INVALID_PRODUCER_ID_MAPPING, ErrorCode.INVALID_PRODUCER_ID_MAPPING),
        (ErrorCode.PRODUCER_FENCED, ErrorCode.INVALID_PRODUCER_EPOCH),
        # Nothing was written, and clients of all versions try again.
        (ErrorCode.CONCURRENT_TRANSACTIONS, ErrorCode.NOT_ENOUGH_REPLICAS),
        (ErrorCode.COORDINATOR_NOT_AVAILABLE, ErrorCode.NOT_ENOUGH_REPLICAS),
    ],
)
async def test_what_is_wrong_with_the_producer_is_told(
    storage: FakeStorage,
    transactions: FakeTransactions,
    version: int,
    verdict: ErrorCode,
    expected: ErrorCode,
) -> None:
    transactions.code = verdict

    assert await told(storage, transactions, request(0), version) == [expected]


async def test_while_the_coordinator_is_away_the_batch_is_to_be_sent_again(
    storage: FakeStorage, transactions: FakeTransactions
) -> None:
    transactions.is_away_with = ErrorCode.COORDINATOR_LOAD_IN_PROGRESS

    assert await told(storage, transactions, request(0), 9) == [
        ErrorCode.NOT_ENOUGH_REPLICAS
    ]


@pytest.mark.parametrize("version", BEFORE_JOINS)
@pytest.mark.parametrize("verdict", [ErrorCode.TRANSACTION_ABORTABLE, ErrorCode.NONE])
async def test_a_partition_that_was_not_added_is_told_as_the_version_knows_it(
    storage: FakeStorage,
    transactions: FakeTransactions,
    version: int,
    verdict: ErrorCode,
) -> None:
    transactions.partition_codes["orders", 0] = verdict

    code = ErrorCode.TRANSACTION_ABORTABLE if version == 11 else ErrorCode.INVALID_TXN_STATE
    assert await told(storage, transactions, request(0), version) == [code]


async def test_the_coordinator_is_asked_of_what_was_refused_alone_and_adds_nothing(
    storage: FakeStorage, transactions: FakeTransactions
) -> None:
    transactions.code = ErrorCode.PRODUCER_FENCED

    codes = await told(storage, transactions, request(0, 1), 9)

    assert codes == [ErrorCode.INVALID_PRODUCER_EPOCH, ErrorCode.NONE]
    partition = group_pb.AddPartitionsRequest.Partition(
        topic="orders", topic_id=storage.topics["orders"].id, partition=0
    )
    assert transactions.requests == [
        group_pb.AddPartitionsRequest(
            transactional_id="id",
            producer_id=4000,
            producer_epoch=3,
            partitions=[partition],
            verify_only=True,
        )
    ]


@pytest.mark.parametrize(
    "refusal", [ErrorCode.INVALID_PRODUCER_EPOCH, ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER]
)
async def test_what_the_partition_knows_itself_is_asked_of_nobody(
    storage: FakeStorage, transactions: FakeTransactions, refusal: ErrorCode
) -> None:
    storage.refusals["orders", 0] = pb.PartitionAppended(error_code=refusal)

    assert await told(storage, transactions, request(0), 9) == [refusal]
    assert transactions.requests == []


async def test_a_plain_batch_in_a_transaction_is_no_question_for_the_coordinator(
    storage: FakeStorage, transactions: FakeTransactions
) -> None:
    asked = request(1)
    asked.topic_data += request(0, batch=BATCH).topic_data

    codes = await told(storage, transactions, asked, 9)

    assert codes == [ErrorCode.NONE, ErrorCode.INVALID_TXN_STATE]
    assert transactions.requests == []
