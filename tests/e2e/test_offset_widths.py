"""Time offsets with as few and as many sequence bits as a topic may have.

With 20 bits offsets are far above 2^53, where Lua's numbers end, and records two seconds
apart are further apart than a batch can express.
"""

import time
from typing import Final

import pytest

from tests.support.client_contract import KafkaClient, NewRecord
from tests.support.korvet_process import KorvetCluster
from tests.support.topic_admin import create_topic, delete_records
from tests.support.wire_client import EARLIEST, LATEST, WireClient, batch_of, values_of

pytestmark = pytest.mark.e2e

_FORMATS: Final = ("record", "batch")
# The distance that no longer fits the 32 bits of an offset in a batch.
_TOO_FAR: Final = 1 << 31


@pytest.mark.parametrize("storage_format", _FORMATS)
@pytest.mark.parametrize("bits", [1, 20])
def test_records_come_back_at_the_offsets_that_were_told(
    korvet: KorvetCluster, topic: str, client: KafkaClient, storage_format: str, bits: int
) -> None:
    configs = {"storage.format": storage_format, "offset.sequence.bits": str(bits)}
    create_topic(korvet.bootstrap, topic, configs=configs)
    values = [b"%d" % number for number in range(2000)]

    with client.producer(korvet.bootstrap, idempotent=True) as producer:
        written = producer.send(topic, [NewRecord(value) for value in values])

    offsets = [each.offset or 0 for each in written]
    with client.consumer(korvet.bootstrap, topic) as consumer:
        found = consumer.read(len(values))
        assert [record.value for record in found] == values
        assert [record.offset for record in found] == offsets
        consumer.seek(0, offsets[1234])
        assert consumer.read(1)[0].value == b"1234"
        delete_records(korvet.bootstrap, topic, before=offsets[777])
        assert (consumer.beginning(), consumer.end()) == (offsets[777], offsets[-1] + 1)


def test_records_too_far_apart_for_one_batch_are_read_together(
    korvet: KorvetCluster, topic: str
) -> None:
    with WireClient(korvet.bootstrap) as wire:
        topics = [f"{topic}-{storage_format}" for storage_format in _FORMATS]
        for name, storage_format in zip(topics, _FORMATS, strict=True):
            wire.create_topic(
                name, {"storage.format": storage_format, "offset.sequence.bits": "20"}
            )
        first = [wire.produce(name, batch_of([b"a"])).base_offset for name in topics]
        # It is time that drives them apart.
        time.sleep(2.2)
        second = [wire.produce(name, batch_of([b"b"])).base_offset for name in topics]

        for name, a, b in zip(topics, first, second, strict=True):
            assert b - a > _TOO_FAR
            fetched = wire.fetch(name, 0)
            assert values_of(fetched.records) == [b"a", b"b"]
            assert [record.offset for record in fetched.records] == [a, b]
            assert wire.offset_at(name, EARLIEST) == a
            assert wire.offset_at(name, LATEST) == b + 1
