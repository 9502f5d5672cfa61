"""The Python client beside Kafka clients: one log, two fronts."""

import asyncio
import re
import subprocess
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from aiokafka import AIOKafkaConsumer, AIOKafkaProducer, TopicPartition

from korvet.client import Korvet, KorvetError, NewRecord, TopicDeletedError
from tests.support.korvet_process import KorvetCluster, StartKorvet

pytestmark = pytest.mark.e2e

EXAMPLE = Path(__file__).parents[2] / "libs/client/examples/quickstart.py"
FORMATS = [
    {"storage.format": storage, "offset.encoding": encoding}
    for storage in ("record", "batch")
    for encoding in ("time", "dense")
]


@pytest.mark.parametrize("configs", FORMATS, ids=lambda each: "-".join(each.values()))
async def test_what_kafka_writes_grpc_reads(
    korvet: KorvetCluster, topic: str, configs: dict[str, str]
) -> None:
    headers = [("a", b"1"), ("a", b""), ("b", None)]
    async with Korvet(korvet.storage) as client:
        await client.create_topic(topic, configs=configs)
        async with AIOKafkaProducer(bootstrap_servers=korvet.bootstrap) as producer:
            written = await producer.send_and_wait(
                topic, b"value", key=b"key", headers=headers, timestamp_ms=1500
            )
            await producer.send_and_wait(topic, None, key=b"")

        found = await client.read(topic, offset=written.offset)

    first, second = found.records
    assert (first.offset, first.timestamp_ms) == (written.offset, 1500)
    assert (first.key, first.value) == (b"key", b"value")
    assert first.headers == tuple(headers)
    assert (second.key, second.value) == (b"", None)
    assert found.next_offset == found.high_watermark == second.offset + 1


@pytest.mark.parametrize("configs", FORMATS, ids=lambda each: "-".join(each.values()))
async def test_what_grpc_writes_kafka_reads(
    korvet: KorvetCluster, topic: str, configs: dict[str, str]
) -> None:
    headers = [("a", b"1"), ("a", b""), ("b", None)]
    async with Korvet(korvet.storage) as client:
        await client.create_topic(topic, configs=configs)
        records = [
            NewRecord(value=b"v", key=b"k", headers=headers, timestamp_ms=1500),
            NewRecord(value=None, key=b""),
            NewRecord(value=b"", key=None),
        ]
        positions = await client.append_many(topic, records)

    async with AIOKafkaConsumer(
        bootstrap_servers=korvet.bootstrap, auto_offset_reset="earliest"
    ) as consumer:
        consumer.assign([TopicPartition(topic, 0)])
        read = [await asyncio.wait_for(consumer.getone(), 30) for _ in records]

    assert [each.offset for each in read] == [position.offset for position in positions]
    assert [(each.key, each.value) for each in read] == [
        (b"k", b"v"),
        (b"", None),
        (None, b""),
    ]
    assert list(read[0].headers) == headers
    assert read[0].timestamp == 1500


async def test_both_fronts_agree_on_the_partition_of_a_key(
    korvet: KorvetCluster, topic: str
) -> None:
    keys = [b"key-%d" % number for number in range(20)]
    async with Korvet(korvet.storage) as client:
        await client.create_topic(topic, partitions=7)
        ours = [(await client.append(topic, b"v", key=key)).partition for key in keys]
    async with AIOKafkaProducer(bootstrap_servers=korvet.bootstrap) as producer:
        theirs = [
            (await producer.send_and_wait(topic, b"v", key=key)).partition for key in keys
        ]

    assert ours == theirs


async def test_a_tail_sees_what_comes_from_either_front(
    korvet: KorvetCluster, topic: str
) -> None:
    async with Korvet(korvet.storage) as client:
        await client.create_topic(topic, partitions=3)
        tail = client.tail(topic, start="earliest")
        first = asyncio.ensure_future(anext(tail))
        await client.append(topic, b"from gRPC")
        seen = [(await asyncio.wait_for(first, 30)).value]

        async with AIOKafkaProducer(bootstrap_servers=korvet.bootstrap) as producer:
            await producer.send_and_wait(topic, b"from Kafka")
        seen.append((await asyncio.wait_for(anext(tail), 30)).value)
        await tail.aclose()

    assert seen == [b"from gRPC", b"from Kafka"]


async def test_a_read_waits_for_the_next_record(korvet: KorvetCluster, topic: str) -> None:
    async with Korvet(korvet.storage) as client:
        await client.create_topic(topic)
        waiting = asyncio.ensure_future(client.read(topic, offset=0, max_wait=20))
        await asyncio.sleep(0.2)
        assert not waiting.done()

        await client.append(topic, b"now")
        found = await asyncio.wait_for(waiting, 10)

    assert [record.value for record in found] == [b"now"]


async def test_topics_are_administered(korvet: KorvetCluster, topic: str) -> None:
    async with Korvet(korvet.storage) as client:
        created = await client.create_topic(topic, configs={"retention.ms": "60000"})
        grown = await client.add_partitions(topic, 3)
        altered = await client.alter_topic(
            topic, configs={"max.message.bytes": "5000"}, reset=["retention.ms"]
        )
        names = [each.name for each in await client.list_topics()]
        logs = await client.describe_logs(topic)
        await client.delete_topic(topic)
        with pytest.raises(KorvetError) as raised:
            await client.describe_topic(topic)

    assert created.configs["retention.ms"].source == "topic"
    assert (grown.partitions, grown.id) == (3, created.id)
    # As Kafka's tools write it.
    assert re.fullmatch(r"[\w-]{22}", created.id, re.ASCII)
    assert altered.configs["max.message.bytes"].value == "5000"
    assert altered.configs["retention.ms"].source == "default"
    assert topic in names
    assert [log.partition for log in logs] == [0, 1, 2]
    assert raised.value.name == "UNKNOWN_TOPIC_OR_PARTITION"


async def test_offsets_are_found_and_records_deleted(
    korvet: KorvetCluster, topic: str
) -> None:
    moment = datetime.now(UTC)
    async with Korvet(korvet.storage) as client:
        await client.create_topic(topic, configs={"offset.encoding": "dense"})
        times = [int((moment + timedelta(seconds=n)).timestamp() * 1000) for n in range(5)]
        await client.append_many(
            topic, [NewRecord(value=b"v", timestamp_ms=each) for each in times]
        )

        found = [
            await client.find_offset(topic, at)
            for at in (
                "earliest",
                "latest",
                moment + timedelta(seconds=2.5),
                moment + timedelta(days=1),
            )
        ]
        low = await client.delete_records(topic, partition=0, before=3)
        earliest = await client.find_offset(topic, "earliest")
        with pytest.raises(KorvetError) as raised:
            await client.read(topic, offset=0)

    assert found == [0, 5, 3, None]
    assert (low, earliest) == (3, 3)
    assert raised.value.name == "OFFSET_OUT_OF_RANGE"


async def test_appends_survive_a_killed_storage_without_loss_or_repetition(
    start_korvet: StartKorvet, topic: str
) -> None:
    cluster = start_korvet(gateways=0)
    wanted = [b"%d" % number for number in range(300)]
    async with Korvet(cluster.storage) as client:
        await client.create_topic(topic)

        async def write() -> list[int]:
            return [(await client.append(topic, value)).offset for value in wanted]

        writing = asyncio.ensure_future(write())
        seen = []
        async for record in client.tail(topic, start="earliest"):
            seen.append(record.value)
            if len(seen) in (50, 150):
                await asyncio.to_thread(cluster.storages[0].restart)
            if len(seen) == len(wanted):
                break
        offsets = await asyncio.wait_for(writing, 60)
        everything = await client.read(topic, offset=0, max_bytes=10_000_000)

    assert seen == wanted
    assert [record.value for record in everything] == wanted
    assert offsets == [record.offset for record in everything]


async def test_a_clients_first_append_waits_for_a_storage_that_is_being_restarted(
    start_korvet: StartKorvet, topic: str
) -> None:
    cluster = start_korvet(gateways=0)
    async with Korvet(cluster.storage) as client:
        await client.create_topic(topic)
    cluster.storages[0].kill()

    async with Korvet(cluster.storage) as client:
        writing = asyncio.ensure_future(client.append(topic, b"first"))
        await asyncio.to_thread(cluster.storages[0].restart)
        await asyncio.wait_for(writing, 30)
        found = await client.read(topic, offset=0)

    assert [record.value for record in found] == [b"first"]


@pytest.mark.parametrize("is_made_again", [True, False], ids=["made-again", "deleted"])
@pytest.mark.parametrize("encoding", ["time", "dense"])
async def test_a_tail_never_goes_on_in_another_topic_of_the_name(
    start_korvet: StartKorvet, topic: str, encoding: str, is_made_again: bool
) -> None:
    cluster = start_korvet(storages=2, gateways=0)
    configs = {"offset.encoding": encoding}
    mine, other = cluster.storages
    async with Korvet(mine.address) as client, Korvet(other.address) as elsewhere:
        await client.create_topic(topic, configs=configs)
        await client.append(topic, b"old")
        tail = client.tail(topic, start="earliest")
        assert (await asyncio.wait_for(anext(tail), 30)).value == b"old"

        mine.kill()
        await elsewhere.delete_topic(topic)
        if is_made_again:
            await elsewhere.create_topic(topic, configs=configs)
            # Dense offsets begin anew: two of them, so that one is where the tail goes on.
            await elsewhere.append_many(topic, [NewRecord(value=b"new")] * 2)
        await asyncio.to_thread(mine.start)

        with pytest.raises(TopicDeletedError, match=topic):
            await asyncio.wait_for(anext(tail), 60)


async def test_a_work_queue_ends_with_its_topic(
    start_korvet: StartKorvet, topic: str
) -> None:
    cluster = start_korvet(storages=2, gateways=0)
    mine, other = cluster.storages
    async with Korvet(mine.address) as client, Korvet(other.address) as elsewhere:
        await client.create_topic(topic)
        await client.append(topic, b"old")
        queue = client.consume(topic, group="workers")
        await (await asyncio.wait_for(anext(queue), 30)).ack()

        mine.kill()
        await elsewhere.delete_topic(topic)
        await elsewhere.create_topic(topic)
        await elsewhere.append(topic, b"new")
        await asyncio.to_thread(mine.start)

        with pytest.raises(TopicDeletedError, match=topic):
            await asyncio.wait_for(anext(queue), 60)


async def test_a_tail_goes_on_at_the_other_storage_when_one_is_told_to_stop(
    start_korvet: StartKorvet, topic: str
) -> None:
    cluster = start_korvet(storages=2, gateways=0)
    first, second = cluster.storages
    wanted = [b"%d" % number for number in range(300)]
    both = f"{first.address},{second.address}"
    async with Korvet(both) as client, Korvet(second.address) as elsewhere:
        await elsewhere.create_topic(topic)

        async def write() -> None:
            for value in wanted:
                await elsewhere.append(topic, value)

        writing = asyncio.ensure_future(write())
        seen = []
        async for record in client.tail(topic, start="earliest"):
            seen.append(record.value)
            if len(seen) == 50:
                assert await asyncio.to_thread(first.stop) == 0
            if len(seen) == len(wanted):
                break
        await asyncio.wait_for(writing, 60)

    assert seen == wanted


async def test_a_tail_goes_on_at_the_other_storage_when_one_falls_silent(
    start_korvet: StartKorvet, topic: str
) -> None:
    cluster = start_korvet(storages=2, gateways=0)
    first, second = cluster.storages
    both = f"{first.address},{second.address}"
    async with Korvet(both) as client, Korvet(second.address) as elsewhere:
        await client.create_topic(topic)
        await client.append(topic, b"before")
        tail = client.tail(topic, start="earliest")
        assert (await asyncio.wait_for(anext(tail), 30)).value == b"before"

        with first.paused():
            await elsewhere.append(topic, b"behind")
            # 30 s: a ping after 20, which may take 10.
            assert (await asyncio.wait_for(anext(tail), 45)).value == b"behind"
        await tail.aclose()


async def test_several_partitions_are_appended_to_all_or_nothing(
    korvet: KorvetCluster, topic: str
) -> None:
    async with Korvet(korvet.storage) as client:
        await client.create_topic(topic, partitions=2)
        one, two = (topic, 0), (topic, 1)

        first = await client.append_atomically(
            {
                one: [NewRecord(value=b"a"), NewRecord(value=b"b")],
                two: [NewRecord(value=b"c")],
            }
        )
        with pytest.raises(KorvetError, match="UNKNOWN_TOPIC_OR_PARTITION"):
            await client.append_atomically(
                {one: [NewRecord(value=b"d")], (topic, 7): [NewRecord(value=b"e")]}
            )
        second = await client.append_atomically(
            {two: [NewRecord(value=b"f")], one: [NewRecord(value=b"g")]}
        )

        found = {
            place: await client.read(*place[:1], offset=0, partition=place[1])
            for place in (one, two)
        }

    assert [record.value for record in found[one].records] == [b"a", b"b", b"g"]
    assert [record.value for record in found[two].records] == [b"c", b"f"]
    assert [each.offset for each in (*first[one], *second[one])] == [
        record.offset for record in found[one].records
    ]
    assert first[two][0].partition == 1


async def test_what_is_aborted_is_not_read_as_committed(
    korvet: KorvetCluster, topic: str
) -> None:
    async with (
        Korvet(korvet.storage) as client,
        AIOKafkaProducer(
            bootstrap_servers=korvet.bootstrap, transactional_id=topic
        ) as producer,
    ):
        await client.create_topic(topic)
        for value, abort in ((b"aborted", True), (b"committed", False)):
            await producer.begin_transaction()
            await producer.send_and_wait(topic, value)
            await (producer.abort_transaction() if abort else producer.commit_transaction())

        everything = await client.read(topic, offset=0)
        committed = await client.read(topic, offset=0, committed=True)
        async for record in client.tail(topic, start="earliest", committed=True):
            first = record
            break

    assert [record.value for record in everything.records] == [b"aborted", b"committed"]
    assert [record.value for record in committed.records] == [b"committed"]
    assert first.value == b"committed"


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
    assert done.stdout.count("b'world'") == 4
