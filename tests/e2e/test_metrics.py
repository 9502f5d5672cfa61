"""What Prometheus gets from a running Korvet: true numbers, in no more series than said.

Among them is everything that the dashboard and the alerts ask for.
"""

import asyncio
import json
from collections.abc import Iterator, Mapping
from contextlib import aclosing
from pathlib import Path
from typing import Any, Final

import pytest
import yaml
from confluent_kafka import Consumer, Producer, TopicPartition

from korvet.client import Korvet
from korvet.kafka.errors import ErrorCode
from korvet.kafka.messages.heartbeat import HeartbeatRequest, HeartbeatResponse
from korvet.runtime.metrics import NAMES_SHOWN, OTHER
from tests.support.eventually import eventually_true
from tests.support.korvet_process import KorvetCluster, StartKorvet
from tests.support.promql import all_metrics, expressions_of
from tests.support.scrape import Sample, increase, names, scrape, series, total
from tests.support.shell import Shell
from tests.support.topic_admin import create_topic, delete_records, delete_topic
from tests.support.wire_client import WireClient

pytestmark = pytest.mark.e2e

_DEPLOY: Final = Path(__file__).parents[2] / "deploy"
_TOPIC: Final = "messaging_destination_name"
_GROUP: Final = "messaging_consumer_group_name"
# Longer than what is asked for elsewhere is old.
_SAMPLED: Final = 20.0


def produce(korvet: KorvetCluster, topic: str, count: int, partition: int = 0) -> None:
    producer = Producer({"bootstrap.servers": korvet.bootstrap, "linger.ms": 5})
    for number in range(count):
        producer.produce(topic, f"record {number}".encode(), partition=partition)
    assert producer.flush(30) == 0


def consume_and_commit(korvet: KorvetCluster, topic: str, group: str, count: int) -> None:
    """As a member of the group, which then leaves."""
    consumer = Consumer(
        {
            "bootstrap.servers": korvet.bootstrap,
            "group.id": group,
            "auto.offset.reset": "earliest",
            "enable.auto.commit": False,
        }
    )
    consumer.subscribe([topic])
    messages = consumer.consume(count, timeout=30)
    assert len(messages) == count
    consumer.commit(message=messages[-1], asynchronous=False)
    consumer.close()


def run_transaction(korvet: KorvetCluster, topic: str, *, commit: bool) -> None:
    producer = Producer(
        {"bootstrap.servers": korvet.bootstrap, "transactional.id": f"{topic}-{commit}"}
    )
    producer.init_transactions(30)
    producer.begin_transaction()
    producer.produce(topic, b"in a transaction")
    if commit:
        producer.commit_transaction(30)
    else:
        producer.flush(30)
        producer.abort_transaction(30)


def lags(samples: list[Sample], group: str) -> dict[tuple[str, str], float]:
    return {
        (
            sample.labels[_TOPIC],
            sample.labels["messaging_destination_partition_id"],
        ): sample.value
        for sample in samples
        if sample.name == "korvet_group_lag" and sample.labels[_GROUP] == group
    }


@pytest.fixture(scope="module")
def korvet(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KorvetCluster]:
    """Of its own: in the shared one there may be more topics than are told apart."""
    with KorvetCluster(tmp_path_factory.mktemp("metrics")) as cluster:
        yield cluster
        assert cluster.errors() == []


@pytest.fixture(scope="module")
def busy(korvet: KorvetCluster) -> KorvetCluster:
    """A Korvet in which everything that is counted has happened."""
    topic = "everything-that-is-counted"
    create_topic(korvet.bootstrap, topic, configs={"offset.encoding": "dense"})
    produce(korvet, topic, 20)
    delete_records(korvet.bootstrap, topic, before=5)
    run_transaction(korvet, topic, commit=True)
    run_transaction(korvet, topic, commit=False)
    consume_and_commit(korvet, topic, "those-who-count", 10)
    return korvet


def everything_asked_for() -> set[str]:
    dashboard = json.loads((_DEPLOY / "grafana/korvet.json").read_text())
    alerts = yaml.safe_load((_DEPLOY / "prometheus/alerts.yaml").read_text())
    rules: list[Mapping[str, Any]] = [
        rule for group in alerts["groups"] for rule in group["rules"]
    ]
    return all_metrics([*expressions_of(dashboard), *(rule["expr"] for rule in rules)])


def test_a_scrape_has_every_metric_of_the_dashboard_and_the_alerts(
    busy: KorvetCluster,
) -> None:
    asked = everything_asked_for()

    eventually_true(lambda: asked <= names(scrape(*busy.services)), within=_SAMPLED)


def test_every_process_serves_and_tells_what_it_takes(korvet: KorvetCluster) -> None:
    for service in korvet.services:
        samples = scrape(service)

        assert total(samples, "korvet_ready") == 1, service.name
        assert total(samples, "process_memory_usage_bytes") > 10_000_000
        assert total(samples, "process_cpu_time_seconds_total") > 0


def test_requests_are_counted_by_api_and_by_error(korvet: KorvetCluster) -> None:
    (gateway,) = korvet.gateways
    request = HeartbeatRequest(group_id="nobody", generation_id=1, member_id="m")

    def beat() -> None:
        with WireClient(korvet.bootstrap) as wire:
            for _ in range(3):
                answer = wire.call(request, HeartbeatResponse, 4)
                assert answer.error_code == ErrorCode.UNKNOWN_MEMBER_ID

    name = "rpc_server_call_duration_seconds_count"
    labels = {"rpc_method": "Heartbeat", "error_type": "UNKNOWN_MEMBER_ID"}

    assert increase(gateway, beat, name, rpc_system_name="kafka", **labels) == 3


def test_connections_are_those_that_are_open(korvet: KorvetCluster) -> None:
    (gateway,) = korvet.gateways
    before = total(scrape(gateway), "korvet_gateway_connections")

    with WireClient(korvet.bootstrap) as wire:
        wire.call(HeartbeatRequest(), HeartbeatResponse, 4)
        during = total(scrape(gateway), "korvet_gateway_connections")

    assert during == before + 1
    eventually_true(lambda: total(scrape(gateway), "korvet_gateway_connections") <= before)


def test_records_are_counted_on_their_way_in_and_out(
    korvet: KorvetCluster, log: str
) -> None:
    (storage,) = korvet.storages
    produce(korvet, log, 37)
    consume_and_commit(korvet, log, f"{log}-readers", 37)

    samples = scrape(storage)

    here = {_TOPIC: log}
    assert total(samples, "korvet_topic_appended_records_total", **here) == 37
    assert total(samples, "korvet_topic_appended_bytes_total", **here) > 37 * 8
    # A client may have fetched something twice.
    assert total(samples, "korvet_topic_read_records_total", **here) >= 37
    assert total(samples, "korvet_topic_read_bytes_total", **here) > 37 * 8


async def test_what_a_work_queue_delivers_is_counted(
    korvet: KorvetCluster, log: str
) -> None:
    (storage,) = korvet.storages
    await asyncio.to_thread(produce, korvet, log, 5)
    async with Korvet(korvet.storage) as client, asyncio.timeout(30):
        consuming = client.consume(log, group=f"{log}-workers")
        async with aclosing(consuming) as deliveries:
            for _ in range(5):
                await (await anext(deliveries)).ack()

    samples = await asyncio.to_thread(scrape, storage)

    assert total(samples, "korvet_topic_read_records_total", **{_TOPIC: log}) == 5


def test_what_is_kept_and_what_was_trimmed_is_what_redis_has(
    korvet: KorvetCluster, topic: str
) -> None:
    (storage,) = korvet.storages
    create_topic(korvet.bootstrap, topic, configs={"offset.encoding": "dense"})
    produce(korvet, topic, 50)
    delete_records(korvet.bootstrap, topic, before=30)

    def is_told() -> bool:
        samples = scrape(storage)
        kept = series(samples, "korvet_topic_records", _TOPIC)
        trimmed = series(samples, "korvet_topic_trimmed_records_total", _TOPIC)
        return (kept.get(topic), trimmed.get(topic)) == (20, 30)

    eventually_true(is_told, within=_SAMPLED)


def test_the_lag_of_a_group_is_the_records_that_it_has_left(
    korvet: KorvetCluster, log: str
) -> None:
    group = f"{log}-readers"
    produce(korvet, log, 100)
    consume_and_commit(korvet, log, group, 42)

    (coordinator,) = korvet.coordinators
    eventually_true(
        lambda: lags(scrape(coordinator), group) == {(log, "0"): 58}, within=_SAMPLED
    )
    described = Shell(korvet).json("groups", "describe", group)
    produce(korvet, log, 11)
    eventually_true(
        lambda: lags(scrape(coordinator), group) == {(log, "0"): 69}, within=_SAMPLED
    )

    assert described["lag"] == 58


def test_each_partition_has_its_own_lag_and_deleted_records_are_none(
    korvet: KorvetCluster, topic: str
) -> None:
    group = f"{topic}-readers"
    create_topic(
        korvet.bootstrap, topic, partitions=2, configs={"offset.encoding": "dense"}
    )
    produce(korvet, topic, 10, partition=0)
    produce(korvet, topic, 20, partition=1)
    consumer = Consumer({"bootstrap.servers": korvet.bootstrap, "group.id": group})
    consumer.commit(
        offsets=[TopicPartition(topic, 0, 4), TopicPartition(topic, 1, 5)],
        asynchronous=False,
    )
    consumer.close()
    delete_records(korvet.bootstrap, topic, before=8, partition=1)

    (coordinator,) = korvet.coordinators
    expected = {(topic, "0"): 6.0, (topic, "1"): 12.0}
    eventually_true(lambda: lags(scrape(coordinator), group) == expected, within=_SAMPLED)


def test_a_group_has_no_lag_in_a_topic_that_is_no_more(
    korvet: KorvetCluster, topic: str
) -> None:
    group = f"{topic}-readers"
    (coordinator,) = korvet.coordinators
    create_topic(korvet.bootstrap, topic)
    produce(korvet, topic, 3)
    consume_and_commit(korvet, topic, group, 2)
    eventually_true(
        lambda: lags(scrape(coordinator), group) == {(topic, "0"): 1}, within=_SAMPLED
    )

    delete_topic(korvet.bootstrap, topic)

    eventually_true(lambda: lags(scrape(coordinator), group) == {}, within=_SAMPLED)


def test_groups_are_counted_by_their_states(start_korvet: StartKorvet) -> None:
    korvet = start_korvet()
    create_topic(korvet.bootstrap, "orders")
    produce(korvet, "orders", 1)
    consume_and_commit(korvet, "orders", "gone", 1)
    member = Consumer({"bootstrap.servers": korvet.bootstrap, "group.id": "here"})
    member.subscribe(["orders"])

    def is_told() -> bool:
        member.poll(0.05)
        samples = scrape(*korvet.coordinators)
        states = series(samples, "korvet_group_count", "korvet_group_state")
        return total(samples, "korvet_group_members") == 1 and (
            states.get("Stable"),
            states.get("Empty"),
        ) == (1, 1)

    eventually_true(is_told, within=30)
    member.close()


def test_a_groups_lag_is_told_by_its_owner_alone(start_korvet: StartKorvet) -> None:
    korvet = start_korvet(coordinators=2)
    create_topic(korvet.bootstrap, "orders")
    produce(korvet, "orders", 9)
    groups = [f"group-{number}" for number in range(4)]
    for group in groups:
        consume_and_commit(korvet, "orders", group, 4)

    def is_told() -> bool:
        samples = scrape(*korvet.coordinators)
        return all(lags(samples, group) == {("orders", "0"): 5} for group in groups)

    eventually_true(is_told, within=_SAMPLED)
    told = [s for s in scrape(*korvet.coordinators) if s.name == "korvet_group_lag"]
    assert len(told) == len(groups)


def test_what_is_broken_in_redis_hides_nothing_else(start_korvet: StartKorvet) -> None:
    korvet = start_korvet()
    for topic in ("orders", "payments"):
        create_topic(korvet.bootstrap, topic)
        produce(korvet, topic, 9)
    for group in ("whole", "broken"):
        consume_and_commit(korvet, "orders", group, 4)
    with korvet.redis.client() as redis:
        redis.hset("korvet:group:broken:offsets", "korvet:stream:orders:0", "nonsense")
        redis.hset("korvet:partition:payments:0", "records", "many")

    def is_told() -> bool:
        samples = scrape(*korvet.services)
        return lags(samples, "whole") == {("orders", "0"): 5} and (
            series(samples, "korvet_topic_records", _TOPIC).get("orders") == 9
        )

    eventually_true(is_told, within=_SAMPLED)
    assert lags(scrape(*korvet.coordinators), "broken") == {}


def test_a_deleted_group_makes_room_for_another(
    korvet: KorvetCluster, shell: Shell, topic: str
) -> None:
    (coordinator,) = korvet.coordinators
    group = f"{topic}-readers"
    create_topic(korvet.bootstrap, topic)
    produce(korvet, topic, 1)
    consume_and_commit(korvet, topic, group, 1)
    name = "korvet_group_rebalances_total"
    assert group in series(scrape(coordinator), name, _GROUP)

    assert shell("groups", "delete", group).code == 0

    eventually_true(
        lambda: group not in series(scrape(coordinator), name, _GROUP), within=_SAMPLED
    )


def test_a_transaction_is_counted_when_it_has_ended(
    korvet: KorvetCluster, topic: str
) -> None:
    (coordinator,) = korvet.coordinators
    create_topic(korvet.bootstrap, topic)
    name = "korvet_transaction_ended_total"
    before = series(scrape(coordinator), name, "korvet_outcome")

    run_transaction(korvet, topic, commit=True)
    run_transaction(korvet, topic, commit=False)

    def is_told() -> bool:
        now = series(scrape(coordinator), name, "korvet_outcome")
        grown = {each: now[each] - before.get(each, 0) for each in now}
        return grown == {"commit": 1, "abort": 1}

    eventually_true(is_told)
    assert total(scrape(coordinator), "korvet_transaction_open") == 0


def test_topics_beyond_the_bound_are_one_series(start_korvet: StartKorvet) -> None:
    korvet = start_korvet()
    (storage,) = korvet.storages
    topics = [f"topic-{number:03}" for number in range(NAMES_SHOWN + 20)]
    for topic in topics:
        create_topic(korvet.bootstrap, topic)
    producer = Producer({"bootstrap.servers": korvet.bootstrap})
    for topic in topics:
        producer.produce(topic, b"one")
    assert producer.flush(30) == 0

    counted = series(scrape(storage), "korvet_topic_appended_records_total", _TOPIC)

    assert len(counted) == NAMES_SHOWN + 1
    assert counted[OTHER] == 20
    assert sum(counted.values()) == len(topics)

    def sizes_are_told() -> bool:
        kept = series(scrape(storage), "korvet_topic_records", _TOPIC)
        return len(kept) == NAMES_SHOWN + 1 and sum(kept.values()) == len(topics)

    eventually_true(sizes_are_told, within=_SAMPLED)


def test_a_deleted_topic_makes_room_for_another(korvet: KorvetCluster, topic: str) -> None:
    (storage,) = korvet.storages
    create_topic(korvet.bootstrap, topic)
    produce(korvet, topic, 1)
    name = "korvet_topic_appended_records_total"
    assert series(scrape(storage), name, _TOPIC)[topic] == 1

    delete_topic(korvet.bootstrap, topic)

    eventually_true(lambda: topic not in series(scrape(storage), name, _TOPIC))


def test_a_client_cannot_make_series(korvet: KorvetCluster, topic: str) -> None:
    create_topic(korvet.bootstrap, topic)
    produce(korvet, topic, 1)
    before = len(scrape(*korvet.gateways))
    for number in range(20):
        producer = Producer(
            {"bootstrap.servers": korvet.bootstrap, "client.id": f"client-{number}"}
        )
        producer.produce(topic, b"x")
        assert producer.flush(30) == 0

    samples = scrape(*korvet.gateways)

    assert not any("client-" in value for s in samples for value in s.labels.values())
    # Of an API that was not asked for before.
    assert len(samples) - before < 100


def test_a_storage_that_waits_for_redis_says_that_it_does_not_serve(
    start_korvet: StartKorvet,
) -> None:
    korvet = start_korvet()

    korvet.redis.stop()

    eventually_true(lambda: total(scrape(*korvet.storages), "korvet_ready") == 0)
    korvet.redis.start()
    eventually_true(lambda: total(scrape(*korvet.storages), "korvet_ready") == 1, within=30)
