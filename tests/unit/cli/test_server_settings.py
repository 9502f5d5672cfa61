import json
from collections.abc import Mapping

import pytest

from korvet.cli import server_settings
from korvet.cli.failure import Failure
from korvet.coordinator.settings import CoordinatorSettings
from korvet.gateway.settings import GatewaySettings
from korvet.runtime.settings import kafka_settings, read
from korvet.storage.settings import StorageSettings

ADDRESSES = ["127.0.0.1:50051", "unix:/tmp/s.sock"]


def storage(*options: str) -> StorageSettings:
    parsed = server_settings.parse(options)
    environ = parsed.storage_environ(redis_url="unix:///tmp/r.sock", addresses=ADDRESSES)
    return read(StorageSettings, environ)


def gateway(*options: str) -> GatewaySettings:
    environ = server_settings.parse(options).gateway_environ(
        storage_address="unix:/tmp/s.sock",
        coordinator_address="unix:/tmp/c.sock",
        host="127.0.0.1",
        port=9092,
    )
    return read(GatewaySettings, environ)


def coordinator(*options: str, around: Mapping[str, str] = {}) -> CoordinatorSettings:
    """As `korvet up` starts it in some environment."""
    environ = server_settings.parse(options).coordinator_environ(
        redis_url="unix:///tmp/r.sock",
        addresses=["127.0.0.1:50052", "unix:/tmp/c.sock"],
        advertised_address="unix:/tmp/c.sock",
        storage_address="unix:/tmp/s.sock",
    )
    merged = {**server_settings.EMBEDDED_DEFAULTS, **around, **environ}
    return read(CoordinatorSettings, merged)


def test_a_kafka_name_reaches_the_service_that_applies_it() -> None:
    options = ("num.partitions=3", "auto.create.topics.enable=false", "group.max.size=7")

    assert storage(*options).num_partitions == 3
    assert coordinator(*options).group_max_size == 7
    assert gateway(*options).auto_create_topics_enable is False


def test_topic_configs_become_defaults_of_topics() -> None:
    settings = storage("storage.format=batch", "log.retention.hours=1", "retention.bytes=9")

    assert settings.topic_defaults == {
        "storage.format": "batch",
        "log.retention.hours": "1",
        "retention.bytes": "9",
    }


def test_without_settings_the_services_have_their_own_defaults() -> None:
    assert storage().topic_defaults == {}
    assert storage().listen_addresses == ADDRESSES
    assert gateway().listen_port == 9092
    assert coordinator().group_max_session_timeout_ms == 1_800_000


def test_the_services_find_each_other() -> None:
    assert gateway().coordinator_address == coordinator().address == "unix:/tmp/c.sock"
    assert gateway().storage_address == coordinator().storage_address


def test_on_one_machine_a_group_starts_at_once_unless_that_is_set() -> None:
    variable = "KORVET_COORDINATOR_GROUP_INITIAL_REBALANCE_DELAY_MS"
    option = "group.initial.rebalance.delay.ms=500"

    assert coordinator().group_initial_rebalance_delay_ms == 0
    assert coordinator(option).group_initial_rebalance_delay_ms == 500
    assert coordinator(around={variable: "40"}).group_initial_rebalance_delay_ms == 40
    both = coordinator(option, around={variable: "40"})
    assert both.group_initial_rebalance_delay_ms == 500


def test_a_value_may_have_an_equals_sign() -> None:
    assert gateway("broker.rack=a=b").rack == "a=b"


@pytest.mark.parametrize(
    ("option", "problem", "advice"),
    [
        ("num.partition=3", "no setting num.partition", "num.partitions"),
        ("group.max.sizes=3", "no setting group.max.sizes", "group.max.size"),
        ("storage.fromat=batch", "no setting storage.fromat", "storage.format"),
        ("xyzzy=1", "no setting xyzzy", "docs/operations.md"),
        # Some name looks like it, but is about something else.
        ("log.flush.offset=1", "no setting log.flush.offset", "docs/operations.md"),
        ("advertised.listeners=PLAINTEXT://h:1", "advertised.listeners", "--port"),
        ("log.dirs=/data", "log.dirs cannot be set", "--data"),
        ("broker.id=1", "broker.id cannot be set", "node.id"),
        ("default.replication.factor=1", "default.replication.factor", "one replica"),
        ("delete.topic.enable=true", "delete.topic.enable", "always"),
        ("num.partitions", "not NAME=VALUE", "--set num.partitions=3"),
        ("storage.format=parquet", "storage.format", ""),
        ("retention.ms=soon", "retention.ms", ""),
    ],
)
def test_what_cannot_be_set_is_explained(option: str, problem: str, advice: str) -> None:
    with pytest.raises(Failure) as raised:
        server_settings.parse([option])

    assert problem in raised.value.problem
    assert advice in raised.value.advice


def test_what_cannot_be_set_is_no_setting() -> None:
    known = {*server_settings.TOPIC_DEFAULT_NAMES}
    for service in (StorageSettings, CoordinatorSettings, GatewaySettings):
        known |= kafka_settings(service).keys()

    assert not known & server_settings.DECIDED_ELSEWHERE.keys()


def test_a_value_that_a_service_refuses_is_found_before_the_start() -> None:
    parsed = server_settings.parse(["num.partitions=none"])
    environ = parsed.storage_environ(redis_url="redis://r", addresses=ADDRESSES)

    with pytest.raises(Failure) as raised:
        parsed.check(StorageSettings, environ)

    # By the name that was typed, which is not the variable's.
    assert "--set num.partitions: " in raised.value.problem
    assert "KORVET_" not in raised.value.problem


def test_a_variable_that_a_service_refuses_keeps_its_own_name() -> None:
    parsed = server_settings.parse([])
    environ = parsed.storage_environ(redis_url="redis://r", addresses=ADDRESSES)

    with pytest.raises(Failure, match="KORVET_STORAGE_NUM_PARTITIONS: "):
        parsed.check(StorageSettings, {**environ, "KORVET_STORAGE_NUM_PARTITIONS": "0"})


def test_defaults_of_topics_travel_as_json() -> None:
    parsed = server_settings.parse(["cleanup.policy=compact,delete"])
    environ = parsed.storage_environ(redis_url="redis://r", addresses=ADDRESSES)

    assert json.loads(environ["KORVET_STORAGE_TOPIC_DEFAULTS"]) == {
        "cleanup.policy": "compact,delete"
    }


def test_how_much_services_log_is_left_to_their_own_variables() -> None:
    environ = server_settings.parse([]).storage_environ(
        redis_url="redis://r", addresses=ADDRESSES
    )

    assert "KORVET_STORAGE_LOG_LEVEL" not in environ
