"""How long until a whole group consumes again after a member joined, or died.

The members are librdkafka's, all in one process but the last, which is a process of its
own: it can be killed. Every partition holds one record at the offset that the group has
committed, so each new owner shows with it that it consumes, and nobody has to produce
meanwhile. A member dies just after a heartbeat, so that its session ends one session
time-out later on every system.

Members learn of a death by their next heartbeat, and all of a group's heartbeats keep the
step of its last rebalance: a session as long as a whole number of them would end where in a
heartbeat chance has it, the same every time. So those of the members that die are spread
evenly over one heartbeat, and what is longer than the shortest of them is taken off.
"""

import logging
import multiprocessing
import time
import uuid
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from multiprocessing.connection import Connection
from typing import Any, Final

from confluent_kafka import (
    Consumer,
    KafkaError,
    KafkaException,
    Producer,
    TopicPartition,
)

from bench.peer import Peer

SESSION_SECONDS: Final = 2.0
_HEARTBEAT_SECONDS: Final = 0.1
# What both systems are started with: members may have so short a session, and the first
# rebalance of a group waits for nobody.
SERVER_SETTINGS: Final = {
    "group.min.session.timeout.ms": "1000",
    "group.initial.rebalance.delay.ms": "0",
}
_PARTITIONS_EACH: Final = 2
_DEADLINE: Final = 60.0
_PAUSE: Final = 0.002
_LAST: Final = -1
_RETRY_AFTER: Final = 0.2
_NOT_YET: Final = (
    KafkaError.COORDINATOR_LOAD_IN_PROGRESS,
    KafkaError.COORDINATOR_NOT_AVAILABLE,
    KafkaError.NOT_COORDINATOR,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Churn:
    """Seconds to the whole group consuming, of each time a member came and went."""

    joins: list[float]
    # From the death itself, session time-out included.
    deaths: list[float]


class GroupWatch:
    """PURE: what members told, and since when all of them consume."""

    def __init__(self, partitions: int) -> None:
        self._partitions = range(partitions)
        # When a member was last assigned anything; who has a partition, since when, and
        # when it first read there.
        self._assigned: dict[int, float] = {}
        self._owners: dict[int, int] = {}
        self._owned: dict[int, float] = {}
        self._read: dict[int, float] = {}

    def assigned(self, member: int, partitions: Iterable[int], at: float) -> None:
        self._assigned[member] = at
        for partition in partitions:
            self._owners[partition] = member
            self._owned[partition] = at
            self._read.pop(partition, None)

    def read(self, member: int, partition: int, at: float) -> None:
        if self._owners.get(partition) == member and at >= self._owned[partition]:
            self._read.setdefault(partition, at)

    def consuming(self, members: Sequence[int], since: float) -> float | None:
        """When the last partition was read, if each member was assigned anew since."""
        if any(self._assigned.get(member, since) <= since for member in members):
            return None
        if any(
            self._owners.get(partition) not in members for partition in self._partitions
        ):
            return None
        if len(self._read) < len(self._partitions):
            return None
        return max(self._read.values())


def churn(peer: Peer, size: int, times: int) -> Churn:
    """Let the last of `size` members join and die, several times."""
    partitions = size * _PARTITIONS_EACH
    with ExitStack() as stack:
        topic = stack.enter_context(peer.topic(partitions))
        group = f"bench-{uuid.uuid4().hex[:12]}"
        _prepare(peer, topic, group, partitions)
        crew = stack.enter_context(_crew(peer, topic, group, size - 1, partitions))
        crew.wait(crew.members, 0.0)
        joins, deaths = [], []
        for number in range(times):
            longer = _HEARTBEAT_SECONDS * number / times
            with _last_member(peer, topic, group, SESSION_SECONDS + longer) as last:
                joined = last.join()
                joins.append(crew.wait([*crew.members, _LAST], joined, last) - joined)
                died = last.die_after_a_heartbeat(crew.poll)
            deaths.append(crew.wait(crew.members, died) - died - longer)
    return Churn(joins=joins, deaths=deaths)


class _Crew:
    """The members that stay, polled in turn by one thread."""

    def __init__(self, consumers: Sequence[Consumer], partitions: int) -> None:
        self._consumers = consumers
        self._watch = GroupWatch(partitions)
        self.members = list(range(len(consumers)))

    def subscribe(self, topic: str) -> None:
        for member, consumer in enumerate(self._consumers):
            consumer.subscribe([topic], on_assign=self._on_assign(member))

    def _on_assign(self, member: int) -> Callable[[Consumer, list[TopicPartition]], None]:
        def on_assign(_: Consumer, given: list[TopicPartition]) -> None:
            numbers = [one.partition for one in given]
            self._watch.assigned(member, numbers, time.monotonic())

        return on_assign

    def poll(self) -> None:
        for member, consumer in enumerate(self._consumers):
            message = consumer.poll(0)
            if message is not None and message.error() is None:
                self._watch.read(member, message.partition() or 0, time.monotonic())

    def wait(
        self, members: Sequence[int], since: float, last: "_LastMember | None" = None
    ) -> float:
        deadline = time.monotonic() + _DEADLINE
        while time.monotonic() < deadline:
            self.poll()
            for kind, at, numbers in last.news() if last else ():
                if kind == "assigned":
                    self._watch.assigned(_LAST, numbers, at)
                elif kind == "read":
                    self._watch.read(_LAST, numbers[0], at)
            found = self._watch.consuming(members, since)
            if found is not None:
                return found
            time.sleep(_PAUSE)
        raise TimeoutError(f"{len(members)} members do not all consume")


class _LastMember:
    """The member in a process of its own."""

    def __init__(self, process: Any, pipe: Connection) -> None:
        self._process = process
        self._pipe = pipe

    def join(self) -> float:
        """Let it subscribe; return when it did."""
        assert self._pipe.recv() == "ready"
        self._pipe.send("join")
        at: float = self._pipe.recv()
        return at

    def news(self) -> Iterator[tuple[str, float, list[int]]]:
        while self._pipe.poll():
            yield self._pipe.recv()

    def die_after_a_heartbeat(self, meanwhile: Callable[[], None]) -> float:
        """Kill it just after its next heartbeat; return when that was."""
        for _ in self.news():
            pass
        deadline = time.monotonic() + _DEADLINE
        while time.monotonic() < deadline:
            if any(kind == "heartbeat" for kind, _, _ in self.news()):
                self._process.kill()
                return time.monotonic()
            meanwhile()
            time.sleep(_PAUSE)
        raise TimeoutError("the last member sends no heartbeats")


@contextmanager
def _crew(
    peer: Peer, topic: str, group: str, count: int, partitions: int
) -> Iterator[_Crew]:
    consumers = [Consumer(_settings(peer, group)) for _ in range(count)]
    crew = _Crew(consumers, partitions)
    crew.subscribe(topic)
    try:
        yield crew
    finally:
        for consumer in consumers:
            consumer.close()


@contextmanager
def _last_member(
    peer: Peer, topic: str, group: str, session: float
) -> Iterator[_LastMember]:
    context = multiprocessing.get_context("spawn")
    here, there = context.Pipe()
    process = context.Process(
        target=_be_last_member, args=(there, peer, topic, group, session)
    )
    process.start()
    there.close()
    try:
        yield _LastMember(process, here)
    finally:
        process.kill()
        process.join()
        here.close()


def _be_last_member(
    pipe: Connection, peer: Peer, topic: str, group: str, session: float
) -> None:
    heartbeats = logging.Logger("librdkafka", logging.DEBUG)
    heartbeats.addHandler(_Heartbeats(pipe))
    settings = {**_settings(peer, group, session), "debug": "protocol"}
    consumer = Consumer(settings, logger=heartbeats)

    def on_assign(_: Consumer, given: list[TopicPartition]) -> None:
        pipe.send(("assigned", time.monotonic(), [one.partition for one in given]))

    pipe.send("ready")
    pipe.recv()
    pipe.send(time.monotonic())
    consumer.subscribe([topic], on_assign=on_assign)
    while True:
        message = consumer.poll(0.005)
        if message is not None and message.error() is None:
            pipe.send(("read", time.monotonic(), [message.partition()]))


class _Heartbeats(logging.Handler):
    """Finds a member's heartbeats among what librdkafka logs."""

    def __init__(self, pipe: Connection) -> None:
        super().__init__()
        self._pipe = pipe

    def emit(self, record: logging.LogRecord) -> None:
        if "Sent HeartbeatRequest" in record.getMessage():
            self._pipe.send(("heartbeat", time.monotonic(), []))


def _settings(peer: Peer, group: str, session: float = SESSION_SECONDS) -> dict[str, Any]:
    return {
        "bootstrap.servers": peer.bootstrap,
        "group.id": group,
        "enable.auto.commit": False,
        "session.timeout.ms": round(session * 1000),
        # Members learn of a rebalance by a heartbeat, and a Fetch under way holds up the
        # next: with the clients' defaults little else would be measured.
        "heartbeat.interval.ms": round(_HEARTBEAT_SECONDS * 1000),
        "fetch.wait.max.ms": 100,
        # librdkafka looks whether a heartbeat is due when its main thread wakes, which
        # without these is twice a second.
        "statistics.interval.ms": 50,
        "log_level": 3,
    }


def _prepare(peer: Peer, topic: str, group: str, partitions: int) -> None:
    """A record in each partition, and the group's offset at it."""
    producer = Producer({"bootstrap.servers": peer.bootstrap})
    for partition in range(partitions):
        producer.produce(topic, b"here", partition=partition)
    if producer.flush(_DEADLINE):
        raise TimeoutError("the records for the group are not acknowledged")
    committer = Consumer(_settings(peer, group))
    starts = []
    for number in range(partitions):
        low, _ = committer.get_watermark_offsets(
            TopicPartition(topic, number), timeout=_DEADLINE
        )
        starts.append(TopicPartition(topic, number, low))
    _commit(committer, starts)
    committer.close()


def _commit(committer: Consumer, offsets: list[TopicPartition]) -> None:
    deadline = time.monotonic() + _DEADLINE
    while True:
        try:
            committer.commit(offsets=offsets, asynchronous=False)
        except KafkaException as error:
            # Kafka's coordinator comes up with the first group that asks for it.
            if error.args[0].code() not in _NOT_YET or time.monotonic() > deadline:
                raise
            time.sleep(_RETRY_AFTER)
        else:
            return
