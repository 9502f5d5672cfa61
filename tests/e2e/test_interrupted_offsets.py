"""Coordinators that die between two steps of a transaction with a group's offsets: they are
committed with it, or not at all.

As in `test_interrupted_transactions.py`.
"""

from collections.abc import Iterator

import pytest

from korvet.coordinator.transaction import State
from korvet.kafka.errors import ErrorCode
from tests.support.gate import When
from tests.support.gated_cluster import GatedCluster, gated_cluster
from tests.support.interrupted_transaction import (
    KEYS,
    OFFSET,
    InterruptedTransaction,
    under_way,
)
from tests.support.traffic import PATIENCE
from tests.support.transaction_wire import AWAY, TransactionWire, insist

pytestmark = pytest.mark.e2e

NONE = ErrorCode.NONE


@pytest.fixture(scope="module")
def gated(tmp_path_factory: pytest.TempPathFactory) -> Iterator[GatedCluster]:
    """Each test leaves all of it running."""
    with gated_cluster(tmp_path_factory.mktemp("offsets")) as cluster:
        yield cluster
        assert cluster.korvet.errors() == []


@pytest.fixture
def transaction(gated: GatedCluster, topic: str) -> Iterator[InterruptedTransaction]:
    """By way of the second gateway."""
    with TransactionWire(gated.korvet.gateways[1].address, patience=PATIENCE) as wire:
        yield InterruptedTransaction(gated.korvet, wire, topic)
        # Whatever a test that has failed has left there.
        gated.open()


def group_of(transaction: InterruptedTransaction) -> bytes:
    """What is in every script about the group's part in transactions."""
    return KEYS.group_transactions(transaction.group).encode()


@pytest.mark.parametrize("when", ["before", "after"])
def test_dead_while_a_group_is_added(
    gated: GatedCluster,
    transaction: InterruptedTransaction,
    when: When,
) -> None:
    transaction.start()
    insist(transaction.add)
    held = gated.coordinator_gate.hold(group_of(transaction), when)
    with under_way(transaction.add_group) as adding:
        held.wait()
        gated.restart("coordinators")
        held.drop()
    assert adding.result() in {*AWAY, NONE}

    insist(transaction.add_group)
    insist(transaction.commit_offset)

    assert transaction.committed_offset() == (-1, ErrorCode.UNSTABLE_OFFSET_COMMIT)
    transaction.end(is_commit=True)
    assert transaction.committed_offset() == (OFFSET, NONE)


def test_a_group_that_is_added_after_the_end_takes_no_offsets(
    gated: GatedCluster, transaction: InterruptedTransaction
) -> None:
    transaction.start()
    insist(transaction.add)
    held = gated.coordinator_gate.hold(group_of(transaction), "before")
    with under_way(transaction.add_group):
        held.wait()
        gated.restart("coordinators")
    transaction.end(is_commit=False)

    held.release()

    assert transaction.commit_offset() is ErrorCode.INVALID_TXN_STATE
    assert transaction.committed_offset() == (-1, NONE)


@pytest.mark.parametrize("is_commit", [True, False])
@pytest.mark.parametrize("when", ["before", "after"])
def test_dead_while_a_groups_offset_is_taken(
    gated: GatedCluster,
    transaction: InterruptedTransaction,
    when: When,
    is_commit: bool,
) -> None:
    transaction.start()
    insist(transaction.add_group)
    held = gated.coordinator_gate.hold(group_of(transaction), when)
    with under_way(transaction.commit_offset) as committing:
        held.wait()
        gated.restart("coordinators")
        held.drop()
    assert committing.result() in {*AWAY, NONE}

    insist(transaction.commit_offset)

    assert transaction.committed_offset() == (-1, ErrorCode.UNSTABLE_OFFSET_COMMIT)
    transaction.end(is_commit=is_commit)
    assert transaction.committed_offset() == (OFFSET if is_commit else -1, NONE)


def test_a_groups_offset_that_comes_after_the_end_is_not_taken(
    gated: GatedCluster, transaction: InterruptedTransaction
) -> None:
    transaction.start()
    insist(transaction.add_group)
    held = gated.coordinator_gate.hold(group_of(transaction), "before")
    with under_way(transaction.commit_offset):
        held.wait()
        gated.restart("coordinators")
    transaction.end(is_commit=True)

    held.release()

    assert transaction.committed_offset() == (-1, NONE)
    insist(transaction.add_group)
    assert transaction.committed_offset() == (-1, NONE)


@pytest.mark.parametrize("is_commit", [True, False])
@pytest.mark.parametrize("when", ["before", "after"])
def test_what_has_ended_in_the_partitions_ends_in_the_group(
    gated: GatedCluster,
    transaction: InterruptedTransaction,
    when: When,
    is_commit: bool,
) -> None:
    transaction.start()
    insist(transaction.add)
    transaction.write_to_all(b"written")
    insist(transaction.add_group)
    insist(transaction.commit_offset)
    held = gated.coordinator_gate.hold(group_of(transaction), when)
    transaction.noted.ends()
    with under_way(lambda: transaction.wire.end(transaction.producer, commit=is_commit)):
        held.wait()
        transaction.comes_to(2, 2, 2, 2)
        assert transaction.state in (State.PREPARE_COMMIT, State.PREPARE_ABORT)
        gated.restart("coordinators")
        held.drop()

    transaction.has_ended(is_commit=is_commit)
    assert transaction.committed_offset() == (OFFSET if is_commit else -1, NONE)
    transaction.comes_to(2, 2, 2, 2)
    transaction.judge()
