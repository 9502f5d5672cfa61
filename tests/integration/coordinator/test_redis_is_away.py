"""Redis goes and comes back: what callers are told meanwhile, and what is kept."""

import asyncio
import tempfile
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from korvet.kafka.errors import ErrorCode
from tests.support.coordinator_replica import CoordinatorReplica, coordinators_on
from tests.support.eventually import eventually
from tests.support.redis_server import RedisServer

pytestmark = pytest.mark.integration


@pytest.fixture
def server(redis_server_name: str, tmp_path: Path) -> RedisServer:
    """A server of the test's own that forgets nothing it has answered."""
    durable = {"appendonly": "yes", "appendfsync": "always"}
    return RedisServer(tmp_path, server=redis_server_name, options=durable)


@pytest.fixture
async def coordinator(server: RedisServer) -> AsyncIterator[CoordinatorReplica]:
    with server, tempfile.TemporaryDirectory(prefix="korvet-") as folder:
        async with coordinators_on(server.url, Path(folder)) as start:
            yield await start(lease_ms=1000)


async def test_callers_are_told_to_try_again_and_nothing_is_lost(
    coordinator: CoordinatorReplica, server: RedisServer
) -> None:
    member = await coordinator.member("group")
    await coordinator.commit("group", 5, member)

    await asyncio.to_thread(server.kill)
    commit = await coordinator.commit("group", 6, member)
    join = await coordinator.join("another group")
    assert commit.error_code == ErrorCode.COORDINATOR_NOT_AVAILABLE
    assert join.error_code == ErrorCode.COORDINATOR_NOT_AVAILABLE

    async def is_not_ready() -> bool:
        return not await coordinator.is_ready()

    await eventually(is_not_ready)
    assert await coordinator.heartbeat("group", member) is (
        ErrorCode.COORDINATOR_NOT_AVAILABLE
    )
    await asyncio.to_thread(server.start)
    await eventually(coordinator.is_ready)

    assert await coordinator.heartbeat("group", member) is ErrorCode.NONE
    assert await coordinator.committed("group") == {("orders", 0): 5}
    assert (await coordinator.commit("group", 7, member)).error_code == ErrorCode.NONE
    assert await coordinator.committed("group") == {("orders", 0): 7}
