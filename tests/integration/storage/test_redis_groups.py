"""Kafka's groups as Redis shows them: positions, lag, and what was delivered to whom."""

from collections.abc import AsyncIterator, Iterable
from random import Random
from typing import Any

import pytest

from korvet.kafka.errors import ErrorCode
from korvet.proto.storage.v1 import storage_service_pb2 as pb
from korvet.storage import log_arguments
from korvet.storage.redis_groups import Delivery
from tests.support.log_replica import (
    KEYS,
    LAYOUTS,
    LogReplica,
    batch_of,
    log_replica_on,
    records_in,
    ref,
    snapshot,
)
from tests.support.redis_server import RedisServer

pytestmark = pytest.mark.integration

STREAM = KEYS.stream("orders", 0)
ENCODINGS = ["time", "dense"]


@pytest.fixture
async def replica(redis_server: RedisServer) -> AsyncIterator[LogReplica]:
    async with log_replica_on(redis_server) as replica:
        yield replica


@pytest.fixture
async def other(redis_server: RedisServer) -> AsyncIterator[LogReplica]:
    async with log_replica_on(redis_server) as replica:
        yield replica


async def move(
    replica: LogReplica,
    *positions: tuple[str, int],
    topic: str | bytes = "orders",
    partition: int = 0,
) -> list[int]:
    """Move groups to offsets; the error codes."""
    request = pb.MoveRedisGroupsRequest()
    for group, offset in positions:
        request.positions.add(
            topic=ref(topic), partition=partition, group=group, offset=offset
        )
    return list((await replica.groups.move_redis_groups(request)).error_codes)


async def destroy(
    replica: LogReplica, group: str, partitions: Iterable[tuple[str | bytes, int]]
) -> None:
    request = pb.DestroyRedisGroupRequest(group=group)
    for topic, partition in partitions:
        request.partitions.add(topic=ref(topic), partition=partition)
    await replica.groups.destroy_redis_group(request)


async def groups(replica: LogReplica, partition: int = 0) -> dict[str, dict[str, Any]]:
    found: Any = await replica.redis.xinfo_groups(KEYS.stream("orders", partition))
    return {each["name"]: each for each in found}


async def fetch(
    replica: LogReplica,
    offset: int,
    consumer: str = "member-1",
    *,
    max_bytes: int = 1 << 20,
    topic: str = "orders",
) -> list[int]:
    """Fetch as a member of "readers"; the offsets that it gets."""
    read = pb.PartitionRead(
        topic=ref(topic),
        offset=offset,
        max_bytes=max_bytes,
        deliver_to=pb.RedisConsumer(group="readers", consumer=consumer),
    )
    response = await replica.reads.read(pb.ReadRequest(partitions=[read]))
    (data,) = response.partitions
    assert data.error_code == ErrorCode.NONE, data
    return [record.offset for record in records_in(data.batches)]


async def pending(replica: LogReplica) -> dict[str, list[str]]:
    """The ids that each member has and has not committed."""
    found: Any = await replica.redis.xpending_range(STREAM, "readers", "-", "+", 1000)
    members: dict[str, list[str]] = {}
    for each in found:
        members.setdefault(each["consumer"], []).append(each["message_id"])
    return members


def has_lag(info: dict[str, Any]) -> bool:
    """Whether this Redis can tell it: from 7.0 on."""
    return "lag" in info


# --- a commit moves the group ---


@pytest.mark.parametrize("encoding", ENCODINGS)
async def test_a_commit_shows_as_position_and_lag(
    replica: LogReplica, encoding: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Small, so that a short log has many blocks.
    monkeypatch.setattr(log_arguments, "BLOCK_RECORDS", 5)
    random = Random(encoding)
    topic = await replica.create(configs=LAYOUTS[f"record-{encoding}"])
    offsets: list[int] = []
    for _ in range(15):
        count = random.choice((1, 2, 7))
        base = await replica.appended(batch_of(count))
        offsets += range(base, base + count)
    await replica.cut(offsets[3])
    live = offsets[3:]

    for offset in (*offsets, offsets[-1] + 1, 0):
        assert await move(replica, ("readers", offset)) == [ErrorCode.NONE]

        info = (await groups(replica))["readers"]
        before = topic.config.encoding.id_before(offset)
        assert info["last-delivered-id"] == before
        if has_lag(info):
            assert info["lag"] == sum(each >= offset for each in live)
    assert (await groups(replica))["readers"]["last-delivered-id"] == "0-0"


async def test_many_groups_are_moved_in_one_call_and_again_without_harm(
    replica: LogReplica,
) -> None:
    await replica.create(configs=LAYOUTS["record-dense"])
    await replica.appended(batch_of(10))
    wanted = [(f"group {n}", n % 11) for n in range(300)]

    for _ in range(2):
        assert set(await move(replica, *wanted)) == {ErrorCode.NONE}

        found = await groups(replica)
        assert {name: info["last-delivered-id"] for name, info in found.items()} == {
            name: f"{offset}-0" for name, offset in wanted
        }


async def test_on_a_log_without_records_there_is_nothing_to_show(
    replica: LogReplica, redis_server: RedisServer
) -> None:
    await replica.create()
    before = snapshot(redis_server)

    assert await move(replica, ("readers", 0)) == [ErrorCode.NONE]

    assert snapshot(redis_server) == before


async def test_batch_topics_are_left_alone(
    replica: LogReplica, redis_server: RedisServer
) -> None:
    await replica.create(configs=LAYOUTS["batch-time"])
    base = await replica.appended(batch_of(3))
    before = snapshot(redis_server)

    assert await move(replica, ("readers", base)) == [ErrorCode.NONE]
    assert await fetch(replica, base) == [base, base + 1, base + 2]

    assert snapshot(redis_server) == before


async def test_each_position_has_its_own_error(replica: LogReplica) -> None:
    await replica.create()
    await replica.appended(batch_of(1))
    request = pb.MoveRedisGroupsRequest()
    for name, partition in (("nothing", 0), ("orders", 0), ("orders", 5)):
        request.positions.add(topic=ref(name), partition=partition, group="readers")
    request.positions.add(topic=ref(b"a" * 16), group="readers")

    answer = await replica.groups.move_redis_groups(request)

    assert list(answer.error_codes) == [
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        ErrorCode.NONE,
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        ErrorCode.UNKNOWN_TOPIC_ID,
    ]


async def test_a_stale_replica_writes_nothing_to_a_topic_that_was_made_again(
    replica: LogReplica, other: LogReplica, redis_server: RedisServer
) -> None:
    topic = await replica.create()
    await replica.appended(batch_of(1))
    await other.catalogue.delete(topic_id=topic.id)
    await other.create()
    await other.appended(batch_of(1))
    before = snapshot(redis_server)

    codes = await move(replica, ("readers", 1), topic=topic.id)

    assert codes == [ErrorCode.UNKNOWN_TOPIC_ID]
    assert snapshot(redis_server) == before


# --- groups are destroyed ---


async def test_a_group_is_destroyed_where_it_is_and_only_that(replica: LogReplica) -> None:
    await replica.create(partitions=3)
    for partition in (0, 1):
        await replica.appended(batch_of(1), partition=partition)
        await move(replica, ("readers", 1), ("others", 1), partition=partition)

    await destroy(
        replica,
        "readers",
        [("orders", 0), ("orders", 1), ("orders", 2), ("orders", 9), ("nothing", 0)],
    )
    await destroy(replica, "readers", [("orders", 0), (b"a" * 16, 0)])

    for partition in (0, 1):
        assert list(await groups(replica, partition)) == ["others"]


async def test_a_group_is_destroyed_on_many_partitions_in_one_go(
    replica: LogReplica, redis_server: RedisServer
) -> None:
    partitions = range(100)
    await replica.create(partitions=len(partitions))
    for each in partitions:
        await replica.appended(batch_of(1), partition=each)
        await move(replica, ("readers", 1), partition=each)
        assert list(await groups(replica, each)) == ["readers"]

    before = reads_of(redis_server)
    await destroy(replica, "readers", [("orders", each) for each in partitions])
    took = reads_of(redis_server) - before

    for each in partitions:
        assert await groups(replica, each) == {}
    # One read of the server's takes 16 KiB of commands; one after the other, they would
    # take a read each.
    assert took < len(partitions) / 5


def reads_of(server: RedisServer) -> int:
    """How often this Redis has read from its connections."""
    with server.client() as client:
        stats: Any = client.info("stats")
    return int(stats["total_reads_processed"])


# --- group.delivery=redis ---


async def create_delivering(replica: LogReplica, layout: str = "record-time") -> None:
    await replica.create(configs={**LAYOUTS[layout], "group.delivery": "redis"})


def ids(replica: LogReplica, offsets: Iterable[int]) -> list[str]:
    topic = replica.catalogue.by_name("orders")
    assert topic is not None
    return [topic.config.encoding.entry_id(offset) for offset in offsets]


@pytest.mark.parametrize("encoding", ENCODINGS)
async def test_what_members_fetch_is_pending_until_it_is_committed(
    replica: LogReplica, encoding: str
) -> None:
    await create_delivering(replica, f"record-{encoding}")
    offsets = [await replica.appended(batch_of(1)) for _ in range(6)]

    first = await fetch(replica, 0, max_bytes=40)
    second = await fetch(replica, first[-1] + 1, "member-2")

    assert first + second == offsets
    assert len(first) < 6
    assert await pending(replica) == {
        "member-1": ids(replica, first),
        "member-2": ids(replica, second),
    }
    info = (await groups(replica))["readers"]
    assert info["last-delivered-id"] == ids(replica, offsets)[-1]
    if has_lag(info):
        assert info["lag"] == 0

    await move(replica, ("readers", second[1]))

    assert await pending(replica) == {"member-2": ids(replica, second[1:])}
    after = (await groups(replica))["readers"]
    assert after["last-delivered-id"] == info["last-delivered-id"]

    await move(replica, ("readers", offsets[-1] + 1))

    assert await pending(replica) == {}


async def test_the_group_begins_at_the_first_fetch_even_if_that_finds_nothing(
    replica: LogReplica,
) -> None:
    await create_delivering(replica)
    end = await replica.appended(batch_of(4)) + 4

    assert await fetch(replica, end) == []

    info = (await groups(replica))["readers"]
    assert info["last-delivered-id"] == ids(replica, [end - 1])[0]
    assert info["pending"] == 0
    if has_lag(info):
        assert info["lag"] == 0


@pytest.mark.parametrize("encoding", ENCODINGS)
async def test_a_rewind_delivers_again_to_whoever_fetches(
    replica: LogReplica, encoding: str
) -> None:
    await create_delivering(replica, f"record-{encoding}")
    offsets = [await replica.appended(batch_of(1)) for _ in range(6)]
    await fetch(replica, 0)

    again = await fetch(replica, offsets[2], "member-2", max_bytes=40)

    assert again == offsets[2 : 2 + len(again)]
    assert 0 < len(again) < 4
    rest = offsets[2 + len(again) :]
    assert await pending(replica) == {
        "member-1": ids(replica, [*offsets[:2], *rest]),
        "member-2": ids(replica, again),
    }
    info = (await groups(replica))["readers"]
    assert info["last-delivered-id"] == ids(replica, again)[-1]
    if has_lag(info):
        assert info["lag"] == len(rest)


async def test_a_seek_ahead_delivers_only_what_was_read(replica: LogReplica) -> None:
    await create_delivering(replica)
    offsets = [await replica.appended(batch_of(1)) for _ in range(6)]
    await fetch(replica, 0, max_bytes=1)

    await fetch(replica, offsets[4])

    wanted = [offsets[0], *offsets[4:]]
    assert await pending(replica) == {"member-1": ids(replica, wanted)}


async def test_what_is_trimmed_before_it_is_delivered_is_not_pending(
    replica: LogReplica,
) -> None:
    topic = await replica.create(
        configs={**LAYOUTS["record-time"], "group.delivery": "redis"}
    )
    offsets = [await replica.appended(batch_of(1)) for _ in range(6)]
    await replica.cut(offsets[2])

    for entries, last in ((4, offsets[3]), (2, offsets[1])):
        delivery = Delivery("readers", "member-1", 0, entries, offsets[0], last)
        await replica.logs.groups.deliver(topic, 0, delivery)

    assert await pending(replica) == {"member-1": ids(replica, offsets[2:4])}


async def test_a_commit_ahead_of_what_was_delivered_moves_the_group(
    replica: LogReplica,
) -> None:
    await create_delivering(replica)
    offsets = [await replica.appended(batch_of(1)) for _ in range(6)]
    await fetch(replica, 0, max_bytes=1)

    await move(replica, ("readers", offsets[4]))

    info = (await groups(replica))["readers"]
    assert info["last-delivered-id"] == ids(replica, [offsets[4] - 1])[0]
    assert await pending(replica) == {}
    if has_lag(info):
        assert info["lag"] == 2


async def test_a_commit_of_thousands_acknowledges_all_of_them(replica: LogReplica) -> None:
    await create_delivering(replica, "record-dense")
    for _ in range(5):
        await replica.appended(batch_of(600))
    await fetch(replica, 0, max_bytes=1 << 22)
    assert (await groups(replica))["readers"]["pending"] == 3000

    await move(replica, ("readers", 2999))

    assert await pending(replica) == {"member-1": ["3000-0"]}


async def test_a_plain_read_delivers_nothing(replica: LogReplica) -> None:
    await create_delivering(replica)
    await replica.appended(batch_of(3))

    assert len(await replica.read_all(0)) == 3

    assert await groups(replica) == {}


async def test_without_the_config_a_fetch_delivers_nothing(replica: LogReplica) -> None:
    await replica.create()
    await replica.appended(batch_of(3))

    assert len(await fetch(replica, 0)) == 3

    assert await groups(replica) == {}
