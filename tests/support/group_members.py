"""The members of a group, each a process with a real client library.

    with GroupMembers(korvet, "billing", {"orders": 12}) as members:
        first = members.start("confluent", assignor="cooperative-sticky")
        second = members.start("aiokafka")
        members.wait_until_shared()     # disjoint and complete, and the group agrees
        first.kill()                    # as kill -9: it says goodbye to nobody
        members.wait_until_committed()
        members.check()

All calls block, and none waits for longer than PATIENCE.
"""

import contextlib
import logging
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final, Self

from confluent_kafka import KafkaError, Message, Producer

from korvet.coordinator import group_codec
from korvet.coordinator.group import State
from korvet.coordinator.group_codec import StoredGroup
from korvet.kafka.errors import ErrorCode
from tests.support.eventually import eventually_true
from tests.support.generations import Generations, assigned_places
from tests.support.group_history import Entry, GroupHistory, all_places
from tests.support.group_member import MemberOptions, Place
from tests.support.korvet_process import KorvetCluster
from tests.support.member_process import PATIENCE, GroupMember
from tests.support.wire_client import WireClient, batch_of

_WRITE_PAUSE: Final = 0.05
# It tells of every lost connection, and losing them is what tests do.
_QUIET: Final = logging.Logger("librdkafka", logging.CRITICAL + 1)


class GroupMembers:
    """A group on some topics, which exist already, with their numbers of partitions."""

    def __init__(
        self, korvet: KorvetCluster, group: str, topics: Mapping[str, int], **options: Any
    ) -> None:
        self.history = GroupHistory()
        self.group = group
        self.places = all_places(topics)
        self._korvet = korvet
        self._topics = list(topics)
        self._options = options
        self._members: list[GroupMember] = []
        self._generations = Generations(korvet.redis, group)
        self._written = 0

    def __enter__(self) -> Self:
        self._generations.__enter__()
        return self

    def __exit__(self, *_: object) -> None:
        self._generations.__exit__()
        for member in self._members:
            if member.is_running:
                member.kill()

    @property
    def running(self) -> list[GroupMember]:
        return [each for each in self._members if each.is_running]

    def start(self, library: str, **options: Any) -> GroupMember:
        chosen = MemberOptions(
            **{
                "library": library,
                "bootstrap": self._korvet.bootstrap,
                "group": self.group,
                "topics": self._topics,
                **self._options,
                **options,
            }
        )
        member = GroupMember(f"{library}-{len(self._members)}", chosen, self.history)
        self._members.append(member)
        return member

    def write(self, per_place: int = 20) -> None:
        """Append that many records to each partition."""
        with self._wire() as wire:
            for topic, partition in sorted(self.places):
                values = [b"%d" % (self._written + each) for each in range(per_place)]
                answer = wire.produce(topic, batch_of(values), partition=partition)
                assert answer.error is ErrorCode.NONE, f"{topic}: {answer.error!r}"
        self._written += per_place

    @contextlib.contextmanager
    def writing(self) -> Iterator[None]:
        """Meanwhile, records go to all partitions, by a producer that does not give up."""
        producer = Producer(
            {
                "bootstrap.servers": self._korvet.bootstrap,
                "enable.idempotence": True,
                "linger.ms": 1,
                "retry.backoff.ms": 20,
                "topic.metadata.refresh.interval.ms": 500,
                "reconnect.backoff.ms": 20,
                "reconnect.backoff.max.ms": 300,
                "delivery.timeout.ms": int(PATIENCE * 1000),
                "logger": _QUIET,
            }
        )
        refused: list[str] = []
        is_enough = threading.Event()

        def answered(error: KafkaError | None, _: Message) -> None:
            if error is not None:
                refused.append(str(error))

        def write() -> None:
            while not is_enough.wait(_WRITE_PAUSE):
                for topic, partition in sorted(self.places):
                    value = b"%d" % self._written
                    producer.produce(
                        topic, value, partition=partition, on_delivery=answered
                    )
                self._written += 1
                producer.poll(0)

        thread = threading.Thread(target=write)
        thread.start()
        try:
            yield
        finally:
            is_enough.set()
            thread.join()
        left = producer.flush(PATIENCE)
        assert not left, f"{left} records without an answer"
        assert not refused, refused[:8]

    def logs(self) -> dict[Place, list[Entry]]:
        with self._wire() as wire:
            return {
                place: [
                    Entry(record.offset, (record.value or b"").decode())
                    for record in wire.read_all(place[0], partition=place[1])
                ]
                for place in sorted(self.places)
            }

    # ------------------------------------------------------------ waiting

    def wait_until_shared(self, *, among: list[GroupMember] | None = None) -> StoredGroup:
        """Wait until the members own each partition once, and the group says the same.

        `among` are those that take part; unless given, all that run.
        """
        members = among or self.running
        self._wait(
            lambda: self._is_shared_by(members),
            lambda: {each.name: len(each.owned) for each in members},
        )
        for member in members:
            self.history.present(member.name, time.monotonic())
        return self.stored()

    def wait_until_committed(self) -> None:
        """Wait until the server has the end of every partition as the group's position."""
        ends = {place: log[-1].offset + 1 for place, log in self.logs().items() if log}
        self._wait(lambda: self.committed() == ends, lambda: (self.committed(), ends))

    def wait_for_commits(self) -> None:
        """Wait until every partition has a newer commit than now."""
        before = self.history.last_commits()

        def has_moved() -> bool:
            now = self.history.last_commits()
            return all(now.get(each, -1) > before.get(each, -1) for each in self.places)

        self._wait(has_moved, lambda: (before, self.history.last_commits()))

    def stored(self) -> StoredGroup:
        """What is kept of the group: its state, its generation and its owner."""
        return stored_group(self._korvet, self.group)

    def committed(self) -> dict[Place, int]:
        with self._korvet.redis.client() as client:
            found = {
                (topic, partition): client.get(
                    f"korvet:commit:korvet:stream:{topic}:{partition}:{self.group}"
                )
                for topic, partition in self.places
            }
        return {key: int(value) for key, value in found.items() if isinstance(value, bytes)}

    def check(self) -> None:
        """Everything was read, in order and without gaps, from the committed positions, and
        each generation had every partition once."""
        self.history.check(self.logs())
        self.history.check_one_owner_at_a_time()
        self._generations.check(self.places)

    def _is_shared_by(self, members: list[GroupMember]) -> bool:
        owned = [frozenset(member.owned) for member in members]
        if sum(map(len, owned)) != len(self.places) or set().union(*owned) != self.places:
            return False
        group = self.stored().group
        if group.state is not State.STABLE:
            return False
        assigned = map(assigned_places, group.members.values())
        return sorted(map(sorted, assigned)) == sorted(map(sorted, owned))

    def _wait(self, is_true: Callable[[], bool], state: Callable[[], object]) -> None:
        try:
            eventually_true(is_true, within=PATIENCE)
        except TimeoutError:
            told = self.history.told[-20:]
            raise AssertionError(f"not in {PATIENCE} s: {state()}; told: {told}") from None

    def _wire(self) -> WireClient:
        running = next(each for each in self._korvet.gateways if each.is_running)
        return WireClient(running.address)


def stored_group(korvet: KorvetCluster, group: str) -> StoredGroup:
    with korvet.redis.client() as client:
        value = client.get(f"korvet:group:{group}")
    assert isinstance(value, bytes), f"there is no group {group}"
    return group_codec.decode(group, value)
