"""`korvet transactions` as a person, or a script, runs it, beside a real producer."""

import uuid
from collections.abc import Iterator
from contextlib import closing

import pytest
from confluent_kafka import Consumer, KafkaException, Producer, TopicPartition

from tests.support.eventually import eventually_true
from tests.support.korvet_process import KorvetCluster
from tests.support.shell import Shell
from tests.support.topic_admin import create_topic

pytestmark = pytest.mark.e2e


@pytest.fixture
def transactional_id() -> str:
    """A name that no other test has."""
    return f"till-{uuid.uuid4().hex[:12]}"


@pytest.fixture
def producer(
    korvet: KorvetCluster, topic: str, transactional_id: str
) -> Iterator[Producer]:
    """One with a record in an open transaction."""
    create_topic(korvet.bootstrap, topic)
    producer = Producer(
        {
            "bootstrap.servers": korvet.bootstrap,
            "transactional.id": transactional_id,
            "transaction.timeout.ms": 600_000,
        }
    )
    producer.init_transactions(60)
    producer.begin_transaction()
    producer.produce(topic, b"one plum", partition=0)
    producer.flush(60)
    yield producer
    producer.purge()


def test_an_open_transaction_is_listed_and_described(
    shell: Shell, producer: Producer, transactional_id: str, topic: str
) -> None:
    pattern = f"{transactional_id[:-1]}."
    listed = shell.json("transactions", "list", "--matching", pattern)
    longer = shell.json(
        "transactions", "list", "--matching", pattern, "--longer-than", "3600"
    )
    committed = shell.json(
        "transactions", "list", "--matching", pattern, "--state", "CompleteCommit"
    )
    described = shell("transactions", "describe", transactional_id)

    assert [(each["transactional_id"], each["state"]) for each in listed] == [
        (transactional_id, "Ongoing")
    ]
    assert listed[0]["partitions"] == {topic: [0]}
    assert longer == committed == []
    assert described.out.decode().startswith(f"{transactional_id}: Ongoing, open for ")


def test_an_aborted_transaction_lets_readers_on_and_fences_its_producer(
    shell: Shell,
    korvet: KorvetCluster,
    producer: Producer,
    transactional_id: str,
    topic: str,
) -> None:
    plain = Producer({"bootstrap.servers": korvet.bootstrap})
    plain.produce(topic, b"behind it", partition=0)
    plain.flush(60)

    aborted = shell("transactions", "abort", transactional_id)

    assert aborted.code == 0, aborted.err
    assert read_committed(korvet, topic) == b"behind it"
    with pytest.raises(KafkaException):
        producer.commit_transaction(60)
    again = shell("transactions", "abort", transactional_id)
    assert again.code == 1
    assert f"{transactional_id} has no transaction open." in again.err


def test_ids_that_are_not_there_are_told(shell: Shell, transactional_id: str) -> None:
    for command in ("describe", "abort"):
        ended = shell("transactions", command, transactional_id)
        assert (ended.code, ended.out) == (1, b"")
        assert f"There is no transactional id {transactional_id}." in ended.err


def test_a_pattern_that_is_none_is_told(shell: Shell) -> None:
    ended = shell("transactions", "list", "--matching", "(")

    assert ended.code == 1
    assert "( is no regular expression." in ended.err


def read_committed(korvet: KorvetCluster, topic: str) -> bytes | None:
    """The first record of partition 0 that a consumer gets to see."""
    settings = {
        "bootstrap.servers": korvet.bootstrap,
        "group.id": "unused",
        "isolation.level": "read_committed",
        "enable.auto.commit": False,
    }
    found: list[bytes | None] = []
    with closing(Consumer(settings)) as consumer:
        consumer.assign([TopicPartition(topic, 0, 0)])

        def has_read() -> bool:
            message = consumer.poll(0.1)
            if message is not None:
                assert not message.error(), message.error()
                found.append(message.value())
            return bool(found)

        eventually_true(has_read, within=60)
    return found[0]
