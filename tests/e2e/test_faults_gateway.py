"""Gateways die under running clients; clients vanish, stall, or send more than Redis takes.

A gateway holds nothing that matters, and what it holds for a moment is bounded: whoever is
slow or greedy gets back-pressure, and costs the others nothing.
"""

import contextlib
import random
import select
import socket
import statistics
import struct
import time
from collections.abc import Iterator
from typing import Final

import psutil
import pytest

from korvet.kafka.errors import ErrorCode
from korvet.kafka.frames import encode_request
from tests.support.history import Partition
from tests.support.korvet_process import KorvetCluster
from tests.support.layouts import LAYOUTS, create_topics
from tests.support.redis_server import RedisServer
from tests.support.traffic import REFRESH, AiokafkaTraffic, ConfluentTraffic
from tests.support.wire_client import (
    ProducerId,
    WireClient,
    batch_of,
    produce_request,
    values_of,
)

pytestmark = pytest.mark.e2e

_MEBIBYTE: Final = 1 << 20
# What the gateways of these tests may hold of requests and of answers.
_HELD: Final = 16 * _MEBIBYTE
_RECORDS: Final = 40


@pytest.fixture(scope="module")
def korvet(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KorvetCluster]:
    """Two gateways that these tests share; each test leaves both running."""
    folder = tmp_path_factory.mktemp("faults-gateway")
    # Nothing is written to disk: these tests never restart it.
    with RedisServer(folder / "redis") as redis:
        cluster = KorvetCluster(folder, gateways=2, redis=redis)
        for gateway in cluster.gateways:
            # So long do clients go on asking for a leader that was killed.
            gateway.environ["KORVET_GATEWAY_BROKER_SESSION_TIMEOUT_MS"] = "1500"
            gateway.environ["KORVET_GATEWAY_QUEUED_MAX_REQUEST_BYTES"] = str(_HELD)
            gateway.environ["KORVET_GATEWAY_MAX_FETCH_BYTES_IN_MEMORY"] = str(_HELD)
        with cluster:
            yield cluster


@pytest.fixture
def wire(korvet: KorvetCluster) -> Iterator[WireClient]:
    with WireClient(korvet.gateways[0].address) as client:
        yield client


def test_clients_go_on_through_the_other_gateway(
    korvet: KorvetCluster, wire: WireClient
) -> None:
    ours = [Partition(topic, 0) for topic in create_topics(wire).values()]
    theirs = [Partition(topic, 0) for topic in create_topics(wire).values()]
    seeded = random.Random(13)
    first, second = korvet.gateways

    with (
        ConfluentTraffic(korvet.bootstrap, ours) as librdkafka,
        AiokafkaTraffic(korvet.bootstrap, theirs) as aiokafka,
    ):
        for gateway, end in (
            (first, first.kill),
            (second, second.stop),
            (second, second.kill),
            (first, first.stop),
        ):
            librdkafka.wait_for_acknowledged(20)
            aiokafka.wait_for_acknowledged(20)
            time.sleep(seeded.uniform(0, 0.05))
            end()
            librdkafka.wait_for_acknowledged(20)
            aiokafka.wait_for_acknowledged(20)
            gateway.start()
            # A client that has not heard of it yet would be lost without the other.
            time.sleep(2 * REFRESH)

    with WireClient(first.address) as wire_again:
        for traffic, partitions in ((librdkafka, ours), (aiokafka, theirs)):
            for partition in partitions:
                log = wire_again.read_all(partition.topic)
                traffic.history.check(partition, log)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_a_client_that_vanishes_leaves_whole_batches_or_none(
    korvet: KorvetCluster, wire: WireClient, topic: str, layout: str
) -> None:
    assert wire.create_topic(topic, LAYOUTS[layout]) is ErrorCode.NONE
    seeded = random.Random(14)
    whole: list[int] = []

    with korvet.redis.paused():
        for attempt in range(20):
            frame = produce_frame(topic, attempt)
            size = seeded.choice([len(frame), seeded.randrange(len(frame))])
            vanish(korvet.gateways[0].address, frame[:size], reset=seeded.random() < 0.5)
            if size == len(frame):
                whole.append(attempt)
    # Answered after all that was under way, by the order of a partition's appends.
    assert wire.produce(topic, batch_of([b"last"])).error is ErrorCode.NONE

    found = values_of(wire.read_all(topic))
    attempts = {int(value.split()[0]) for value in found if value != b"last"}
    assert attempts <= set(whole)
    for attempt in attempts:
        where = found.index(b"%d 0" % attempt)
        assert found[where : where + _RECORDS] == values(attempt)
        assert found.count(b"%d 0" % attempt) == 1


@pytest.mark.parametrize("layout", LAYOUTS)
def test_what_a_vanished_client_sends_again_is_there_once(
    korvet: KorvetCluster, wire: WireClient, topic: str, layout: str
) -> None:
    assert wire.create_topic(topic, LAYOUTS[layout]) is ErrorCode.NONE
    producer = wire.new_producer_id()
    seeded = random.Random(15)

    for attempt in range(10):
        frame = produce_frame(topic, attempt, producer)
        size = seeded.choice([len(frame), seeded.randrange(len(frame))])
        vanish(korvet.gateways[0].address, frame[:size], reset=seeded.random() < 0.5)
        again = batch_of(values(attempt), producer=producer, sequence=attempt * _RECORDS)
        with WireClient(korvet.gateways[1].address) as other:
            assert other.produce(topic, again).error is ErrorCode.NONE

    expected = [value for attempt in range(10) for value in values(attempt)]
    assert values_of(wire.read_all(topic)) == expected


def test_producers_that_outrun_redis_wait_and_memory_stays_bounded(
    korvet: KorvetCluster, wire: WireClient
) -> None:
    topics = list(create_topics(wire).values())
    frames = [
        encode_request(1, *produce_request(topic, batch_of([bytes(_MEBIBYTE // 2)])))
        for topic in topics
    ]
    offered = 96 * _MEBIBYTE
    before = memory(korvet)

    with contextlib.ExitStack() as stack:
        senders = [
            stack.enter_context(Sender(korvet.gateways[0].address, frame, offered))
            for frame in frames
        ]
        with korvet.redis.paused():
            send_for(3.0, senders)
            during = memory(korvet)
            accepted = sum(sender.sent for sender in senders)
        answers = [sender.answers() for sender in senders]

    grown = {name: during[name] - before[name] for name in during}
    # Most of it is in the buffers of sockets, to which the gateway adds what it may hold.
    assert accepted < len(topics) * offered / 2, "no back-pressure"
    assert grown["gateway-0"] < 8 * _HELD, grown
    assert grown["storage-0"] < 8 * _HELD, grown
    for topic, sender, errors in zip(topics, senders, answers, strict=True):
        assert errors == [ErrorCode.NONE] * (sender.sent // len(sender.frame))
        assert len(wire.read_all(topic)) == len(errors)


def test_consumers_that_take_nothing_disturb_no_other(
    korvet: KorvetCluster, wire: WireClient
) -> None:
    topics = create_topics(wire)
    for topic in topics.values():
        for _ in range(16):
            full = wire.produce(topic, batch_of([bytes(_MEBIBYTE // 2)]))
            assert full.error is ErrorCode.NONE
    before = memory(korvet)

    with contextlib.ExitStack() as stack:
        for number in range(20):
            stuck = stack.enter_context(WireClient(korvet.gateways[0].address))
            for _ in range(20):
                stuck.send_fetch(list(topics.values())[number % len(topics)], 0)
        took = [round_trip(wire, topics["record-time"], number) for number in range(60)]
        during = memory(korvet)

    grown = {name: during[name] - before[name] for name in during}
    assert statistics.median(took) < 0.25, took
    assert max(took) < 3.0, took
    assert grown["gateway-0"] < 8 * _HELD, grown
    assert grown["storage-0"] < 8 * _HELD, grown


# ------------------------------------------------------------ clients that misbehave


def values(attempt: int) -> list[bytes]:
    return [b"%d %d" % (attempt, number) for number in range(_RECORDS)]


def produce_frame(topic: str, attempt: int, producer: ProducerId | None = None) -> bytes:
    sequence = attempt * _RECORDS if producer else -1
    batch = batch_of(values(attempt), producer=producer, sequence=sequence)
    return encode_request(1, *produce_request(topic, batch))


def vanish(address: str, data: bytes, *, reset: bool) -> None:
    """Send something and go, in an orderly way or as one whose machine has crashed."""
    host, _, port = address.rpartition(":")
    with socket.create_connection((host, int(port)), timeout=10) as connection:
        connection.sendall(data)
        if reset:
            # No lingering: what the other side has not read yet may be thrown away.
            linger = struct.pack("ii", 1, 0)
            connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)


class Sender(contextlib.AbstractContextManager["Sender"]):
    """Sends one frame again and again, as fast as it is taken."""

    def __init__(self, address: str, frame: bytes, most: int) -> None:
        host, _, port = address.rpartition(":")
        self.frame = frame
        self.sent = 0
        self.most = most - most % len(frame)
        self.socket = socket.socket()
        # Small, so that what was sent has left this process.
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1 << 16)
        self.socket.connect((host, int(port)))
        self.socket.setblocking(False)

    def __exit__(self, *_: object) -> None:
        self.socket.close()

    def send_some(self) -> None:
        """Send what is taken now."""
        while self.sent < self.most:
            rest = memoryview(self.frame)[self.sent % len(self.frame) :]
            try:
                self.sent += self.socket.send(rest)
            except BlockingIOError:
                return

    def answers(self) -> list[ErrorCode]:
        """Send the rest of the last frame, and read the codes of all answers."""
        self.socket.settimeout(30)
        if rest := self.sent % len(self.frame):
            self.socket.sendall(self.frame[rest:])
            self.sent += len(self.frame) - rest
        wire = WireClient.over(self.socket)
        return [
            wire.receive_produced("").error for _ in range(self.sent // len(self.frame))
        ]


def send_for(seconds: float, senders: list[Sender]) -> None:
    deadline = time.monotonic() + seconds
    while (left := deadline - time.monotonic()) > 0:
        busy = [sender for sender in senders if sender.sent < sender.most]
        _, writable, _ = select.select([], [sender.socket for sender in busy], [], left)
        for sender in busy:
            if sender.socket in writable:
                sender.send_some()


def round_trip(wire: WireClient, topic: str, number: int) -> float:
    """How long it takes until a record that was produced is read."""
    started = time.monotonic()
    written = wire.produce(topic, batch_of([b"%d" % number]))
    assert written.error is ErrorCode.NONE
    read = wire.fetch(topic, written.base_offset)
    assert values_of(read.records) == [b"%d" % number]
    return time.monotonic() - started


def memory(korvet: KorvetCluster) -> dict[str, int]:
    """Bytes that each process holds."""
    return {
        service.name: psutil.Process(service.pid).memory_info().rss
        for service in (*korvet.gateways, *korvet.storages)
    }
