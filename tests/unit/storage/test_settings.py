"""Storage's settings, and what DescribeServer says of them."""

from pathlib import Path

import pytest

from korvet.proto.storage.v1 import storage_service_pb2 as pb
from korvet.runtime.settings import InvalidSettingsError, read
from korvet.storage.settings import StorageSettings, described


def test_everything_has_a_default() -> None:
    settings = read(StorageSettings, {})

    assert settings.redis_url.get_secret_value() == "redis://127.0.0.1:6379/0"
    assert settings.listen_addresses == ["127.0.0.1:50051"]
    assert settings.num_partitions == 1


def test_the_environment_sets_them() -> None:
    settings = read(
        StorageSettings,
        {
            "KORVET_STORAGE_REDIS_URL": "rediss://me:secret@redis:6380/2",
            "KORVET_STORAGE_LISTEN_ADDRESS": "0.0.0.0:50051, unix:/run/storage.sock",
            "KORVET_STORAGE_NUM_PARTITIONS": "3",
            "KORVET_STORAGE_TOPIC_DEFAULTS": '{"retention.ms": "5"}',
        },
    )

    assert settings.listen_addresses == ["0.0.0.0:50051", "unix:/run/storage.sock"]
    assert settings.num_partitions == 3
    assert settings.topic_defaults == {"retention.ms": "5"}
    assert "secret" not in repr(settings)


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("TOPIC_DEFAULTS", '{"retention.ms": "soon"}', "retention.ms"),
        ("TOPIC_DEFAULTS", "retention.ms=5", "JSON"),
        ("NUM_PARTITIONS", "0", "NUM_PARTITIONS"),
        ("LISTEN_ADDRESS", "localhost", "LISTEN_ADDRESS"),
        ("KEYSPACE", "a:b", "KEYSPACE"),
        ("NUM_PARTITION", "1", "did you mean KORVET_STORAGE_NUM_PARTITIONS"),
    ],
)
def test_a_wrong_one_is_named(name: str, value: str, said: str) -> None:
    with pytest.raises(InvalidSettingsError) as refused:
        read(StorageSettings, {f"KORVET_STORAGE_{name}": value})

    assert said in str(refused.value)


def test_settings_are_described_under_kafkas_names_with_their_source() -> None:
    settings = StorageSettings(num_partitions=3, topic_defaults={"retention.ms": "5"})

    found = {config.name: config for config in described(settings)}

    assert list(found) == sorted(found)
    assert found["num.partitions"].value == "3"
    assert found["num.partitions"].source == pb.CONFIG_SOURCE_SERVER
    assert found["num.partitions"].default_value == "1"
    assert found["log.retention.ms"].value == "5"
    assert found["log.retention.ms"].source == pb.CONFIG_SOURCE_SERVER
    assert found["producer.id.expiration.ms"].source == pb.CONFIG_SOURCE_DEFAULT
    assert found["producer.id.expiration.ms"].type == pb.CONFIG_TYPE_LONG
    assert found["offset.encoding"].value == "time"
    assert all(config.read_only for config in found.values())


def test_the_readme_names_every_setting() -> None:
    readme = Path(__file__).parents[3] / "services" / "storage" / "README.md"
    text = readme.read_text()

    missing = [n for n in StorageSettings.model_fields if f"`{n.upper()}`" not in text]

    assert missing == []
