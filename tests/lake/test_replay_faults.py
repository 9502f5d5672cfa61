"""Replays that are killed, and Korvets that are killed under a replay."""

import asyncio
import random
from dataclasses import replace
from functools import partial

import pytest
from aiokafka.errors import ProducerFenced

from korvet.pipeline.lake import Lake
from korvet.pipeline.replay_progress import Strand
from korvet.pipeline.replay_writer import PartitionWriter, committed
from tests.support import replay_process
from tests.support.eventually import eventually_true
from tests.support.korvet_process import KorvetCluster, StartKorvet
from tests.support.lake_records import BEGAN_MS, Archived, put, read
from tests.support.replay_process import PARTITIONS, progress, target
from tests.support.shell import Shell
from tests.support.topic_admin import create_topic

pytestmark = pytest.mark.e2e

COUNT = 3_000


def done(korvet: KorvetCluster, topic: str) -> int:
    return sum(each.records for each in progress(korvet.bootstrap, topic).values())


def has_done(korvet: KorvetCluster, topic: str, count: int) -> bool:
    return done(korvet, topic) >= count


def check_each_once(korvet: KorvetCluster, topic: str, count: int) -> None:
    for partition in range(PARTITIONS):
        values = [int(each.value or b"") for each in read(korvet.storage, topic, partition)]
        assert values == list(range(partition, count, PARTITIONS))


@pytest.mark.parametrize("seed", [1, 2])
def test_a_task_that_is_killed_again_and_again_writes_each_record_once(
    korvet: KorvetCluster, topic: str, seed: int
) -> None:
    create_topic(korvet.bootstrap, topic, partitions=PARTITIONS)
    moments = sorted(random.Random(seed).sample(range(50, COUNT - 50), 4))

    for moment in moments:
        with replay_process.start(korvet.bootstrap, topic, COUNT) as process:
            eventually_true(partial(has_done, korvet, topic, moment), within=60)
            process.kill()
    with replay_process.start(korvet.bootstrap, topic, COUNT) as process:
        assert process.wait(60) == 0

    check_each_once(korvet, topic, COUNT)


def test_a_replay_goes_on_when_what_it_writes_to_was_killed(
    start_korvet: StartKorvet, topic: str
) -> None:
    korvet = start_korvet()
    create_topic(korvet.bootstrap, topic, partitions=PARTITIONS)

    with replay_process.start(korvet.bootstrap, topic, COUNT) as process:
        for service in (korvet.storages[0], korvet.coordinators[0], korvet.gateways[0]):
            more = done(korvet, topic) + 1
            eventually_true(partial(has_done, korvet, topic, more), within=60)
            service.kill()
            service.start()
        assert process.wait(90) == 0

    check_each_once(korvet, topic, COUNT)


async def test_who_opens_a_partition_later_has_it_alone(
    korvet: KorvetCluster, topic: str
) -> None:
    create_topic(korvet.bootstrap, topic, partitions=PARTITIONS)
    where = target(korvet.bootstrap, topic)
    strand = Strand("AAAA", 0)
    first, second = PartitionWriter(where, 0), PartitionWriter(where, 0)
    started = await first.open()
    after_one = started.after(strand, 0, 1)
    await first.write([(1, None, b"one", [])], after_one)

    assert await second.open() == after_one
    with pytest.raises(ProducerFenced):
        await first.write([(1, None, b"late", [])], after_one.after(strand, 1, 1))
    await second.write([(1, None, b"two", [])], after_one.after(strand, 1, 1))
    await first.close()
    await second.close()

    values = [each.value for each in await asyncio.to_thread(read, korvet.storage, topic)]
    assert values == [b"one", b"two"]


def test_the_command_goes_on_where_it_was_killed(
    lake: Lake, korvet: KorvetCluster, shell: Shell, topic: str
) -> None:
    count = 4_000
    put(
        lake,
        "orders",
        [
            Archived(offset=number, timestamp_ms=BEGAN_MS + number, value=b"%d" % number)
            for number in range(count)
        ],
    )
    command = ["lake", "replay", "--lake", lake.folder, "--topic", "orders", "--to", topic]
    paced = [*command, "--pace", "0.5", "--name", topic, "--master", "local[1]"]

    with shell.start(*paced) as process:
        eventually_true(lambda: replayed(korvet, topic) > 100, within=100)
        process.kill()
        # Not read to their end: a JVM of its own holds them open, too.
        for pipe in (process.stdout, process.stderr):
            assert pipe is not None
            pipe.close()
    at_most = replayed(korvet, topic)
    rest = shell.start(*command, "--name", topic, "--master", "local[1]", "--json")
    out, errors = rest.communicate(timeout=110)

    assert rest.returncode == 0, errors
    assert 100 < at_most < count
    assert b'"written_before"' in out
    values = [int(each.value or b"") for each in read(korvet.storage, topic)]
    assert values == list(range(count))


def replayed(korvet: KorvetCluster, topic: str) -> int:
    """How far the replay named after the topic is."""
    where = replace(target(korvet.bootstrap, topic), replay=topic)
    return sum(each.records for each in asyncio.run(committed(where)).values())
