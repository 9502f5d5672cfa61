"""A real Redis for every integration test, on each server that Korvet works on.

    async def test_something(redis_server: RedisServer, redis: Redis) -> None: ...

runs once a server, on an empty one. `--redis-server embedded` selects one of them;
`--redis-server system` the other, and `--redis-server valkey` Valkey.
"""

import contextlib
from collections.abc import AsyncIterator, Callable, Iterator
from typing import TypeAlias

import pytest
from redis.asyncio import Redis

from tests.support.redis_server import SERVERS, RedisServer

StartedServer: TypeAlias = Callable[[str], RedisServer]


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "redis_server_name" in metafunc.fixturenames:
        chosen = metafunc.config.getoption("--redis-server")
        names = [chosen] if chosen else list(SERVERS)
        metafunc.parametrize("redis_server_name", names)


@pytest.fixture(scope="session")
def started_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[StartedServer]:
    """Servers that stay up for the whole run: starting one for each test is slow."""
    running: dict[str, RedisServer] = {}
    with contextlib.ExitStack() as stack:

        def start(name: str) -> RedisServer:
            if name not in running:
                folder = tmp_path_factory.mktemp(f"redis-{name}")
                running[name] = stack.enter_context(RedisServer(folder, server=name))
            return running[name]

        yield start


@pytest.fixture
def redis_server(redis_server_name: str, started_server: StartedServer) -> RedisServer:
    """A running server without keys. Do not stop it: start one of your own for that."""
    server = started_server(redis_server_name)
    with server.client() as client:
        client.flushall()
    return server


@pytest.fixture
async def redis(redis_server: RedisServer) -> AsyncIterator["Redis"]:
    async with Redis.from_url(redis_server.url) as client:
        yield client
