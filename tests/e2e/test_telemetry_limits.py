"""What traces must not do: tell secrets, record what nobody asked for, hold up clients."""

import json
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import pytest
import redis as redis_sync
from confluent_kafka import Consumer, Producer, TopicPartition

from korvet.cli.plan import free_port
from tests.support.korvet_process import KorvetCluster, StartKorvet
from tests.support.otlp_receiver import OtlpReceiver
from tests.support.redis_server import RedisServer
from tests.support.topic_admin import create_topic

pytestmark = pytest.mark.e2e

# What a client plants where it must not be found again. None is a part of another.
_KEY: Final = b"planted-key"
_VALUE: Final = b"planted-value"
_HEADER: Final = b"planted-header"
_METADATA: Final = "planted-metadata"
_PASSWORD: Final = "planted-password"  # noqa: S105


@pytest.fixture
def receiver() -> Iterator[OtlpReceiver]:
    with OtlpReceiver() as receiver:
        yield receiver


# ---------------------------------------------------------------- secrets


@pytest.mark.parametrize("storage_format", ["record", "batch"])
def test_keys_values_and_secrets_are_in_nothing_that_is_exported(
    start_korvet: StartKorvet, receiver: OtlpReceiver, tmp_path: Path, storage_format: str
) -> None:
    with RedisServer(tmp_path / "redis") as redis:
        admin = redis_sync.Redis(host=redis.host, port=redis.port)
        admin.acl_setuser(
            "korvet", enabled=True, passwords=[f"+{_PASSWORD}"], keys="*", channels="*",
            categories=["+@all"],
        )  # fmt: skip
        admin.close()
        url = f"redis://korvet:{_PASSWORD}@{redis.host}:{redis.port}/0"
        login = {f"KORVET_{name}_REDIS_URL": url for name in ("STORAGE", "COORDINATOR")}
        korvet = start_korvet(
            redis=redis,
            environ={**receiver.environ, **login},
            settings={"storage.format": storage_format},
        )
        _use(korvet, "orders")

        refused = receiver.wait_for(lambda span: span.is_error and "Produce" in span.name)
        assert refused[0].attributes["error.type"] == "MESSAGE_TOO_LARGE"
        receiver.wait_for(lambda span: span.name == "EVALSHA commit_offsets")
        exported = b"".join(receiver.raw)
        logged = korvet.logs().encode()
    planted = (_KEY, _VALUE, _HEADER, _METADATA.encode(), _PASSWORD.encode())
    # The search finds what is there.
    assert b"orders" in exported
    assert [secret for secret in planted if secret in exported] == []
    assert [secret for secret in planted if secret in logged] == []


def _use(korvet: KorvetCluster, topic: str) -> None:
    """Write, read and commit, and be refused some of it."""
    create_topic(korvet.bootstrap, topic, configs={"max.message.bytes": "300"})
    producer = Producer({"bootstrap.servers": korvet.bootstrap, "linger.ms": 0})
    producer.produce(topic, _VALUE, key=_KEY, headers=[("token", _HEADER)])
    assert producer.flush(30) == 0
    # More than the topic takes.
    producer.produce(topic, _VALUE * 100, key=_KEY, headers=[("token", _HEADER)])
    assert producer.flush(30) == 0
    consumer = Consumer(
        {
            "bootstrap.servers": korvet.bootstrap,
            "group.id": "readers",
            "auto.offset.reset": "earliest",
            "enable.auto.commit": False,
        }
    )
    consumer.subscribe([topic])
    record = consumer.poll(30)
    assert record is not None
    assert record.value() == _VALUE
    place = TopicPartition(topic, 0, 1, metadata=_METADATA)
    consumer.commit(offsets=[place], asynchronous=False)
    consumer.close()


# ---------------------------------------------------------------- sampling


def test_what_is_not_sampled_at_the_gateway_is_recorded_nowhere(
    start_korvet: StartKorvet, receiver: OtlpReceiver
) -> None:
    never = {"OTEL_TRACES_SAMPLER": "parentbased_traceidratio"}
    korvet = start_korvet(
        environ={**receiver.environ, **never, "OTEL_TRACES_SAMPLER_ARG": "0"}
    )
    # The others record whatever begins with them.
    for service in (*korvet.storages, *korvet.coordinators):
        service.environ["OTEL_TRACES_SAMPLER_ARG"] = "1"
        service.restart()

    _produce(korvet, 20)
    for service in korvet.services:
        service.stop()

    assert {span.name for span in receiver.spans} == set()


def test_a_ratio_of_requests_is_recorded_as_whole_traces(
    start_korvet: StartKorvet, receiver: OtlpReceiver
) -> None:
    some = {
        "OTEL_TRACES_SAMPLER": "parentbased_traceidratio",
        "OTEL_TRACES_SAMPLER_ARG": "0.3",
    }
    korvet = start_korvet(environ={**receiver.environ, **some})

    _produce(korvet, 200)
    for service in reversed(korvet.services):
        service.stop()

    roots = [span for span in receiver.spans if span.name == "Produce orders"]
    # Two hundred throws: this is six standard deviations.
    assert 20 < len(roots) < 100
    assert all(receiver.trace_of(root).children(root) for root in roots)
    known = {span.span_id for span in receiver.spans}
    assert {span.parent_id for span in receiver.spans} <= {"", *known}


# ---------------------------------------------------------------- the exporter


def test_an_exporter_that_hangs_slows_no_client(
    start_korvet: StartKorvet, receiver: OtlpReceiver
) -> None:
    korvet = start_korvet(environ=receiver.environ)
    _produce(korvet, 50)

    with receiver.hanging():
        slowest = _produce(korvet, 300)

    assert slowest < 1.0


def test_an_exporter_that_is_down_slows_neither_a_client_nor_the_end(
    start_korvet: StartKorvet,
) -> None:
    nobody = {"OTEL_EXPORTER_OTLP_ENDPOINT": f"http://127.0.0.1:{free_port()}"}
    korvet = start_korvet(environ={**nobody, "OTEL_BSP_SCHEDULE_DELAY": "50"})
    _produce(korvet, 50)

    slowest = _produce(korvet, 300)

    assert slowest < 1.0
    for service in reversed(korvet.services):
        with _no_longer_than(8.0):
            assert service.stop() == 0


def test_what_is_recorded_is_exported_before_a_process_ends(
    start_korvet: StartKorvet, receiver: OtlpReceiver
) -> None:
    hourly = {**receiver.environ, "OTEL_BSP_SCHEDULE_DELAY": "3600000"}
    korvet = start_korvet(environ=hourly)
    _produce(korvet, 1)
    before = list(receiver.spans)

    codes = [service.stop() for service in reversed(korvet.services)]

    assert codes == [0, 0, 0]
    assert before == []
    root = receiver.wait_for(lambda span: span.name == "Produce orders")[0]
    assert {span.service for span in receiver.trace_of(root).spans} == {
        "gateway",
        "storage",
    }


def test_nothing_is_exported_where_opentelemetry_is_told_not_to(
    start_korvet: StartKorvet, receiver: OtlpReceiver
) -> None:
    korvet = start_korvet(environ={**receiver.environ, "OTEL_SDK_DISABLED": "true"})

    _produce(korvet, 5)
    for service in korvet.services:
        service.stop()

    assert receiver.raw == []


# ---------------------------------------------------------------- who exports


def test_a_process_is_called_what_the_environment_calls_it(
    start_korvet: StartKorvet, receiver: OtlpReceiver
) -> None:
    korvet = start_korvet(
        environ={
            **receiver.environ,
            "OTEL_SERVICE_NAME": "events",
            "OTEL_RESOURCE_ATTRIBUTES": "deployment.environment.name=test",
        }
    )
    _produce(korvet, 1)

    receiver.wait_for(lambda span: span.service == "events")
    assert b"deployment.environment.name" in receiver.raw[0]


# ---------------------------------------------------------------- logs


def test_a_log_line_has_the_ids_of_the_trace_that_it_is_part_of(
    start_korvet: StartKorvet, receiver: OtlpReceiver
) -> None:
    korvet = start_korvet(environ=receiver.environ)
    _produce(korvet, 1)

    (created,) = [
        line
        for line in _lines(korvet)
        if line["message"].startswith("created topic orders")
    ]
    receiver.wait_for(
        lambda span: (
            (span.trace_id, span.span_id) == (created["trace_id"], created["span_id"])
            and span.service == "storage"
        )
    )


def _lines(korvet: KorvetCluster) -> list[Mapping[str, str]]:
    text = korvet.storages[0].log_file.read_text()
    return [json.loads(line) for line in text.splitlines() if line.startswith("{")]


# ---------------------------------------------------------------- how it is put


def _produce(korvet: KorvetCluster, count: int) -> float:
    """Write records to "orders" one by one; return how long the slowest took."""
    producer = Producer({"bootstrap.servers": korvet.bootstrap, "linger.ms": 0})
    slowest = 0.0
    for _ in range(count):
        started = time.monotonic()
        producer.produce("orders", b"value")
        assert producer.flush(30) == 0
        slowest = max(slowest, time.monotonic() - started)
    return slowest


@contextmanager
def _no_longer_than(seconds: float) -> Iterator[None]:
    started = time.monotonic()
    yield
    assert time.monotonic() - started < seconds
