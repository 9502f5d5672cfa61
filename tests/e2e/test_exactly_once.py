"""Consume, transform, produce, with transactions: each input is in the output once.

A loop of a real client goes on, and aborts now and then, while gateways, storages,
coordinators and Redis are killed at random moments, the same in each run;
`KORVET_TEST_SEEDS` gives other ones. Input and output are topics of every layout, and a
transaction goes over all of them.
"""

import random
import time
import uuid
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Final, TypeAlias

import pytest

from korvet.coordinator.transaction import State
from korvet.coordinator.transaction_codec import StoredTransaction, decode
from korvet.kafka.errors import ErrorCode
from korvet.redis.keys import Keys
from tests.support.client_contract import Isolation, NewRecord
from tests.support.confluent_client import ConfluentClient
from tests.support.copy_aiokafka import AiokafkaCopyLoop
from tests.support.copy_confluent import ConfluentCopyLoop
from tests.support.copy_kafka_python import KafkaPythonCopyLoop
from tests.support.copy_loop import CopyLoop
from tests.support.eventually import eventually_true
from tests.support.history import Partition
from tests.support.korvet_process import KorvetCluster
from tests.support.layouts import LAYOUTS
from tests.support.live_reader import LiveReader
from tests.support.noted_transactions import close_log, judge, read_to_end
from tests.support.redis_server import RedisServer
from tests.support.redundant_cluster import redundant_cluster
from tests.support.seeds import seeds
from tests.support.service_process import ServiceProcess
from tests.support.topic_admin import create_topic
from tests.support.traffic import PATIENCE
from tests.support.transaction_history import (
    Outcome,
    Reader,
    Transaction,
    TransactionHistory,
)
from tests.support.transaction_wire import AWAY, TransactionWire, insist
from tests.support.wire_client import ProducerId

pytestmark = pytest.mark.e2e

_INPUTS: Final = 1000
_CLIENT: Final = ConfluentClient()

Victim: TypeAlias = ServiceProcess | RedisServer


@pytest.fixture(scope="module")
def korvet(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KorvetCluster]:
    """Two of everything, which these tests share; each test leaves all of them running."""
    with redundant_cluster(tmp_path_factory.mktemp("exactly-once")) as cluster:
        yield cluster
        assert cluster.errors() == []


@pytest.fixture
def wire(korvet: KorvetCluster) -> Iterator[TransactionWire]:
    with TransactionWire(korvet.gateways[0].address, patience=PATIENCE) as wire:
        wire.transactional_id = f"transactional-{uuid.uuid4().hex[:12]}"
        yield wire


@pytest.fixture
def routes(korvet: KorvetCluster, topic: str) -> dict[Partition, Partition]:
    """From a topic of each layout to one of the next layout."""
    names = list(LAYOUTS)
    for layout, configs in LAYOUTS.items():
        for name in (f"{topic}-in-{layout}", f"{topic}-out-{layout}"):
            create_topic(korvet.bootstrap, name, configs=configs)
    return {
        Partition(f"{topic}-in-{layout}", 0): Partition(f"{topic}-out-{other}", 0)
        for layout, other in zip(names, [*names[1:], names[0]], strict=True)
    }


@pytest.fixture
def ends(
    korvet: KorvetCluster, routes: Mapping[Partition, Partition]
) -> dict[Partition, int]:
    """Fill the inputs; return what comes after each one's last record."""
    values = [b"%d" % number for number in range(_INPUTS)]
    found: dict[Partition, int] = {}
    with _CLIENT.producer(korvet.bootstrap, idempotent=True) as producer:
        for number, source in enumerate(routes):
            written = producer.send(
                source.topic, [NewRecord(b"%s of %d" % (each, number)) for each in values]
            )
            found[source] = (written[-1].offset or 0) + 1
    return found


def break_and_judge(
    korvet: KorvetCluster,
    loop: CopyLoop,
    routes: Mapping[Partition, Partition],
    victims: Sequence[Victim],
    seed: int,
) -> None:
    """Kill each in turn while the loop runs, then see what it has made."""
    seeded = random.Random(seed)
    targets = list(routes.values())
    with LiveReader(korvet.bootstrap, loop.history, targets, Isolation.COMMITTED) as reader:
        with loop:
            for victim in victims:
                loop.wait_for_commits(seeded.randrange(1, 8))
                time.sleep(seeded.uniform(0, 0.05))
                victim.kill()
                if isinstance(victim, RedisServer):
                    # Nothing takes over from it.
                    time.sleep(seeded.uniform(0, 0.5))
                elif victim not in korvet.gateways and seeded.random() < 0.5:
                    # The other one takes over; else it comes back before that.
                    loop.wait_for_commits(1)
                victim.start()
            loop.wait_for_commits(3)
        last = close_log(_CLIENT, korvet.bootstrap, loop.history, targets)
        reader.read_to(last)
    committed = read_to_end(
        _CLIENT, korvet.bootstrap, loop.history, last, Isolation.COMMITTED
    )
    read_to_end(_CLIENT, korvet.bootstrap, loop.history, last, Isolation.UNCOMMITTED)

    loop.history.check()
    assert loop.history.count(Outcome.ABORTED)
    for number, target in enumerate(routes.values()):
        assert copies_in(committed, target) == [
            b"%d of %d" % (each, number) for each in range(_INPUTS)
        ]


def copies_in(reader: Reader, target: Partition) -> list[bytes]:
    """Without the number of the attempt, and without the last record, which is no copy."""
    return [read.value.split(b" in attempt ")[0] for read in reader.reads[target][:-1]]


@pytest.mark.parametrize("kind", ["gateways", "storages", "coordinators", "redis"])
@pytest.mark.parametrize("seed", seeds(1))
def test_each_input_is_in_the_output_once_whichever_process_is_killed(
    korvet: KorvetCluster,
    routes: dict[Partition, Partition],
    ends: dict[Partition, int],
    kind: str,
    seed: int,
) -> None:
    victims: list[Victim] = [korvet.redis] if kind == "redis" else getattr(korvet, kind)
    name = f"copy-{uuid.uuid4().hex[:12]}"
    loop = ConfluentCopyLoop(korvet.bootstrap, routes, ends, name=name, seed=seed)

    break_and_judge(korvet, loop, routes, [*victims, victims[0]], seed)


@pytest.mark.parametrize(
    "loop_type", [ConfluentCopyLoop, AiokafkaCopyLoop, KafkaPythonCopyLoop]
)
@pytest.mark.parametrize("seed", seeds(4))
def test_each_input_is_in_the_output_once_whatever_is_killed(
    korvet: KorvetCluster,
    routes: dict[Partition, Partition],
    ends: dict[Partition, int],
    loop_type: type[CopyLoop],
    seed: int,
) -> None:
    seeded = random.Random(seed)
    kinds = [korvet.gateways, korvet.storages, korvet.coordinators]
    victims: list[Victim] = [korvet.redis, *(seeded.choice(kind) for kind in kinds)]
    seeded.shuffle(victims)
    name = f"copy-{uuid.uuid4().hex[:12]}"
    loop = loop_type(korvet.bootstrap, routes, ends, name=name, seed=seed)

    break_and_judge(korvet, loop, routes, victims, seed)


def test_a_coordinator_that_slept_since_it_decided_changes_nothing_when_it_wakes(
    korvet: KorvetCluster, wire: TransactionWire, routes: dict[Partition, Partition]
) -> None:
    """It is overtaken between decision and markers, and wakes in the next transaction.

    Both transactions have the same producer id and epoch, so that a late marker would fit.
    """
    history, targets, group = (
        TransactionHistory(),
        list(routes.values()),
        wire.transactional_id,
    )
    producer = wire.started()
    first = history.begin("wire")
    insist(lambda: wire.add(producer, *targets)[0])
    for number, target in enumerate(targets):
        note_write(first, wire, producer, target, b"first %d" % number, 0)
    insist(lambda: wire.add_group(producer, group))
    insist(lambda: wire.commit_offset(producer, group, targets[0], 7))
    sleeper = owner_of(korvet, wire)
    for storage in korvet.storages:
        # So that it can decide, and no more.
        storage.kill()
    first.ends()
    wire.send_end(producer, commit=True)
    eventually_true(lambda: stored(korvet, wire).transaction.state is State.PREPARE_COMMIT)

    with sleeper.paused(), TransactionWire(korvet.gateways[1].address) as other:
        other.transactional_id = wire.transactional_id
        for storage in korvet.storages:
            storage.start()
        eventually_true(
            lambda: stored(korvet, wire).transaction.state is State.COMPLETE_COMMIT,
            PATIENCE,
        )
        first.committed()
        second = history.begin("wire")
        insist(lambda: other.add(producer, *targets)[0])
        for number, target in enumerate(targets):
            note_write(second, other, producer, target, b"second %d" % number, 1)
        before, registrations = stored(korvet, wire), registrations_of(sleeper)
    # It has noticed what became of it.
    eventually_true(lambda: registrations_of(sleeper) > registrations, PATIENCE)
    assert wire.receive_end().error in {ErrorCode.NONE, *AWAY}

    assert stored(korvet, wire) == before
    assert before.transaction.state is State.ONGOING
    assert not any(wire.is_stable(*target) for target in targets)
    assert wire.committed(group, targets[0]).offset == 7
    second.ends()
    insist(lambda: wire.end(producer, commit=False).error)
    second.aborted()
    judge(korvet.bootstrap, history, targets, _CLIENT)


def test_a_transaction_that_cannot_end_yet_lets_no_other_begin(
    korvet: KorvetCluster, wire: TransactionWire, routes: dict[Partition, Partition]
) -> None:
    target = next(iter(routes.values()))
    producer = wire.started()
    insist(lambda: wire.add(producer, target)[0])
    for storage in korvet.storages:
        storage.kill()
    try:
        # Decided, although nobody can be told of it.
        insist(lambda: wire.end(producer, commit=True).error)
        address = korvet.gateways[0].address
        others = [TransactionWire(address, patience=PATIENCE) for _ in range(2)]
        for other in others:
            other.transactional_id = wire.transactional_id
        # Each is kept waiting for a while, lest clients have to ask again and again.
        asked = [
            lambda: wire.init().error,
            lambda: others[0].add_group(producer, "group"),
            lambda: others[1].end(producer, commit=True).error,
        ]
        with ThreadPoolExecutor() as pool:
            answers = list(pool.map(lambda ask: ask(), asked))
        for other in others:
            other.close()
    finally:
        for storage in korvet.storages:
            storage.start()

    assert set(answers) == {ErrorCode.CONCURRENT_TRANSACTIONS}
    insist(lambda: wire.init().error)


def stored(korvet: KorvetCluster, wire: TransactionWire) -> StoredTransaction:
    with korvet.redis.client() as client:
        value = client.get(Keys().transaction(wire.transactional_id))
    assert value is not None
    return decode(wire.transactional_id, value)


def owner_of(korvet: KorvetCluster, wire: TransactionWire) -> ServiceProcess:
    address = stored(korvet, wire).owner.address
    return next(each for each in korvet.coordinators if each.address == address)


def registrations_of(coordinator: ServiceProcess) -> int:
    return coordinator.log_file.read_text().count("registered as")


def note_write(
    noted: Transaction,
    wire: TransactionWire,
    producer: ProducerId,
    target: Partition,
    value: bytes,
    sequence: int,
) -> None:
    noted.write(target, value)
    insist(lambda: wire.write(producer, target, value, sequence).error)
