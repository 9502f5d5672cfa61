"""What has an owner, in Redis: found, claimed, and saved by compare-and-set.

Groups and transactional ids alike: a value whose first line names the owner (`owner`), and
a set of all names. Who owns something is decided here and nowhere else.
"""

import asyncio
import contextlib
import logging
import time
from abc import ABC, abstractmethod
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, ClassVar, Final, Generic, Protocol, TypeVar

import hiredis

from korvet.coordinator.owner import Owner, parse_head
from korvet.coordinator.scripts import FORGET_OWNED, LIVE, SAVE_OWNED
from korvet.kafka.errors import ErrorCode, KafkaError
from korvet.redis.keys import Keys
from korvet.redis.lane import Lane, Reply
from korvet.runtime.logs import LimitedLog

log = LimitedLog(logging.getLogger(__name__))

_AT_ONCE: Final = 500
# What is read and decoded in one go, while everybody else waits.
_PAGE_BYTES: Final = 4 << 20
# Longer than any first line, which has an address in it.
_HEAD_BYTES: Final = 1023


class NotOwnerError(Exception):
    """Another coordinator is the owner; empty where nobody knows which."""

    def __init__(self, address: str = "") -> None:
        super().__init__(address)
        self.address = address


class Owned(Protocol):
    """A frozen dataclass: what was saved last."""

    __dataclass_fields__: ClassVar[dict[str, Any]]

    @property
    def name(self) -> str: ...

    @property
    def owner(self) -> Owner: ...

    @property
    def version(self) -> int: ...

    @property
    def head(self) -> str: ...


Stored = TypeVar("Stored", bound=Owned)


class OwnedStore(ABC, Generic[Stored]):
    def __init__(self, lane: Lane, keys: Keys) -> None:
        self._lane = lane
        self._keys = keys

    # --- what the kinds differ in ---

    @property
    @abstractmethod
    def _names(self) -> str:
        """The key of the set of all names."""

    @abstractmethod
    def _key(self, name: str) -> str:
        """The key of one's value."""

    @abstractmethod
    def _new(self, name: str, owner: Owner) -> Stored:
        """What its first owner saves; version 1."""

    @abstractmethod
    def _encode(self, stored: Stored) -> bytes: ...

    @abstractmethod
    def _decode(self, name: str, value: bytes) -> Stored:
        """Raises ValueError where this is no such value."""

    # --- owners ---

    async def load(self, name: str) -> Stored | None:
        """What was saved last; COORDINATOR_NOT_AVAILABLE where it cannot be read."""
        value = await self._lane.send("GET", self._key(name))
        found = None if value is None else self._read(name, value)
        if isinstance(found, KafkaError):
            raise found
        return found

    async def load_each(
        self, names: Sequence[str]
    ) -> AsyncIterator[tuple[str, Stored | KafkaError | None]]:
        """The same of many, with the refusal in place of what cannot be had.

        However large they are, neither many are in memory at once nor does it keep others
        waiting for long.
        """
        for first in range(0, len(names), _AT_ONCE):
            some = names[first : first + _AT_ONCE]
            asked = [self._lane.send("STRLEN", self._key(name)) for name in some]
            sizes = [await _size(reply) for reply in asked]
            for page in _pages(some, sizes):
                values = await self._lane.send("MGET", *map(self._key, page))
                for name, value in zip(page, values, strict=True):
                    yield name, None if value is None else self._read(name, value)
            for name, size in zip(some, sizes, strict=True):
                if size is None:
                    yield name, self._unreadable(f"{self._key(name)} is no string")

    def _read(self, name: str, value: bytes) -> Stored | KafkaError:
        try:
            return self._decode(name, value)
        except KafkaError as refusal:
            return refusal
        except ValueError as error:
            return self._unreadable(str(error))

    def _unreadable(self, why: str) -> KafkaError:
        # Somebody may mend it, and clients try again until then.
        log.warning("%s", why)
        return KafkaError(ErrorCode.COORDINATOR_NOT_AVAILABLE, why)

    async def claim(self, name: str, address: str, incarnation: str) -> Stored:
        """Become its owner, new or not; NotOwnerError where another one lives."""
        while True:
            found = await self.load(name)
            owner = Owner(address=address, incarnation=incarnation, epoch=1)
            if found is None:
                wanted = self._new(name, owner)
            elif found.owner.incarnation == incarnation:
                return found
            else:
                live = await self.live_coordinators()
                if live.get(found.owner.address) == found.owner.incarnation:
                    raise NotOwnerError(found.owner.address)
                # A registration that has lapsed is never renewed, so the owner is gone for
                # good; whether another one was quicker, the save tells.
                owner = replace(owner, epoch=found.owner.epoch + 1)
                wanted = replace(found, owner=owner, version=found.version + 1)
            if await self._save(found, wanted):
                return wanted

    async def _keep(self, stored: Stored, wanted: Stored) -> Stored:
        """Save the next state; NotOwnerError where it is not ours any more."""
        if not await self._save(stored, wanted):
            raise NotOwnerError
        return wanted

    async def _save(self, found: Stored | None, wanted: Stored) -> bool:
        (outcome,) = await self._lane.send(
            "EVALSHA",
            SAVE_OWNED.digest,
            2,
            self._key(wanted.name),
            self._names,
            found.head if found else "",
            self._encode(wanted),
            wanted.name,
        )
        return bool(outcome == b"OK")

    async def live_coordinators(self) -> Mapping[str, str]:
        """Address -> incarnation."""
        found = await self._lane.send("EVALSHA", LIVE.digest, 1, self._keys.coordinators)
        texts = [each.decode() for each in found]
        return dict(zip(texts[::2], texts[1::2], strict=True))

    # --- names ---

    async def names(self) -> list[str]:
        """All of them; some may be gone by now."""
        found = await self._lane.send("SMEMBERS", self._names)
        return sorted(name.decode() for name in found)

    async def pages_of_names(self) -> AsyncIterator[list[str]]:
        """The same, some at a time; one may come twice."""
        cursor = b"0"
        while True:
            cursor, found = await self._lane.send(
                "SSCAN", self._names, cursor, "COUNT", _AT_ONCE
            )
            yield [name.decode() for name in found]
            if cursor == b"0":
                return

    async def owned_by(
        self, names: Sequence[str], kind: str, incarnation: str
    ) -> list[str]:
        """Those of these that a run of a coordinator owns; only their heads are read."""
        owned: list[str] = []
        for first in range(0, len(names), _AT_ONCE):
            some = names[first : first + _AT_ONCE]
            asked = [
                self._lane.send("GETRANGE", self._key(name), 0, _HEAD_BYTES)
                for name in some
            ]
            for name, value in zip(
                some, await asyncio.gather(*asked, return_exceptions=True), strict=True
            ):
                # What is no value of ours is nobody's.
                if isinstance(value, hiredis.ReplyError):
                    continue
                if isinstance(value, BaseException):
                    raise value
                with contextlib.suppress(ValueError):
                    head = parse_head(value.split(b"\n", 1)[0].decode())
                    if (head.kind, head.owner.incarnation) == (kind, incarnation):
                        owned.append(name)
        return owned

    async def forget_name(self, name: str) -> None:
        """Of what is not there any more; else it stays."""
        await self._forget(name, "")

    async def delete(self, stored: Stored) -> None:
        """NotOwnerError where it is not ours any more."""
        if not await self._forget(stored.name, stored.head):
            raise NotOwnerError

    async def _forget(self, name: str, head: str) -> bool:
        (outcome,) = await self._lane.send(
            "EVALSHA", FORGET_OWNED.digest, 2, self._key(name), self._names, head, name
        )
        return bool(outcome == b"OK")


async def _size(reply: "asyncio.Future[Reply]") -> int | None:
    """Of a value; None where there is something else."""
    try:
        return int(await reply)
    except hiredis.ReplyError as error:
        if str(error).startswith("WRONGTYPE"):
            return None
        raise


def _pages(names: Sequence[str], sizes: Sequence[int | None]) -> Iterator[list[str]]:
    """Those that have a size, so many at a time as fit, or one."""
    page: list[str] = []
    left = _PAGE_BYTES
    for name, size in zip(names, sizes, strict=True):
        if size is None:
            continue
        if page and size > left:
            yield page
            page, left = [], _PAGE_BYTES
        page.append(name)
        left -= size
    if page:
        yield page


def now_ms() -> int:
    """By the wall clock, which outlives a coordinator."""
    return time.time_ns() // 1_000_000
