"""What this coordinator owns of one kind: found, claimed, and let go.

Something is claimed when it is first wanted here, and kept until another one has claimed
it, which happens only when this coordinator's registration has lapsed or was withdrawn.
"""

import asyncio
import logging
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from functools import partial
from typing import Generic, Protocol, TypeVar

from korvet.coordinator.background import Background
from korvet.coordinator.owned_store import NotOwnerError, OwnedStore, Stored
from korvet.coordinator.registration import Registration
from korvet.kafka.errors import ErrorCode, KafkaError

log = logging.getLogger(__name__)


class OwnedActor(Protocol):
    def close(self, reason: Exception) -> None:
        """Stop being the one who decides; tell everybody who is parked."""
        ...


Actor = TypeVar("Actor", bound=OwnedActor)


class OwnedActors(ABC, Generic[Stored, Actor]):
    def __init__(
        self,
        store: OwnedStore[Stored],
        registration: Registration,
        background: Background,
    ) -> None:
        self._claimed_from = store
        self._registration = registration
        self._background = background
        self._actors: dict[str, Actor] = {}
        # Claims under way: whoever else wants the same one waits for the same claim.
        self._claims: dict[str, asyncio.Task[Actor]] = {}
        registration.subscribe(self._let_go)

    @abstractmethod
    def _actor(self, stored: Stored, on_close: Callable[[Actor], None]) -> Actor:
        """The one who decides from now on."""

    @property
    def owned(self) -> Sequence[Actor]:
        return list(self._actors.values())

    def here(self, name: str) -> Actor | None:
        """The actor, if it was claimed before and nothing has been lost since."""
        return self._actors.get(name) if self._registration.is_valid else None

    async def find(self, name: str) -> Actor | None:
        """The actor of what is there, claimed where nobody else lives who owns it."""
        if actor := self.here(name):
            return actor
        self._check_registered()
        if await self._claimed_from.load(name) is None:
            return None
        return await self.claim(name)

    async def claim(self, name: str) -> Actor:
        """The actor, made where there is none; NotOwnerError where another one owns it."""
        if actor := self.here(name):
            return actor
        self._check_registered()
        claim = self._claims.get(name)
        if claim is None:
            claim = self._background.spawn(self._claim(name))
            self._claims[name] = claim
            claim.add_done_callback(lambda _: self._claims.pop(name))
        return await asyncio.shield(claim)

    async def _claim(self, name: str) -> Actor:
        address, incarnation = self._registration.address, self._registration.incarnation
        stored = await self._claimed_from.claim(name, address, incarnation)
        if self._registration.incarnation != incarnation:
            raise NotOwnerError
        actor = self._actor(stored, partial(self._closed, name))
        self._actors[name] = actor
        return actor

    def _check_registered(self) -> None:
        if not self._registration.is_valid:
            raise KafkaError(
                ErrorCode.COORDINATOR_NOT_AVAILABLE, "this coordinator is not registered"
            )

    def _let_go(self) -> None:
        """Everything may be owned by others by now."""
        if self._actors:
            log.warning("%s: %d are let go", type(self).__name__, len(self._actors))
        self.close()

    def close(self) -> None:
        """Tell everybody who is parked to look for another coordinator."""
        for actor in self.owned:
            actor.close(NotOwnerError())

    def _closed(self, name: str, actor: Actor) -> None:
        if self._actors.get(name) is actor:
            del self._actors[name]
