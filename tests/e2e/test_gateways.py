"""Gateways come and go under running clients: any of them serves any partition."""

import subprocess
import sys
import time
from collections.abc import Iterator

import pytest

from korvet.kafka.errors import ErrorCode
from tests.support.eventually import eventually_true
from tests.support.history import Partition
from tests.support.korvet_process import KorvetCluster
from tests.support.traffic import AiokafkaTraffic, ConfluentTraffic
from tests.support.wire_client import WireClient, batch_of, values_of

pytestmark = pytest.mark.e2e


@pytest.fixture(scope="module")
def korvet(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KorvetCluster]:
    """Two gateways that these tests share. Each test leaves both running."""
    cluster = KorvetCluster(tmp_path_factory.mktemp("gateways"), gateways=2)
    for gateway in cluster.gateways:
        gateway.environ["KORVET_GATEWAY_BROKER_SESSION_TIMEOUT_MS"] = "2000"
    with cluster:
        eventually_true(lambda: brokers(cluster, 0) == brokers(cluster, 1) == [1, 2])
        yield cluster


def brokers(korvet: KorvetCluster, gateway: int) -> list[int]:
    with WireClient(korvet.gateways[gateway].address) as wire:
        return wire.brokers()


def new_topic(korvet: KorvetCluster, name: str, partitions: int = 1) -> None:
    with WireClient(korvet.gateways[0].address) as wire:
        assert wire.create_topic(name, partitions=partitions) is ErrorCode.NONE


def test_clients_go_on_with_the_other_gateway_when_one_stops(
    korvet: KorvetCluster, topic: str
) -> None:
    new_topic(korvet, topic, 4)
    new_topic(korvet, f"{topic}-2", 4)
    first, second = korvet.gateways
    mine = [Partition(topic, number) for number in range(4)]
    theirs = [Partition(f"{topic}-2", number) for number in range(4)]

    with (
        ConfluentTraffic(korvet.bootstrap, mine) as librdkafka,
        AiokafkaTraffic(korvet.bootstrap, theirs) as aiokafka,
    ):
        librdkafka.wait_for_acknowledged(20)
        aiokafka.wait_for_acknowledged(20)
        assert first.stop() == 0
        librdkafka.wait_for_acknowledged(20)
        aiokafka.wait_for_acknowledged(20)
        first.start()
        librdkafka.wait_for_acknowledged(20)
        aiokafka.wait_for_acknowledged(20)
    eventually_true(lambda: brokers(korvet, 0) == brokers(korvet, 1) == [1, 2])

    with WireClient(second.address) as wire:
        for traffic, partitions in ((librdkafka, mine), (aiokafka, theirs)):
            for partition in partitions:
                log = wire.read_all(partition.topic, partition=partition.partition)
                traffic.history.check(partition, log)


def test_a_gateway_that_stops_is_not_listed_any_more_at_once(korvet: KorvetCluster) -> None:
    first, _ = korvet.gateways
    try:
        assert first.stop() == 0
        eventually_true(lambda: brokers(korvet, 1) == [2], within=1.5)
    finally:
        first.start()


def test_a_killed_gateway_is_listed_no_longer_than_its_session(
    korvet: KorvetCluster,
) -> None:
    first, _ = korvet.gateways
    try:
        first.kill()
        eventually_true(lambda: brokers(korvet, 1) == [2], within=8)
    finally:
        first.start()


def test_a_killed_gateway_serves_again_as_soon_as_it_is_back(
    korvet: KorvetCluster, topic: str
) -> None:
    new_topic(korvet, topic)
    first, _ = korvet.gateways

    first.restart()
    with WireClient(first.address) as wire:
        produced = wire.produce(topic, batch_of([b"at once"]))
        listed_by_itself = sorted(wire.brokers())

    assert produced.error is ErrorCode.NONE
    assert listed_by_itself == [1, 2]
    # It takes the place of its earlier run at the same address, which has not lapsed yet.
    assert sorted(brokers(korvet, 1)) == [1, 2]


def test_a_second_gateway_with_the_same_node_id_refuses_to_start(
    korvet: KorvetCluster,
) -> None:
    first, _ = korvet.gateways
    own = {
        "KORVET_GATEWAY_LISTEN_PORT": "0",
        "KORVET_GATEWAY_METRICS_ADDRESS": "127.0.0.1:0",
    }
    environ = {**first.environ, **own}

    ended = subprocess.run(
        [sys.executable, "-m", "korvet.gateway"],
        env=environ,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )

    assert ended.returncode == 1
    assert f"another live gateway, at {first.address}, has node id 1" in ended.stderr
    assert "Traceback" not in ended.stderr


def test_a_port_that_is_taken_is_said(korvet: KorvetCluster) -> None:
    first, _ = korvet.gateways

    ended = subprocess.run(
        [sys.executable, "-m", "korvet.gateway"],
        env={**first.environ, "KORVET_GATEWAY_NODE_ID": "9"},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )

    assert ended.returncode == 1
    assert f"cannot listen on {first.address}" in ended.stderr
    assert "Traceback" not in ended.stderr


def test_requests_under_way_are_answered_before_a_gateway_stops(
    korvet: KorvetCluster, topic: str
) -> None:
    new_topic(korvet, topic)
    first, second = korvet.gateways
    with WireClient(first.address) as wire, WireClient(first.address) as idle:
        # A fetch that waits, with batches behind it whose answers wait for its own.
        wire.send_fetch(topic, 0, partition=0, max_wait=1.5)
        idle.brokers()
        for number in range(20):
            wire.send_produce("no-such-topic", batch_of([b"%d" % number]))
        time.sleep(0.3)
        started = time.monotonic()

        status = first.stop()

        took = time.monotonic() - started
        fetched = wire.receive_fetched(topic, 0)
        produced = [wire.receive_produced("no-such-topic") for _ in range(20)]
        assert idle.is_hung_up()
        with pytest.raises(ConnectionRefusedError):
            WireClient(first.address)
    first.start()

    assert status == 0
    assert took < 8
    assert (fetched.error, values_of(fetched.records)) == (ErrorCode.NONE, [])
    assert {answer.error for answer in produced} == {ErrorCode.UNKNOWN_TOPIC_OR_PARTITION}
    eventually_true(lambda: brokers(korvet, 1) == [1, 2])
    assert second.is_running
