import pytest

from korvet.gateway.handlers.add_partitions_to_txn import HANDLER
from korvet.kafka.errors import ErrorCode
from korvet.kafka.messages.add_partitions_to_txn import (
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnResponse,
)
from korvet.proto.coordinator.v1 import coordinator_service_pb2 as pb
from tests.support.fake_storage import FakeStorage
from tests.support.fake_transactions import FakeTransactions
from tests.support.handler_calls import call_transactions

Topic = AddPartitionsToTxnRequest.AddPartitionsToTxnTopic
Transaction = AddPartitionsToTxnRequest.AddPartitionsToTxnTransaction
TopicResult = AddPartitionsToTxnResponse.AddPartitionsToTxnTopicResult

NOT_ATTEMPTED = ErrorCode.OPERATION_NOT_ATTEMPTED
UNKNOWN = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


@pytest.fixture
def storage() -> FakeStorage:
    storage = FakeStorage()
    storage.add_topic("orders", 2)
    storage.add_topic("payments", 1)
    return storage


@pytest.fixture
def transactions() -> FakeTransactions:
    return FakeTransactions()


def of_client(*topics: Topic, transactional_id: str = "id") -> AddPartitionsToTxnRequest:
    """As clients ask, up to v3."""
    return AddPartitionsToTxnRequest(
        v3_and_below_transactional_id=transactional_id,
        v3_and_below_producer_id=4000,
        v3_and_below_producer_epoch=2,
        v3_and_below_topics=list(topics),
    )


def transaction(
    *topics: Topic, transactional_id: str = "id", verify_only: bool = False
) -> Transaction:
    return Transaction(
        transactional_id=transactional_id,
        producer_id=4000,
        producer_epoch=2,
        verify_only=verify_only,
        topics=list(topics),
    )


def of_broker(*transactions: Transaction) -> AddPartitionsToTxnRequest:
    """As brokers ask, from v4 on."""
    return AddPartitionsToTxnRequest(transactions=list(transactions))


def topic(name: str, *partitions: int) -> Topic:
    return Topic(name=name, partitions=list(partitions))


def codes(results: list[TopicResult]) -> list[tuple[str, int, int]]:
    return [
        (result.name, each.partition_index, each.partition_error_code)
        for result in results
        for each in result.results_by_partition
    ]


async def ask(
    request: AddPartitionsToTxnRequest,
    version: int,
    transactions: FakeTransactions,
    storage: FakeStorage,
) -> list[tuple[str, int, int]]:
    """The codes of the only transaction."""
    answer = await call_transactions(
        HANDLER, request, version, transactions, storage=storage
    )
    if version < 4:
        return codes(answer.results_by_topic_v3_and_below)
    (only,) = answer.results_by_transaction
    return codes(only.topic_results)


@pytest.mark.parametrize("version", range(6))
async def test_partitions_are_added_with_their_topics_ids(
    storage: FakeStorage, transactions: FakeTransactions, version: int
) -> None:
    topics = topic("orders", 1, 0), topic("payments", 0)
    request = of_client(*topics) if version < 4 else of_broker(transaction(*topics))

    answer = await ask(request, version, transactions, storage)

    assert answer == [("orders", 1, 0), ("orders", 0, 0), ("payments", 0, 0)]
    assert transactions.requests == [
        pb.AddPartitionsRequest(
            transactional_id="id",
            producer_id=4000,
            producer_epoch=2,
            partitions=[
                pb.AddPartitionsRequest.Partition(
                    topic=name, topic_id=storage.topics[name].id, partition=partition
                )
                for name, partition in [("orders", 1), ("orders", 0), ("payments", 0)]
            ],
        )
    ]


@pytest.mark.parametrize("version", range(6))
async def test_where_a_partition_is_not_there_none_is_added(
    storage: FakeStorage, transactions: FakeTransactions, version: int
) -> None:
    topics = topic("orders", 0, 2), topic("nowhere", 0), topic("payments", 0)
    request = of_client(*topics) if version < 4 else of_broker(transaction(*topics))

    answer = await ask(request, version, transactions, storage)

    assert answer == [
        ("orders", 0, NOT_ATTEMPTED),
        ("orders", 2, UNKNOWN),
        ("nowhere", 0, UNKNOWN),
        ("payments", 0, NOT_ATTEMPTED),
    ]
    assert transactions.requests == []


@pytest.mark.parametrize("version", range(6))
async def test_a_fenced_producer_is_refused_as_the_version_knows_it(
    storage: FakeStorage, transactions: FakeTransactions, version: int
) -> None:
    transactions.code = ErrorCode.PRODUCER_FENCED
    orders = topic("orders", 0, 1)
    request = of_client(orders) if version < 4 else of_broker(transaction(orders))

    answer = await ask(request, version, transactions, storage)

    fenced = ErrorCode.PRODUCER_FENCED if version >= 2 else ErrorCode.INVALID_PRODUCER_EPOCH
    assert answer == [("orders", 0, fenced), ("orders", 1, fenced)]


@pytest.mark.parametrize("version", [3, 5])
async def test_no_transactional_id_is_an_invalid_request(
    storage: FakeStorage, transactions: FakeTransactions, version: int
) -> None:
    orders = topic("orders", 0)
    old = of_client(orders, transactional_id="")
    new = of_broker(transaction(orders, transactional_id=""))

    answer = await ask(old if version < 4 else new, version, transactions, storage)

    assert answer == [("orders", 0, ErrorCode.INVALID_REQUEST)]


async def test_several_transactions_succeed_and_fail_one_by_one(
    storage: FakeStorage, transactions: FakeTransactions
) -> None:
    request = of_broker(
        transaction(topic("orders", 0), transactional_id="a"),
        transaction(topic("nowhere", 0), transactional_id="b"),
        transaction(topic("payments", 0), transactional_id="c", verify_only=True),
    )
    transactions.partition_codes["payments", 0] = ErrorCode.TRANSACTION_ABORTABLE

    answer = await call_transactions(HANDLER, request, 5, transactions, storage=storage)

    assert answer.error_code == ErrorCode.NONE
    assert {
        result.transactional_id: codes(result.topic_results)
        for result in answer.results_by_transaction
    } == {
        "a": [("orders", 0, 0)],
        "b": [("nowhere", 0, UNKNOWN)],
        "c": [("payments", 0, ErrorCode.TRANSACTION_ABORTABLE)],
    }
    verified = {
        each.transactional_id: each.verify_only
        for each in transactions.requests
        if isinstance(each, pb.AddPartitionsRequest)
    }
    assert verified == {"a": False, "c": True}


async def test_no_transactions_are_no_results(
    storage: FakeStorage, transactions: FakeTransactions
) -> None:
    answer = await call_transactions(HANDLER, of_broker(), 4, transactions, storage=storage)

    assert answer.results_by_transaction == []


async def test_while_topics_cannot_be_looked_up_all_are_to_be_tried_again(
    storage: FakeStorage, transactions: FakeTransactions
) -> None:
    # Another code beside it would make librdkafka give the transaction up.
    storage.is_away_with = ErrorCode.LEADER_NOT_AVAILABLE

    answer = await ask(of_client(topic("orders", 0, 1)), 3, transactions, storage)

    later = ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
    assert answer == [("orders", 0, later), ("orders", 1, later)]


async def test_a_partition_that_storage_could_not_register_is_to_be_tried_again(
    storage: FakeStorage, transactions: FakeTransactions
) -> None:
    transactions.partition_codes["orders", 1] = ErrorCode.KAFKA_STORAGE_ERROR

    answer = await ask(of_client(topic("orders", 0, 1)), 3, transactions, storage)

    later = ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
    assert answer == [("orders", 0, 0), ("orders", 1, later)]


async def test_a_coordinator_that_is_away_is_told_for_each(
    storage: FakeStorage, transactions: FakeTransactions
) -> None:
    away = transactions.is_away_with = ErrorCode.COORDINATOR_LOAD_IN_PROGRESS

    answer = await ask(of_client(topic("orders", 0, 1)), 3, transactions, storage)

    assert answer == [("orders", 0, away), ("orders", 1, away)]
