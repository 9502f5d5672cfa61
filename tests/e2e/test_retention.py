"""Old records go, by age, by size and by DeleteRecords, and consumers notice."""

import time
import uuid
from collections.abc import Mapping
from typing import Final, NamedTuple

import pytest

from tests.support.client_contract import (
    KafkaClient,
    NewRecord,
    RefusedError,
    Written,
)
from tests.support.confluent_client import ConfluentClient
from tests.support.eventually import eventually_true
from tests.support.korvet_process import KorvetCluster, StartKorvet
from tests.support.layouts import LAYOUTS, layout_name
from tests.support.topic_admin import create_topic, delete_records, set_config

pytestmark = pytest.mark.e2e

_OFFSET_OUT_OF_RANGE: Final = 1
_WRITER: Final = ConfluentClient()


class _Trimmed(NamedTuple):
    """A log whose head has gone."""

    topic: str
    gone: list[int]
    left: list[int]


@pytest.fixture(scope="module")
def expired(korvet: KorvetCluster) -> Mapping[str, _Trimmed]:
    """By layout: a log whose first batch is past its retention time."""
    retention = 0.4
    topics = _topics(korvet, {"retention.ms": str(int(retention * 1000))})
    with _WRITER.producer(korvet.bootstrap) as producer:
        gone = {
            name: producer.send(topic, [NewRecord(b"old")] * 3)
            for name, topic in topics.items()
        }
        # It is the passing of time that is tested.
        time.sleep(retention * 1.5)
        left = {
            name: producer.send(topic, [NewRecord(b"new")] * 2)
            for name, topic in topics.items()
        }
    return {
        name: _Trimmed(topic, _offsets(gone[name]), _offsets(left[name]))
        for name, topic in topics.items()
    }


def test_records_past_their_time_are_gone(
    korvet: KorvetCluster,
    expired: Mapping[str, _Trimmed],
    client: KafkaClient,
    layout: Mapping[str, str],
) -> None:
    log = expired[layout_name(layout)]

    _assert_that_the_head_is_gone(korvet, log, client)


@pytest.fixture(scope="module")
def oversized(korvet: KorvetCluster) -> Mapping[str, _Trimmed]:
    """By layout: a log of which retention by size keeps the last twenty records."""
    topics = _topics(korvet, {"retention.bytes": "21000", "storage.compression": "none"})
    found: dict[str, _Trimmed] = {}
    with _WRITER.producer(korvet.bootstrap, linger=0.0) as producer:
        for name, topic in topics.items():
            offsets = [
                _offsets(producer.send(topic, [NewRecord(bytes(1000))]))[0]
                for _ in range(60)
            ]
            # Batch and record need some bytes besides the value's.
            found[name] = _Trimmed(topic, offsets[:-20], offsets[-20:])
    return found


def test_records_beyond_the_size_are_gone(
    korvet: KorvetCluster,
    oversized: Mapping[str, _Trimmed],
    client: KafkaClient,
    layout: Mapping[str, str],
) -> None:
    log = oversized[layout_name(layout)]

    with client.consumer(korvet.bootstrap, log.topic) as consumer:
        first = consumer.beginning()
        everything = sorted(log.gone + log.left)
        found = consumer.read(len([offset for offset in everything if offset >= first]))

    assert [record.offset for record in found] == everything[-len(found) :]
    # No less than the limit stays, as in Kafka, and not much more.
    assert 19 <= len(found) <= 22


def test_deleted_records_are_gone(
    korvet: KorvetCluster, log: str, client: KafkaClient
) -> None:
    with client.producer(korvet.bootstrap, linger=0.05) as producer:
        batches = [producer.send(log, [NewRecord(b"%d" % n)] * 10) for n in range(3)]
    offsets = _offsets([each for batch in batches for each in batch])

    # In the middle of a batch, which then has to be read from its middle.
    low_watermark = delete_records(korvet.bootstrap, log, before=offsets[14])

    assert low_watermark == offsets[14]
    _assert_that_the_head_is_gone(korvet, _Trimmed(log, offsets[:14], offsets[14:]), client)


def test_who_does_not_want_the_beginning_goes_to_the_end(
    korvet: KorvetCluster, log: str, client: KafkaClient
) -> None:
    with client.producer(korvet.bootstrap) as producer:
        offsets = _offsets(producer.send(log, [NewRecord(b"a"), NewRecord(b"b")]))
        delete_records(korvet.bootstrap, log, before=offsets[1])

        with client.consumer(korvet.bootstrap, log, offsets[0], reset="latest") as consumer:
            found = consumer.read(1, within=0.05)
            # Where "latest" is depends on when the client looks.
            while not found:
                producer.send(log, [NewRecord(b"c")])
                found = consumer.read(1, within=0.1)

    assert found[0].value == b"c"


def test_a_changed_retention_time_counts_from_the_next_append(
    korvet: KorvetCluster, log: str
) -> None:
    with (
        _WRITER.producer(korvet.bootstrap) as producer,
        _WRITER.consumer(korvet.bootstrap, log) as consumer,
    ):
        (old,) = _offsets(producer.send(log, [NewRecord(b"old")]))
        set_config(korvet.bootstrap, log, "retention.ms", "20")

        def is_gone() -> bool:
            producer.send(log, [NewRecord(b"new")])
            return consumer.beginning() > old

        eventually_true(is_gone)


def test_records_go_although_nobody_writes(start_korvet: StartKorvet) -> None:
    korvet = start_korvet(settings={"log.retention.check.interval.ms": "100"})
    topics = _topics(korvet, {"retention.ms": "300"})
    with _WRITER.producer(korvet.bootstrap) as producer:
        for topic in topics.values():
            offsets = _offsets(producer.send(topic, [NewRecord(b"a"), NewRecord(b"b")]))
            end = offsets[-1] + 1

            with _WRITER.consumer(korvet.bootstrap, topic) as consumer:
                eventually_true(lambda: consumer.beginning() == end)  # noqa: B023 - at once

                assert consumer.end() == end


def _assert_that_the_head_is_gone(
    korvet: KorvetCluster, log: _Trimmed, client: KafkaClient
) -> None:
    with client.consumer(korvet.bootstrap, log.topic, reset="earliest") as consumer:
        assert consumer.beginning() == log.left[0]
        assert consumer.end() == log.left[-1] + 1
        assert consumer.at_time(0) == log.left[0]
        assert [r.offset for r in consumer.read(len(log.left))] == log.left
        consumer.seek(0, log.gone[0])
        assert [r.offset for r in consumer.read(len(log.left))] == log.left
    with (
        client.consumer(korvet.bootstrap, log.topic, log.gone[-1]) as consumer,
        pytest.raises(RefusedError) as refused,
    ):
        consumer.read(1)
    assert refused.value.code == _OFFSET_OUT_OF_RANGE


def _topics(korvet: KorvetCluster, configs: Mapping[str, str]) -> dict[str, str]:
    """A topic of each layout, by the layout's name."""
    topics = {name: f"trimmed-{uuid.uuid4().hex}" for name in LAYOUTS}
    for name, layout in LAYOUTS.items():
        create_topic(korvet.bootstrap, topics[name], configs={**layout, **configs})
    return topics


def _offsets(written: list[Written]) -> list[int]:
    return [each.offset for each in written if each.offset is not None]
