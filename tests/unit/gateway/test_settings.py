from pathlib import Path

import pytest

from korvet.gateway.broker_configs import broker_configs
from korvet.gateway.settings import GatewaySettings
from korvet.proto.storage.v1 import storage_service_pb2 as pb
from korvet.runtime.settings import InvalidSettingsError, read


def settings(**environ: str) -> GatewaySettings:
    names = {f"KORVET_GATEWAY_{name.upper()}": value for name, value in environ.items()}
    return read(GatewaySettings, names)


def test_only_the_address_of_storage_is_needed() -> None:
    found = settings(storage_address="127.0.0.1:50051")

    assert (found.listen_host, found.listen_port) == ("127.0.0.1", 9092)
    assert found.max_request_bytes == 100 * 1024 * 1024
    assert found.auto_create_topics_enable


@pytest.mark.parametrize(
    "address",
    [
        "storage:50051",
        "10.0.0.1:1,10.0.0.2:1",
        "unix:/run/korvet/storage.sock",
        "[::1]:50051, unix:/a.sock",
    ],
)
def test_addresses_of_storage_may_be_several(address: str) -> None:
    assert settings(storage_address=address).storage_address == address


@pytest.mark.parametrize("address", ["", "storage", "storage:", "storage:x", "a:1,,b:1"])
def test_an_address_without_a_port_is_refused(address: str) -> None:
    with pytest.raises(InvalidSettingsError, match="KORVET_GATEWAY_STORAGE_ADDRESS"):
        settings(storage_address=address)


def test_listening_everywhere_needs_an_address_that_clients_can_use() -> None:
    with pytest.raises(InvalidSettingsError, match="KORVET_GATEWAY_ADVERTISED_HOST"):
        settings(storage_address="s:1", listen_host="0.0.0.0")  # noqa: S104

    found = settings(
        storage_address="s:1",
        listen_host="0.0.0.0",  # noqa: S104
        advertised_host="kafka.example",
    )
    assert found.advertised_host == "kafka.example"


def test_a_misspelt_setting_is_refused() -> None:
    with pytest.raises(InvalidSettingsError, match="did you mean KORVET_GATEWAY_NODE_ID"):
        settings(storage_address="s:1", node_ids="4")


def test_settings_are_described_under_the_names_that_kafka_gives_them() -> None:
    found = settings(
        storage_address="s:1",
        node_id="4",
        auto_create_topics_enable="false",
        advertised_host="kafka.example",
        advertised_port="19092",
    )

    configs = {config.name: config for config in broker_configs(found, 9092)}

    assert configs["node.id"].value == "4"
    assert configs["node.id"].is_set
    assert configs["auto.create.topics.enable"].value == "false"
    assert configs["auto.create.topics.enable"].type == pb.CONFIG_TYPE_BOOLEAN
    assert configs["socket.request.max.bytes"].value == "104857600"
    assert not configs["socket.request.max.bytes"].is_set
    assert configs["max.connections"].type == pb.CONFIG_TYPE_INT
    assert configs["listeners"].value == "PLAINTEXT://127.0.0.1:9092"
    assert configs["advertised.listeners"].value == "PLAINTEXT://kafka.example:19092"
    assert all(config.documentation for config in configs.values())
    assert list(configs) == sorted(configs)


def test_the_readme_names_every_setting() -> None:
    readme = Path(__file__).parents[3] / "services" / "gateway" / "README.md"
    text = readme.read_text()

    missing = [
        name for name in GatewaySettings.model_fields if f"`{name.upper()}`" not in text
    ]

    assert missing == []
