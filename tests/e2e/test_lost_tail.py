"""Redis comes back without the last records that consumers have read.

It is what a crash with appendfsync everysec, or a promoted replica, can do. Clients must
learn of it by the leader epoch (KIP-320), and never take other records under the same
offsets for those that they have not read yet.
"""

import time
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Final, Self

import pytest
from confluent_kafka import Consumer, KafkaError, Message, TopicPartition

from korvet.kafka.errors import ErrorCode
from tests.support.korvet_process import KorvetCluster
from tests.support.layouts import create_topics
from tests.support.redis_copy import RedisCopy
from tests.support.redis_server import SERVERS
from tests.support.wire_client import WireClient, batch_of, values_of

pytestmark = pytest.mark.e2e

_PATIENCE: Final = 15.0
_KEPT: Final = [b"kept-%d" % number for number in range(10)]
_LOST: Final = [b"lost-%d" % number for number in range(10)]
# More than were lost, so that a position after those is in the middle of these.
_NEW: Final = [b"new-%d" % number for number in range(15)]


@pytest.fixture(scope="module", params=SERVERS)
def korvet(
    tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest
) -> Iterator[KorvetCluster]:
    folder = tmp_path_factory.mktemp("lost-tail")
    with KorvetCluster(folder, redis_server=request.param) as cluster:
        yield cluster


@pytest.fixture
def wire(korvet: KorvetCluster) -> Iterator[WireClient]:
    with WireClient(korvet.bootstrap) as client:
        yield client


def test_a_lost_tail_shows_in_every_answer_about_the_log(
    korvet: KorvetCluster, wire: WireClient, tmp_path: Path
) -> None:
    topics = create_topics(wire)
    ends = {topic: append(wire, topic, _KEPT) for topic in topics.values()}
    copy = RedisCopy(korvet, tmp_path)
    positions = {topic: append(wire, topic, _LOST) for topic in topics.values()}

    copy.restore()
    wait_for_epoch(wire, topics.values(), 1)

    for layout, topic in topics.items():
        position, end = positions[topic], ends[topic]
        assert wire.fetch(topic, position, leader_epoch=0).error is (
            ErrorCode.FENCED_LEADER_EPOCH
        )
        assert wire.epoch_end(topic, 0, current=0).error is ErrorCode.FENCED_LEADER_EPOCH
        assert wire.epoch_end(topic, 0, current=1) == (ErrorCode.NONE, 0, end)
        beyond = wire.fetch(topic, position, leader_epoch=1)
        if layout.endswith("dense"):
            assert beyond.error is ErrorCode.OFFSET_OUT_OF_RANGE
        else:
            # Such a position waits: what comes next is above it.
            assert (beyond.error, values_of(beyond.records)) == (ErrorCode.NONE, [])

        append(wire, topic, _NEW)

        assert values_of(wire.read_all(topic)) == _KEPT + _NEW
        assert wire.epoch_end(topic, 0, current=1) == (ErrorCode.NONE, 0, end)


def test_librdkafka_goes_back_to_where_the_log_was_cut(
    korvet: KorvetCluster, wire: WireClient, tmp_path: Path
) -> None:
    topics = create_topics(wire)
    for topic in topics.values():
        append(wire, topic, _KEPT)
    copy = RedisCopy(korvet, tmp_path)
    for topic in topics.values():
        append(wire, topic, _LOST)
    with (
        Reader(korvet.bootstrap, topics.values()) as by_default,
        Reader(korvet.bootstrap, topics.values(), "error") as strict,
    ):
        for reader in (by_default, strict):
            assert reader.read(20) == dict.fromkeys(topics.values(), _KEPT + _LOST)

        copy.restore()
        wait_for_epoch(wire, topics.values(), 1)
        for topic in topics.values():
            append(wire, topic, _NEW)

        # It reads all that is new, or says that its place is gone; it never begins in the
        # middle of what it has not read.
        assert by_default.read(len(_NEW)) == dict.fromkeys(topics.values(), _NEW)
        assert strict.read_errors(len(topics)) == dict.fromkeys(
            topics.values(), KafkaError._AUTO_OFFSET_RESET
        )


def test_an_older_copy_never_brings_an_epoch_back(
    korvet: KorvetCluster, wire: WireClient, tmp_path: Path
) -> None:
    topics = create_topics(wire)
    for topic in topics.values():
        append(wire, topic, _KEPT)
    copy = RedisCopy(korvet, tmp_path)
    korvet.redis.kill()
    korvet.redis.start()
    wait_for_epoch(wire, topics.values(), 1)
    for topic in topics.values():
        append(wire, topic, _LOST)
    with Reader(korvet.bootstrap, topics.values()) as reader:
        reader.read(20)

        # In the copy, the epoch of what was lost has never been.
        copy.restore()
        wait_for_epoch(wire, topics.values(), 2)
        for topic in topics.values():
            append(wire, topic, _NEW)

        assert reader.read(len(_NEW)) == dict.fromkeys(topics.values(), _NEW)


class Reader:
    """librdkafka's consumer with its defaults, reading topics from their beginning."""

    def __init__(
        self, bootstrap: str, topics: Iterable[str], reset: str = "largest"
    ) -> None:
        self._topics = list(topics)
        self._consumer = Consumer(
            {
                "bootstrap.servers": bootstrap,
                "group.id": "unused",
                "enable.auto.commit": False,
                "auto.offset.reset": reset,
            }
        )
        self._consumer.assign([TopicPartition(topic, 0, 0) for topic in self._topics])

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._consumer.close()

    def read(self, count: int) -> dict[str, list[bytes]]:
        """The values of the next records of each topic, so many of each."""
        found: dict[str, list[bytes]] = {topic: [] for topic in self._topics}
        for message in self._messages(count * len(self._topics)):
            error = message.error()
            assert error is None, f"{message.topic()}: {error}"
            found[message.topic() or ""].append(message.value() or b"")
        return found

    def read_errors(self, count: int) -> dict[str, int]:
        """The codes that its user is told, so many; and no record before them."""
        found: dict[str, int] = {}
        for message in self._messages(count):
            error = message.error()
            assert error is not None, f"{message.topic()}: {message.value()!r}"
            found[message.topic() or ""] = error.code()
        return found

    def _messages(self, count: int) -> list[Message]:
        found: list[Message] = []
        deadline = time.monotonic() + _PATIENCE
        while len(found) < count and time.monotonic() < deadline:
            found += self._consumer.consume(count - len(found), 0.1)
        return found


def append(wire: WireClient, topic: str, values: Sequence[bytes]) -> int:
    """Append each value by itself; return where the log then ends."""
    end = 0
    deadline = time.monotonic() + _PATIENCE
    for value in values:
        # Redis may have come back just now: what was told "not run" is tried again.
        while (written := wire.produce(topic, batch_of([value]))).error is (
            ErrorCode.KAFKA_STORAGE_ERROR
        ) and time.monotonic() < deadline:
            time.sleep(0.02)
        assert written.error is ErrorCode.NONE, f"{topic}: {written.error!r}"
        end = written.base_offset + 1
    return end


def wait_for_epoch(wire: WireClient, topics: Iterable[str], epoch: int) -> None:
    """Wait until Metadata tells of an epoch; and it is that one, and no other."""
    deadline = time.monotonic() + _PATIENCE
    for topic in topics:
        while (found := wire.find_topic(topic).leader_epochs) != [epoch]:
            assert time.monotonic() < deadline, f"{topic}: {found}, not {epoch}"
            time.sleep(0.02)
