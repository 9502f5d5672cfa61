"""An archive that is killed again and again, as the command that people run."""

import os
import random
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial

import pytest

from korvet.pipeline.lake import Lake
from korvet.pipeline.storage_link import Endpoint, StorageLink
from korvet.pipeline.verify import verify
from tests.support.eventually import eventually_true
from tests.support.korvet_process import KorvetCluster, StartKorvet
from tests.support.lake_topics import (
    delta_log,
    fill,
    fill_in_transaction,
    log,
    numbered,
    table,
)
from tests.support.seeds import seeds
from tests.support.shell import Shell
from tests.support.topic_admin import create_topic
from tests.support.up_process import clean_environ

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(900)]

KILLS = 3
PARTITIONS = 3


@pytest.mark.parametrize("seed", seeds(1))
def test_killed_at_any_moment_it_has_exactly_the_records_of_the_log(
    lake: Lake, start_korvet: StartKorvet, topic: str, seed: int
) -> None:
    """With what writes to the topic going on, aborted records, and storage killed, too."""
    chance = random.Random(seed)
    korvet = start_korvet()
    shell = Shell(korvet)
    create_topic(
        korvet.bootstrap, topic, partitions=PARTITIONS, configs={"storage.format": "batch"}
    )
    filling = Filling(korvet, topic)
    arguments = ["lake", "archive", "--lake", lake.folder, "--topics", topic]
    for_ever = ["--continuous", "--every", "0.1", "--records-per-commit", "300"]
    with filling:
        for number in range(KILLS):
            with killed_at_the_end(shell, [*arguments, *for_ever]) as process:
                enough = len(delta_log(lake, topic)) + chance.randint(1, 3)
                eventually_true(partial(has_commits, lake, topic, enough), 300)
                if number == 1:
                    with filling.paused:
                        korvet.storages[0].kill()
                        korvet.storages[0].start()
                # Anywhere in the batch that comes next.
                threading.Event().wait(chance.uniform(0, 0.8))
                assert process.poll() is None, "it has ended by itself"
                if chance.random() < 0.5:
                    # Spark notices a moment later that it is alone.
                    process.kill()
                    process.wait(30)
            values = [b"%d-%d" % (number, each) for each in range(20)]
            fill_in_transaction(korvet.bootstrap, topic, values, commit=number == 1)
    ended = shell(*arguments)

    assert ended.code == 0, ended.err
    found = table(lake, topic)
    assert found == log(korvet.storage, topic, PARTITIONS)
    assert len(found) == filling.count + 20
    endpoint = Endpoint(address=korvet.storage)
    with StorageLink(endpoint) as link:
        verdict = verify(lake, link, endpoint, topic, counts_only=False)
    assert verdict.is_right, verdict
    assert verdict.compared == len(found)


class Filling:
    """Writes to the topic until it is left."""

    def __init__(self, korvet: KorvetCluster, topic: str) -> None:
        self._korvet = korvet
        self._topic = topic
        self._stopped = threading.Event()
        # It is the archive that has to bear a storage that is away.
        self.paused = threading.Lock()
        self._thread = threading.Thread(target=self._run)
        self.count = 0

    def __enter__(self) -> None:
        self._thread.start()

    def __exit__(self, *_: object) -> None:
        self._stopped.set()
        self._thread.join(60)
        assert not self._thread.is_alive()

    def _run(self) -> None:
        turn = 0
        while not self._stopped.wait(0.5):
            with self.paused:
                fill(self._korvet.storage, self._topic, numbered(50), turn % PARTITIONS)
            self.count += 50
            turn += 1


def has_commits(lake: Lake, topic: str, enough: int) -> bool:
    return len(delta_log(lake, topic)) >= enough


@contextmanager
def killed_at_the_end(
    shell: Shell, arguments: list[str]
) -> Iterator["subprocess.Popen[bytes]"]:
    process = subprocess.Popen(
        [sys.executable, "-m", "korvet.cli", *arguments],
        env=clean_environ(shell.environ),
        stdout=subprocess.DEVNULL,
        # Spark is a child of it: to kill both at once, they have a group of their own.
        start_new_session=True,
    )
    try:
        yield process
    except BaseException:
        os.killpg(process.pid, signal.SIGKILL)
        raise
    finally:
        # One that is dead already has left Spark to notice that by itself.
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
        process.wait(30)
