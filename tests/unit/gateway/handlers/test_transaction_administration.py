"""ListTransactions, DescribeTransactions and DescribeProducers."""

import pytest

from korvet.gateway.cluster import Broker, Cluster
from korvet.gateway.handlers import (
    describe_producers,
    describe_transactions,
    list_transactions,
)
from korvet.kafka.errors import ErrorCode
from korvet.kafka.messages.describe_producers import (
    DescribeProducersRequest,
    DescribeProducersResponse,
)
from korvet.kafka.messages.describe_transactions import (
    DescribeTransactionsRequest,
    DescribeTransactionsResponse,
)
from korvet.kafka.messages.list_transactions import (
    ListTransactionsRequest,
    ListTransactionsResponse,
)
from korvet.proto.coordinator.v1 import coordinator_service_pb2 as pb
from korvet.proto.storage.v1 import storage_service_pb2 as storage_pb
from tests.support.fake_storage import FakeStorage
from tests.support.fake_transactions import FakeTransactions
from tests.support.gateway_context import request_context
from tests.support.handler_calls import call, call_transactions

Described = pb.DescribeTransactionsResponse.Transaction


@pytest.fixture
def transactions() -> FakeTransactions:
    transactions = FakeTransactions()
    transactions.transactions["open"] = Described(
        transactional_id="open",
        state="Ongoing",
        producer_id=4000,
        producer_epoch=3,
        timeout_ms=60_000,
        started_ms=1_700_000_000_000,
        topics=[
            pb.DescribeTransactionsResponse.Partitions(topic="orders", partitions=[0, 2])
        ],
        groups=["group"],
    )
    transactions.transactions["idle"] = Described(
        transactional_id="idle", state="Empty", producer_id=4001, started_ms=-1
    )
    return transactions


# ---------------------------------------------------------------- listing


def listed(answer: ListTransactionsResponse) -> list[tuple[str, int, str]]:
    return [
        (each.transactional_id, each.producer_id, each.transaction_state)
        for each in answer.transaction_states
    ]


@pytest.mark.parametrize("version", range(3))
async def test_transactional_ids_are_listed(
    transactions: FakeTransactions, version: int
) -> None:
    answer = await call_transactions(
        list_transactions.HANDLER, ListTransactionsRequest(), version, transactions
    )

    assert listed(answer) == [("open", 4000, "Ongoing"), ("idle", 4001, "Empty")]
    assert transactions.requests == [pb.ListTransactionsRequest(running_longer_than_ms=-1)]


async def test_the_coordinator_is_told_which(transactions: FakeTransactions) -> None:
    request = ListTransactionsRequest(
        state_filters=["Ongoing", "PrepareAbort"],
        producer_id_filters=[4000, 4001],
        duration_filter=5000,
        transactional_id_pattern="o.*",
    )

    answer = await call_transactions(list_transactions.HANDLER, request, 2, transactions)

    assert listed(answer) == [("open", 4000, "Ongoing")]
    assert transactions.requests == [
        pb.ListTransactionsRequest(
            states=["Ongoing", "PrepareAbort"],
            producer_ids=[4000, 4001],
            running_longer_than_ms=5000,
            transactional_id_pattern="o.*",
        )
    ]


@pytest.mark.parametrize(
    ("states", "unknown", "ids"),
    [
        (["Ongoing", "Odd", "ongoing"], ["Odd", "ongoing"], ["open"]),
        (["Odd"], ["Odd"], []),
        (["Dead", "PrepareEpochFence"], [], []),
    ],
)
async def test_states_that_do_not_exist_are_named_and_find_nothing(
    transactions: FakeTransactions, states: list[str], unknown: list[str], ids: list[str]
) -> None:
    request = ListTransactionsRequest(state_filters=states)

    answer = await call_transactions(list_transactions.HANDLER, request, 0, transactions)

    assert answer.unknown_state_filters == unknown
    assert [each.transactional_id for each in answer.transaction_states] == ids


@pytest.mark.parametrize(
    "code",
    [ErrorCode.INVALID_REGULAR_EXPRESSION, ErrorCode.COORDINATOR_LOAD_IN_PROGRESS],
)
async def test_a_listing_may_be_refused(
    transactions: FakeTransactions, code: ErrorCode
) -> None:
    transactions.code = code
    request = ListTransactionsRequest(transactional_id_pattern="(")

    answer = await call_transactions(list_transactions.HANDLER, request, 2, transactions)

    assert (answer.error_code, answer.transaction_states) == (code, [])


async def test_each_gateway_lists_its_share() -> None:
    transactions = FakeTransactions()
    ids = {f"id-{number}" for number in range(50)}
    for each in ids:
        transactions.transactions[each] = Described(transactional_id=each, state="Empty")
    storage = FakeStorage()
    gateways = [
        storage_pb.Gateway(node_id=node, host="gateway", port=9092) for node in range(3)
    ]
    shares = []
    for node in range(3):
        cluster = Cluster(Broker(node, "gateway", 9092, None), storage)
        cluster.set_gateways(gateways)
        context = request_context(
            storage, 2, transactions=transactions, cluster=cluster, node_id=node
        )
        answer = await list_transactions.handle(ListTransactionsRequest(), context)
        shares.append([each.transactional_id for each in answer.transaction_states])

    assert all(shares)
    assert sorted(each for share in shares for each in share) == sorted(ids)


# ---------------------------------------------------------------- transactions


async def test_transactions_are_described(transactions: FakeTransactions) -> None:
    request = DescribeTransactionsRequest(transactional_ids=["idle", "nobody", "open"])

    answer = await call_transactions(
        describe_transactions.HANDLER, request, 0, transactions
    )

    idle, nobody, open_ = answer.transaction_states
    assert (idle.transactional_id, idle.transaction_state) == ("idle", "Empty")
    assert (idle.error_code, idle.transaction_start_time_ms) == (0, -1)
    assert nobody.transactional_id == "nobody"
    assert nobody.error_code == ErrorCode.TRANSACTIONAL_ID_NOT_FOUND
    assert open_ == DescribeTransactionsResponse.TransactionState(
        transactional_id="open",
        transaction_state="Ongoing",
        transaction_timeout_ms=60_000,
        transaction_start_time_ms=1_700_000_000_000,
        producer_id=4000,
        producer_epoch=3,
        topics=[DescribeTransactionsResponse.TopicData(topic="orders", partitions=[0, 2])],
    )


async def test_without_a_coordinator_no_transaction_is_described(
    transactions: FakeTransactions,
) -> None:
    away = transactions.is_away_with = ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
    request = DescribeTransactionsRequest(transactional_ids=["open", "idle"])

    answer = await call_transactions(
        describe_transactions.HANDLER, request, 0, transactions
    )

    assert [
        (each.transactional_id, each.error_code) for each in answer.transaction_states
    ] == [("open", away), ("idle", away)]


# ---------------------------------------------------------------- producers


def producers_of(*topics: tuple[str, list[int]]) -> DescribeProducersRequest:
    return DescribeProducersRequest(
        topics=[
            DescribeProducersRequest.TopicRequest(name=name, partition_indexes=partitions)
            for name, partitions in topics
        ]
    )


async def describe(
    request: DescribeProducersRequest, storage: FakeStorage
) -> DescribeProducersResponse:
    return await call(describe_producers.HANDLER, request, 0, storage)


def codes(answer: DescribeProducersResponse) -> list[tuple[str, int, int]]:
    return [
        (topic.name, partition.partition_index, partition.error_code)
        for topic in answer.topics
        for partition in topic.partitions
    ]


async def test_producers_are_described() -> None:
    storage = FakeStorage()
    topic_id = storage.add_topic("orders", 2).id
    storage.logs["orders", 1].producers.append(
        storage_pb.DescribeProducersResponse.Producer(
            producer_id=4000,
            producer_epoch=3,
            last_sequence=7,
            last_timestamp_ms=1_700_000_000_000,
            coordinator_epoch=2,
            transaction_start_offset=42,
        )
    )

    answer = await describe(producers_of(("orders", [0, 1])), storage)

    first, second = answer.topics[0].partitions
    assert (first.partition_index, first.error_code, first.active_producers) == (0, 0, [])
    assert second.active_producers == [
        DescribeProducersResponse.ProducerState(
            producer_id=4000,
            producer_epoch=3,
            last_sequence=7,
            last_timestamp=1_700_000_000_000,
            coordinator_epoch=2,
            current_txn_start_offset=42,
        )
    ]
    assert storage.requests[-1] == storage_pb.DescribeProducersRequest(
        partitions=[
            storage_pb.TransactionPartition(
                topic=storage_pb.TopicRef(name="orders", id=topic_id), partition=partition
            )
            for partition in (0, 1)
        ]
    )


async def test_partitions_that_are_not_there_are_told_one_by_one() -> None:
    storage = FakeStorage()
    storage.add_topic("orders", 1)

    answer = await describe(
        producers_of(("orders", [0, 5]), ("nowhere", [0]), ("no/topic", [0])), storage
    )

    unknown = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert codes(answer) == [
        ("orders", 0, 0),
        ("orders", 5, unknown),
        ("nowhere", 0, unknown),
        ("no/topic", 0, ErrorCode.INVALID_TOPIC_EXCEPTION),
    ]


async def test_without_storage_no_producer_is_described() -> None:
    storage = FakeStorage()
    storage.is_away_with = ErrorCode.KAFKA_STORAGE_ERROR

    answer = await describe(producers_of(("orders", [0])), storage)

    assert codes(answer) == [("orders", 0, ErrorCode.KAFKA_STORAGE_ERROR)]
