"""What each generation of a group was assigned, as the coordinator saved it.

    with Generations(redis, "billing") as generations:
        …
        generations.check(places)   # each was disjoint and complete

A thread reads the group's key whenever it is written.
"""

import contextlib
import threading
from collections import Counter
from typing import Final, Self

import redis as redis_sync

from korvet.coordinator import group_codec
from korvet.coordinator.group import Group, Member, State
from korvet.kafka import consumer_protocol
from tests.support.group_member import Place
from tests.support.redis_server import RedisServer

_KEY: Final = "korvet:group:{}"
# How soon it ends, and how soon it is there again for a Redis that was away.
_PAUSE: Final = 0.05
_COOPERATIVE: Final = "cooperative"


class Generations:
    def __init__(self, redis: RedisServer, group_id: str) -> None:
        self._redis = redis
        self._group_id = group_id
        self._stable: list[Group] = []
        self._watches = threading.Event()
        self._is_enough = threading.Event()
        self._thread = threading.Thread(target=self._watch)

    def __enter__(self) -> Self:
        self._thread.start()
        self._watches.wait()
        return self

    def __exit__(self, *_: object) -> None:
        self._is_enough.set()
        self._thread.join()

    def check(self, places: set[Place]) -> None:
        """That no generation had a partition twice, and each had all partitions of a topic.

        Two things are clients' own: a cooperative leader leaves out what is about to change
        its owner, and kafka-python leads before it knows a topic, which it then leaves out.
        """
        assert self._stable, f"no generation of {self._group_id} was seen"
        for group in list(self._stable):
            owners = Counter(
                place for each in group.members.values() for place in assigned_places(each)
            )
            told = f"generation {group.generation}: {owners}"
            assert all(count == 1 for count in owners.values()), told
            assert owners.keys() <= places, told
            if _COOPERATIVE not in (group.protocol_name or ""):
                topics = {topic for topic, _ in owners}
                assert owners.keys() == {each for each in places if each[0] in topics}, told

    def _watch(self) -> None:
        while not self._is_enough.is_set():
            # Redis may be away, or just back and not know any more what it was told.
            with contextlib.suppress(redis_sync.ConnectionError):
                self._watch_one_connection()
            self._is_enough.wait(_PAUSE)

    def _watch_one_connection(self) -> None:
        key = _KEY.format(self._group_id)
        with self._redis.client() as client, client.pubsub() as changes:
            client.config_set("notify-keyspace-events", "K$")
            changes.subscribe(f"__keyspace@0__:{key}")
            self._watches.set()
            while not self._is_enough.is_set():
                if changes.get_message(timeout=_PAUSE) is None:
                    continue
                value = client.get(key)
                if isinstance(value, bytes):
                    self._note(group_codec.decode(self._group_id, value).group)

    def _note(self, group: Group) -> None:
        if group.state is State.STABLE:
            self._stable.append(group)


def assigned_places(member: Member) -> set[Place]:
    """The partitions that a member was assigned."""
    assigned = consumer_protocol.assigned_partitions(member.assignment)
    return {(topic, each) for topic, partitions in assigned.items() for each in partitions}
