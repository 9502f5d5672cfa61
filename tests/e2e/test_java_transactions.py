"""The Java client's transactions, which have an epoch each and are joined by use (KIP-890),
the copier that Kafka's own system tests use, and the tool that shows what is open."""

import random
import subprocess
import time
import uuid
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from functools import partial
from typing import Final

import grpc
import pytest

from korvet.coordinator.transaction_codec import decode
from korvet.kafka.errors import ErrorCode
from korvet.proto.storage.v1 import storage_service_pb2 as pb
from korvet.proto.storage.v1.storage_service_pb2_grpc import StorageServiceStub
from korvet.redis.keys import Keys
from tests.support.client_contract import Isolation, NewRecord
from tests.support.confluent_client import ConfluentClient
from tests.support.eventually import eventually_true
from tests.support.group_member import Place
from tests.support.group_wire import GroupWire
from tests.support.history import Partition
from tests.support.java_client import (
    JavaClient,
    JavaEnd,
    JavaMissingError,
    JavaPrograms,
    JavaTransaction,
)
from tests.support.kafka_clients import CLIENTS
from tests.support.korvet_process import KorvetCluster
from tests.support.layouts import LAYOUTS
from tests.support.noted_transactions import judge
from tests.support.redundant_cluster import redundant_cluster
from tests.support.seeds import seeds
from tests.support.topic_admin import create_topic
from tests.support.traffic import PATIENCE
from tests.support.transaction_history import TransactionHistory
from tests.support.transaction_wire import TransactionWire

pytestmark = pytest.mark.e2e

_VALUES: Final = [b"%d" % number for number in range(1000)]
_CLIENT: Final = ConfluentClient()


@pytest.fixture(scope="module")
def java(tmp_path_factory: pytest.TempPathFactory) -> JavaClient:
    try:
        return JavaClient(JavaPrograms(tmp_path_factory.mktemp("java")))
    except JavaMissingError as missing:
        pytest.skip(str(missing))


@pytest.fixture(scope="module")
def redundant(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KorvetCluster]:
    with redundant_cluster(tmp_path_factory.mktemp("java-faults")) as cluster:
        yield cluster
        assert cluster.errors() == []


@pytest.fixture
def name() -> str:
    """Of a transactional id and a group, which no other test has."""
    return f"java-{uuid.uuid4().hex[:12]}"


def test_javas_transactions_are_read_whole_or_not_at_all(
    korvet: KorvetCluster, java: JavaClient, topic: str, name: str
) -> None:
    for layout, configs in LAYOUTS.items():
        create_topic(korvet.bootstrap, f"{topic}-{layout}", partitions=2, configs=configs)
    targets = [Partition(f"{topic}-{layout}", n) for layout in LAYOUTS for n in range(2)]
    ends: tuple[JavaEnd, ...] = ("commit", "abort", "commit", "commit", "abort", "fence")
    transactions = [
        JavaTransaction(
            end=end,
            writes=[
                (target, b"%d of %d" % (number, index))
                for index, target in enumerate(targets[number % 3 :])
            ],
            group=name,
            group_topic=targets[0].topic,
            group_offset=number,
        )
        for number, end in enumerate(ends)
    ]

    told = java.transact(korvet.bootstrap, name, transactions)

    assert [each.outcome for each in told] == [
        "committed",
        "aborted",
        "committed",
        "committed",
        "aborted",
        "ProducerFencedException",
    ]
    history = TransactionHistory()
    for transaction, (outcome, offsets) in zip(transactions, told, strict=True):
        noted = history.begin("java")
        for (target, value), offset in zip(transaction.writes, offsets, strict=True):
            noted.write(target, value)
            noted.acknowledged(value, offset)
        if outcome == "committed":
            noted.committed()
        else:
            noted.aborted()
    judge(korvet.bootstrap, history, targets, *CLIENTS)
    with GroupWire(korvet.bootstrap) as wire:
        # That of the last one that was committed.
        assert wire.committed(name, (targets[0].topic, 0)).offset == 3
    with korvet.redis.client() as redis:
        value = redis.get(Keys().transaction(name))
    assert value is not None
    # One for each that ended; the successor, which fenced, has one more to begin with.
    assert decode(name, value).transaction.producer.epoch == len(ends) + 1


@pytest.mark.parametrize(
    ("source", "target", "options"),
    [
        ("record-dense", "batch-time", ()),
        ("batch-dense", "record-time", ("--group-mode", "--use-group-metadata")),
    ],
)
def test_kafkas_own_copier_copies_each_message_once(
    korvet: KorvetCluster,
    java: JavaClient,
    topic: str,
    name: str,
    source: str,
    target: str,
    options: tuple[str, ...],
) -> None:
    fill(korvet, topic, source, target)

    with copying(korvet, java, topic, name, "--transaction-size", "20", *options) as copier:
        assert copier.wait(PATIENCE) == 0

    check_copy(korvet, topic, name)


@pytest.fixture
def wire(korvet: KorvetCluster, name: str) -> Iterator[TransactionWire]:
    """With a transaction open under `name`, and one that has ended under `name`-done."""
    with TransactionWire(korvet.bootstrap) as wire:
        wire.transactional_id = f"{name}-done"
        producer = wire.started()
        assert wire.add_group(producer, name) is ErrorCode.NONE
        assert wire.end(producer, commit=True).error is ErrorCode.NONE
        wire.transactional_id = name
        yield wire


def test_kafkas_own_tool_lists_transactions_by_its_filters(
    korvet: KorvetCluster, java: JavaClient, wire: TransactionWire, name: str
) -> None:
    producer = wire.started()
    assert wire.add_group(producer, name) is ErrorCode.NONE

    def listed(*filters: str) -> dict[str, str]:
        rows = java.tell_transactions(korvet.bootstrap, "list", *filters)
        return {
            row["TransactionalId"]: row["TransactionState"]
            for row in rows
            if row["TransactionalId"].startswith(name)
        }

    both = {name: "Ongoing", f"{name}-done": "CompleteCommit"}
    assert listed() == both
    assert listed("--transactional-id-pattern", f"{name}.*") == both
    assert listed("--transactional-id-pattern", f"{name}-d[a-o]+e") == {
        f"{name}-done": "CompleteCommit"
    }
    assert listed("--transactional-id-pattern", "nobody.*") == {}
    # Each run of the tool takes longer than this.
    assert listed("--duration-filter", "100") == {name: "Ongoing"}
    assert listed("--duration-filter", "3600000") == {}


def test_kafkas_own_tool_describes_a_transaction_and_its_producer(
    korvet: KorvetCluster, java: JavaClient, wire: TransactionWire, name: str, topic: str
) -> None:
    create_topic(korvet.bootstrap, topic)
    begun = time.time() * 1000
    producer = wire.started()
    assert wire.add(producer, (topic, 0)) == [ErrorCode.NONE]
    offsets = [wire.write(producer, (topic, 0), b"v", n).base_offset for n in range(2)]
    place = ("--topic", topic, "--partition", "0")

    (transaction,) = java.tell_transactions(
        korvet.bootstrap, "describe", "--transactional-id", name
    )
    (writing,) = java.tell_transactions(korvet.bootstrap, "describe-producers", *place)
    # Old enough for the tool, which then asks whether the coordinator knows of it.
    hanging = java.tell_transactions(
        korvet.bootstrap, "find-hanging", *place, "--max-transaction-timeout", "0"
    )
    assert wire.end(producer, commit=True).error is ErrorCode.NONE
    (done,) = java.tell_transactions(korvet.bootstrap, "describe-producers", *place)

    started = int(transaction.pop("CurrentTransactionStartTimeMs"))
    assert begun - 1000 <= started <= time.time() * 1000
    assert int(transaction.pop("TransactionDurationMs")) >= 0
    assert transaction.pop("CoordinatorId") == "1"
    assert transaction == {
        "TransactionalId": name,
        "ProducerId": str(producer.producer_id),
        "ProducerEpoch": str(producer.epoch),
        "TransactionState": "Ongoing",
        "TransactionTimeoutMs": "60000",
        "TopicPartitions": f"{topic}-0",
    }
    assert begun - 1000 <= int(writing.pop("LastTimestamp")) <= time.time() * 1000
    assert int(writing.pop("LatestCoordinatorEpoch")) >= 0
    assert writing == {
        "ProducerId": str(producer.producer_id),
        "ProducerEpoch": str(producer.epoch),
        "LastSequence": "1",
        "CurrentTransactionStartOffset": str(offsets[0]),
    }
    assert hanging == []
    assert (done["LastSequence"], done["CurrentTransactionStartOffset"]) == ("1", "None")


def test_kafkas_own_tool_finds_a_transaction_that_nobody_will_end(
    korvet: KorvetCluster, java: JavaClient, wire: TransactionWire, topic: str
) -> None:
    create_topic(korvet.bootstrap, topic)
    stranger = wire.new_producer_id()
    place = pb.TransactionPartition(topic=pb.TopicRef(name=topic), partition=0)
    with grpc.insecure_channel(korvet.storage) as channel:
        answer = StorageServiceStub(channel).BeginTransaction(
            pb.BeginTransactionRequest(
                transaction=pb.Transaction(
                    producer_id=stranger.producer_id,
                    producer_epoch=stranger.epoch,
                    number=1,
                    coordinator_epoch=1,
                ),
                partitions=[place],
            )
        )
    assert answer.error_codes == [ErrorCode.NONE]
    left = wire.write(stranger, (topic, 0), b"left open", 0)
    assert left.error is ErrorCode.NONE

    (hanging,) = java.tell_transactions(
        korvet.bootstrap,
        *("find-hanging", "--topic", topic, "--partition", "0"),
        *("--max-transaction-timeout", "0"),
    )

    assert hanging["ProducerId"] == str(stranger.producer_id)
    assert hanging["StartOffset"] == str(left.base_offset)


@pytest.mark.parametrize("seed", seeds(5))
def test_the_copier_copies_each_message_once_whatever_is_killed(
    redundant: KorvetCluster, java: JavaClient, topic: str, name: str, seed: int
) -> None:
    """Its transactions are of the newer kind, which no Python client has."""
    seeded = random.Random(seed)
    fill(redundant, topic, "batch-dense", "record-dense")
    kinds = [redundant.gateways, redundant.storages, redundant.coordinators]
    victims = [seeded.choice(kind) for kind in kinds]
    seeded.shuffle(victims)
    place = (f"{topic}-in", 0)

    with ExitStack() as stack:
        # So small that there are enough of them.
        options = ("--transaction-size", "4")
        copier = stack.enter_context(copying(redundant, java, topic, name, *options))
        for victim in victims:
            # Any gateway, since one of them may be the last victim.
            with GroupWire(redundant.gateways[0].address) as wire:
                before = wire.committed(name, place, stable=False).offset
                eventually_true(partial(is_past, wire, name, place, before), PATIENCE)
            time.sleep(seeded.uniform(0, 0.05))
            victim.restart()
        # As with any service: one that gives up is started again.
        while copier.wait(PATIENCE) != 0:
            copier = stack.enter_context(copying(redundant, java, topic, name, *options))

    check_copy(redundant, topic, name)


def fill(korvet: KorvetCluster, topic: str, source: str, target: str) -> None:
    """Topics of these layouts. The copier takes offsets for numbers: its input is dense."""
    create_topic(korvet.bootstrap, f"{topic}-in", configs=LAYOUTS[source])
    create_topic(korvet.bootstrap, f"{topic}-out", configs=LAYOUTS[target])
    with _CLIENT.producer(korvet.bootstrap) as producer:
        producer.send(f"{topic}-in", [NewRecord(value) for value in _VALUES])


@contextmanager
def copying(
    korvet: KorvetCluster, java: JavaClient, topic: str, name: str, *options: str
) -> Iterator[subprocess.Popen[bytes]]:
    """Run the copier until the end of the input; it aborts every now and then."""
    command = java.copier(
        korvet.bootstrap,
        *("--input-topic", f"{topic}-in", "--input-partition", "0"),
        *("--output-topic", f"{topic}-out"),
        *("--consumer-group", name, "--transactional-id", name),
        *("--enable-random-aborts", *options),
    )
    quiet = subprocess.DEVNULL
    with subprocess.Popen(command, stdout=quiet, stderr=quiet) as copier:
        try:
            yield copier
        finally:
            copier.kill()


def is_past(wire: GroupWire, group: str, place: Place, offset: int) -> bool:
    return wire.committed(group, place, stable=False).offset > offset


def check_copy(korvet: KorvetCluster, topic: str, name: str) -> None:
    with _CLIENT.consumer(
        korvet.bootstrap, f"{topic}-out", isolation=Isolation.COMMITTED
    ) as consumer:
        assert [each.value for each in consumer.read(len(_VALUES))] == _VALUES
        # There is nothing more for it, and nothing to come.
        assert consumer.read(1, within=0.3) == []
    with GroupWire(korvet.gateways[0].address) as wire:
        assert wire.is_stable(f"{topic}-out")
        assert wire.committed(name, (f"{topic}-in", 0)).offset == len(_VALUES)
