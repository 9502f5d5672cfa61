"""The limits of a fetch, as a client sets them, through gateway and storage."""

import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from typing import Final

import pytest

from korvet.kafka.errors import ErrorCode
from korvet.kafka.messages.fetch import FetchRequest, FetchResponse
from korvet.kafka.records import CODECS, Record, build_batch, read_records, split_batches
from tests.support.client_contract import KafkaClient, Start
from tests.support.korvet_process import KorvetCluster
from tests.support.topic_admin import create_topic
from tests.support.wire_client import WireClient, batch_of

pytestmark = pytest.mark.e2e

_VERSION: Final = 12
_PLENTY: Final = 1 << 24


@pytest.fixture
def wire(korvet: KorvetCluster) -> Iterator[WireClient]:
    with WireClient(korvet.bootstrap) as wire:
        yield wire


def test_a_fetch_that_finds_nothing_is_answered_when_its_time_is_up(
    wire: WireClient, log: str
) -> None:
    started = time.monotonic()
    fetched = wire.fetch(log, 0, max_wait=0.4)
    took = time.monotonic() - started

    assert (fetched.error, fetched.records) == (ErrorCode.NONE, [])
    assert 0.35 < took < 3.0


def test_a_fetch_waits_until_there_are_enough_bytes(
    korvet: KorvetCluster, wire: WireClient, log: str
) -> None:
    wire.send(_fetch(log, [0], max_wait=20.0, min_bytes=5000), _VERSION)
    with WireClient(korvet.bootstrap) as other:
        other.produce(log, batch_of([bytes(1000)]))
        other.produce(log, batch_of([bytes(6000)]))

    answer = wire.receive(FetchResponse, _VERSION)

    assert [len(record.value or b"") for record in _records(answer, 0)] == [1000, 6000]


def test_one_partition_with_records_answers_for_all(
    korvet: KorvetCluster, wire: WireClient, topic: str, layout: Mapping[str, str]
) -> None:
    create_topic(korvet.bootstrap, topic, partitions=32, configs=layout)
    wire.send(_fetch(topic, range(32), max_wait=20.0), _VERSION)
    with WireClient(korvet.bootstrap) as other:
        other.produce(topic, batch_of([b"value"]), partition=17)

    answer = wire.receive(FetchResponse, _VERSION)

    found = {partition: len(_records(answer, partition)) for partition in range(32)}
    assert found == {partition: int(partition == 17) for partition in range(32)}


def test_the_first_batch_comes_however_small_the_limits_are(
    wire: WireClient, log: str
) -> None:
    wire.produce(log, batch_of([bytes(10_000)]))
    wire.produce(log, batch_of([bytes(10)]))

    for limits in ({"max_bytes": 1}, {"partition_max_bytes": 1}):
        answer = wire.call(_fetch(log, [0], **limits), FetchResponse, _VERSION)

        # KIP-74: or a consumer with a small limit would never get any further.
        assert [len(record.value or b"") for record in _records(answer, 0)] == [10_000]


def test_only_the_first_partition_with_records_may_break_the_limits(
    korvet: KorvetCluster, wire: WireClient, topic: str, layout: Mapping[str, str]
) -> None:
    create_topic(korvet.bootstrap, topic, partitions=4, configs=layout)
    for partition, size in ((1, 10_000), (2, 10_000), (3, 10)):
        wire.produce(topic, batch_of([bytes(size)]), partition=partition)

    def found(order: Iterable[int], **limits: int) -> set[int]:
        # Far less than there is: so it is answered at once.
        request = _fetch(topic, order, max_wait=20.0, min_bytes=_PLENTY, **limits)
        answer = wire.call(request, FetchResponse, _VERSION)
        return {partition for partition in range(4) if _records(answer, partition)}

    assert found([0, 1, 2, 3], max_bytes=1) == {1}
    assert found([0, 2, 1, 3], max_bytes=1) == {2}
    assert found([0, 1, 2, 3], partition_max_bytes=5000) == {1, 3}
    assert found([0, 2, 1, 3], partition_max_bytes=5000) == {2, 3}


def test_a_client_reads_large_batches_of_all_partitions(
    korvet: KorvetCluster,
    wire: WireClient,
    topic: str,
    layout: Mapping[str, str],
    client: KafkaClient,
) -> None:
    """Larger than what clients fetch of a partition at once, so each must come first."""
    create_topic(
        korvet.bootstrap,
        topic,
        partitions=3,
        configs={**layout, "max.message.bytes": "4000000"},
    )
    for _ in range(2):
        for partition in range(3):
            wire.produce(topic, batch_of([bytes(1_500_000)]), partition=partition)
            wire.produce(topic, batch_of([b"small"]), partition=partition)

    starts: dict[int, Start] = dict.fromkeys(range(3), "earliest")
    with client.consumer(korvet.bootstrap, topic, starts) as consumer:
        found = Counter(record.partition for record in consumer.read(12))

    assert found == dict.fromkeys(range(3), 4)


def test_a_limit_is_kept_and_everything_is_read_in_turns(
    wire: WireClient, log: str
) -> None:
    for number in range(50):
        wire.produce(log, batch_of([b"%04d" % number + bytes(996)]))

    offset = 0
    found: list[Record] = []
    while len(found) < 50:
        request = _fetch(log, [0], offset=offset, partition_max_bytes=10_000)
        records = _records(wire.call(request, FetchResponse, _VERSION), 0)
        assert 1 <= len(records) <= 10
        found += [record for record in records if record.offset >= offset]
        offset = found[-1].offset + 1

    assert [int((record.value or b"")[:4]) for record in found] == list(range(50))


@pytest.mark.parametrize("sent", ["none", "gzip"])
@pytest.mark.parametrize("codec", ["uncompressed", "gzip", "snappy", "lz4", "zstd"])
def test_batches_travel_in_the_topics_codec(
    korvet: KorvetCluster,
    wire: WireClient,
    topic: str,
    layout: Mapping[str, str],
    codec: str,
    sent: str,
) -> None:
    configs = {**layout, "compression.type": codec}
    create_topic(korvet.bootstrap, topic, configs=configs)
    batch = build_batch(
        [(n, 1000, None, bytes(2000), []) for n in range(3)],
        base_offset=0,
        codec=CODECS[sent],
    )
    wire.produce(topic, batch)

    answer = wire.call(_fetch(topic, [0]), FetchResponse, _VERSION)

    (partition,) = answer.responses[0].partitions
    codecs = {header.codec for header, _ in split_batches(partition.records or b"")}
    assert codecs == {CODECS.get(codec, CODECS["none"])}
    assert [record.value for record in _records(answer, 0)] == [bytes(2000)] * 3


@pytest.mark.parametrize("configured", ["none", "producer"])
def test_without_a_codec_of_its_own_a_batch_topic_returns_what_was_sent(
    korvet: KorvetCluster, wire: WireClient, topic: str, configured: str
) -> None:
    configs = {"storage.format": "batch", "compression.type": configured}
    create_topic(korvet.bootstrap, topic, configs=configs)
    sent = build_batch(
        [(0, 1000, b"k", bytes(2000), [])], base_offset=0, codec=CODECS["lz4"]
    )
    produced = wire.produce(topic, sent)

    answer = wire.call(_fetch(topic, [0]), FetchResponse, _VERSION)

    (partition,) = answer.responses[0].partitions
    # Base offset and leader epoch are the broker's; all else, with its CRC, the client's.
    assert int.from_bytes((partition.records or b"")[:8]) == produced.base_offset
    assert (partition.records or b"")[16:] == sent[16:]


def _fetch(
    topic: str,
    partitions: Iterable[int],
    *,
    offset: int = 0,
    max_wait: float = 0.0,
    min_bytes: int = 1,
    max_bytes: int = _PLENTY,
    partition_max_bytes: int = _PLENTY,
) -> FetchRequest:
    return FetchRequest(
        max_wait_ms=int(max_wait * 1000),
        min_bytes=min_bytes,
        max_bytes=max_bytes,
        topics=[
            FetchRequest.FetchTopic(
                topic=topic,
                partitions=[
                    FetchRequest.FetchPartition(
                        partition=partition,
                        fetch_offset=offset,
                        partition_max_bytes=partition_max_bytes,
                    )
                    for partition in partitions
                ],
            )
        ],
    )


def _records(answer: FetchResponse, partition: int) -> list[Record]:
    (data,) = (
        each for each in answer.responses[0].partitions if each.partition_index == partition
    )
    assert data.error_code == ErrorCode.NONE
    return [
        record
        for _, batch in split_batches(data.records or b"")
        for record in read_records(bytes(batch), _PLENTY)
    ]
