"""This coordinator among the live ones: a lease on all that it owns.

A registration that has lapsed is never renewed. Whoever takes over a group may therefore
be sure that its former owner is gone, and that one notices by itself: by its own clock, it
counts from before each renewal was sent.
"""

import asyncio
import logging
import uuid
from collections.abc import Callable
from typing import Final

import hiredis

from korvet.coordinator.scripts import REGISTER, UNREGISTER
from korvet.redis.keys import Keys
from korvet.redis.lane import ConnectionLost, Lane, NotSent

log = logging.getLogger(__name__)

_RENEWALS_PER_LEASE: Final = 4
_RETRY_SECONDS: Final = 0.2


class Registration:
    def __init__(
        self,
        lane: Lane,
        keys: Keys,
        *,
        address: str,
        lease: float,
    ) -> None:
        self.address = address
        # Made anew for each registration; empty while there is none.
        self.incarnation = ""
        self._lane = lane
        self._keys = keys
        self._lease = lease
        self._on_lost: list[Callable[[], None]] = []
        self._on_others_gone: list[Callable[[], None]] = []
        self._live: frozenset[bytes] = frozenset()
        self._valid_until = 0.0
        self._renewed = asyncio.Event()
        self._lost = asyncio.Event()
        self._loop = asyncio.get_running_loop()

    def subscribe(self, on_lost: Callable[[], None]) -> None:
        """Be told when what was owned so far may be owned by others."""
        self._on_lost.append(on_lost)

    def subscribe_to_others(self, on_gone: Callable[[], None]) -> None:
        """Be told when another coordinator has gone."""
        self._on_others_gone.append(on_gone)

    async def registered(self) -> None:
        """Wait until there is a registration."""
        while not self.is_valid:
            self._renewed.clear()
            await self._renewed.wait()

    async def lost(self) -> None:
        """Wait until there is none."""
        await self._lost.wait()

    @property
    def is_valid(self) -> bool:
        return self._loop.time() < self._valid_until

    async def run(self) -> None:
        while True:
            try:
                await self._renew()
                delay = self._lease / _RENEWALS_PER_LEASE
            except (NotSent, ConnectionLost, hiredis.ReplyError) as error:
                log.debug("the registration could not be renewed: %s", error)
                delay = _RETRY_SECONDS
            # Not asleep when it lapses: whoever is parked then is told at once.
            remaining = self._valid_until - self._loop.time()
            await asyncio.sleep(min(delay, remaining) if remaining > 0 else delay)
            if self.incarnation and not self.is_valid:
                self._lose("it has lapsed")

    async def leave(self) -> None:
        """Withdraw, so that others take over at once."""
        if not self.incarnation:
            return
        incarnation, self.incarnation = self.incarnation, ""
        self._valid_until = 0.0
        try:
            await self._lane.send(
                "EVALSHA",
                UNREGISTER.digest,
                1,
                self._keys.coordinators,
                self.address,
                incarnation,
            )
        except (NotSent, ConnectionLost, hiredis.ReplyError) as error:
            log.warning("the registration stays until it lapses: %s", error)

    async def _renew(self) -> None:
        is_renewal = bool(self.incarnation)
        incarnation = self.incarnation or uuid.uuid4().hex
        sent_at = self._loop.time()
        answer = await self._lane.send(
            "EVALSHA",
            REGISTER.digest,
            1,
            self._keys.coordinators,
            self.address,
            incarnation,
            round(self._lease * 1000),
            "1" if is_renewal else "0",
        )
        if answer[0] == b"LOST":
            self._lose("another one has begun at this address, or it has lapsed")
            return
        self.incarnation = incarnation
        self._valid_until = sent_at + self._lease
        self._renewed.set()
        self._lost.clear()
        if not is_renewal:
            log.info("registered as %s", self.address)
        before, self._live = self._live, frozenset(answer[2::2])
        if before - self._live:
            for on_gone in self._on_others_gone:
                on_gone()

    def _lose(self, reason: str) -> None:
        if self.incarnation:
            log.warning("the registration is lost: %s", reason)
            self.incarnation = ""
            self._valid_until = 0.0
            self._lost.set()
            for on_lost in self._on_lost:
                on_lost()
