"""The README's quickstart does what it says."""

import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from korvet.cli.embedded_redis import redis_cli
from tests.support.up_process import UpProcess, clean_environ

pytestmark = pytest.mark.e2e

ROOT = Path(__file__).parents[2]
README = (ROOT / "README.md").read_text()
COMMAND_LINE, GROUPS, REDIS_PROMPT = re.findall(r"^```sh\n(.*?)^```", README, re.M | re.S)
KAFKA, GRPC = re.findall(r"^```python\n(.*?)^```", README, re.M | re.S)

# What the reader's shell still has from the first block.
PATH = COMMAND_LINE.splitlines()[0]


@pytest.fixture(scope="module")
def up(tmp_path_factory: pytest.TempPathFactory) -> Iterator[UpProcess]:
    with UpProcess(tmp_path_factory.mktemp("up") / "data") as up:
        yield up


def run(command: list[str], up: UpProcess) -> str:
    """Run it as a reader would, on this Korvet's ports instead of the usual ones."""
    port = up.redis.rpartition(":")[2]
    replaced = [
        part.replace("127.0.0.1:9092", up.bootstrap)
        .replace("127.0.0.1:50051", up.storage)
        .replace("redis-cli -p 6380", f"{redis_cli()} -p {port}")
        for part in command
    ]
    done = subprocess.run(
        replaced,
        cwd=ROOT,
        env=clean_environ(up.addresses),
        capture_output=True,
        text=True,
        timeout=90,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_the_quickstart_from_top_to_bottom(up: UpProcess) -> None:
    command_line = run(["bash", "-ec", COMMAND_LINE], up)
    kafka = run([sys.executable, "-c", KAFKA], up)
    groups = run(["bash", "-ec", f"{PATH}\n{GROUPS}"], up)
    grpc = run([sys.executable, "-c", GRPC], up)
    redis = run(["bash", "-ec", REDIS_PROMPT], up)

    assert "Created orders with 3 partitions.\ntwo apples\n" in command_line
    assert "orders: 3 partitions" in command_line
    assert "b'two apples'" in kafka
    assert "b'customer-7' b'three pears'" in kafka
    assert "billing: Empty, 0 members, nothing left to read" in groups
    assert "b'customer-7' b'one plum'" in grpc
    for value in ("two apples", "three pears", "one plum"):
        assert value in redis
