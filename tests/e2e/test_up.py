"""`korvet up` as a person runs it: what starts, what it says, and how it ends."""

import json
import os
import signal
import socket
import time
from pathlib import Path

import pytest

from tests.support.redis_server import RedisServer
from tests.support.up_process import Ended, UpProcess, korvet

pytestmark = pytest.mark.e2e


def exists(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]
    except OSError:
        return False
    return state != "Z"


def wait_until_gone(pids: list[int]) -> None:
    deadline = time.monotonic() + 20
    while any(exists(pid) for pid in pids):
        assert time.monotonic() < deadline, "children live on"
        time.sleep(0.02)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_it_says_that_it_is_ready_and_stops_cleanly(
    tmp_path: Path, number: signal.Signals
) -> None:
    with UpProcess(tmp_path / "data") as up:
        children = up.children()
        up.signal(number)
        code = up.wait()

    assert code == 0
    assert children.keys() == {"Redis", "Storage", "Coordinator", "Gateway"}
    wait_until_gone(list(children.values()))
    assert "topics create orders" in up.output
    assert "Traceback" not in up.output


def test_records_are_there_again_at_the_next_start(tmp_path: Path) -> None:
    with UpProcess(tmp_path / "data") as up:
        assert up.korvet("produce", "orders", stdin=b"one\ntwo\n").code == 0

    with UpProcess(tmp_path / "data") as up:
        read = up.korvet("consume", "orders")

    assert read.out == b"one\ntwo\n"


def test_a_second_one_on_the_folder_is_told_who_has_it(tmp_path: Path) -> None:
    with UpProcess(tmp_path / "data") as up:
        second = korvet("up", "--data", str(tmp_path / "data"), "--port", "0")

        assert second.code == 1
        assert f"in use by `korvet up` with process id {up.pid}" in second.err
        assert "--data" in second.err


def test_two_of_them_do_not_disturb_each_other(tmp_path: Path) -> None:
    with UpProcess(tmp_path / "a") as first, UpProcess(tmp_path / "b") as second:
        first.korvet("produce", "orders", stdin=b"first\n")
        second.korvet("produce", "orders", stdin=b"second\n")

        assert first.korvet("consume", "orders").out == b"first\n"
        assert second.korvet("consume", "orders").out == b"second\n"
        assert first.redis != second.redis


@pytest.mark.parametrize("option", ["--port", "--storage-port", "--coordinator-port"])
def test_a_taken_port_is_said_with_the_option_to_change_it(
    tmp_path: Path, option: str
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        ended = korvet("up", "--data", str(tmp_path / "data"), option, str(port))

    assert ended.code == 1
    assert f"127.0.0.1:{port}" in ended.err
    assert option in ended.err


@pytest.mark.parametrize("name", ["Redis", "Storage", "Coordinator", "Gateway"])
def test_when_a_child_dies_it_ends_with_a_reason(tmp_path: Path, name: str) -> None:
    with UpProcess(tmp_path / "data") as up:
        children = up.children()
        os.kill(children[name], signal.SIGKILL)
        code = up.wait()

    assert code == 1
    assert f"Error: {name} was killed by signal 9." in up.output
    wait_until_gone(list(children.values()))


def test_children_do_not_outlive_it_even_after_kill_9(tmp_path: Path) -> None:
    with UpProcess(tmp_path / "data") as up:
        assert up.korvet("produce", "orders", stdin=b"one\n").code == 0
        children = up.children()
        up.signal(signal.SIGKILL)
        up.wait()

    wait_until_gone(list(children.values()))
    # At its old address: anywhere else it is another gateway with the same node id.
    port = int(up.bootstrap.rpartition(":")[2])
    with UpProcess(tmp_path / "data", port=port) as up:
        assert up.korvet("consume", "orders").out == b"one\n"


def test_settings_by_kafkas_names_are_in_force(tmp_path: Path) -> None:
    settings = {
        "num.partitions": "3",
        "storage.format": "batch",
        "offset.encoding": "dense",
        "auto.create.topics.enable": "false",
    }
    options = [word for name in settings for word in ("--set", f"{name}={settings[name]}")]
    with UpProcess(tmp_path / "data", *options) as up:
        up.korvet("topics", "create", "orders")
        described = json.loads(up.korvet("topics", "describe", "orders", "--json").out)
        written = up.korvet(
            "produce", "orders", "--partition", "2", "--json", stdin=b"a\nb\n"
        )
        refused = up.korvet("produce", "payments", stdin=b"a\n")

    assert described["partitions"] == 3
    for name in ("storage.format", "offset.encoding"):
        config = {"value": settings[name], "source": "server"}
        assert described["configs"][name] == config
    (partition,) = json.loads(written.out)["partitions"]
    assert (partition["first_offset"], partition["last_offset"]) == (0, 1)
    assert refused.code == 1
    assert "There is no topic payments" in refused.err


@pytest.mark.parametrize(
    ("option", "said"),
    [
        ("num.partition=3", "Did you mean num.partitions"),
        ("num.partitions=0", "--set num.partitions: "),
        ("storage.format=parquet", "storage.format"),
        ("group.max.size=0", "--set group.max.size: "),
    ],
)
def test_a_setting_that_is_wrong_is_said_before_anything_starts(
    tmp_path: Path, option: str, said: str
) -> None:
    data = tmp_path / "data"
    ports = ["--port=0", "--storage-port=0", "--coordinator-port=0"]
    ended = korvet("up", "--data", str(data), *ports, "--set", option)

    assert ended.code == 1
    assert said in ended.err
    assert not (data / "redis").exists()


@pytest.mark.parametrize("url", ["127.0.0.1:6379", "http://127.0.0.1", "redis://h:port"])
def test_what_is_no_url_of_a_redis_is_said_before_anything_starts(url: str) -> None:
    ports = ["--port=0", "--storage-port=0", "--coordinator-port=0"]
    ended = korvet("up", *ports, "--redis", url)

    assert ended.code == 1
    assert "it must be redis://" in ended.err
    assert "--redis" in ended.err
    assert "Traceback" not in ended.err


def up_with(redis: str) -> Ended:
    ports = ["--port=0", "--storage-port=0", "--coordinator-port=0"]
    return korvet("up", *ports, "--redis", redis)


@pytest.mark.parametrize("url", ["redis://127.0.0.1:1", "unix:///nowhere/redis.sock"])
def test_a_redis_that_does_not_answer_is_said_at_once(url: str) -> None:
    started = time.monotonic()
    ended = up_with(url)

    assert ended.code == 1
    assert time.monotonic() - started < 20
    assert ended.out == b""
    where = url.partition("//")[2]
    assert ended.err.startswith(f"Error: The Redis at {where} does not answer: ")
    assert "--redis redis://HOST:PORT" in ended.err
    assert "deleted topics" not in ended.err


@pytest.mark.parametrize(
    ("arranged", "url", "said"),
    [
        ("CONFIG SET requirepass right", "redis://:wrong@{}", "does not let us in"),
        ("CONFIG SET requirepass right", "redis://{}", "does not let us in"),
        ("CONFIG SET maxmemory-policy allkeys-lru", "redis://{}", "ALLOW_EVICTION=true"),
        ("ACL SETUSER me on nopass ~* +info", "redis://me:x@{}", "user me may not do"),
        ("PING", "redis://{}/99", "out of range"),
    ],
)
def test_a_redis_that_cannot_be_used_is_said_with_what_to_do(
    tmp_path: Path, arranged: str, url: str, said: str
) -> None:
    with RedisServer(tmp_path) as redis, redis.client() as client:
        client.execute_command(*arranged.split())
        ended = up_with(url.format(f"{redis.host}:{redis.port}"))

    assert ended.code == 1
    assert f"The Redis at {redis.host}:{redis.port} " in ended.err
    assert said in ended.err
    assert "--redis" in ended.err
    assert "wrong@" not in ended.err
    assert "Traceback" not in ended.err


def test_another_ones_replica_is_no_redis_to_write_to(tmp_path: Path) -> None:
    with (
        RedisServer(tmp_path / "primary") as primary,
        RedisServer(tmp_path / "replica") as replica,
    ):
        with replica.client() as client:
            client.replicaof(primary.host, primary.port)
        ended = up_with(replica.url)

    assert ended.code == 1
    assert "is another one's replica" in ended.err


def test_a_redis_of_ones_own_is_used_and_left_running(tmp_path: Path) -> None:
    with RedisServer(tmp_path / "redis") as redis:
        with UpProcess(tmp_path / "data", "--redis", redis.url) as up:
            assert up.korvet("produce", "orders", stdin=b"one\n").code == 0
            assert up.children().keys() == {"Storage", "Coordinator", "Gateway"}

        with redis.client() as client:
            assert client.xlen("korvet:stream:orders:0") == 1
    assert not (tmp_path / "data").exists()
