"""Batches that no broker takes: refused with Kafka's code, and nothing of them is written.

The codes are those that Apache Kafka 4.1 gives for the same bytes.
"""

import struct
from collections.abc import Iterator, Mapping
from typing import Final

import pytest
from crc32c import crc32c

from korvet.kafka.errors import ErrorCode
from korvet.kafka.messages.produce import ProduceRequest, ProduceResponse
from tests.support.korvet_process import KorvetCluster
from tests.support.topic_admin import create_topic
from tests.support.wire_client import LATEST, WireClient, batch_of, values_of

pytestmark = pytest.mark.e2e

_VERSION: Final = 9
_GOOD: Final = batch_of([b"one", b"two", b"three"])
# Where fields of a batch's header are.
_MAGIC, _CRC, _ATTRIBUTES, _LAST_DELTA, _COUNT, _HEADER_SIZE = 16, 17, 21, 23, 57, 61


def _with(at: int, field: str, value: int) -> bytes:
    """The good batch with one field changed, and a CRC that says that all is well."""
    batch = bytearray(_GOOD)
    struct.pack_into(f">{field}", batch, at, value)
    struct.pack_into(">I", batch, _CRC, crc32c(memoryview(batch)[_ATTRIBUTES:]))
    return bytes(batch)


def _flipped(at: int) -> bytes:
    batch = bytearray(_GOOD)
    batch[at] ^= 0x01
    return bytes(batch)


@pytest.fixture
def wire(korvet: KorvetCluster) -> Iterator[WireClient]:
    with WireClient(korvet.bootstrap) as wire:
        yield wire


@pytest.mark.parametrize(
    ("records", "code"),
    [
        pytest.param(_flipped(len(_GOOD) - 3), ErrorCode.CORRUPT_MESSAGE, id="bit flipped"),
        pytest.param(_flipped(_CRC), ErrorCode.CORRUPT_MESSAGE, id="CRC flipped"),
        pytest.param(_GOOD[:-1], ErrorCode.INVALID_RECORD, id="cut"),
        pytest.param(_GOOD[:30], ErrorCode.INVALID_RECORD, id="half a header"),
        pytest.param(b"", ErrorCode.INVALID_RECORD, id="empty"),
        pytest.param(_GOOD + _GOOD, ErrorCode.INVALID_RECORD, id="two batches"),
        pytest.param(_with(_MAGIC, "b", 1), ErrorCode.INVALID_RECORD, id="magic 1"),
        pytest.param(_with(_MAGIC, "b", 3), ErrorCode.CORRUPT_MESSAGE, id="magic 3"),
        pytest.param(_with(_COUNT, "i", 0), ErrorCode.INVALID_RECORD, id="no records"),
        pytest.param(_with(_COUNT, "i", 2), ErrorCode.INVALID_RECORD, id="count"),
        pytest.param(_with(_LAST_DELTA, "i", 9), ErrorCode.INVALID_RECORD, id="delta"),
        pytest.param(_with(_ATTRIBUTES, "h", 0x20), ErrorCode.INVALID_RECORD, id="control"),
    ],
)
def test_a_bad_batch_is_refused_and_the_next_one_taken(
    wire: WireClient, log: str, records: bytes, code: ErrorCode
) -> None:
    wire.produce(log, batch_of([b"before"]))
    end = wire.offset_at(log, LATEST)

    refused = wire.produce(log, records)

    assert (refused.error, refused.base_offset) == (code, -1)
    assert wire.offset_at(log, LATEST) == end
    assert wire.produce(log, batch_of([b"after"])).error is ErrorCode.NONE
    assert values_of(wire.read_all(log)) == [b"before", b"after"]


def test_records_that_cannot_be_read_are_refused_where_they_are_looked_at(
    korvet: KorvetCluster, topic: str, wire: WireClient, layout: Mapping[str, str]
) -> None:
    configs = {**layout, "batch.validation": "full"}
    create_topic(korvet.bootstrap, topic, configs=configs)
    # Well-formed outside, noise inside; and what is said to be gzip but is not.
    noise = bytearray(_GOOD)
    noise[_HEADER_SIZE:] = b"\xff" * (len(noise) - _HEADER_SIZE)
    struct.pack_into(">I", noise, _CRC, crc32c(memoryview(noise)[_ATTRIBUTES:]))

    for records in (bytes(noise), _with(_ATTRIBUTES, "h", 1)):
        refused = wire.produce(topic, records)

        assert refused.error in (ErrorCode.INVALID_RECORD, ErrorCode.CORRUPT_MESSAGE)
    assert wire.read_all(topic) == []


def test_a_json_topic_takes_nothing_but_json(
    korvet: KorvetCluster, topic: str, wire: WireClient, layout: Mapping[str, str]
) -> None:
    create_topic(korvet.bootstrap, topic, configs={**layout, "value.type": "JSON"})

    for values in ([b"no JSON"], [b"{}", b"{"], [b"\xff"]):
        assert wire.produce(topic, batch_of(values)).error is ErrorCode.INVALID_RECORD
    taken = wire.produce(topic, batch_of([b'{"a": [1, null]}', b"17"]))

    assert taken.error is ErrorCode.NONE
    assert values_of(wire.read_all(topic)) == [b'{"a": [1, null]}', b"17"]


def test_a_bad_batch_does_not_stop_those_of_other_partitions(
    korvet: KorvetCluster, topic: str, wire: WireClient, layout: Mapping[str, str]
) -> None:
    create_topic(korvet.bootstrap, topic, partitions=3, configs=layout)
    batches = [_GOOD, _flipped(len(_GOOD) - 3), _GOOD, _GOOD]
    request = _produce(topic, batches, acks=-1)

    answer = wire.call(request, ProduceResponse, _VERSION)

    (answered,) = answer.responses
    codes = {each.index: each.error_code for each in answered.partition_responses}
    assert codes == {
        0: ErrorCode.NONE,
        1: ErrorCode.CORRUPT_MESSAGE,
        2: ErrorCode.NONE,
        3: ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
    }
    for partition, count in ((0, 3), (1, 0), (2, 3)):
        assert len(wire.read_all(topic, partition=partition)) == count


@pytest.mark.parametrize("acks", [2, -2, 127])
def test_acks_that_do_not_exist_are_refused(wire: WireClient, log: str, acks: int) -> None:
    answer = wire.call(_produce(log, [_GOOD], acks=acks), ProduceResponse, _VERSION)

    (answered,) = answer.responses
    (partition,) = answered.partition_responses
    assert partition.error_code == ErrorCode.INVALID_REQUIRED_ACKS
    assert wire.read_all(log) == []


def _produce(topic: str, batches: list[bytes], *, acks: int) -> ProduceRequest:
    """One batch for each partition."""
    return ProduceRequest(
        acks=acks,
        timeout_ms=10_000,
        topic_data=[
            ProduceRequest.TopicProduceData(
                name=topic,
                partition_data=[
                    ProduceRequest.PartitionProduceData(index=index, records=batch)
                    for index, batch in enumerate(batches)
                ],
            )
        ],
    )
