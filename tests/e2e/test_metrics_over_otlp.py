"""Metrics pushed to a collector, and a collector that does not take them."""

from typing import Any

import pytest
from confluent_kafka import Producer

from tests.support.eventually import eventually_true
from tests.support.korvet_process import KorvetCluster, StartKorvet
from tests.support.otlp_receiver import OtlpReceiver

pytestmark = pytest.mark.e2e

_OFTEN = {"OTEL_METRIC_EXPORT_INTERVAL": "200", "OTEL_TRACES_EXPORTER": "none"}


def produce(korvet: KorvetCluster, topic: str, count: int) -> None:
    producer = Producer({"bootstrap.servers": korvet.bootstrap})
    for _ in range(count):
        producer.produce(topic, b"x")
    assert producer.flush(30) == 0


def points(
    receiver: OtlpReceiver, service: str, name: str
) -> list[tuple[dict[str, Any], Any]]:
    """The newest points of a metric, each with its attributes."""
    found: list[tuple[dict[str, Any], Any]] = []
    for resource in list(receiver.metrics):
        who = {each.key: each.value.string_value for each in resource.resource.attributes}
        if who["service.name"] != service:
            continue
        for metric in (m for scope in resource.scope_metrics for m in scope.metrics):
            if metric.name == name:
                data = getattr(metric, metric.WhichOneof("data") or "sum")
                found = [
                    (
                        {each.key: each.value.string_value for each in point.attributes},
                        point,
                    )
                    for point in data.data_points
                ]
    return found


def appended(receiver: OtlpReceiver) -> dict[str, int]:
    name = "korvet.topic.appended.records"
    return {
        attributes["messaging.destination.name"]: point.as_int
        for attributes, point in points(receiver, "korvet-storage", name)
    }


def test_a_collector_gets_what_prometheus_gets(start_korvet: StartKorvet) -> None:
    with OtlpReceiver() as receiver:
        korvet = start_korvet(environ={**receiver.environ, **_OFTEN})
        produce(korvet, "orders", 25)

        eventually_true(lambda: appended(receiver) == {"orders": 25}, within=30)

        # Each process tells in its own time.
        def produced() -> list[Any]:
            found = points(receiver, "korvet-gateway", "rpc.server.call.duration")
            asked = {"rpc.system.name": "kafka", "rpc.method": "Produce"}
            return [point for attributes, point in found if attributes == asked]

        def is_ready() -> bool:
            found = points(receiver, "korvet-coordinator", "korvet.ready")
            return [point.as_int for _, point in found] == [1]

        eventually_true(lambda: bool(produced()), within=30)
        (point,) = produced()
        assert sum(point.bucket_counts) == point.count > 0
        assert point.sum > 0
        eventually_true(is_ready, within=30)


def test_what_was_counted_last_is_exported_when_a_process_ends(
    start_korvet: StartKorvet,
) -> None:
    with OtlpReceiver() as receiver:
        seldom = {"OTEL_METRIC_EXPORT_INTERVAL": "600000"}
        korvet = start_korvet(environ={**receiver.environ, **seldom})
        produce(korvet, "orders", 3)

        assert korvet.storages[0].stop() == 0

        assert appended(receiver) == {"orders": 3}


def test_a_collector_that_hangs_keeps_nobody_waiting(start_korvet: StartKorvet) -> None:
    with OtlpReceiver() as receiver, receiver.hanging():
        korvet = start_korvet(environ={**receiver.environ, **_OFTEN})
        produce(korvet, "orders", 100)

        statuses = [service.stop() for service in reversed(korvet.services)]

        assert statuses == [0, 0, 0]
