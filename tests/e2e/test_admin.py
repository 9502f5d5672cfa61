"""Administration, through the admin client of every library."""

from collections.abc import Iterator

import pytest

from korvet.kafka.errors import ErrorCode
from tests.support.admin_clients import ADMINS, AdminLibrary
from tests.support.admin_contract import Admin
from tests.support.client_contract import NewRecord, RefusedError
from tests.support.confluent_client import ConfluentClient
from tests.support.korvet_process import KorvetCluster

pytestmark = pytest.mark.e2e

CLIENT = ConfluentClient()


@pytest.fixture(params=ADMINS, ids=lambda library: library.name)
def admin(request: pytest.FixtureRequest, korvet: KorvetCluster) -> Iterator[Admin]:
    library: AdminLibrary = request.param
    with library.connect(korvet.bootstrap) as connected:
        yield connected


def produce(korvet: KorvetCluster, topic: str, count: int) -> list[int]:
    """Write records to partition 0; their offsets."""
    with CLIENT.producer(korvet.bootstrap) as producer:
        written = producer.send(topic, [NewRecord(b"%d" % i) for i in range(count)])
    return [each.offset or 0 for each in written]


def test_a_topic_lives_from_its_creation_to_its_deletion(
    admin: Admin, korvet: KorvetCluster, topic: str
) -> None:
    admin.create(topic, 3, {"retention.ms": "3600000", "offset.encoding": "dense"})

    assert admin.leaders(topic) == {0: 1, 1: 1, 2: 1}
    assert admin.topic_configs(topic)["retention.ms"].value == "3600000"
    assert produce(korvet, topic, 3) == [0, 1, 2]

    admin.delete(topic)

    assert admin.leaders(topic) == {}
    with pytest.raises(RefusedError) as refused:
        admin.delete(topic)
    assert refused.value.code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


def test_a_topic_made_again_under_the_name_starts_clean(
    admin: Admin, korvet: KorvetCluster, topic: str
) -> None:
    configs = {"offset.encoding": "dense"}
    admin.create(topic, 1, configs)
    produce(korvet, topic, 5)

    admin.delete(topic)
    admin.create(topic, 1, configs)

    assert produce(korvet, topic, 1) == [0]


@pytest.mark.parametrize(
    ("name", "configs", "code"),
    [
        ("not a name", {}, ErrorCode.INVALID_TOPIC_EXCEPTION),
        ("__reserved", {}, ErrorCode.INVALID_TOPIC_EXCEPTION),
        ("t", {"no.such.config": "1"}, ErrorCode.INVALID_CONFIG),
        ("t", {"retention.ms": "soon"}, ErrorCode.INVALID_CONFIG),
    ],
)
def test_a_topic_that_cannot_be_is_refused(
    admin: Admin, name: str, configs: dict[str, str], code: ErrorCode
) -> None:
    with pytest.raises(RefusedError) as refused:
        admin.create(name, 1, configs)

    assert refused.value.code == code
    assert admin.leaders(name) == {}


def test_a_topic_that_exists_is_refused(admin: Admin, topic: str) -> None:
    admin.create(topic)

    with pytest.raises(RefusedError) as refused:
        admin.create(topic)

    assert refused.value.code == ErrorCode.TOPIC_ALREADY_EXISTS


def test_validation_alone_creates_nothing(admin: Admin, topic: str) -> None:
    admin.create(topic, 3, validate_only=True)

    assert admin.leaders(topic) == {}


def test_configs_of_a_topic_change(admin: Admin, topic: str) -> None:
    admin.create(topic)
    assert not admin.topic_configs(topic)["retention.ms"].is_set

    admin.set_topic_config(topic, "retention.ms", "1000")

    changed = admin.topic_configs(topic)["retention.ms"]
    assert (changed.value, changed.is_set) == ("1000", True)


def test_what_is_fixed_at_creation_stays(admin: Admin, topic: str) -> None:
    admin.create(topic, 1, {"storage.format": "batch"})

    with pytest.raises(RefusedError) as refused:
        admin.set_topic_config(topic, "storage.format", "record")

    assert refused.value.code == ErrorCode.INVALID_CONFIG
    kept = admin.topic_configs(topic)["storage.format"]
    assert (kept.value, kept.is_read_only) == ("batch", True)


def test_a_brokers_settings_are_described_and_cannot_change(admin: Admin) -> None:
    settings = admin.broker_configs(1)

    assert settings["node.id"].value == "1"
    assert settings["num.partitions"].value == "1"
    assert all(setting.is_read_only for setting in settings.values())
    with pytest.raises(RefusedError) as refused:
        admin.set_broker_config(1, "num.partitions", "3")
    assert refused.value.code == ErrorCode.INVALID_REQUEST


def test_partitions_are_added_and_never_removed(
    admin: Admin, korvet: KorvetCluster, topic: str
) -> None:
    admin.create(topic, 2)

    admin.add_partitions(topic, 4)

    assert sorted(admin.leaders(topic)) == [0, 1, 2, 3]
    with CLIENT.producer(korvet.bootstrap) as producer:
        (written,) = producer.send(topic, [NewRecord(b"new", partition=3)])
    assert written.partition == 3
    with pytest.raises(RefusedError) as refused:
        admin.add_partitions(topic, 3)
    assert refused.value.code == ErrorCode.INVALID_PARTITIONS


def test_partitions_of_an_unknown_topic_are_refused(admin: Admin, topic: str) -> None:
    with pytest.raises(RefusedError) as refused:
        admin.add_partitions(topic, 3)

    assert refused.value.code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


@pytest.mark.parametrize("encoding", ["time", "dense"])
def test_records_before_an_offset_are_deleted(
    admin: Admin, korvet: KorvetCluster, topic: str, encoding: str
) -> None:
    admin.create(topic, 1, {"offset.encoding": encoding})
    offsets = produce(korvet, topic, 10)

    assert admin.delete_records(topic, 0, offsets[4]) == offsets[4]

    with CLIENT.consumer(korvet.bootstrap, topic) as consumer:
        assert consumer.beginning() == offsets[4]
        assert [each.value for each in consumer.read(6)] == [
            b"4",
            b"5",
            b"6",
            b"7",
            b"8",
            b"9",
        ]
    with pytest.raises(RefusedError) as refused:
        admin.delete_records(topic, 0, offsets[-1] + 2)
    assert refused.value.code == ErrorCode.OFFSET_OUT_OF_RANGE


def test_minus_one_deletes_all_records(
    admin: Admin, korvet: KorvetCluster, topic: str
) -> None:
    admin.create(topic, 1, {"offset.encoding": "dense"})
    produce(korvet, topic, 10)

    assert admin.delete_records(topic, 0, -1) == 10


def test_the_cluster_is_this_gateway(admin: Admin) -> None:
    cluster = admin.cluster()

    assert cluster.cluster_id
    assert (cluster.controller_id, cluster.node_ids) == (1, [1])
