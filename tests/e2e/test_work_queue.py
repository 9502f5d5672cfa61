"""Work queues through the Python client, on a running Korvet."""

import asyncio
import subprocess
import sys
from collections import Counter
from contextlib import aclosing
from pathlib import Path
from typing import Any

import pytest
from aiokafka import AIOKafkaProducer

from korvet.client import Korvet, KorvetError, NewRecord
from korvet.kafka.errors import ErrorCode
from tests.support.eventually import eventually_true
from tests.support.group_wire import GroupWire
from tests.support.korvet_process import KorvetCluster, StartKorvet
from tests.support.queue_worker import SOON, queue_worker
from tests.support.shell import Shell

pytestmark = pytest.mark.e2e

EXAMPLE = Path(__file__).parents[2] / "libs/client/examples/work_queue.py"


async def test_what_kafka_writes_is_worked_off_by_several_consumers(
    korvet: KorvetCluster, log: str
) -> None:
    wanted = {b"%d" % number for number in range(100)}
    async with AIOKafkaProducer(bootstrap_servers=korvet.bootstrap) as producer:
        for value in sorted(wanted):
            await producer.send(log, value)
        await producer.flush()
    done: Counter[bytes] = Counter()

    async def work(client: Korvet) -> None:
        consuming = client.consume(log, group=f"workers-{log}", max_in_flight=5)
        async with aclosing(consuming) as deliveries:
            async for delivery in deliveries:
                await delivery.ack()
                done[delivery.record.value or b""] += 1
                if len(done) == len(wanted):
                    return

    async with Korvet(korvet.storage) as client, asyncio.timeout(30):
        workers = [asyncio.create_task(work(client)) for _ in range(3)]
        await asyncio.wait(workers, return_when=asyncio.FIRST_COMPLETED)
        for worker in workers:
            worker.cancel()
        await asyncio.gather(*workers, return_exceptions=True)

    assert set(done) == wanted
    assert set(done.values()) == {1}


async def test_a_consumer_survives_a_killed_storage_without_loss_or_repetition(
    start_korvet: StartKorvet, topic: str
) -> None:
    cluster = start_korvet(gateways=0)
    wanted = [b"%d" % number for number in range(200)]
    async with Korvet(cluster.storage) as client, asyncio.timeout(90):
        await client.create_topic(topic)
        await client.append_many(topic, [NewRecord(value=value) for value in wanted])

        seen: list[bytes | None] = []
        consuming = client.consume(topic, group="workers", consumer="me", max_in_flight=10)
        async with aclosing(consuming) as deliveries:
            async for delivery in deliveries:
                seen.append(delivery.record.value)
                if len(seen) in (50, 120):
                    # In the middle of its work.
                    await asyncio.to_thread(cluster.storages[0].restart)
                await delivery.ack()
                if len(seen) == len(wanted):
                    break

    assert sorted(seen, key=lambda value: int(value or b"")) == wanted


async def test_what_a_consumer_held_that_was_killed_goes_to_another(
    korvet: KorvetCluster, topic: str
) -> None:
    group = f"workers-{topic}"
    wanted = [b"%d" % number for number in range(8)]
    async with Korvet(korvet.storage) as client, asyncio.timeout(30):
        await client.create_topic(topic)
        await client.append_many(topic, [NewRecord(value=value) for value in wanted])
        with queue_worker(
            korvet.storage, topic, group, "doomed", max_in_flight=5
        ) as doomed:
            held = [await asyncio.to_thread(doomed.next) for _ in range(5)]
            before = pending(korvet, topic, group)
            doomed.kill()
        consuming = client.consume(
            topic, group=group, consumer="heir", redeliver_after=SOON
        )
        counts: dict[bytes, int] = {}
        async with aclosing(consuming) as deliveries:
            while len(counts) < len(wanted):
                delivery = await anext(deliveries)
                counts[delivery.record.value or b""] = delivery.delivery_count
                await delivery.ack()

    assert before == {"doomed": 5}
    assert held == wanted[:5]
    assert counts == {value: 2 if value in held else 1 for value in wanted}
    assert pending(korvet, topic, group) == {}


def pending(korvet: KorvetCluster, topic: str, group: str) -> dict[str, int]:
    """What XPENDING shows: how many records each consumer holds."""
    with korvet.redis.client() as redis:
        found: Any = redis.xpending(f"korvet:stream:{topic}:0", group)
    return {each["name"].decode(): each["pending"] for each in found["consumers"]}


async def test_a_deleted_topic_ends_the_iteration(
    korvet: KorvetCluster, topic: str
) -> None:
    async with Korvet(korvet.storage) as client, asyncio.timeout(30):
        await client.create_topic(topic)
        await client.append(topic, b"work")
        consuming = client.consume(topic, group=f"workers-{topic}")
        async with aclosing(consuming) as deliveries:
            await anext(deliveries)

            await client.delete_topic(topic)

            with pytest.raises(KorvetError, match="UNKNOWN_TOPIC_ID"):
                await anext(deliveries)


async def test_a_deleted_queue_ends_the_iteration_and_leaves_nothing_behind(
    korvet: KorvetCluster, topic: str, shell: Shell
) -> None:
    group = f"workers-{topic}"
    async with Korvet(korvet.storage) as client, asyncio.timeout(30):
        await client.create_topic(topic, partitions=2)
        await client.append(topic, b"work")
        async with aclosing(client.consume(topic, group=group)) as deliveries:
            await anext(deliveries)
            (listed,) = [
                each for each in shell.json("groups", "list") if each["group"] == group
            ]
            assert listed["protocol_type"] == "queue"
            assert (listed["partitions"], listed["lag"]) == (2, 0)
            described = shell.json("groups", "describe", group)
            shown = shell("groups", "describe", group).out.decode()
            assert described["pending"] == 1
            assert "nothing left to take, 1 taken and not acknowledged" in shown

            deleted = await asyncio.to_thread(shell, "groups", "delete", group)

            assert deleted.code == 0, deleted.err
            with pytest.raises(KorvetError, match="GROUP_ID_NOT_FOUND"):
                await anext(deliveries)

    with korvet.redis.client() as redis:
        assert not redis.exists(f"korvet:group:{group}")
        assert not redis.sismember("korvet:groups", group)
        for partition in range(2):
            assert redis.xinfo_groups(f"korvet:stream:{topic}:{partition}") == []


async def test_a_queue_has_everything_whatever_kafkas_group_of_the_name_had_read(
    korvet: KorvetCluster, topic: str
) -> None:
    group = f"workers-{topic}"

    def is_shown() -> bool:
        with korvet.redis.client() as redis:
            return bool(redis.xinfo_groups(f"korvet:stream:{topic}:0"))

    async with Korvet(korvet.storage) as client, asyncio.timeout(30):
        await client.create_topic(topic)
        for number in range(10):
            last = await client.append(topic, b"%d" % number)
        with GroupWire(korvet.gateways[0].address) as wire:
            assert wire.commit(group, (topic, 0), last.offset + 1) is ErrorCode.NONE
            await asyncio.to_thread(eventually_true, is_shown)
            assert wire.delete_offset(group, (topic, 0)) is ErrorCode.NONE
            await asyncio.to_thread(eventually_true, lambda: not is_shown())
            assert wire.delete_group(group) is ErrorCode.NONE

        async with aclosing(client.consume(topic, group=group)) as deliveries:
            taken = [(await anext(deliveries)).record.value for _ in range(10)]

    assert taken == [b"%d" % number for number in range(10)]


def test_the_example_runs(korvet: KorvetCluster) -> None:
    done = subprocess.run(
        [sys.executable, str(EXAMPLE), korvet.storage],
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )

    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    for number in range(10):
        assert f"did job {number} " in done.stdout
