"""The harness itself: what other tests rely on."""

from pathlib import Path

import pytest
from redis.asyncio import Redis

from tests.support.redis_server import SERVERS, RedisServer

pytestmark = pytest.mark.integration


async def test_a_test_gets_an_empty_server(redis: "Redis") -> None:
    assert await redis.dbsize() == 0
    await redis.set("left", "behind")


async def test_the_next_test_does_not_see_what_another_left(redis: "Redis") -> None:
    assert await redis.dbsize() == 0
    await redis.set("left", "behind")


@pytest.mark.parametrize("name", SERVERS)
def test_a_restarted_server_has_its_port_and_data(name: str, tmp_path: Path) -> None:
    with RedisServer(tmp_path, server=name) as server:
        with server.client() as client:
            client.set("kept", "yes")
        url = server.url

        server.restart()

        assert server.url == url
        with server.client() as client:
            assert client.get("kept") == b"yes"


@pytest.mark.parametrize("name", SERVERS)
def test_with_appendonly_a_killed_server_keeps_what_it_wrote(
    name: str, tmp_path: Path
) -> None:
    options = {"appendonly": "yes", "appendfsync": "always"}
    with RedisServer(tmp_path, server=name, options=options) as server:
        with server.client() as client:
            client.set("kept", "yes")

        server.kill()
        server.start()

        with server.client() as client:
            assert client.get("kept") == b"yes"
