"""A coordinator that sleeps while a transaction's end is on its way from it to storage.

It is overtaken, and its producer is at the next transaction when that end arrives: real
storage is certainly asked to carry it out, in each partition, and changes nothing.
"""

from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from typing import Final

import pytest

from korvet.coordinator.transaction import State
from korvet.kafka.errors import ErrorCode
from korvet.storage.scripts import END_TRANSACTION
from tests.support.eventually import eventually_true
from tests.support.gate import Gate, gate_before
from tests.support.interrupted_transaction import (
    KEYS,
    InterruptedTransaction,
    under_way,
)
from tests.support.korvet_process import KorvetCluster
from tests.support.redis_commands import watched_commands
from tests.support.redundant_cluster import redundant_cluster
from tests.support.service_process import ServiceProcess
from tests.support.traffic import PATIENCE
from tests.support.transaction_wire import AWAY, TransactionWire, insist

pytestmark = pytest.mark.e2e

_ENDING: Final = END_TRANSACTION.digest.decode()


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> KorvetCluster:
    """Not started. Of its two storages, coordinators know the first one."""
    cluster = redundant_cluster(tmp_path_factory.mktemp("overtaken"))
    for coordinator in cluster.coordinators:
        coordinator.environ["KORVET_COORDINATOR_STORAGE_ADDRESS"] = cluster.storage
    return cluster


@pytest.fixture(scope="module")
def gates(cluster: KorvetCluster) -> Iterator[Mapping[str, Gate]]:
    """Between each coordinator and storage, by the coordinator's address."""
    with ExitStack() as stack:
        yield {
            each.address: stack.enter_context(
                gate_before(each, "KORVET_COORDINATOR_STORAGE_ADDRESS")
            )
            for each in cluster.coordinators
        }


@pytest.fixture(scope="module")
def korvet(cluster: KorvetCluster, gates: Mapping[str, Gate]) -> Iterator[KorvetCluster]:
    with cluster:
        yield cluster
        assert cluster.errors() == []


@pytest.fixture
def transaction(
    korvet: KorvetCluster, gates: Mapping[str, Gate], topic: str
) -> Iterator[InterruptedTransaction]:
    with TransactionWire(korvet.gateways[0].address, patience=PATIENCE) as wire:
        yield InterruptedTransaction(korvet, wire, topic)
        # Whatever a test that has failed has left there.
        for gate in gates.values():
            gate.open()


def registrations_of(coordinator: ServiceProcess) -> int:
    return coordinator.log_file.read_text().count("registered as")


@pytest.mark.parametrize("is_commit", [True, False])
def test_an_end_that_arrives_in_the_next_transaction_does_not_end_that(
    korvet: KorvetCluster,
    gates: Mapping[str, Gate],
    transaction: InterruptedTransaction,
    is_commit: bool,
) -> None:
    """Both have the same producer id and epoch, so that its markers would fit."""
    transaction.start()
    insist(transaction.add)
    transaction.write_to_all(b"of the first")
    address = transaction.stored.owner.address
    sleeper = next(each for each in korvet.coordinators if each.address == address)
    registrations = registrations_of(sleeper)
    first = transaction.targets[0]
    held = gates[address].hold(first.topic.encode(), "before")
    transaction.noted.ends()
    own_wire = transaction.wire
    with (
        under_way(lambda: own_wire.end(transaction.producer, commit=is_commit)) as ending,
        TransactionWire(korvet.gateways[1].address, patience=PATIENCE) as other,
    ):
        held.wait()
        other.transactional_id, transaction.wire = own_wire.transactional_id, other
        with sleeper.paused():
            transaction.has_ended(is_commit=is_commit)
            transaction.begin()
            insist(transaction.add)
            transaction.write_to_all(b"of the second")
            before = transaction.stored

            with watched_commands(korvet.redis) as commands:
                held.release()
                for target in transaction.targets:
                    # The second one is open: this is the end of the first.
                    commands.wait_for(_ENDING, KEYS.partition(*target))

            transaction.comes_to(3, 3, 3, 3)
        # It has noticed what became of it.
        eventually_true(lambda: registrations_of(sleeper) > registrations, PATIENCE)
        assert ending.result().error in {*AWAY, ErrorCode.NONE}

        assert transaction.stored == before
        assert before.transaction.state is State.ONGOING
        assert not any(other.is_stable(*target) for target in transaction.targets)
        transaction.end(is_commit=not is_commit)
        transaction.comes_to(4, 4, 4, 4)
        transaction.judge()
