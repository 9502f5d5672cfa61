"""The links to all replicas of a service: made, kept up, chosen from, and let go."""

import asyncio
from collections.abc import Awaitable, Callable, Sequence
from typing import Any, Final, Generic, TypeVar

from korvet.gateway.service_addresses import resolve
from korvet.gateway.service_link import ServiceLink

Link = TypeVar("Link", bound=ServiceLink[Any])

_LOOK_UP_EVERY: Final = 5.0
# Replicas name each other, and are believed; but no one may make us connect everywhere.
_MAX_NAMED: Final = 64
_NAMED_FOR_SECONDS: Final = 60.0


class ServiceLinks(Generic[Link]):
    def __init__(
        self,
        setting: str,
        make_link: Callable[[str], Link],
        *,
        resolve: Callable[[str], Awaitable[frozenset[str] | None]] = resolve,
        look_up_every: float = _LOOK_UP_EVERY,
    ) -> None:
        self._setting = setting
        self._resolve = resolve
        self._look_up_every = look_up_every
        self._make_link = make_link
        self._running: dict[str, tuple[Link, asyncio.Task[None]]] = {}
        self._links: Sequence[Link] = ()
        # Addresses that are not in the setting, and until when to keep links to them.
        self._named: dict[str, float] = {}
        self._group: asyncio.TaskGroup | None = None
        self._turn = 0

    @property
    def is_configured(self) -> bool:
        return bool(self._setting)

    @property
    def all(self) -> Sequence[Link]:
        """Those that take new calls; whether they are up is for each to say."""
        return self._links

    def choose(self, *, but: object = None) -> Link | None:
        """One after the other, of those that are best off.

        A replica that drains still has streams, but takes no new calls.
        """
        links = [link for link in self._links if link is not but]
        links = [link for link in links if link.is_live] or links
        links = [link for link in links if link.takes_calls] or links
        if not links:
            return None
        self._turn += 1
        return links[self._turn % len(links)]

    def named(self, address: str) -> Link | None:
        """The link to an address that another replica named, made where there is none.

        None where there are too many already. Such a link is kept for as long as it is
        asked for now and then.
        """
        if self._group is None:
            return None
        until = asyncio.get_running_loop().time() + _NAMED_FOR_SECONDS
        if address in self._named:
            self._named[address] = until
        elif all(link.address != address for link in self._links):
            if len(self._named) >= _MAX_NAMED:
                return None
            self._named[address] = until
            self._links = [*self._links, self._link(self._group, address)]
        return self._running[address][0]

    async def run(self) -> None:
        """Keep links to all replicas until cancelled."""
        loop = asyncio.get_running_loop()
        configured: frozenset[str] = frozenset()
        try:
            async with asyncio.TaskGroup() as group:
                self._group = group
                while True:
                    found = await self._resolve(self._setting)
                    if found is not None:
                        configured = found
                    now = loop.time()
                    self._named = {
                        address: until
                        for address, until in self._named.items()
                        if until > now and address not in configured
                    }
                    self._keep_only(group, configured | self._named.keys())
                    await asyncio.sleep(self._look_up_every)
        finally:
            self._group = None

    def _keep_only(self, group: asyncio.TaskGroup, wanted: frozenset[str]) -> None:
        self._links = [self._link(group, address) for address in sorted(wanted)]
        for address in self._running.keys() - wanted:
            link, task = self._running[address]
            # What is under way on a replica that leaves is let finish.
            if link.is_idle:
                del self._running[address]
                task.cancel()

    def _link(self, group: asyncio.TaskGroup, address: str) -> Link:
        if address not in self._running:
            link = self._make_link(address)
            self._running[address] = link, group.create_task(link.run())
        return self._running[address][0]
