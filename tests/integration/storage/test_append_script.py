"""The append script as a whole: nothing is half-written, whatever goes wrong in it."""

from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from typing import Final, TypeAlias

import pytest
import redis as redis_sync

from korvet.kafka.errors import ErrorCode
from tests.support.log_replica import (
    KEYS,
    LAYOUTS,
    LogReplica,
    Producer,
    batch_of,
    log_replica_on,
    snapshot,
)
from tests.support.redis_server import RedisServer

pytestmark = pytest.mark.integration

PARTITION = KEYS.partition("orders", 0)
STREAM = KEYS.stream("orders", 0)
PRODUCERS = KEYS.producers("orders", 0)
INDEX = KEYS.index("orders", 0)
AHEAD = "9999999999999-0"

Injury: TypeAlias = Callable[["redis_sync.Redis"], object]


def wrong_type(key: str) -> Injury:
    def injure(client: "redis_sync.Redis") -> None:
        client.delete(key)
        client.set(key, "not what it should be")

    return injure


def malformed(field: str, key: str = PARTITION) -> Injury:
    return lambda client: client.hset(key, field, "nonsense")


def ahead(key: str, *, emptied: bool = False) -> Injury:
    def injure(client: "redis_sync.Redis") -> None:
        client.xadd(key, {"time": "1"}, id=AHEAD)
        if emptied:
            client.xtrim(key, maxlen=0, approximate=False)

    return injure


def configured(name: str, value: str) -> Injury:
    return lambda client: client.config_set(name, value)


INJURIES: Final[Mapping[str, Injury]] = {
    "partition is no hash": wrong_type(PARTITION),
    "stream is no stream": wrong_type(STREAM),
    "producers are no hash": wrong_type(PRODUCERS),
    "index is no stream": wrong_type(INDEX),
    "stream is ahead": ahead(STREAM),
    "stream is ahead and empty": ahead(STREAM, emptied=True),
    "index is ahead": ahead(INDEX),
    "index is ahead and empty": ahead(INDEX, emptied=True),
    "memory is full": configured("maxmemory", "1"),
    "writes need replicas": configured("min-replicas-to-write", "1"),
    "producer is malformed": malformed("7", PRODUCERS),
    **{
        f"{field} is malformed": malformed(field)
        for field in (
            "last", "start", "records", "bytes", "trimmedRecords", "trimmedBytes",
            "blockRecords", "blockBytes", "blockSince", "blockLatest", "peak", "appended",
            "open",
        )
    },
}  # fmt: skip


@pytest.fixture
async def replica(redis_server: RedisServer) -> AsyncIterator[LogReplica]:
    async with log_replica_on(redis_server) as replica:
        yield replica


@pytest.fixture
def healthy(redis_server: RedisServer) -> Iterator[None]:
    """Leaves the server's settings as they were."""
    yield
    with redis_server.client() as client:
        client.config_set("maxmemory", "0")
        client.config_set("min-replicas-to-write", "0")


async def in_use(replica: LogReplica, layout: str) -> None:
    """A log with closed blocks, an open one, a producer, and something trimmed."""
    await replica.create(configs={**LAYOUTS[layout], "retention.bytes": "40000"})
    for sequence in range(0, 1200, 400):
        await replica.appended(batch_of(400, value=b"v" * 100))
        await replica.appended(batch_of(400, producer=Producer(7, 0, sequence)))
    await replica.appended(batch_of(10, producer=Producer(7, 0, 1200)))


@pytest.mark.usefixtures("healthy")
@pytest.mark.parametrize("layout", LAYOUTS)
async def test_a_failed_append_changes_no_key(
    replica: LogReplica, redis_server: RedisServer, layout: str
) -> None:
    await in_use(replica, layout)
    whole = snapshot(redis_server)
    # It closes a block, trims, and is the producer's next.
    batch = batch_of(700, producer=Producer(7, 0, 1210))
    with redis_server.client() as client:
        for name, injure in INJURIES.items():
            injure(client)
            before = snapshot(redis_server)

            answer = await replica.append(batch)

            assert answer.error_code == ErrorCode.KAFKA_STORAGE_ERROR, name
            assert snapshot(redis_server) == before, name
            heal(client, whole)
    assert await replica.appended(batch) > 0


@pytest.mark.usefixtures("healthy")
@pytest.mark.parametrize("layout", LAYOUTS)
async def test_an_append_that_needs_less_succeeds_or_changes_no_key(
    replica: LogReplica, redis_server: RedisServer, layout: str
) -> None:
    await in_use(replica, layout)
    whole = snapshot(redis_server)
    with redis_server.client() as client:
        for name, injure in INJURIES.items():
            injure(client)
            before = snapshot(redis_server)

            # Nobody's, and too small to close a block.
            answer = await replica.append(batch_of(2))

            if answer.error_code:
                assert answer.error_code == ErrorCode.KAFKA_STORAGE_ERROR, name
                assert snapshot(redis_server) == before, name
            else:
                newest = client.xrevrange(STREAM, count=1)[0][0]
                assert client.hget(PARTITION, "last") == newest, name
            heal(client, whole)


@pytest.mark.usefixtures("healthy")
@pytest.mark.parametrize("layout", LAYOUTS)
async def test_a_failed_trim_changes_no_key(
    replica: LogReplica, redis_server: RedisServer, layout: str
) -> None:
    await in_use(replica, layout)
    whole = snapshot(redis_server)
    with redis_server.client() as client:
        for name, injure in INJURIES.items():
            injure(client)
            before = snapshot(redis_server)

            answer = await replica.cut(-1)

            if answer.error_code:
                assert answer.error_code == ErrorCode.KAFKA_STORAGE_ERROR, name
                assert snapshot(redis_server) == before, name
            else:
                assert client.xrange(STREAM, max="9999999999998") == [], name
            heal(client, whole)


@pytest.mark.usefixtures("healthy")
@pytest.mark.parametrize("layout", LAYOUTS)
async def test_records_can_be_deleted_when_memory_is_full(
    replica: LogReplica, redis_server: RedisServer, layout: str
) -> None:
    await in_use(replica, layout)
    with redis_server.client() as client:
        client.config_set("maxmemory", "1")
        assert (await replica.append(batch_of(1))).error_code == (
            ErrorCode.KAFKA_STORAGE_ERROR
        )

        assert (await replica.cut(-1)).error_code == ErrorCode.NONE

        assert client.xlen(STREAM) == 0
        client.config_set("maxmemory", "0")
    await replica.appended(batch_of(1))


@pytest.mark.parametrize("layout", LAYOUTS)
async def test_an_append_to_another_topic_of_the_name_changes_no_key(
    replica: LogReplica, redis_server: RedisServer, layout: str
) -> None:
    await in_use(replica, layout)
    with redis_server.client() as client:
        client.hset(PARTITION, "id", "somebody else's")
    before = snapshot(redis_server)

    answer = await replica.append(batch_of(700, producer=Producer(7, 0, 1210)))

    assert answer.error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert snapshot(redis_server) == before


@pytest.mark.parametrize("layout", LAYOUTS)
async def test_entries_of_other_programs_do_not_stop_appends(
    replica: LogReplica, redis_server: RedisServer, layout: str
) -> None:
    await replica.create(configs={**LAYOUTS[layout], "retention.bytes": "10"})
    with redis_server.client() as client:
        # At the head of the log, where trimming begins.
        client.xadd(STREAM, {"batch": "too short for one"}, id="0-1")
        for _ in range(3):
            await replica.appended(batch_of(600))

        assert client.xrange(STREAM, max="0-1") == []
        assert client.xlen(STREAM) == 1


def heal(client: "redis_sync.Redis", whole: Mapping[bytes, bytes]) -> None:
    """Take an injury back, whatever it was."""
    client.config_set("maxmemory", "0")
    client.config_set("min-replicas-to-write", "0")
    for key in set(client.keys("*")) - whole.keys():
        client.delete(key)
    for key, content in whole.items():
        client.restore(key, 0, content, replace=True)
