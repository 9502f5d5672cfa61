"""The Redis of `korvet up`, on real servers."""

import asyncio
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
import redis

from korvet.cli import embedded_redis
from korvet.cli.data_folder import DataFolder
from korvet.cli.embedded_redis import EmbeddedRedis, RedisBinary
from korvet.cli.failure import Failure
from tests.support.redis_server import SERVERS


@asynccontextmanager
async def running(data: Path) -> AsyncIterator[EmbeddedRedis]:
    with DataFolder.claimed(data) as folder:
        server = await embedded_redis.start(
            folder.redis,
            folder.sockets(),
            environ=os.environ,
            on_line=lambda _name, _line: False,
            on_loading=lambda: None,
        )
        try:
            yield server
        finally:
            await server.child.stop(10)


def client(server: EmbeddedRedis) -> "redis.Redis":
    return redis.Redis(unix_socket_path=str(server.socket))


@pytest.fixture(params=list(SERVERS))
def binary(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    """Makes one of the servers the one that `find_binary` finds."""
    path = SERVERS[request.param]
    version = embedded_redis._version(path)
    assert version is not None
    monkeypatch.setattr(embedded_redis, "find_binary", lambda: RedisBinary(path, version))
    return path


async def test_data_comes_back_after_a_restart(tmp_path: Path, binary: str) -> None:
    async with running(tmp_path) as server:
        with client(server) as connection:
            connection.set("a", "1")

    async with running(tmp_path) as server:
        with client(server) as connection:
            assert connection.get("a") == b"1"


async def test_a_port_that_another_one_was_quicker_to_take_is_given_up(
    tmp_path: Path, binary: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    choose = embedded_redis._free_port
    with socket.socket() as quicker:
        quicker.bind(("127.0.0.1", 0))
        quicker.listen()
        taken = quicker.getsockname()[1]
        choices = [taken, taken]
        monkeypatch.setattr(
            embedded_redis, "_free_port", lambda: choices.pop() if choices else choose()
        )

        async with running(tmp_path) as server:
            with client(server) as connection:
                assert connection.ping()

    assert server.port != taken
    assert not choices


async def test_data_comes_back_after_kill_9(tmp_path: Path, binary: str) -> None:
    async with running(tmp_path) as server:
        with client(server) as connection:
            connection.set("a", "1")
        server.child.kill()

    async with running(tmp_path) as server:
        with client(server) as connection:
            assert connection.get("a") == b"1"


async def test_nothing_is_ever_evicted(tmp_path: Path, binary: str) -> None:
    async with running(tmp_path) as server:
        with client(server) as connection:
            policy = connection.config_get("maxmemory-policy")

    assert policy == {"maxmemory-policy": "noeviction"}


async def test_two_of_them_run_side_by_side(tmp_path: Path, binary: str) -> None:
    async with running(tmp_path / "a") as first, running(tmp_path / "b") as second:
        with client(first) as a, client(second) as b:
            a.set("x", "1")

            assert b.get("x") is None
    assert first.port != second.port


@pytest.mark.skipif(len(SERVERS) < 2, reason="needs two Redis servers of other versions")
async def test_an_older_server_is_refused_rather_than_started_empty(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    system, older = (SERVERS[name] for name in ("system", "embedded"))
    monkeypatch.setattr(embedded_redis, "find_binary", lambda: RedisBinary(system, (7, 0)))
    async with running(tmp_path):
        pass
    monkeypatch.setattr(embedded_redis, "find_binary", lambda: RedisBinary(older, (6, 2)))

    with pytest.raises(Failure, match=r"written by Redis 7\.0"):
        async with running(tmp_path):
            pass


async def test_a_server_that_a_killed_up_left_behind_is_replaced(
    tmp_path: Path, binary: str
) -> None:
    with DataFolder.claimed(tmp_path) as folder:
        path, data = folder.sockets() / "redis.sock", folder.redis
    options = ["--port", "0", "--unixsocket", str(path), "--dir", str(data)]
    orphan = await asyncio.create_subprocess_exec(
        binary, *options, stdout=asyncio.subprocess.PIPE
    )
    try:
        assert orphan.stdout is not None
        async with asyncio.timeout(10):
            while b"at /" not in await orphan.stdout.readline():
                pass

        async with running(tmp_path) as server:
            with client(server) as connection:
                assert connection.info("server")["process_id"] == server.child.pid

        assert await orphan.wait() == 0
    finally:
        if orphan.returncode is None:
            orphan.kill()


_KILLED_UP = """
import asyncio, os, signal, sys
from korvet.cli.child import Child

async def main():
    child = await Child.start(
        "sleeper", ["sleep", "600"], environ=os.environ, on_line=lambda *_: False
    )
    print(child.pid, flush=True)
    await asyncio.sleep(600)

asyncio.run(main())
"""


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux tells children")
def test_a_child_does_not_outlive_a_killed_up() -> None:
    up = subprocess.Popen([sys.executable, "-c", _KILLED_UP], stdout=subprocess.PIPE)
    assert up.stdout is not None
    child = int(up.stdout.readline())

    up.send_signal(signal.SIGKILL)
    up.wait()
    up.stdout.close()

    deadline = time.monotonic() + 10
    while Path(f"/proc/{child}").exists() and _state(child) != "Z":
        assert time.monotonic() < deadline, "the child lives on"
        time.sleep(0.01)


def _state(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]
    except OSError:
        return "Z"


async def test_a_redis_that_cannot_start_is_explained_with_its_log(
    tmp_path: Path, binary: str
) -> None:
    with DataFolder.claimed(tmp_path) as folder:
        (folder.redis / "appendonly.aof").write_text("this is no append-only file")
        (folder.redis / "appendonlydir").write_text("and this is no folder")

    with pytest.raises(Failure, match="Redis exited with status 1") as raised:
        async with running(tmp_path):
            pass

    assert "append" in raised.value.advice
