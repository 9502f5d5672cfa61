"""A Redis user without a right that a script needs: nothing is served, nothing is torn."""

import asyncio
import logging
from collections.abc import Iterator
from pathlib import Path

import pytest
from redis.exceptions import NoPermissionError

from korvet.cli.plan import free_port
from korvet.coordinator.coordinator_rights import coordinator_rights
from korvet.kafka.errors import ErrorCode
from korvet.redis.client import connect
from korvet.redis.lane import Lane
from korvet.redis.rights import Rights
from korvet.redis.server_check import check_redis
from korvet.storage.storage_rights import storage_rights
from tests.support.eventually import eventually
from tests.support.korvet_process import is_serving
from tests.support.log_replica import KEYS, LogReplica, batch_of, log_replica_on, snapshot
from tests.support.redis_server import RedisServer
from tests.support.service_process import ServiceProcess

pytestmark = pytest.mark.integration

SERVICES = {"storage": storage_rights(KEYS), "coordinator": coordinator_rights(KEYS)}


class UserOf(RedisServer):
    """The same server, for clients that are a user with few rights."""

    def __init__(self, server: RedisServer) -> None:
        self._server = server

    @property
    def url(self) -> str:
        return self._server.url.replace("redis://", "redis://app:secret@")

    def may(self, *rules: str) -> None:
        """Set what it may do, beginning with what Korvet tells people to grant."""
        granted = "resetkeys ~korvet:* resetchannels &korvet:* +@all -@dangerous +info"
        with self._server.client() as client:
            client.execute_command("ACL", "SETUSER", "app", "reset", "on", ">secret")
            client.execute_command("ACL", "SETUSER", "app", *granted.split(), *rules)


@pytest.fixture
def user(redis_server: RedisServer) -> Iterator[UserOf]:
    user = UserOf(redis_server)
    user.may()
    yield user
    with redis_server.client() as client:
        client.execute_command("ACL", "DELUSER", "app")


async def check(user: UserOf, rights: Rights) -> None:
    redis = connect(user.url)
    try:
        await check_redis(redis, KEYS, rights, may_evict=False, setting="")
    finally:
        await redis.aclose()


@pytest.mark.parametrize("service", SERVICES)
async def test_every_command_is_missed_by_its_name(
    user: UserOf, redis_server: RedisServer, service: str
) -> None:
    rights = SERVICES[service]
    await check(user, rights)
    before = snapshot(redis_server)
    with redis_server.client() as client:
        there = {name.upper() for name in client.command()}
    # INFO is asked for by itself, before all else.
    wanted = {command.split()[0] for command in rights.commands} - {"INFO"}
    for name in sorted(wanted & there):
        user.may(f"-{name.lower()}")

        with pytest.raises(NoPermissionError) as refused:
            await check(user, rights)

        named, _, _ = str(refused.value).partition("Nothing is served")
        assert name in named.replace(".", " ").split(), name
        assert "user app" in str(refused.value)
    assert snapshot(redis_server) == before


@pytest.mark.parametrize(
    ("rules", "named"),
    [
        (("-multi",), "MULTI"),
        (("resetkeys", "~korvet:stream:*", "~korvet:layout"), "korvet:topics"),
        (("resetchannels", "&korvet:changes"), "PUBLISH korvet:appended:any:0"),
        (("resetchannels", "&korvet:appended:*"), "PUBLISH korvet:changes"),
    ],
)
async def test_keys_and_channels_are_missed_too(
    user: UserOf, rules: tuple[str, ...], named: str
) -> None:
    user.may(*rules)

    with pytest.raises(NoPermissionError, match=named):
        await check(user, storage_rights(KEYS))


@pytest.mark.parametrize("command", ["xtrim", "publish"])
async def test_a_lane_does_not_connect_until_the_right_is_there(
    user: UserOf, command: str, caplog: pytest.LogCaptureFixture
) -> None:
    user.may(f"-{command}")
    lane = Lane(user.url, "test", scripts=(), rights=storage_rights(KEYS))
    running = asyncio.create_task(lane.run())
    try:
        await eventually(lambda: f"{command.upper()} korvet:" in caplog.text)
        assert "the Redis user app may not" in caplog.text
        assert "secret" not in caplog.text
        assert not lane.connected

        user.may()

        await eventually(lambda: lane.connected)
    finally:
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)
    warnings = [r for r in caplog.records if r.levelno >= logging.WARNING]
    assert len(warnings) == 1


@pytest.mark.parametrize("command", ["xtrim", "publish"])
async def test_a_right_that_is_taken_away_ends_the_appends(
    user: UserOf, redis_server: RedisServer, command: str
) -> None:
    async with log_replica_on(user) as replica:
        # Every append trims.
        await replica.create(configs={"retention.bytes": "1", "storage.format": "batch"})
        await replica.appended(batch_of(1))
        user.may(f"-{command}")

        torn = await torn_append(replica)

        # Nobody can tell how much of it there is, and no other is begun.
        assert torn == ErrorCode.REQUEST_TIMED_OUT
        await eventually(lambda: is_refused(replica))
        before = snapshot(redis_server)
        code = (await replica.append(batch_of(1))).error_code
        assert code == ErrorCode.KAFKA_STORAGE_ERROR
        assert snapshot(redis_server) == before

        user.may()
        await replica.connected()
        await replica.appended(batch_of(1))


async def torn_append(replica: LogReplica) -> int:
    """The first append that needs the right."""
    while (code := (await replica.append(batch_of(100))).error_code) == ErrorCode.NONE:
        continue
    return code


async def is_refused(replica: LogReplica) -> bool:
    return not all(lane.connected for lane in replica.logs._lanes)


async def test_storage_waits_for_the_right_and_says_so(
    user: UserOf, tmp_path: Path
) -> None:
    address = f"127.0.0.1:{free_port()}"
    storage = ServiceProcess(
        "storage",
        "korvet.storage",
        address=address,
        environ={
            "KORVET_STORAGE_REDIS_URL": user.url,
            "KORVET_STORAGE_LISTEN_ADDRESS": address,
        },
        folder=tmp_path,
        is_ready=is_serving,
    )
    user.may("-xtrim")
    storage.start(wait=False)
    try:
        await eventually(lambda: "XTRIM" in storage.log(), within=30)
        assert "the Redis user app" in storage.log()
        assert not is_serving(address)

        user.may()

        await asyncio.to_thread(storage.wait_until_ready)
    finally:
        storage.kill()
