"""Two gateways and two storages are one Kafka cluster to every client."""

import contextlib
import uuid
from collections import Counter
from collections.abc import Iterator, Mapping

import pytest
from confluent_kafka.admin import AdminClient

from korvet.client import Korvet
from korvet.kafka.errors import ErrorCode
from tests.support.client_contract import PATIENCE, KafkaClient, NewRecord, Start
from tests.support.eventually import eventually_true
from tests.support.korvet_process import KorvetCluster
from tests.support.layouts import LAYOUTS
from tests.support.topic_admin import create_topic
from tests.support.wire_client import WireClient, batch_of, values_of

pytestmark = pytest.mark.e2e


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KorvetCluster]:
    """Shared by these tests: use a topic of your own and leave it running."""
    folder = tmp_path_factory.mktemp("several-replicas")
    with KorvetCluster(folder, gateways=2, storages=2) as cluster:
        yield cluster


def test_either_gateway_names_both_and_spreads_the_leaders(
    cluster: KorvetCluster, topic: str
) -> None:
    create_topic(cluster.bootstrap, topic, partitions=20)

    views = []
    for gateway in cluster.gateways:
        admin = AdminClient({"bootstrap.servers": gateway.address})
        seen = admin.list_topics(topic, timeout=PATIENCE)
        brokers = {each.id: f"{each.host}:{each.port}" for each in seen.brokers.values()}
        partitions = seen.topics[topic].partitions
        leaders = {number: each.leader for number, each in partitions.items()}
        views.append((brokers, seen.controller_id, leaders))

    assert views[0] == views[1]
    brokers, controller, leaders = views[0]
    assert set(brokers.values()) == {each.address for each in cluster.gateways}
    assert controller == min(brokers)
    assert len(leaders) == 20
    # No gateway has less than a quarter of the partitions.
    assert min(Counter(leaders.values())[broker] for broker in brokers) >= 5


@pytest.mark.parametrize(("first", "kept"), [(0, "record-time"), (1, "batch-dense")])
def test_a_client_may_start_at_either_gateway(
    cluster: KorvetCluster,
    topic: str,
    client: KafkaClient,
    first: int,
    kept: str,
) -> None:
    create_topic(cluster.bootstrap, topic, partitions=8, configs=LAYOUTS[kept])
    bootstrap = cluster.gateways[first].address
    records = [NewRecord(b"%d" % number, partition=number % 8) for number in range(400)]

    with client.producer(bootstrap, idempotent=True, codec="lz4") as producer:
        written = producer.send(topic, records)
    starts: dict[int, Start] = dict.fromkeys(range(8), "earliest")
    with client.consumer(bootstrap, topic, starts) as consumer:
        found = consumer.read(len(records))

    assert sorted((r.partition, r.offset, r.value) for r in found) == sorted(
        (each.partition, each.offset, record.value)
        for record, each in zip(records, written, strict=True)
    )


def test_any_gateway_serves_any_partition(cluster: KorvetCluster, topic: str) -> None:
    create_topic(cluster.bootstrap, topic, partitions=6)
    with contextlib.ExitStack() as stack:
        wires = [
            stack.enter_context(WireClient(gateway.address)) for gateway in cluster.gateways
        ]
        for wire in wires:
            eventually_true(lambda: wire.find_topic(topic).error is ErrorCode.NONE)  # noqa: B023
        for partition in range(6):
            for number, wire in enumerate(wires):
                produced = wire.produce(
                    topic, batch_of([b"%d" % number]), partition=partition
                )
                assert produced.error is ErrorCode.NONE

            for wire in wires:
                found = wire.read_all(topic, partition=partition)
                assert values_of(found) == [b"0", b"1"]


def test_an_append_through_one_wakes_a_fetch_at_the_other(
    cluster: KorvetCluster, topic: str, layout: Mapping[str, str]
) -> None:
    create_topic(cluster.bootstrap, topic, configs=layout)
    with (
        WireClient(cluster.gateways[0].address) as reader,
        WireClient(cluster.gateways[1].address) as writer,
    ):
        for wire in (reader, writer):
            eventually_true(lambda: wire.find_topic(topic).error is ErrorCode.NONE)  # noqa: B023
        offset = 0
        for number in range(10):
            # So that it is woken, not answered when its time is up.
            reader.send_fetch(topic, offset, max_wait=60.0)
            produced = writer.produce(topic, batch_of([b"%d" % number]))

            fetched = reader.receive_fetched(topic, offset)

            assert values_of(fetched.records) == [b"%d" % number]
            offset = produced.base_offset + 1


async def test_grpc_clients_of_either_storage_see_one_log(
    cluster: KorvetCluster, topic: str
) -> None:
    first, second = (storage.address for storage in cluster.storages)
    async with Korvet(first) as one, Korvet(second) as other:
        await one.create_topic(topic)
        positions = [
            await client.append(topic, b"%d" % number)
            for number, client in enumerate((one, other, one, other))
        ]
        found = [await client.read(topic, offset=0) for client in (one, other)]

    for result in found:
        assert [record.offset for record in result] == [each.offset for each in positions]
        assert [record.value for record in result] == [b"0", b"1", b"2", b"3"]


def test_topics_come_and_go_at_both(cluster: KorvetCluster) -> None:
    with (
        WireClient(cluster.gateways[0].address) as one,
        WireClient(cluster.gateways[1].address) as other,
    ):
        for _ in range(5):
            name = f"comes-and-goes-{uuid.uuid4().hex[:8]}"
            assert one.create_topic(name) is ErrorCode.NONE
            eventually_true(lambda: other.find_topic(name).error is ErrorCode.NONE)  # noqa: B023
            assert one.find_topic(name).topic_id == other.find_topic(name).topic_id

            assert other.delete_topic(name) is ErrorCode.NONE
            eventually_true(
                lambda: (
                    one.find_topic(name).error  # noqa: B023
                    is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
                )
            )
            assert one.produce(name, batch_of([b"lost"])).error is (
                ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
            )
