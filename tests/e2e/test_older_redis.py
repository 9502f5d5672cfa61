"""The Redis 6.2 that comes with Korvet serves everything that the system's newer one does.

Every other test runs on the system's server where there is one.
"""

from collections.abc import Iterator, Mapping
from typing import Final

import pytest

from tests.support.client_contract import CODECS, NewRecord, RefusedError
from tests.support.confluent_client import ConfluentClient
from tests.support.korvet_process import KorvetCluster
from tests.support.redis_server import SERVERS
from tests.support.topic_admin import create_topic, delete_records, delete_topic

pytestmark = [
    pytest.mark.e2e,
    pytest.mark.skipif(
        list(SERVERS) != ["system", "embedded"], reason="one server has all other tests"
    ),
]

_OFFSET_OUT_OF_RANGE: Final = 1
# Clients do not see which Redis it is, so one of them will do.
_CLIENT: Final = ConfluentClient()


@pytest.fixture(scope="module")
def korvet(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KorvetCluster]:
    folder = tmp_path_factory.mktemp("older-redis")
    with KorvetCluster(folder, redis_server="embedded") as cluster:
        yield cluster


def test_it_is_a_redis_6(korvet: KorvetCluster) -> None:
    with korvet.redis.client() as redis:
        assert redis.info("server")["redis_version"].startswith("6.2.")


def test_records_of_every_codec_come_back(korvet: KorvetCluster, log: str) -> None:
    records = [
        NewRecord(b"value", key=b"key", headers=(("a", b"1"), ("a", b""))),
        NewRecord(None, key=b""),
        NewRecord(bytes(3000)),
    ]
    offsets: list[int | None] = []
    for codec in CODECS:
        with _CLIENT.producer(
            korvet.bootstrap, codec=codec, idempotent=codec == "none"
        ) as producer:
            offsets += [each.offset for each in producer.send(log, records)]

    with _CLIENT.consumer(korvet.bootstrap, log) as consumer:
        found = consumer.read(len(offsets))
    assert [record.offset for record in found] == offsets
    assert [(r.key, r.value, r.headers) for r in found] == [
        (r.key, r.value, r.headers) for r in records
    ] * len(CODECS)


def test_positions_are_found_and_records_deleted(korvet: KorvetCluster, log: str) -> None:
    times = [1_700_000_000_000 + number * 100 for number in range(10)]
    with _CLIENT.producer(korvet.bootstrap) as producer:
        written = producer.send(log, [NewRecord(b"v", timestamp_ms=at) for at in times])
    offsets = [each.offset for each in written if each.offset is not None]

    with _CLIENT.consumer(korvet.bootstrap, log, reset="earliest") as consumer:
        assert consumer.at_time(times[4] - 50) == offsets[4]
        assert (consumer.beginning(), consumer.end()) == (offsets[0], offsets[9] + 1)
        delete_records(korvet.bootstrap, log, before=offsets[6])
        assert consumer.beginning() == offsets[6]
        consumer.seek(0, offsets[2])
        assert [record.offset for record in consumer.read(4)] == offsets[6:]
    with (
        _CLIENT.consumer(korvet.bootstrap, log, offsets[2]) as consumer,
        pytest.raises(RefusedError) as refused,
    ):
        consumer.read(1)
    assert refused.value.code == _OFFSET_OUT_OF_RANGE


def test_a_topic_lives_twice(
    korvet: KorvetCluster, log: str, layout: Mapping[str, str]
) -> None:
    with _CLIENT.producer(korvet.bootstrap) as producer:
        producer.send(log, [NewRecord(b"old")])
    delete_topic(korvet.bootstrap, log)
    create_topic(korvet.bootstrap, log, configs={**layout, "retention.bytes": "3000"})

    with _CLIENT.producer(korvet.bootstrap, linger=0.0) as producer:
        for number in range(10):
            producer.send(log, [NewRecord(b"%d" % number + bytes(999))])

    with _CLIENT.consumer(korvet.bootstrap, log) as consumer:
        found = consumer.read(3)
    # Retention by size has left a few of the newest.
    values = [int((record.value or b"").rstrip(b"\0")) for record in found]
    assert values[0] >= 6
    assert values == list(range(values[0], values[0] + 3))
