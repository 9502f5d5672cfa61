"""Processes that die between any two steps of a transaction: it ends as it was decided.

They are real ones, and end as by kill -9 while a gate holds the bytes of just that step. A
step that was held `before` it was carried out, of a process that has died since, may still
arrive when all is over: then it changes nothing.
"""

from collections.abc import Iterator, Sequence

import pytest

from korvet.coordinator.transaction import State
from korvet.kafka.errors import ErrorCode
from tests.support.gate import Held, When
from tests.support.gated_cluster import GatedCluster, gated_cluster
from tests.support.interrupted_transaction import (
    KEYS,
    InterruptedTransaction,
    under_way,
)
from tests.support.traffic import PATIENCE
from tests.support.transaction_wire import AWAY, TransactionWire, insist
from tests.support.wire_client import Produced

pytestmark = pytest.mark.e2e

NONE = ErrorCode.NONE


@pytest.fixture(scope="module")
def gated(tmp_path_factory: pytest.TempPathFactory) -> Iterator[GatedCluster]:
    """Each test leaves all of it running."""
    with gated_cluster(tmp_path_factory.mktemp("interrupted")) as cluster:
        yield cluster
        assert cluster.korvet.errors() == []


@pytest.fixture
def transaction(gated: GatedCluster, topic: str) -> Iterator[InterruptedTransaction]:
    """By way of the second gateway."""
    with TransactionWire(gated.korvet.gateways[1].address, patience=PATIENCE) as wire:
        yield InterruptedTransaction(gated.korvet, wire, topic)
        # Whatever a test that has failed has left there.
        gated.open()


# ---------------------------------------------------------------- partitions


@pytest.mark.parametrize("is_commit", [True, False])
@pytest.mark.parametrize(
    "dying", [("storages",), ("coordinators",), ("storages", "coordinators")]
)
def test_what_has_ended_in_some_partitions_ends_in_the_others(
    gated: GatedCluster,
    transaction: InterruptedTransaction,
    dying: Sequence[str],
    is_commit: bool,
) -> None:
    transaction.start()
    insist(transaction.add)
    transaction.write_to_all(b"written")
    third = transaction.targets[2]
    held = gated.storage_gate.hold(KEYS.partition(*third).encode(), "before")
    transaction.noted.ends()
    with under_way(lambda: transaction.wire.end(transaction.producer, commit=is_commit)):
        held.wait()
        transaction.comes_to(2, 2, 1, 1)

        gated.restart(*dying)
        held.release()

    transaction.has_ended(is_commit=is_commit)
    transaction.comes_to(2, 2, 2, 2)
    transaction.judge()


@pytest.mark.parametrize("kind", ["storages", "coordinators"])
def test_what_has_begun_in_some_partitions_begins_in_all_when_it_is_asked_again(
    gated: GatedCluster,
    transaction: InterruptedTransaction,
    kind: str,
) -> None:
    transaction.start()
    third = transaction.targets[2]
    held = gated.storage_gate.hold(KEYS.partition(*third).encode(), "before")
    with under_way(transaction.add) as adding:
        held.wait()
        gated.restart(kind)
        held.release()
    assert adding.result() in {*AWAY, NONE}

    insist(transaction.add)

    transaction.write_to_all(b"written")
    transaction.end(is_commit=True)
    transaction.comes_to(2, 2, 2, 2)
    transaction.judge()


@pytest.mark.parametrize("kind", ["storages", "coordinators"])
def test_what_has_begun_without_an_answer_holds_up_nobody(
    gated: GatedCluster,
    transaction: InterruptedTransaction,
    kind: str,
) -> None:
    """Its producer does not come back, either: it times out."""
    transaction.start(timeout_ms=3000)
    last = transaction.targets[-1]
    held = gated.storage_gate.hold(KEYS.partition(*last).encode(), "after")
    with under_way(transaction.add):
        held.wait()
        gated.restart(kind)
        held.drop()

    transaction.noted.ends()
    transaction.has_ended(is_commit=False)
    late = [
        transaction.wire.write(transaction.producer, target, b"late", 0).error
        for target in transaction.targets
    ]
    assert late == [ErrorCode.INVALID_PRODUCER_EPOCH] * 4
    transaction.comes_to(0, 0, 0, 0)
    transaction.judge()


# ---------------------------------------------------------------- gateways


class Joining:
    """A record by way of the first gateway, whose partition joins by that (KIP-890)."""

    def __init__(
        self,
        gated: GatedCluster,
        transaction: InterruptedTransaction,
        wire: TransactionWire,
    ) -> None:
        self.transaction = transaction
        self.target = transaction.targets[0]
        self._gated = gated
        self._wire = wire

    def dies(self, when: When) -> Held:
        """The partition has joined, and the record is on its way to storage, or there."""
        held = self._gated.gateway_gate.hold(b"by a gateway that dies", when)
        self.transaction.noted.write(self.target, b"by a gateway that dies")
        with under_way(lambda: self._write(self._wire)) as writing:
            held.wait()
            assert self.transaction.state is State.ONGOING
            self._gated.restart("gateways")
        assert isinstance(writing.exception(), EOFError | OSError)
        return held

    def _write(self, wire: TransactionWire) -> Produced:
        value = b"by a gateway that dies"
        return wire.write(self.transaction.producer, self.target, value, 0, version=12)

    def write_again(self) -> Produced:
        """By way of the other one."""
        return self._write(self.transaction.wire)


@pytest.fixture
def joining(gated: GatedCluster, transaction: InterruptedTransaction) -> Iterator[Joining]:
    with TransactionWire(gated.korvet.gateways[0].address, patience=PATIENCE) as wire:
        wire.transactional_id = transaction.wire.transactional_id
        transaction.start()
        yield Joining(gated, transaction, wire)


@pytest.mark.parametrize("is_commit", [True, False])
@pytest.mark.parametrize("when", ["before", "after"])
def test_a_gateway_dead_between_join_and_append_leaves_the_record_to_its_producer(
    joining: Joining, when: When, is_commit: bool
) -> None:
    transaction = joining.transaction
    held = joining.dies(when)
    held.drop()

    insist(lambda: joining.write_again().error)

    transaction.end(is_commit=is_commit)
    transaction.comes_to(2, 0, 0, 0)
    transaction.judge()


def test_a_dead_gateways_append_that_comes_after_the_end_opens_nothing(
    joining: Joining,
) -> None:
    transaction = joining.transaction
    held = joining.dies("before")
    transaction.end(is_commit=False)

    held.release()

    transaction.begin()
    insist(transaction.add)
    transaction.write_to_all(b"of the next one")
    transaction.end(is_commit=True)
    transaction.comes_to(2, 2, 2, 2)
    transaction.judge()
