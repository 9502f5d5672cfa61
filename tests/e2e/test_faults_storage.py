"""Storage dies under running clients, or is told to stop: alone, and beside another one.

Storages hold nothing that matters. So a killed one loses nothing, whoever goes on does so
where it ended, and what was under way is appended once, however often it was sent.
"""

import random
import time
from collections.abc import Iterator
from typing import Final

import pytest

from korvet.kafka.errors import ErrorCode
from tests.support.history import Partition
from tests.support.korvet_process import KorvetCluster
from tests.support.layouts import create_topics
from tests.support.redis_server import SERVERS
from tests.support.traffic import AiokafkaTraffic, ConfluentTraffic, Traffic
from tests.support.wire_client import WireClient, batch_of, values_of

pytestmark = pytest.mark.e2e

_KILLS: Final = 3
# How long a storage may take to stop.
_DRAIN: Final = 10
_RETRIABLE: Final = frozenset({ErrorCode.KAFKA_STORAGE_ERROR, ErrorCode.REQUEST_TIMED_OUT})


@pytest.fixture(scope="module")
def korvet(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KorvetCluster]:
    """Two storages that these tests share. Each test leaves both running."""
    folder = tmp_path_factory.mktemp("faults-storage")
    # The older server, so that it has its share of faults.
    cluster = KorvetCluster(folder, storages=2, redis_server=list(SERVERS)[-1])
    for storage in cluster.storages:
        storage.environ["KORVET_STORAGE_DRAIN_SECONDS"] = str(_DRAIN)
    with cluster:
        yield cluster


@pytest.fixture
def wire(korvet: KorvetCluster) -> Iterator[WireClient]:
    with WireClient(korvet.bootstrap) as client:
        yield client


@pytest.fixture
def partitions(wire: WireClient) -> list[Partition]:
    return one_of_each_layout(wire)


def one_of_each_layout(wire: WireClient) -> list[Partition]:
    return [Partition(topic, 0) for topic in create_topics(wire).values()]


def check(traffic: Traffic, wire: WireClient, partitions: list[Partition]) -> None:
    for partition in partitions:
        traffic.history.check(partition, wire.read_all(partition.topic))


def test_a_killed_storage_loses_nothing_and_repeats_nothing(
    korvet: KorvetCluster, wire: WireClient
) -> None:
    alone, other = korvet.storages
    seeded = random.Random(11)
    ours, theirs = one_of_each_layout(wire), one_of_each_layout(wire)
    other.kill()
    try:
        with (
            ConfluentTraffic(korvet.bootstrap, ours) as librdkafka,
            AiokafkaTraffic(korvet.bootstrap, theirs) as aiokafka,
        ):
            for _ in range(_KILLS):
                librdkafka.wait_for_acknowledged(20)
                aiokafka.wait_for_acknowledged(20)
                time.sleep(seeded.uniform(0, 0.05))
                alone.restart()
            librdkafka.wait_for_acknowledged(20)
            aiokafka.wait_for_acknowledged(20)
    finally:
        other.start()

    check(librdkafka, wire, ours)
    check(aiokafka, wire, theirs)


def test_another_storage_takes_over_from_a_killed_one(
    korvet: KorvetCluster, wire: WireClient, partitions: list[Partition]
) -> None:
    seeded = random.Random(12)

    with ConfluentTraffic(korvet.bootstrap, partitions) as traffic:
        for _ in range(_KILLS):
            traffic.wait_for_acknowledged(20)
            time.sleep(seeded.uniform(0, 0.05))
            victim = seeded.choice(korvet.storages)
            victim.kill()
            # Nobody waits for the dead.
            traffic.wait_for_acknowledged(40)
            victim.start()

    check(traffic, wire, partitions)


def test_a_storage_that_is_told_to_stop_shows_in_no_client(
    korvet: KorvetCluster, wire: WireClient, partitions: list[Partition]
) -> None:
    with ConfluentTraffic(korvet.bootstrap, partitions) as traffic:
        for storage in korvet.storages:
            traffic.wait_for_acknowledged(20)
            started = time.monotonic()
            status = storage.stop()
            took = time.monotonic() - started
            traffic.wait_for_acknowledged(40)
            storage.start()
            # It ends its streams itself, and so need not wait for those who use them.
            assert (status, took < _DRAIN / 2) == (0, True), took

    check(traffic, wire, partitions)


@pytest.mark.parametrize("way", ["kill", "stop"])
def test_requests_to_a_storage_that_ends_get_codes_that_tell_what_is_known(
    korvet: KorvetCluster, wire: WireClient, partitions: list[Partition], way: str
) -> None:
    """Without sequence numbers: an append that was told "not run" did not run."""
    alone, other = korvet.storages
    other.kill()
    outcomes: dict[bytes, ErrorCode] = {}
    topics = [partition.topic for partition in partitions]
    try:
        under_way = [(topic, b"%d" % n) for n, topic in enumerate(topics * 20)]
        for topic, value in under_way:
            wire.send_produce(topic, batch_of([value]))
        alone.kill() if way == "kill" else alone.stop()
        for topic, value in under_way:
            outcomes[value] = wire.receive_produced(topic).error
        refused = [wire.produce(topic, batch_of([b"refused"])).error for topic in topics]
        fetched = wire.fetch(topics[0], 0).error
        alone.start()
        wait_for_storage(wire)
    finally:
        other.start()

    assert set(refused) == {ErrorCode.KAFKA_STORAGE_ERROR}
    assert fetched in _RETRIABLE
    found = [value for topic in topics for value in values_of(wire.read_all(topic))]
    assert len(found) == len(set(found))
    assert set(outcomes.values()) <= {ErrorCode.NONE, *_RETRIABLE}
    for value, outcome in outcomes.items():
        if outcome is ErrorCode.NONE:
            assert value in found
        elif outcome is ErrorCode.KAFKA_STORAGE_ERROR:
            assert value not in found


def test_topics_can_be_changed_and_found_while_one_of_two_storages_is_dead(
    korvet: KorvetCluster, wire: WireClient, topic: str
) -> None:
    korvet.storages[0].kill()
    try:
        # The first calls may still go to the dead one; those after them may not.
        wait_for_storage(wire)
        answers = [
            answer
            for number in range(6)
            for answer in (
                wire.create_topic(f"{topic}-{number}"),
                wire.find_topic(f"{topic}-{number}").error,
                wire.delete_topic(f"{topic}-{number}"),
            )
        ]
    finally:
        korvet.storages[0].start()

    assert set(answers) == {ErrorCode.NONE}


def wait_for_storage(wire: WireClient) -> None:
    """Return once the gateway has streams to a storage that lives."""
    deadline = time.monotonic() + 15
    while wire.produce("no-such-topic", batch_of([b""])).error in _RETRIABLE:
        if time.monotonic() > deadline:
            raise TimeoutError("the gateway finds no storage")
        time.sleep(0.02)
