"""Transactions as they are listed and described, and who is asked about them."""

from typing import Any

import pytest

from korvet.kafka.errors import ErrorCode
from korvet.proto.coordinator.v1 import coordinator_service_pb2 as pb
from tests.support.coordinator_replica import CoordinatorReplica
from tests.support.transactional_producer import StartTransactional, TransactionalProducer

pytestmark = pytest.mark.integration


async def test_transactions_are_listed(producer: TransactionalProducer) -> None:
    coordinator = producer.coordinator
    other = TransactionalProducer(coordinator, "other")
    await other.init()
    await other.add()

    async def listed(**wanted: Any) -> list[tuple[str, str]]:
        request = pb.ListTransactionsRequest(**{"running_longer_than_ms": -1, **wanted})
        response = await coordinator.stub.ListTransactions(request)
        assert response.error_code == ErrorCode.NONE
        return [(each.transactional_id, each.state) for each in response.transactions]

    both = [("other", "Ongoing"), ("payments", "Empty")]
    assert await listed() == both
    assert await listed(states=["ongoing", "EMPTY"]) == both
    assert await listed(states=["PrepareAbort"]) == []
    assert await listed(producer_ids=[other.producer_id]) == both[:1]
    assert await listed(running_longer_than_ms=60_000) == []
    assert await listed(transactional_id_pattern="pay.*") == both[1:]
    assert await listed(transactional_id_pattern="pay") == []
    # One that others' matchers would try for ever.
    assert await listed(transactional_id_pattern="(p?a?y?m?e?n?t?s?)+" * 20 + "!") == []
    bad = pb.ListTransactionsRequest(transactional_id_pattern="(")
    response = await coordinator.stub.ListTransactions(bad)
    assert response.error_code == ErrorCode.INVALID_REGULAR_EXPRESSION


async def test_a_transaction_is_described(producer: TransactionalProducer) -> None:
    await producer.add(("orders", 1), ("orders", 0), ("bills", 2))
    await producer.add_group("group")

    described = await producer.describe()

    assert described.state == "Ongoing"
    assert (described.producer_id, described.producer_epoch) == (producer.producer_id, 0)
    assert described.timeout_ms == 60_000
    assert described.started_ms > 0
    topics = {each.topic: list(each.partitions) for each in described.topics}
    assert topics == {"orders": [0, 1], "bills": [2]}
    assert list(described.groups) == ["group"]
    assert described.coordinator_address == producer.coordinator.address
    await producer.commit()
    assert (await producer.describe()).started_ms == -1


async def test_another_coordinator_names_the_owner(
    start_transactional: StartTransactional, producer: TransactionalProducer
) -> None:
    other: CoordinatorReplica = await start_transactional("other")
    await producer.add()
    who: dict[str, Any] = {"transactional_id": "payments", "producer_id": 1}
    answers: list[Any] = [
        await other.stub.InitProducer(
            pb.InitProducerRequest(
                transactional_id="payments",
                transaction_timeout_ms=1000,
                producer_id=-1,
                producer_epoch=-1,
            )
        ),
        await other.stub.AddPartitions(pb.AddPartitionsRequest(**who)),
        await other.stub.AddGroup(pb.AddGroupRequest(**who)),
        await other.stub.EndTransaction(pb.EndTransactionRequest(**who)),
        await other.stub.AbortTransaction(
            pb.AbortTransactionRequest(transactional_id="payments")
        ),
    ]

    assert {answer.error_code for answer in answers} == {ErrorCode.NOT_COORDINATOR}
    owner = producer.coordinator.address
    assert {answer.coordinator_address for answer in answers} == {owner}
