"""Topics that come and go under clients: made again, and made without being asked for."""

from collections.abc import Mapping

import pytest

from korvet.kafka.errors import ErrorCode
from korvet.kafka.messages.metadata import MetadataRequest, MetadataResponse
from tests.support.client_contract import KafkaClient, NewRecord
from tests.support.korvet_process import KorvetCluster, StartKorvet
from tests.support.topic_admin import create_topic, delete_topic, topic_names
from tests.support.wire_client import WireClient, batch_of

pytestmark = pytest.mark.e2e


def test_a_topic_made_again_is_clean_for_a_new_consumer(
    korvet: KorvetCluster, log: str, client: KafkaClient, layout: Mapping[str, str]
) -> None:
    with client.producer(korvet.bootstrap) as producer:
        producer.send(log, [NewRecord(b"old")] * 3)
    delete_topic(korvet.bootstrap, log)
    assert log not in topic_names(korvet.bootstrap)
    create_topic(korvet.bootstrap, log, configs=layout)

    with (
        client.consumer(korvet.bootstrap, log) as consumer,
        client.producer(korvet.bootstrap) as producer,
    ):
        assert (consumer.beginning(), consumer.end()) == (0, 0)
        (written,) = producer.send(log, [NewRecord(b"new")])
        (found,) = consumer.read(1)

    assert (found.value, found.offset) == (b"new", written.offset)
    if layout["offset.encoding"] == "dense":
        assert found.offset == 0


@pytest.mark.parametrize("idempotent", [False, True], ids=["plain", "idempotent"])
def test_running_clients_go_on_with_the_topic_made_again(
    korvet: KorvetCluster,
    log: str,
    client: KafkaClient,
    layout: Mapping[str, str],
    idempotent: bool,
) -> None:
    with (
        client.producer(korvet.bootstrap, idempotent=idempotent) as producer,
        client.consumer(korvet.bootstrap, log, reset="earliest") as consumer,
    ):
        producer.send(log, [NewRecord(b"old")] * 3)
        assert [record.value for record in consumer.read(3)] == [b"old"] * 3

        delete_topic(korvet.bootstrap, log)
        create_topic(korvet.bootstrap, log, configs=layout)
        written = producer.send(log, [NewRecord(b"new 1"), NewRecord(b"new 2")])
        found = consumer.read(2)

    assert [record.value for record in found] == [b"new 1", b"new 2"]
    assert [record.offset for record in found] == [each.offset for each in written]


def test_producing_to_a_topic_that_is_not_there_makes_it(
    korvet: KorvetCluster, topic: str, client: KafkaClient
) -> None:
    with client.producer(korvet.bootstrap) as producer:
        producer.send(topic, [NewRecord(b"first")])

    with client.consumer(korvet.bootstrap, topic) as consumer:
        found = consumer.read(1)
    assert [record.value for record in found] == [b"first"]


@pytest.mark.parametrize("name", ["Dots.and_under-scores.0", "n" * 249])
def test_any_lawful_name_can_be_used(
    korvet: KorvetCluster, client: KafkaClient, name: str
) -> None:
    # A name of its own for each client, and still as long.
    name = client.name[:3] + name[3:]
    create_topic(korvet.bootstrap, name)
    with client.producer(korvet.bootstrap) as producer:
        producer.send(name, [NewRecord(b"value")])

    with client.consumer(korvet.bootstrap, name) as consumer:
        found = consumer.read(1)
    assert [record.value for record in found] == [b"value"]


@pytest.mark.parametrize("version", [1, 4, 9, 12, 13])
def test_metadata_makes_a_topic_where_the_client_wants_it(
    korvet: KorvetCluster, topic: str, version: int
) -> None:
    with WireClient(korvet.bootstrap) as wire:
        # Below v4 there is no flag, and it counts as set.
        if version >= 4:
            error = _metadata(wire, topic, version, create=False)
            assert error is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
            assert topic not in topic_names(korvet.bootstrap)

        assert _metadata(wire, topic, version, create=True) is ErrorCode.NONE
        assert wire.find_topic(topic).error is ErrorCode.NONE


@pytest.mark.parametrize("name", ["no spaces", "__reserved", "..", "x" * 250])
def test_metadata_makes_no_topic_with_a_bad_name(korvet: KorvetCluster, name: str) -> None:
    with WireClient(korvet.bootstrap) as wire:
        assert _metadata(wire, name, 12, create=True) is ErrorCode.INVALID_TOPIC_EXCEPTION


def test_produce_alone_makes_no_topic(korvet: KorvetCluster, topic: str) -> None:
    with WireClient(korvet.bootstrap) as wire:
        produced = wire.produce(topic, batch_of([b"value"]))
        fetched = wire.fetch(topic, 0)

        assert produced.error is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        assert fetched.error is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        assert wire.find_topic(topic).error is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


def test_no_topic_is_made_where_that_is_switched_off(
    start_korvet: StartKorvet, topic: str
) -> None:
    korvet = start_korvet(settings={"auto.create.topics.enable": "false"})

    with WireClient(korvet.bootstrap) as wire:
        for version in (1, 12):
            error = _metadata(wire, topic, version, create=True)
            assert error is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert topic_names(korvet.bootstrap) == set()


def _metadata(wire: WireClient, topic: str, version: int, *, create: bool) -> ErrorCode:
    """What Metadata says about a topic that it may create."""
    request = MetadataRequest(
        topics=[MetadataRequest.MetadataRequestTopic(name=topic)],
        allow_auto_topic_creation=create,
    )
    (found,) = wire.call(request, MetadataResponse, version).topics
    return ErrorCode(found.error_code)
