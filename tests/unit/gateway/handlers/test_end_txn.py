"""EndTxn and AddOffsetsToTxn."""

import pytest

from korvet.gateway.handlers import add_offsets_to_txn, end_txn
from korvet.gateway.transaction_joins import JoiningPartition, Producer
from korvet.kafka.errors import ErrorCode
from korvet.kafka.messages.add_offsets_to_txn import AddOffsetsToTxnRequest
from korvet.kafka.messages.end_txn import EndTxnRequest
from korvet.proto.coordinator.v1 import coordinator_service_pb2 as pb
from tests.support.fake_storage import FakeStorage
from tests.support.fake_transactions import FakeTransactions
from tests.support.gateway_context import request_context
from tests.support.handler_calls import call_transactions

COMMIT = EndTxnRequest(
    transactional_id="id", producer_id=4000, producer_epoch=2, committed=True
)
GROUP = AddOffsetsToTxnRequest(
    transactional_id="id", producer_id=4000, producer_epoch=2, group_id="group"
)


@pytest.fixture
def transactions() -> FakeTransactions:
    return FakeTransactions()


# ---------------------------------------------------------------- EndTxn


@pytest.mark.parametrize("version", range(6))
async def test_a_transaction_is_ended_and_from_v5_on_the_producer_gets_the_next_epoch(
    transactions: FakeTransactions, version: int
) -> None:
    ended = await call_transactions(end_txn.HANDLER, COMMIT, version, transactions)

    assert ended.error_code == ErrorCode.NONE
    given = (4000, 3) if version == 5 else (-1, -1)
    assert (ended.producer_id, ended.producer_epoch) == given
    assert transactions.requests == [
        pb.EndTransactionRequest(
            transactional_id="id",
            producer_id=4000,
            producer_epoch=2,
            commit=True,
            bumps_epoch=version == 5,
        )
    ]


async def test_an_abort_is_one(transactions: FakeTransactions) -> None:
    abort = EndTxnRequest(transactional_id="id", producer_id=4000, producer_epoch=2)

    await call_transactions(end_txn.HANDLER, abort, 3, transactions)

    (asked,) = transactions.requests
    assert isinstance(asked, pb.EndTransactionRequest)
    assert not asked.commit


@pytest.mark.parametrize("version", range(6))
async def test_an_end_of_a_fenced_producer_is_refused_as_the_version_knows_it(
    transactions: FakeTransactions, version: int
) -> None:
    transactions.code = ErrorCode.PRODUCER_FENCED

    ended = await call_transactions(end_txn.HANDLER, COMMIT, version, transactions)

    fenced = ErrorCode.PRODUCER_FENCED if version >= 2 else ErrorCode.INVALID_PRODUCER_EPOCH
    assert ended.error_code == fenced
    assert (ended.producer_id, ended.producer_epoch) == (-1, -1)


async def test_what_was_added_to_the_transaction_is_forgotten_with_it() -> None:
    transactions = FakeTransactions()
    context = request_context(FakeStorage(), 5, transactions=transactions)
    producer = Producer("id", 4000, 2)
    partition = JoiningPartition("orders", b"i" * 16, 0)
    await context.joins.join_partitions(producer, [partition])

    await end_txn.handle(COMMIT, context)
    await context.joins.join_partitions(producer, [partition])

    assert [type(each).__name__ for each in transactions.requests] == [
        "AddPartitionsRequest",
        "EndTransactionRequest",
        "AddPartitionsRequest",
    ]


# ---------------------------------------------------------------- AddOffsetsToTxn


@pytest.mark.parametrize("version", range(5))
async def test_a_group_is_added(transactions: FakeTransactions, version: int) -> None:
    added = await call_transactions(
        add_offsets_to_txn.HANDLER, GROUP, version, transactions
    )

    assert added.error_code == ErrorCode.NONE
    assert transactions.requests == [
        pb.AddGroupRequest(
            transactional_id="id", producer_id=4000, producer_epoch=2, group_id="group"
        )
    ]


@pytest.mark.parametrize("version", range(5))
async def test_a_group_of_a_fenced_producer_is_refused_as_the_version_knows_it(
    transactions: FakeTransactions, version: int
) -> None:
    transactions.code = ErrorCode.PRODUCER_FENCED

    added = await call_transactions(
        add_offsets_to_txn.HANDLER, GROUP, version, transactions
    )

    fenced = ErrorCode.PRODUCER_FENCED if version >= 2 else ErrorCode.INVALID_PRODUCER_EPOCH
    assert added.error_code == fenced


# ---------------------------------------------------------------- both


async def test_no_transactional_id_is_an_invalid_request(
    transactions: FakeTransactions,
) -> None:
    ended = await call_transactions(end_txn.HANDLER, EndTxnRequest(), 5, transactions)
    added = await call_transactions(
        add_offsets_to_txn.HANDLER, AddOffsetsToTxnRequest(), 4, transactions
    )

    assert ended.error_code == added.error_code == ErrorCode.INVALID_REQUEST
    assert transactions.requests == []


@pytest.mark.parametrize(
    "code", [ErrorCode.INVALID_TXN_STATE, ErrorCode.CONCURRENT_TRANSACTIONS]
)
async def test_other_refusals_are_passed_on(
    transactions: FakeTransactions, code: ErrorCode
) -> None:
    transactions.code = code

    ended = await call_transactions(end_txn.HANDLER, COMMIT, 0, transactions)
    added = await call_transactions(add_offsets_to_txn.HANDLER, GROUP, 0, transactions)

    assert ended.error_code == added.error_code == code


async def test_a_coordinator_that_is_away_is_told(transactions: FakeTransactions) -> None:
    away = transactions.is_away_with = ErrorCode.COORDINATOR_LOAD_IN_PROGRESS

    ended = await call_transactions(end_txn.HANDLER, COMMIT, 5, transactions)
    added = await call_transactions(add_offsets_to_txn.HANDLER, GROUP, 4, transactions)

    assert ended.error_code == added.error_code == away
