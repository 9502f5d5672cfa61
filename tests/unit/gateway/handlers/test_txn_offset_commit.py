import pytest

from korvet.gateway.handler import RequestContext
from korvet.gateway.handlers import txn_offset_commit as api
from korvet.kafka.errors import ErrorCode
from korvet.kafka.messages.txn_offset_commit import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitResponse,
)
from korvet.proto.coordinator.v1 import coordinator_service_pb2 as pb
from tests.support.fake_coordinator import FakeCoordinator
from tests.support.fake_storage import FakeStorage
from tests.support.fake_transactions import FakeTransactions
from tests.support.gateway_context import request_context
from tests.support.handler_calls import call

Topic = TxnOffsetCommitRequest.TxnOffsetCommitRequestTopic
Partition = TxnOffsetCommitRequest.TxnOffsetCommitRequestPartition


@pytest.fixture
def storage() -> FakeStorage:
    storage = FakeStorage()
    storage.add_topic("orders", 2)
    return storage


@pytest.fixture
def coordinator() -> FakeCoordinator:
    return FakeCoordinator()


@pytest.fixture
def transactions() -> FakeTransactions:
    return FakeTransactions()


def request(
    *topics: Topic,
    transactional_id: str = "id",
    group_id: str = "group",
    member: bool = False,
) -> TxnOffsetCommitRequest:
    request = TxnOffsetCommitRequest(
        transactional_id=transactional_id,
        group_id=group_id,
        producer_id=4000,
        producer_epoch=2,
        topics=list(topics),
    )
    if member:
        request.generation_id = 7
        request.member_id = "member"
        request.group_instance_id = "instance"
    return request


def topic(name: str, *partitions: int, epoch: int = -1) -> Topic:
    return Topic(
        name=name,
        partitions=[
            Partition(
                partition_index=partition,
                committed_offset=42,
                committed_leader_epoch=epoch,
                committed_metadata="note",
            )
            for partition in partitions
        ],
    )


def codes(answer: TxnOffsetCommitResponse) -> list[tuple[str, int, int]]:
    return [
        (each.name, partition.partition_index, partition.error_code)
        for each in answer.topics
        for partition in each.partitions
    ]


async def ask(
    asked: TxnOffsetCommitRequest,
    version: int,
    storage: FakeStorage,
    coordinator: FakeCoordinator | None = None,
    transactions: FakeTransactions | None = None,
) -> list[tuple[str, int, int]]:
    answer = await call(
        api.HANDLER,
        asked,
        version,
        storage,
        coordinator=coordinator,
        transactions=transactions,
    )
    return codes(answer)


@pytest.mark.parametrize("version", range(6))
async def test_offsets_are_committed_for_the_transaction(
    storage: FakeStorage,
    coordinator: FakeCoordinator,
    transactions: FakeTransactions,
    version: int,
) -> None:
    epoch = 3 if version >= 2 else -1
    asked = request(topic("orders", 1, epoch=epoch), member=version >= 3)

    answer = await ask(asked, version, storage, coordinator, transactions)

    assert answer == [("orders", 1, 0)]
    commit = pb.CommitOffsetsRequest(group_id="group", generation_id=-1)
    if version >= 3:
        commit.generation_id = 7
        commit.member_id = "member"
        commit.group_instance_id = "instance"
    commit.offsets.add(
        topic="orders",
        topic_id=storage.topics["orders"].id,
        partition=1,
        offset=42,
        leader_epoch=epoch,
        metadata="note",
    )
    assert coordinator.requests == [
        pb.CommitTransactionOffsetsRequest(
            transactional_id="id", producer_id=4000, producer_epoch=2, commit=commit
        )
    ]


@pytest.mark.parametrize("version", range(6))
async def test_partitions_are_refused_one_by_one(
    storage: FakeStorage, coordinator: FakeCoordinator, version: int
) -> None:
    coordinator.offset_codes["orders", 1] = ErrorCode.OFFSET_METADATA_TOO_LARGE

    answer = await ask(
        request(topic("nowhere", 0), topic("orders", 0, 1, 2)),
        version,
        storage,
        coordinator,
    )

    unknown = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert answer == [
        ("nowhere", 0, unknown),
        ("orders", 0, 0),
        ("orders", 1, ErrorCode.OFFSET_METADATA_TOO_LARGE),
        ("orders", 2, unknown),
    ]


async def test_where_no_topic_is_there_nobody_is_asked(
    storage: FakeStorage, coordinator: FakeCoordinator, transactions: FakeTransactions
) -> None:
    await ask(request(topic("nowhere", 0)), 5, storage, coordinator, transactions)

    assert coordinator.requests == transactions.requests == []


@pytest.mark.parametrize(
    ("asked", "code"),
    [
        (request(topic("orders", 0), transactional_id=""), ErrorCode.INVALID_REQUEST),
        (request(topic("orders", 0), group_id=""), ErrorCode.INVALID_GROUP_ID),
    ],
)
async def test_it_takes_a_transactional_id_and_a_group(
    storage: FakeStorage, asked: TxnOffsetCommitRequest, code: ErrorCode
) -> None:
    assert await ask(asked, 3, storage) == [("orders", 0, code)]


@pytest.mark.parametrize("version", range(6))
async def test_a_coordinator_that_is_away_is_told_as_the_version_knows_it(
    storage: FakeStorage, coordinator: FakeCoordinator, version: int
) -> None:
    coordinator.is_away_with = ErrorCode.COORDINATOR_LOAD_IN_PROGRESS

    answer = await ask(request(topic("orders", 0)), version, storage, coordinator)

    later = (
        ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
        if version >= 2
        else ErrorCode.COORDINATOR_NOT_AVAILABLE
    )
    assert answer == [("orders", 0, later)]


@pytest.mark.parametrize("version", range(6))
async def test_a_group_that_is_not_part_of_the_transaction_is_told_by_version(
    storage: FakeStorage, coordinator: FakeCoordinator, version: int
) -> None:
    coordinator.group_codes["group"] = ErrorCode.INVALID_TXN_STATE

    answer = await ask(request(topic("orders", 0)), version, storage, coordinator)

    told = ErrorCode.TRANSACTION_ABORTABLE if version == 4 else ErrorCode.INVALID_TXN_STATE
    assert answer == [("orders", 0, told)]


@pytest.mark.parametrize("version", range(5))
@pytest.mark.parametrize(
    ("reason", "told"),
    [
        (ErrorCode.PRODUCER_FENCED, ErrorCode.INVALID_PRODUCER_EPOCH),
        (ErrorCode.INVALID_PRODUCER_ID_MAPPING, ErrorCode.INVALID_PRODUCER_ID_MAPPING),
    ],
)
async def test_a_group_that_knows_no_transaction_has_the_coordinator_say_why(
    storage: FakeStorage,
    coordinator: FakeCoordinator,
    transactions: FakeTransactions,
    version: int,
    reason: ErrorCode,
    told: ErrorCode,
) -> None:
    coordinator.group_codes["group"] = ErrorCode.INVALID_TXN_STATE
    transactions.code = reason

    answer = await ask(
        request(topic("orders", 0, 1)), version, storage, coordinator, transactions
    )

    assert answer == [("orders", 0, told), ("orders", 1, told)]
    assert transactions.requests == [
        pb.AddPartitionsRequest(
            transactional_id="id", producer_id=4000, producer_epoch=2, verify_only=True
        )
    ]


@pytest.mark.parametrize("version", range(5))
async def test_while_the_transaction_before_is_ending_a_commit_is_to_be_sent_again(
    storage: FakeStorage,
    coordinator: FakeCoordinator,
    transactions: FakeTransactions,
    version: int,
) -> None:
    coordinator.group_codes["group"] = ErrorCode.INVALID_TXN_STATE
    transactions.code = ErrorCode.CONCURRENT_TRANSACTIONS

    answer = await ask(
        request(topic("orders", 0)), version, storage, coordinator, transactions
    )

    later = (
        ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
        if version >= 2
        else ErrorCode.COORDINATOR_NOT_AVAILABLE
    )
    assert answer == [("orders", 0, later)]


# ---------------------------------------------------------------- joining


@pytest.fixture
def context(
    storage: FakeStorage, coordinator: FakeCoordinator, transactions: FakeTransactions
) -> RequestContext:
    return request_context(storage, 5, coordinator=coordinator, transactions=transactions)


@pytest.mark.parametrize("version", range(6))
async def test_only_from_v5_on_the_group_is_added(
    storage: FakeStorage, transactions: FakeTransactions, version: int
) -> None:
    await ask(request(topic("orders", 0)), version, storage, transactions=transactions)

    added = pb.AddGroupRequest(
        transactional_id="id", producer_id=4000, producer_epoch=2, group_id="group"
    )
    assert transactions.requests == ([added] if version >= 5 else [])


async def test_a_group_is_added_once(
    context: RequestContext, transactions: FakeTransactions
) -> None:
    await api.handle(request(topic("orders", 0)), context)
    await api.handle(request(topic("orders", 0)), context)

    assert len(transactions.requests) == 1


@pytest.mark.parametrize(
    ("refusal", "told"),
    [
        (ErrorCode.PRODUCER_FENCED, ErrorCode.INVALID_PRODUCER_EPOCH),
        (ErrorCode.CONCURRENT_TRANSACTIONS, ErrorCode.CONCURRENT_TRANSACTIONS),
        (ErrorCode.INVALID_PRODUCER_ID_MAPPING, ErrorCode.INVALID_PRODUCER_ID_MAPPING),
    ],
)
async def test_where_the_group_was_not_added_nothing_is_committed(
    context: RequestContext,
    coordinator: FakeCoordinator,
    transactions: FakeTransactions,
    refusal: ErrorCode,
    told: ErrorCode,
) -> None:
    transactions.code = refusal

    answer = await api.handle(request(topic("orders", 0, 1)), context)

    assert codes(answer) == [("orders", 0, told), ("orders", 1, told)]
    assert coordinator.requests == []


@pytest.mark.parametrize(
    "refusal", [ErrorCode.INVALID_TXN_STATE, ErrorCode.INVALID_PRODUCER_EPOCH]
)
async def test_after_a_transaction_has_ended_elsewhere_the_group_is_added_anew(
    context: RequestContext,
    coordinator: FakeCoordinator,
    transactions: FakeTransactions,
    refusal: ErrorCode,
) -> None:
    await api.handle(request(topic("orders", 0)), context)
    coordinator.group_codes["group"] = refusal
    await api.handle(request(topic("orders", 0)), context)
    coordinator.group_codes.clear()
    await api.handle(request(topic("orders", 0)), context)

    assert len(transactions.requests) == 2
