"""Which storage replica gets an append, and what became of it.

A partition's appends go to one replica's stream for as long as any of them is under way
there, which keeps them in order; any replica could take them. Nothing that might have been
carried out is sent again: a producer with sequence numbers can do that safely, we cannot.
"""

import asyncio
from collections.abc import Awaitable, Generator, Sequence
from functools import partial
from typing import Any, Final, NamedTuple, Protocol

from korvet.gateway.call_stream import Call, Lost
from korvet.gateway.handler import PartitionBatch, TopicPartition
from korvet.gateway.service_addresses import rendezvous
from korvet.gateway.storage_link import Append, Appended, AppendStream, append_size
from korvet.kafka.errors import ErrorCode
from korvet.proto.storage.v1 import storage_service_pb2 as pb

# What a call may take on top of the time that the client allows storage to wait.
_MARGIN: Final = 2.0


class AppendLink(Protocol):
    """A storage replica, as far as appends concern it."""

    @property
    def address(self) -> str: ...

    @property
    def appends(self) -> AppendStream: ...


class AppendLinks(Protocol):
    """The storage replicas that there are now."""

    @property
    def all(self) -> Sequence[AppendLink]: ...


class _Pin:
    """The link that has a partition's appends, and how many are under way."""

    __slots__ = ("appends", "link", "target")

    def __init__(self, target: TopicPartition, link: AppendLink) -> None:
        self.target = target
        self.link = link
        self.appends = 0


class _Part(NamedTuple):
    """The batches of one request that go to one link, and their places in it."""

    places: list[int]
    pins: list[_Pin]


class Appends:
    def __init__(self, links: AppendLinks) -> None:
        self._links = links
        self._pins: dict[TopicPartition, _Pin] = {}

    async def append(
        self,
        batches: Sequence[PartitionBatch],
        *,
        acks: "pb.Acks.ValueType",
        time_limit: float,
    ) -> Awaitable[Appended]:
        """Hand batches over in order; see `Storage.append`."""
        parts: dict[AppendLink, _Part] = {}
        for place, batch in enumerate(batches):
            pin = self._pin(batch.target)
            if pin is not None:
                part = parts.setdefault(pin.link, _Part([], []))
                part.places.append(place)
                part.pins.append(pin)
        deadline = asyncio.get_running_loop().time() + time_limit + _MARGIN
        timeout_ms = int(time_limit * 1000)
        started: list[tuple[Sequence[int], Call[Append, Appended]]] = []
        try:
            while parts:
                link, part = next(iter(parts.items()))
                theirs = [batches[place] for place in part.places]
                call = await link.appends.start(
                    Append(theirs, acks, timeout_ms), append_size(theirs), deadline
                )
                call.result.add_done_callback(partial(self._unpin, part.pins))
                started.append((part.places, call))
                del parts[link]
        finally:
            for part in parts.values():
                self._unpin(part.pins)
        return _PendingAppend(len(batches), started)

    def _pin(self, target: TopicPartition) -> _Pin | None:
        pin = self._pins.get(target)
        # A pin to a link that broke holds only appends that are lost already.
        if pin is None or not pin.link.appends.is_live:
            live = [
                (link.address, link) for link in self._links.all if link.appends.is_live
            ]
            if not live:
                return None
            key = b"%b%b/%d" % (target.name.encode(), target.topic_id, target.partition)
            pin = self._pins[target] = _Pin(target, rendezvous(key, live))
        pin.appends += 1
        return pin

    def _unpin(self, pins: Sequence[_Pin], _: object = None) -> None:
        for pin in pins:
            pin.appends -= 1
            if not pin.appends and self._pins.get(pin.target) is pin:
                del self._pins[pin.target]


class _PendingAppend:
    """What `append` returns: awaited, it gives each batch's fate, in their order."""

    def __init__(
        self, size: int, started: Sequence[tuple[Sequence[int], Call[Append, Appended]]]
    ) -> None:
        self._size = size
        self._started = started

    def __await__(self) -> Generator[Any, None, Appended]:
        return self._results().__await__()

    async def _results(self) -> Appended:
        results: list[pb.PartitionAppended] = [_FATES[Lost.NOT_SENT]] * self._size
        for places, call in self._started:
            result = await call.result
            for index, place in enumerate(places):
                results[place] = (
                    _FATES[result] if isinstance(result, Lost) else result[index]
                )
        return results


# Clients take KAFKA_STORAGE_ERROR as "not written"; where that is not sure, they must not.
_FATES: Final = {
    Lost.NOT_SENT: pb.PartitionAppended(
        error_code=ErrorCode.KAFKA_STORAGE_ERROR,
        error_message="storage cannot be reached",
    ),
    Lost.UNKNOWN: pb.PartitionAppended(
        error_code=ErrorCode.REQUEST_TIMED_OUT,
        error_message="storage did not answer; whether it appended is not known",
    ),
}
