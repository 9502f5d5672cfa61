"""Redis goes away under running clients: killed, stopped, or alive without answering.

Whatever was acknowledged is there when it is back, once and in order; until then each
request gets the code that says what is known of it, and nothing hangs.
"""

import random
import time
from collections.abc import Callable, Iterator
from typing import Final, TypeAlias

import psutil
import pytest

from korvet.kafka.errors import ErrorCode
from tests.support.eventually import eventually_true
from tests.support.history import Partition
from tests.support.korvet_process import KorvetCluster
from tests.support.layouts import create_topics
from tests.support.redis_server import RedisServer
from tests.support.traffic import AiokafkaTraffic, ConfluentTraffic
from tests.support.wire_client import WireClient, batch_of, values_of

pytestmark = pytest.mark.e2e

Fault: TypeAlias = Callable[[RedisServer], None]

# How long the gateway waits for storage, and how long an answer may then take.
_DEADLINE: Final = 1.5
_SOON: Final = 5.0
# "Not written", and "nobody knows".
_NOT_RUN: Final = ErrorCode.KAFKA_STORAGE_ERROR
_UNKNOWN: Final = ErrorCode.REQUEST_TIMED_OUT


@pytest.fixture(scope="module")
def korvet(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KorvetCluster]:
    """One that these tests share. Each leaves it with a Redis that runs."""
    cluster = KorvetCluster(tmp_path_factory.mktemp("faults-redis"))
    cluster.gateways[0].environ["KORVET_GATEWAY_STORAGE_DEADLINE_SECONDS"] = str(_DEADLINE)
    with cluster:
        yield cluster


@pytest.fixture
def wire(korvet: KorvetCluster) -> Iterator[WireClient]:
    with WireClient(korvet.bootstrap) as client:
        yield client


@pytest.fixture
def topics(wire: WireClient) -> dict[str, str]:
    """A topic of each layout, by layout, with one record.

    So storage is connected again where another test has just made Redis come back.
    """
    created = create_topics(wire)
    for topic in created.values():
        append_when_possible(wire, topic, b"first")
    return created


def kill(redis: RedisServer) -> None:
    redis.kill()
    time.sleep(0.3)
    redis.start()


def stop(redis: RedisServer) -> None:
    redis.stop()
    time.sleep(0.3)
    redis.start()


def pause(redis: RedisServer) -> None:
    with redis.paused():
        time.sleep(0.5)


def test_running_clients_lose_and_repeat_nothing_while_redis_comes_and_goes(
    korvet: KorvetCluster, wire: WireClient
) -> None:
    ours = [Partition(topic, 0) for topic in create_topics(wire).values()]
    theirs = [Partition(topic, 0) for topic in create_topics(wire).values()]
    faults: list[Fault] = [kill, stop, pause, kill]
    random.Random(7).shuffle(faults)

    with (
        ConfluentTraffic(korvet.bootstrap, ours) as librdkafka,
        AiokafkaTraffic(korvet.bootstrap, theirs) as aiokafka,
    ):
        for fault in faults:
            librdkafka.wait_for_acknowledged(40)
            aiokafka.wait_for_acknowledged(40)
            fault(korvet.redis)
        librdkafka.wait_for_acknowledged(40)
        aiokafka.wait_for_acknowledged(40)

    for traffic, partitions in ((librdkafka, ours), (aiokafka, theirs)):
        for partition in partitions:
            traffic.history.check(partition, wire.read_all(partition.topic))


def test_an_append_while_redis_is_away_is_told_that_it_did_not_run(
    korvet: KorvetCluster, wire: WireClient, topics: dict[str, str]
) -> None:
    producer = wire.new_producer_id()

    korvet.redis.kill()
    try:
        eventually_not_connected(wire, topics["batch-dense"])
        refused = {
            layout: wire.produce(topic, batch_of([b"0"], producer=producer, sequence=0))
            for layout, topic in topics.items()
        }
    finally:
        korvet.redis.start()

    assert {layout: answer.error for layout, answer in refused.items()} == dict.fromkeys(
        topics, _NOT_RUN
    )
    for topic in topics.values():
        append_when_possible(wire, topic, b"after")
        assert values_of(wire.read_all(topic)) == [b"first", b"after"]


def test_an_append_under_way_when_redis_dies_is_told_that_nobody_knows(
    korvet: KorvetCluster, wire: WireClient, topics: dict[str, str]
) -> None:
    with korvet.redis.paused():
        for topic in topics.values():
            wire.send_produce(topic, batch_of([b"0"]))
        # Storage has handed them to Redis's socket, from which nobody reads.
        time.sleep(0.3)
        korvet.redis.kill()
        answers = [wire.receive_produced(topic) for topic in topics.values()]
    korvet.redis.start()

    assert [answer.error for answer in answers] == [_UNKNOWN] * len(topics)


def test_an_append_that_outlasts_its_time_is_unknown_and_its_retry_finds_it(
    korvet: KorvetCluster, wire: WireClient, topics: dict[str, str]
) -> None:
    producer = wire.new_producer_id()
    batches = {
        topic: batch_of([b"0", b"1"], producer=producer, sequence=0)
        for topic in topics.values()
    }

    with korvet.redis.paused():
        for topic, batch in batches.items():
            wire.send_produce(topic, batch, timeout=0.1)
        first = [wire.receive_produced(topic).error for topic in batches]
    again = {topic: wire.produce(topic, batch) for topic, batch in batches.items()}

    assert first == [_UNKNOWN] * len(batches)
    for topic, answer in again.items():
        found = wire.read_all(topic)
        assert answer == (ErrorCode.NONE, found[1].offset)
        assert values_of(found) == [b"first", b"0", b"1"]


def test_a_batch_behind_one_that_did_not_run_is_never_taken_for_the_first(
    korvet: KorvetCluster, wire: WireClient, topics: dict[str, str]
) -> None:
    """Producers have five requests under way: the first may fail and the next one not."""
    producer = wire.new_producer_id()
    korvet.redis.kill()
    try:
        eventually_not_connected(wire, topics["batch-dense"])
        for topic in topics.values():
            batch = batch_of([b"0"], producer=producer, sequence=0)
            assert wire.produce(topic, batch).error is _NOT_RUN
    finally:
        korvet.redis.start()

    for topic in topics.values():
        second = batch_of([b"1"], producer=producer, sequence=1)
        append_when_possible(wire, topic, b"other")
        wire.produce(topic, second)
        retried = wire.produce(topic, batch_of([b"0"], producer=producer, sequence=0))

        # Duplicate (46) would be taken for "written".
        is_there = b"0" in values_of(wire.read_all(topic))
        assert retried.error in (
            {ErrorCode.NONE} if is_there else {ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER}
        )


def test_appends_that_fail_leave_nothing_in_memory(
    korvet: KorvetCluster, wire: WireClient, topics: dict[str, str]
) -> None:
    batch = batch_of([bytes(1 << 19)])
    korvet.redis.kill()
    try:
        eventually_not_connected(wire, topics["batch-dense"])
        before = memory(korvet)
        for _ in range(100):
            for topic in topics.values():
                wire.send_produce(topic, batch)
            for topic in topics.values():
                assert wire.receive_produced(topic).error is _NOT_RUN
        after = memory(korvet)
    finally:
        korvet.redis.start()

    # It was 200 MiB that failed.
    assert all(after[name] - before[name] < 96 << 20 for name in after), (before, after)


def test_readers_get_a_code_that_they_retry_and_then_everything(
    korvet: KorvetCluster, wire: WireClient, topics: dict[str, str]
) -> None:
    with WireClient(korvet.bootstrap) as parked:
        end = wire.fetch(topics["record-time"], 0).high_watermark
        parked.send_fetch(topics["record-time"], end, max_wait=30)

        korvet.redis.kill()
        started = time.monotonic()
        try:
            eventually_not_connected(wire, topics["batch-dense"])
            refused = [wire.fetch(topic, 0).error for topic in topics.values()]
            took = time.monotonic() - started
            # A client that asks again at once must not keep a processor busy with it.
            started = time.monotonic()
            hurried = [wire.fetch(topics["batch-time"], 0, max_wait=0.1) for _ in range(5)]
            paced = time.monotonic() - started
        finally:
            korvet.redis.start()
        append_when_possible(wire, topics["record-time"], b"woken")
        answer = parked.receive_fetched(topics["record-time"], end)

    assert refused == [_NOT_RUN] * len(topics)
    assert took < _SOON
    assert {answer.error for answer in hurried} == {_NOT_RUN}
    assert paced > 0.4
    # It outlived the Redis that it waited for, or was told to ask again.
    assert answer.error in (ErrorCode.NONE, _NOT_RUN)
    if answer.error is ErrorCode.NONE:
        assert values_of(answer.records) == [b"woken"]
    for topic in topics.values():
        assert values_of(wire.read_all(topic))[0] == b"first"


def test_topics_are_known_while_redis_is_away_but_cannot_be_changed(
    korvet: KorvetCluster, wire: WireClient, topics: dict[str, str]
) -> None:
    known = {topic: wire.find_topic(topic) for topic in topics.values()}

    korvet.redis.kill()
    try:
        eventually_not_connected(wire, topics["batch-dense"])
        started = time.monotonic()
        still_known = {topic: wire.find_topic(topic) for topic in topics.values()}
        stranger = wire.find_topic("nobody-knows-this").error
        created = wire.create_topic("made-without-redis")
        deleted = wire.delete_topic(topics["record-time"])
        took = time.monotonic() - started
    finally:
        korvet.redis.start()

    assert still_known == known
    assert stranger is ErrorCode.LEADER_NOT_AVAILABLE
    assert (created, deleted) == (_UNKNOWN, _UNKNOWN)
    assert took < _SOON


def test_a_silent_redis_makes_no_call_hang(
    korvet: KorvetCluster, wire: WireClient, topics: dict[str, str]
) -> None:
    topic = topics["record-dense"]
    known = wire.find_topic(topic)

    with korvet.redis.paused():
        started = time.monotonic()
        still_known = wire.find_topic(topic)
        at_once = time.monotonic() - started
        fetched = wire.fetch(topic, 0).error
        created = wire.create_topic("made-on-a-silent-redis")
        took = time.monotonic() - started
    after = wire.create_topic("made-when-it-spoke-again")

    assert still_known == known
    assert at_once < 1.0
    assert fetched is _NOT_RUN
    assert created is _UNKNOWN
    assert took < 2 * _DEADLINE + _SOON
    assert after is ErrorCode.NONE


def eventually_not_connected(wire: WireClient, topic: str) -> None:
    """Return once storage has noticed that Redis is gone."""
    eventually_true(lambda: wire.fetch(topic, 0).error is _NOT_RUN, within=15)


def append_when_possible(wire: WireClient, topic: str, value: bytes) -> None:
    """Append once: what was told "not run" was not, and is tried again."""

    def works() -> bool:
        error = wire.produce(topic, batch_of([value])).error
        assert error in (ErrorCode.NONE, _NOT_RUN)
        return error is ErrorCode.NONE

    eventually_true(works, within=15)


def memory(korvet: KorvetCluster) -> dict[str, int]:
    """Bytes that each process holds."""
    return {
        service.name: psutil.Process(service.pid).memory_info().rss
        for service in (*korvet.gateways, *korvet.storages)
    }
