"""The registry of live gateways, by Redis's clock, over several replicas."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from korvet.kafka.errors import ErrorCode, KafkaError
from korvet.storage.gateways import Gateway
from tests.support.eventually import eventually
from tests.support.redis_server import SERVERS, RedisServer
from tests.support.replica import Replica, replica_on

pytestmark = pytest.mark.integration

ONE = Gateway(node_id=1, host="one", port=9092, rack="a")
TWO = Gateway(node_id=2, host="two", port=9092, rack="")


@pytest.fixture
async def replica(redis_server: RedisServer) -> AsyncIterator[Replica]:
    async with replica_on(redis_server) as replica:
        yield replica


@pytest.fixture
async def other(redis_server: RedisServer) -> AsyncIterator[Replica]:
    async with replica_on(redis_server) as replica:
        yield replica


async def register(
    replica: Replica, gateway: Gateway, *, ttl_ms: int = 60_000, incarnation: str = "x"
) -> tuple[Gateway, ...]:
    return await replica.gateways.register(gateway, incarnation=incarnation, ttl_ms=ttl_ms)


async def test_registered_gateways_are_known_to_all_replicas(
    replica: Replica, other: Replica
) -> None:
    assert await register(replica, TWO) == (TWO,)
    assert await register(other, ONE) == (ONE, TWO)

    await eventually(lambda: replica.gateways.live == (ONE, TWO), within=3)


async def test_a_gateway_may_change_its_address_but_not_take_anothers_id(
    replica: Replica, other: Replica
) -> None:
    await register(replica, ONE)
    moved = Gateway(node_id=1, host="elsewhere", port=9093, rack="b")

    with pytest.raises(KafkaError, match="one:9092") as refused:
        await register(other, moved, incarnation="y")
    assert refused.value.code is ErrorCode.DUPLICATE_BROKER_REGISTRATION

    assert await register(other, moved, incarnation="x") == (moved,)
    await eventually(lambda: replica.gateways.live == (moved,), within=3)


async def test_the_next_run_of_a_killed_gateway_takes_its_place_at_once(
    replica: Replica, other: Replica
) -> None:
    await register(replica, ONE, incarnation="killed")
    await register(replica, TWO)

    assert await register(other, ONE, incarnation="next") == (ONE, TWO)
    # What the killed one sent last may come late, and its withdrawal is not the next one's.
    await other.gateways.unregister(1, incarnation="killed")

    assert other.gateways.live == (ONE, TWO)


async def test_a_registration_lapses_and_all_replicas_notice_within_two_seconds(
    replica: Replica, other: Replica
) -> None:
    await register(replica, TWO)
    await register(replica, ONE, ttl_ms=100)
    await eventually(lambda: other.gateways.live == (ONE, TWO), within=2)

    await eventually(lambda: other.gateways.live == (TWO,), within=2.1)
    await eventually(lambda: replica.gateways.live == (TWO,), within=2.1)

    # And its node id is free again.
    assert await register(other, ONE, incarnation="y") == (ONE, TWO)


async def test_a_renewed_registration_does_not_lapse(replica: Replica) -> None:
    for _ in range(3):
        await register(replica, ONE, ttl_ms=60_000)

    await replica.gateways.refresh()

    assert replica.gateways.live == (ONE,)


async def test_a_renewal_is_not_announced_but_a_change_is(
    replica: Replica, redis_server: RedisServer
) -> None:
    with redis_server.client() as client, client.pubsub() as announced:
        announced.subscribe("korvet:changes")
        announced.get_message(timeout=5)

        await register(replica, ONE)
        assert announced.get_message(timeout=5)["data"] == b"gateways"
        await register(replica, ONE)
        await replica.gateways.unregister(1, incarnation="x")
        assert announced.get_message(timeout=5)["data"] == b"gateways"
        assert announced.get_message(timeout=0) is None


async def test_a_withdrawn_registration_is_gone_at_once(
    replica: Replica, other: Replica
) -> None:
    await register(replica, ONE)
    await register(replica, TWO)

    await other.gateways.unregister(1, incarnation="another")
    await eventually(lambda: other.gateways.live == (ONE, TWO), within=1)
    await other.gateways.unregister(1, incarnation="x")
    await other.gateways.unregister(7, incarnation="x")

    assert other.gateways.live == (TWO,)
    await eventually(lambda: replica.gateways.live == (TWO,), within=1)


@pytest.mark.parametrize(
    ("gateway", "incarnation", "ttl_ms"),
    [
        (Gateway(node_id=-1, host="h", port=1, rack=""), "x", 1000),
        (Gateway(node_id=1, host="", port=1, rack=""), "x", 1000),
        (Gateway(node_id=1, host="h" * 2000, port=1, rack=""), "x", 1000),
        (Gateway(node_id=1, host="h", port=0, rack=""), "x", 1000),
        (Gateway(node_id=1, host="h", port=65536, rack=""), "x", 1000),
        (Gateway(node_id=1, host="h", port=1, rack="r" * 2000), "x", 1000),
        (ONE, "", 1000),
        (ONE, "x" * 2000, 1000),
        (ONE, "x", 0),
        (ONE, "x", 1_000_000_000),
    ],
)
async def test_an_impossible_registration_is_refused(
    replica: Replica, gateway: Gateway, incarnation: str, ttl_ms: int
) -> None:
    with pytest.raises(KafkaError) as refused:
        await register(replica, gateway, ttl_ms=ttl_ms, incarnation=incarnation)

    assert refused.value.code is ErrorCode.INVALID_REQUEST
    assert replica.gateways.live == ()


async def test_any_text_in_a_registration_comes_back_as_it_was(replica: Replica) -> None:
    odd = Gateway(node_id=3, host='[::1] "x" {}', port=1, rack="größe\n\0 5")

    assert await register(replica, odd, incarnation='a "b" \n') == (odd,)
    assert await register(replica, odd, incarnation='a "b" \n') == (odd,)


@pytest.mark.parametrize("name", SERVERS)
async def test_gateways_stay_registered_when_redis_is_full(
    name: str, tmp_path: Path
) -> None:
    with RedisServer(tmp_path, server=name) as server:
        async with replica_on(server) as replica:
            await register(replica, ONE)
            with server.client() as client:
                client.config_set("maxmemory", "1")

            assert await register(replica, ONE) == (ONE,)
            assert await register(replica, TWO) == (ONE, TWO)
