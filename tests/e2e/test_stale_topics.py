"""A topic is deleted and made again while a gateway and a storage do not hear of it.

One of two storages is kept from hearing of changes, and so is its gateway, which knows only
that storage. Whatever goes through them must reach the topic that there
is, or none: never the records or the offsets of the one that was.
"""

import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import Final

import pytest
from confluent_kafka import Consumer, Message, Producer, TopicPartition

from korvet.kafka.errors import ErrorCode
from tests.support.change_filter import ChangeFilter
from tests.support.history import Partition
from tests.support.korvet_process import KorvetCluster
from tests.support.layouts import LAYOUTS, create_topics
from tests.support.redis_server import RedisServer
from tests.support.traffic import AiokafkaTraffic
from tests.support.wire_client import EARLIEST, LATEST, WireClient, batch_of, values_of

pytestmark = pytest.mark.e2e

_PATIENCE: Final = 15.0


@pytest.fixture(scope="module")
def redis(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RedisServer]:
    with RedisServer(tmp_path_factory.mktemp("redis")) as server:
        yield server


@pytest.fixture(scope="module")
def filters(redis: RedisServer) -> Iterator[Sequence[ChangeFilter]]:
    """By which each of the storages hears of changes."""
    with ChangeFilter(redis) as first, ChangeFilter(redis) as second:
        yield first, second


@pytest.fixture
def changes(filters: Sequence[ChangeFilter]) -> ChangeFilter:
    """By which the second storage hears."""
    return filters[1]


@pytest.fixture(scope="module")
def korvet(
    tmp_path_factory: pytest.TempPathFactory,
    redis: RedisServer,
    filters: Sequence[ChangeFilter],
) -> Iterator[KorvetCluster]:
    """Two storages, each with a gateway and a filter of its own."""
    cluster = KorvetCluster(
        tmp_path_factory.mktemp("stale"),
        storages=2,
        gateways=2,
        # A producer that misses its topic must not make it itself.
        settings={"auto.create.topics.enable": "false"},
        redis=redis,
    )
    for storage, gateway, changes in zip(
        cluster.storages, cluster.gateways, filters, strict=True
    ):
        storage.environ["KORVET_STORAGE_REDIS_URL"] = changes.url
        gateway.environ["KORVET_GATEWAY_STORAGE_ADDRESS"] = storage.address
    with cluster:
        yield cluster


@pytest.fixture
def informed(korvet: KorvetCluster) -> Iterator[WireClient]:
    """A way in that hears of every change."""
    with WireClient(korvet.gateways[0].address) as wire:
        yield wire


@pytest.fixture
def behind(korvet: KorvetCluster) -> Iterator[WireClient]:
    """A way in that can be kept from it."""
    with WireClient(korvet.gateways[1].address) as wire:
        yield wire


def make_again(wire: WireClient, topic: str, layout: str) -> bytes:
    """Delete a topic and create it in another layout; return its new id."""
    assert wire.delete_topic(topic) is ErrorCode.NONE
    assert wire.create_topic(topic, LAYOUTS[layout]) is ErrorCode.NONE
    return wire.find_topic(topic).topic_id


@pytest.mark.parametrize("after", LAYOUTS)
@pytest.mark.parametrize("before", LAYOUTS)
def test_nothing_reaches_the_wrong_one_of_two_topics_of_a_name(
    informed: WireClient,
    behind: WireClient,
    changes: ChangeFilter,
    topic: str,
    before: str,
    after: str,
) -> None:
    assert informed.create_topic(topic, LAYOUTS[before]) is ErrorCode.NONE
    old = informed.find_topic(topic).topic_id
    eventually(partial(knows, behind, topic, old))
    for number in range(3):
        written = behind.produce(topic, batch_of([b"old-%d" % number]))
        assert written.error is ErrorCode.NONE

    with changes.deaf():
        new = make_again(informed, topic, after)
        assert informed.produce(topic, batch_of([b"0"])).error is ErrorCode.NONE
        assert behind.find_topic(topic).topic_id == old, "it was to be out of date"

        # By its id, the old topic is gone for everyone.
        old_batch = batch_of([b"for the old one"])
        assert behind.produce(old, old_batch).error is ErrorCode.UNKNOWN_TOPIC_ID
        assert behind.fetch(old, 0).error is ErrorCode.UNKNOWN_TOPIC_ID
        # By its name, a producer may be told to look again, and then reaches the new one.
        by_name = behind.produce(topic, batch_of([b"1"])).error
        if by_name is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION:
            by_name = behind.produce(topic, batch_of([b"1"])).error
        assert by_name is ErrorCode.NONE
        assert behind.produce(new, batch_of([b"2"])).error is ErrorCode.NONE
        found = [behind.read_all(topic), behind.read_all(new), informed.read_all(topic)]
        bounds = [behind.offset_at(topic, when) for when in (EARLIEST, LATEST)]

    assert [values_of(records) for records in found] == [[b"0", b"1", b"2"]] * 3
    assert bounds == [found[0][0].offset, found[0][-1].offset + 1]
    eventually(partial(knows, behind, topic, new))


@pytest.mark.parametrize("layout", LAYOUTS)
def test_what_asks_for_positions_first_finds_the_new_topic(
    informed: WireClient, behind: WireClient, changes: ChangeFilter, topic: str, layout: str
) -> None:
    assert informed.create_topic(topic, LAYOUTS[layout], partitions=2) is ErrorCode.NONE
    old = informed.find_topic(topic).topic_id
    eventually(partial(knows, behind, topic, old))
    for partition in range(2):
        behind.produce(topic, batch_of([b"old"] * 3), partition=partition)
        assert behind.offset_at(topic, LATEST, partition=partition) > 0

    with changes.deaf():
        new = make_again(informed, topic, layout)
        # The first that the storage hears of it: it may say "look again", and then knows.
        first = behind.find_offset(topic, LATEST)
        assert first in ((ErrorCode.NONE, 0), (ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, -1))
        assert behind.offset_at(topic, LATEST) == 0
        assert behind.offset_at(topic, EARLIEST) == 0
        assert behind.epoch_end(topic, 0).end_offset == 0
        # It has one partition now, not two.
        gone = behind.fetch(topic, 0, partition=1).error
        assert gone is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        gone = behind.produce(topic, batch_of([b"lost"]), partition=1).error
        assert gone is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        assert behind.fetch(new, 0).error is ErrorCode.NONE
        assert behind.fetch(topic, 0).records == []


def test_a_fetch_that_waits_on_the_old_topic_ends_or_finds_the_new_one(
    informed: WireClient, behind: WireClient, changes: ChangeFilter, topic: str
) -> None:
    for before, after in zip(LAYOUTS, reversed(LAYOUTS), strict=True):
        name = f"{topic}-{before}"
        assert informed.create_topic(name, LAYOUTS[before]) is ErrorCode.NONE
        old = informed.find_topic(name).topic_id
        eventually(partial(knows, behind, name, old))
        end = behind.produce(name, batch_of([b"old"])).base_offset + 1
        with changes.deaf():
            behind.send_fetch(old, end, max_wait=0.5)
            make_again(informed, name, after)
            informed.produce(name, batch_of([b"0"]))
            by_id = behind.receive_fetched(old, end)
            behind.send_fetch(name, end, max_wait=0.1)
            by_name = behind.receive_fetched(name, end)

        # The append to the new topic wakes it, and it sees that its own is gone.
        assert by_id.error is ErrorCode.UNKNOWN_TOPIC_ID
        assert not by_id.records
        assert by_name.error in (ErrorCode.NONE, ErrorCode.OFFSET_OUT_OF_RANGE)
        assert values_of(by_name.records) in ([], [b"0"])


def test_a_running_producer_goes_on_in_the_new_topic(
    korvet: KorvetCluster, informed: WireClient, behind: WireClient, changes: ChangeFilter
) -> None:
    topics = create_topics(informed)
    partitions = [Partition(topic, 0) for topic in topics.values()]

    with AiokafkaTraffic(korvet.bootstrap, partitions, consume=False) as traffic:
        traffic.wait_for_acknowledged(30)
        with changes.deaf():
            before = {
                each: traffic.history.acknowledged_numbers(each) for each in partitions
            }
            for topic, after in zip(topics.values(), reversed(LAYOUTS), strict=True):
                make_again(informed, topic, after)
            sent = {each: traffic.history.sent_count(each) for each in partitions}
            traffic.wait_for_acknowledged(30)
        traffic.wait_for_acknowledged(30)

    for partition in partitions:
        log = informed.read_all(partition.topic)
        traffic.history.check_order(partition, log)
        numbers = {int((record.value or b"").split()[0]) for record in log}
        acknowledged = traffic.history.acknowledged_numbers(partition)
        # What was acknowledged went with the old topic; what was sent to the new one is in.
        assert not numbers & before[partition]
        assert {n for n in acknowledged if n >= sent[partition]} <= numbers
        assert values_of(behind.read_all(partition.topic)) == values_of(log)


@pytest.mark.parametrize("stale", [0, 1])
def test_librdkafka_with_a_stale_cache_writes_to_and_reads_from_the_new_topic(
    korvet: KorvetCluster, filters: Sequence[ChangeFilter], stale: int
) -> None:
    """It learns of both gateways: each of them is the stale one in turn."""
    bootstrap = korvet.gateways[stale].address
    producer = Producer({"bootstrap.servers": bootstrap, "enable.idempotence": True})
    consumer = Consumer(
        {
            "bootstrap.servers": bootstrap,
            "group.id": "unused",
            "auto.offset.reset": "earliest",
            "enable.auto.commit": False,
        }
    )
    with WireClient(korvet.gateways[1 - stale].address) as informed:
        topics = create_topics(informed)
        try:
            delivered(producer, topics.values(), b"old")
            consumer.assign([TopicPartition(topic, 0, 0) for topic in topics.values()])
            assert len(consumer.consume(len(topics), _PATIENCE)) == len(topics)

            with filters[stale].deaf():
                for topic, after in zip(topics.values(), reversed(LAYOUTS), strict=True):
                    make_again(informed, topic, after)
                delivered(producer, topics.values(), b"0")
                delivered(producer, topics.values(), b"1")
            delivered(producer, topics.values(), b"2")
            read = consumed_until(consumer, topics.values(), b"2")
        finally:
            consumer.close()
        logs = {topic: informed.read_all(topic) for topic in topics.values()}

    for topic, records in logs.items():
        log = [(record.offset, record.value) for record in records]
        assert [value for _, value in log] == [b"0", b"1", b"2"]
        found = [(m.offset(), m.value()) for m in read if m.topic() == topic]
        assert set(found) <= set(log)


def knows(wire: WireClient, topic: str, topic_id: bytes) -> bool:
    return wire.find_topic(topic).topic_id == topic_id


def delivered(producer: Producer, topics: Iterable[str], value: bytes) -> None:
    """Produce one record to each topic, and see all of them acknowledged."""
    failures: list[object] = []

    def on_delivery(error: object, _: object) -> None:
        if error is not None:
            failures.append(error)

    for topic in topics:
        producer.produce(topic, value, partition=0, on_delivery=on_delivery)
    assert producer.flush(_PATIENCE) == 0
    assert not failures


def consumed_until(
    consumer: Consumer, topics: Iterable[str], value: bytes
) -> list[Message]:
    """What a consumer reads until this value has come from each topic."""
    read: list[Message] = []
    missing = set(topics)
    deadline = time.monotonic() + _PATIENCE
    while missing:
        assert time.monotonic() < deadline, f"nothing more from {sorted(missing)}"
        for message in consumer.consume(100, 0.1):
            if message.error() is None:
                read.append(message)
                if message.value() == value:
                    missing.discard(message.topic())
    return read


def eventually(is_true: Callable[[], bool]) -> None:
    deadline = time.monotonic() + _PATIENCE
    while not is_true():
        if time.monotonic() > deadline:
            raise TimeoutError(f"not in {_PATIENCE} s")
        time.sleep(0.01)
