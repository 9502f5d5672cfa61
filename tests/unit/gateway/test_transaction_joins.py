import pytest

from korvet.gateway.transaction_joins import JoiningPartition, Producer, TransactionJoins
from korvet.kafka.errors import ErrorCode
from korvet.proto.coordinator.v1 import coordinator_service_pb2 as pb
from tests.support.fake_transactions import FakeTransactions

PRODUCER = Producer("id", 4000, 3)
ID = b"i" * 16
ZERO = JoiningPartition("orders", ID, 0)
ONE = JoiningPartition("orders", ID, 1)


@pytest.fixture
def coordinator() -> FakeTransactions:
    return FakeTransactions()


@pytest.fixture
def joins(coordinator: FakeTransactions) -> TransactionJoins:
    return TransactionJoins(coordinator)


def added(coordinator: FakeTransactions) -> list[list[int]]:
    """The partitions of each time that any were added."""
    return [
        [each.partition for each in request.partitions]
        for request in coordinator.requests
        if isinstance(request, pb.AddPartitionsRequest)
    ]


async def test_a_partition_is_added_once(
    joins: TransactionJoins, coordinator: FakeTransactions
) -> None:
    assert await joins.join_partitions(PRODUCER, [ZERO]) == [0]
    assert await joins.join_partitions(PRODUCER, [ZERO, ONE]) == [0, 0]
    assert await joins.join_partitions(PRODUCER, [ONE, ZERO]) == [0, 0]

    assert added(coordinator) == [[0], [1]]
    first = coordinator.requests[0]
    assert first == pb.AddPartitionsRequest(
        transactional_id="id",
        producer_id=4000,
        producer_epoch=3,
        partitions=[
            pb.AddPartitionsRequest.Partition(topic="orders", topic_id=ID, partition=0)
        ],
    )


async def test_a_partition_that_is_named_twice_is_added_once(
    joins: TransactionJoins, coordinator: FakeTransactions
) -> None:
    assert await joins.join_partitions(PRODUCER, [ZERO, ZERO]) == [0, 0]

    assert added(coordinator) == [[0]]


@pytest.mark.parametrize(
    "next_one",
    [
        PRODUCER._replace(producer_epoch=4),
        PRODUCER._replace(producer_id=4001),
        PRODUCER._replace(transactional_id="other"),
    ],
)
async def test_the_next_transaction_adds_its_own(
    joins: TransactionJoins, coordinator: FakeTransactions, next_one: Producer
) -> None:
    await joins.join_partitions(PRODUCER, [ZERO])
    await joins.join_partitions(next_one, [ZERO])

    assert added(coordinator) == [[0], [0]]


async def test_a_topic_made_again_is_another_one(
    joins: TransactionJoins, coordinator: FakeTransactions
) -> None:
    await joins.join_partitions(PRODUCER, [ZERO])
    await joins.join_partitions(PRODUCER, [ZERO._replace(topic_id=b"j" * 16)])

    assert added(coordinator) == [[0], [0]]


async def test_what_was_refused_is_tried_again(
    joins: TransactionJoins, coordinator: FakeTransactions
) -> None:
    coordinator.partition_codes["orders", 1] = ErrorCode.KAFKA_STORAGE_ERROR
    codes = await joins.join_partitions(PRODUCER, [ONE, ZERO])
    coordinator.partition_codes.clear()
    again = await joins.join_partitions(PRODUCER, [ONE, ZERO])

    assert (codes, again) == ([ErrorCode.KAFKA_STORAGE_ERROR, 0], [0, 0])
    assert added(coordinator) == [[1, 0], [1]]


@pytest.mark.parametrize("is_away", [False, True])
async def test_a_refusal_of_all_is_one_of_each(
    joins: TransactionJoins, coordinator: FakeTransactions, is_away: bool
) -> None:
    await joins.join_partitions(PRODUCER, [ZERO])
    if is_away:
        coordinator.is_away_with = ErrorCode.CONCURRENT_TRANSACTIONS
    else:
        coordinator.code = ErrorCode.CONCURRENT_TRANSACTIONS

    codes = await joins.join_partitions(PRODUCER, [ZERO, ONE])

    assert codes == [ErrorCode.NONE, ErrorCode.CONCURRENT_TRANSACTIONS]


async def test_a_group_is_added_once(
    joins: TransactionJoins, coordinator: FakeTransactions
) -> None:
    coordinator.code = ErrorCode.CONCURRENT_TRANSACTIONS
    refused = await joins.join_group(PRODUCER, "group")
    coordinator.code = ErrorCode.NONE
    await joins.join_group(PRODUCER, "group")
    await joins.join_group(PRODUCER, "group")

    assert refused == ErrorCode.CONCURRENT_TRANSACTIONS
    assert len(coordinator.requests) == 2


async def test_what_is_forgotten_is_added_again(
    joins: TransactionJoins, coordinator: FakeTransactions
) -> None:
    await joins.join_partitions(PRODUCER, [ZERO])
    await joins.join_group(PRODUCER, "group")
    joins.forget("id")
    joins.forget("a stranger")
    await joins.join_partitions(PRODUCER, [ZERO])
    await joins.join_group(PRODUCER, "group")

    assert len(coordinator.requests) == 4


async def test_only_so_much_is_remembered(coordinator: FakeTransactions) -> None:
    joins = TransactionJoins(coordinator, max_joined=3)
    other = PRODUCER._replace(transactional_id="other")
    await joins.join_partitions(PRODUCER, [ZERO, ONE])
    await joins.join_partitions(other, [ZERO])
    coordinator.requests.clear()

    # One too many: the id that was added to longest ago goes.
    await joins.join_group(other, "group")
    await joins.join_partitions(other, [ZERO])
    assert added(coordinator) == []

    await joins.join_partitions(PRODUCER, [ZERO])
    assert added(coordinator) == [[0]]
