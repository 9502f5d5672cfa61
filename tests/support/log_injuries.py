"""What may be wrong with a partition's keys in Redis, and a log to try it on."""

from collections.abc import Callable, Mapping
from typing import Any, Final, TypeAlias

import redis as redis_sync

from tests.support.log_replica import KEYS, LAYOUTS, LogReplica, Producer, batch_of

PARTITION: Final = KEYS.partition("orders", 0)
STREAM: Final = KEYS.stream("orders", 0)
PRODUCERS: Final = KEYS.producers("orders", 0)
INDEX: Final = KEYS.index("orders", 0)
AHEAD: Final = "9999999999999-0"
# The largest in an id of Redis's.
LAST_HALF: Final = (1 << 64) - 1
# The topic's retention.bytes.
KEPT: Final = 40_000

Injury: TypeAlias = Callable[["redis_sync.Redis"], object]


def wrong_type(key: str) -> Injury:
    def injure(client: "redis_sync.Redis") -> None:
        client.delete(key)
        client.set(key, "not what it should be")

    return injure


def malformed(field: str, key: str = PARTITION, value: str = "nonsense") -> Injury:
    return lambda client: client.hset(key, field, value)


def malformed_point(field: str, value: str) -> Injury:
    """Of the oldest block, at which whatever trims looks first."""

    def injure(client: "redis_sync.Redis") -> None:
        points: Any = client.xrange(INDEX)
        points[0][1][field.encode()] = value
        client.delete(INDEX)
        for point_id, fields in points:
            client.xadd(INDEX, fields, id=point_id)

    return injure


def foreign_point(point_id: str) -> Injury:
    """At the index's head: what another program has added, or restored from elsewhere."""

    def injure(client: "redis_sync.Redis") -> None:
        points: Any = client.xrange(INDEX)
        client.delete(INDEX)
        client.xadd(INDEX, {"hello": "world"}, id=point_id)
        for own_id, fields in points:
            client.xadd(INDEX, fields, id=own_id)

    return injure


def ahead(key: str, *, emptied: bool = False) -> Injury:
    def injure(client: "redis_sync.Redis") -> None:
        client.xadd(key, {"time": "1"}, id=AHEAD)
        if emptied:
            client.xtrim(key, maxlen=0, approximate=False)

    return injure


def far_ahead(client: "redis_sync.Redis") -> None:
    for less in (1, 0):
        client.xadd(STREAM, {"empty": ""}, id=f"{LAST_HALF - less}-{LAST_HALF}")


def configured(name: str, value: str) -> Injury:
    return lambda client: client.config_set(name, value)


INJURIES: Final[Mapping[str, Injury]] = {
    "partition is no hash": wrong_type(PARTITION),
    "stream is no stream": wrong_type(STREAM),
    "producers are no hash": wrong_type(PRODUCERS),
    "index is no stream": wrong_type(INDEX),
    "stream is ahead": ahead(STREAM),
    "stream is ahead and empty": ahead(STREAM, emptied=True),
    "stream is as far ahead as can be": far_ahead,
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
    **{
        f"{field} is {value}": malformed(field, value=value)
        for field in ("records", "bytes", "trimmedBytes", "blockRecords", "blockBytes")
        for value in ("nan", "inf", "-9e18")
    },
    **{
        f"{field} is {value}": malformed(field, value=value)
        for field in ("last", "start")
        for value in (f"{1 << 64}-0", f"{1 << 53}-0", f"1-{1 << 64}", f"1-{1 << 53}")
    },
}  # fmt: skip
# What an append and a trim can do without.
DAMAGED_POINTS: Final[Mapping[str, Injury]] = {
    **{
        f"{field} of a point is {value}": malformed_point(field, value)
        for field in (
            "time", "latest", "peak", "records", "bytes", "blockRecords", "blockBytes",
        )
        for value in ("nonsense", "nan", "-5", "1.5", str(1 << 64))
    },
    "a point is foreign": foreign_point("0-1"),
    "the index is gone": lambda client: client.delete(INDEX),
}  # fmt: skip
ALL_INJURIES: Final = {**INJURIES, **DAMAGED_POINTS}


async def in_use(replica: LogReplica, layout: str) -> None:
    """A log with closed blocks, an open one, a producer, and something trimmed."""
    await replica.create(configs={**LAYOUTS[layout], "retention.bytes": str(KEPT)})
    for sequence in range(0, 1200, 400):
        await replica.appended(batch_of(400, value=b"v" * 100))
        await replica.appended(batch_of(400, producer=Producer(7, 0, sequence)))
    await replica.appended(batch_of(10, producer=Producer(7, 0, 1200)))


def heal(client: "redis_sync.Redis", whole: Mapping[bytes, bytes]) -> None:
    """Take an injury back, whatever it was."""
    client.config_set("maxmemory", "0")
    client.config_set("min-replicas-to-write", "0")
    for key in set(client.keys("*")) - whole.keys():
        client.delete(key)
    for key, content in whole.items():
        client.restore(key, 0, content, replace=True)
