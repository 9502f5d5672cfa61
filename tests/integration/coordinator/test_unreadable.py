"""Values that somebody has spoilt, and very large ones: the others are none the worse."""

from typing import Any, Final

import pytest
from redis.asyncio import Redis

from korvet.kafka.errors import ErrorCode
from korvet.proto.coordinator.v1 import coordinator_service_pb2 as pb
from tests.support.coordinator_replica import CoordinatorReplica, StartCoordinator
from tests.support.eventually import eventually
from tests.support.transactional_producer import StartTransactional, TransactionalProducer

pytestmark = pytest.mark.integration

SPOILT: Final = [b"classic 1 garbage", b"\xff\xfe\n{}", b"", b"classic 1 1 x y\n[1]"]
AWAY: Final = ErrorCode.COORDINATOR_NOT_AVAILABLE


async def listed(coordinator: CoordinatorReplica) -> list[str]:
    response = await coordinator.stub.ListGroups(pb.ListGroupsRequest())
    return [each.group_id for each in response.groups]


async def looks_after_all(redis: "Redis", start: StartCoordinator) -> CoordinatorReplica:
    """One that has looked at all groups, as each does when it starts."""
    # Without a value, and the last of them: it is taken off the list.
    await redis.sadd("korvet:groups", "zzz")
    coordinator = await start("second")

    async def is_gone() -> bool:
        return not await redis.sismember("korvet:groups", "zzz")

    await eventually(is_gone)
    assert await coordinator.is_ready()
    return coordinator


@pytest.mark.parametrize("value", SPOILT)
async def test_a_group_that_cannot_be_read_is_the_only_one_that_suffers(
    coordinator: CoordinatorReplica,
    start_coordinator: StartCoordinator,
    redis: "Redis",
    value: bytes,
) -> None:
    member = await coordinator.member("good")
    await redis.set("korvet:group:bad", value)
    await redis.sadd("korvet:groups", "bad")

    second = await looks_after_all(redis, start_coordinator)

    assert await listed(second) == ["good"]
    assert await coordinator.heartbeat("good", member) is ErrorCode.NONE
    assert (await coordinator.describe("bad")).error_code == AWAY
    assert (await coordinator.join("bad")).error_code == AWAY
    assert await coordinator.heartbeat("bad", member) is AWAY
    assert (await coordinator.commit("bad", 1)).error_code == AWAY
    assert await coordinator.delete("bad") is AWAY
    assert await redis.get("korvet:group:bad") == value


async def test_a_group_goes_on_when_somebody_has_mended_it(
    coordinator: CoordinatorReplica, redis: "Redis", start_coordinator: StartCoordinator
) -> None:
    member = await coordinator.member("group")
    good: Any = await redis.get("korvet:group:group")
    await coordinator.stop()
    await redis.set("korvet:group:group", b"spoilt")
    second = await start_coordinator("second")

    assert await second.heartbeat("group", member) is AWAY
    await redis.set("korvet:group:group", good)

    assert await second.heartbeat("group", member) is ErrorCode.NONE


async def test_a_key_of_another_type_is_nobodys_group(
    coordinator: CoordinatorReplica, start_coordinator: StartCoordinator, redis: "Redis"
) -> None:
    await coordinator.member("good")
    await redis.hset("korvet:group:bad", "field", "value")
    await redis.sadd("korvet:groups", "bad")

    second = await looks_after_all(redis, start_coordinator)

    assert await listed(second) == ["good"]
    assert (await coordinator.join("bad")).error_code == AWAY


@pytest.mark.parametrize(
    "key", ["korvet:commit:korvet:stream:orders:0:bad", "korvet:group:bad:offsets"]
)
async def test_a_commit_that_cannot_be_read_keeps_no_other_group_waiting(
    start_coordinator: StartCoordinator, redis: "Redis", key: str
) -> None:
    coordinator = await start_coordinator()
    await coordinator.commit("bad", 1)
    await coordinator.commit("good", 1)
    if key.endswith(":offsets"):
        await redis.hset(key, "korvet:stream:orders:0", "spoilt")
    else:
        await redis.set(key, "spoilt")
    # Another one's are not looked after.
    await coordinator.stop()

    second = await looks_after_all(redis, start_coordinator)

    assert await second.committed("good") == {("orders", 0): 1}


async def test_a_transactional_id_that_cannot_be_read_is_the_only_one_that_suffers(
    start_transactional: StartTransactional, redis: "Redis"
) -> None:
    # Before it starts: it looks at once, and then only after a while.
    await redis.set("korvet:transaction:bad", b"spoilt")
    await redis.sadd("korvet:transactional-ids", "bad", "zzz")
    coordinator = await start_transactional()
    good = TransactionalProducer(coordinator, "good")
    assert await good.init() is ErrorCode.NONE

    async def is_looked_after() -> bool:
        return not await redis.sismember("korvet:transactional-ids", "zzz")

    await eventually(is_looked_after)
    request = pb.ListTransactionsRequest(running_longer_than_ms=-1)
    found = await coordinator.stub.ListTransactions(request)
    assert [each.transactional_id for each in found.transactions] == ["good"]
    described = await coordinator.stub.DescribeTransactions(
        pb.DescribeTransactionsRequest(transactional_ids=["bad"])
    )
    assert described.transactions[0].error_code == AWAY
    bad = pb.InitProducerRequest(transactional_id="bad", transaction_timeout_ms=60_000)
    assert (await coordinator.stub.InitProducer(bad)).error_code == AWAY


async def test_large_groups_are_read_a_few_at_a_time_and_small_ones_together(
    start_coordinator: StartCoordinator, redis: "Redis"
) -> None:
    coordinator = await start_coordinator()
    protocol = pb.MemberProtocol(name="range", metadata=bytes(1 << 20))
    for number in range(10):
        await coordinator.member(f"large-{number}", protocols=[protocol])
        await coordinator.member(f"small-{number}")
    await redis.config_resetstat()

    assert len(await listed(coordinator)) == 20

    stats = await redis.info("commandstats")
    # Of 1.4 MB, two fit into a page.
    assert 5 <= stats["cmdstat_mget"]["calls"] <= 6
