"""For which groups one connection's fetches are, where topics have group.delivery=redis.

A Fetch names no group. The client is taken for the one live member that has its client id,
host and principal, and the partition among its assigned ones. Where there is none, or more
than one, nobody can say, and the fetch is a plain read.

The coordinator is asked when a fetch names a partition of which the last answer says
nothing: it may have been assigned since, and what is read first is to be delivered, too.
"""

import time
from collections.abc import Callable, Collection, Iterable, Mapping
from typing import Final, TypeAlias

from korvet.gateway.handler import Coordinator
from korvet.kafka.errors import KafkaError
from korvet.proto.coordinator.v1 import coordinator_service_pb2 as group_pb
from korvet.proto.storage.v1 import storage_service_pb2 as pb

# A partition, by its topic's name.
Place: TypeAlias = tuple[str, int]
Readers: TypeAlias = Mapping[Place, pb.RedisConsumer]

# A consumer fetches again and again, and is assigned other partitions once in a while.
_BELIEVED_FOR_SECONDS: Final = 1.0


class ConnectionReaders:
    """`handler.FetchReaders` for one connection."""

    def __init__(
        self,
        coordinator: Coordinator,
        *,
        client_host: str,
        principal: str,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._coordinator = coordinator
        self._client_host = client_host
        self._principal = principal
        self._clock = clock
        self._client_id = ""
        self._readers: Readers = {}
        # What was asked about lately, and need not be assigned to anybody.
        self._asked: set[Place] = set()
        self._until = 0.0

    async def find(self, client_id: str, places: Collection[Place]) -> Readers:
        if client_id != self._client_id or self._clock() >= self._until:
            self._asked = set()
        elif all(place in self._readers or place in self._asked for place in places):
            return self._readers
        self._asked.update(places)
        readers = await self._ask(client_id)
        self._client_id, self._readers = client_id, readers
        self._until = self._clock() + _BELIEVED_FOR_SECONDS
        return readers

    async def _ask(self, client_id: str) -> Readers:
        request = group_pb.FindReadersRequest(
            client_id=client_id, client_host=self._client_host, principal=self._principal
        )
        try:
            return only_readers(await self._coordinator.find_readers(request))
        except KafkaError:
            return {}


def only_readers(readers: Iterable[group_pb.FindReadersResponse.Reader]) -> Readers:
    """The partitions that exactly one of these members has."""
    found: dict[Place, pb.RedisConsumer] = {}
    shared: set[Place] = set()
    for reader in readers:
        consumer = pb.RedisConsumer(group=reader.group_id, consumer=reader.member_id)
        for assigned in reader.assigned:
            for partition in assigned.partitions:
                key = (assigned.topic, partition)
                if found.setdefault(key, consumer) is not consumer:
                    shared.add(key)
    return {key: consumer for key, consumer in found.items() if key not in shared}
