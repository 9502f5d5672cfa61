"""Which coordinator to ask first about a group, or about a transactional id.

Whoever answered for it last; else one that every gateway with the same view would choose.
It is a guess and nothing more: a coordinator that does not own an id says who does.
"""

from collections.abc import Iterable
from typing import Final

from korvet.gateway.coordinator_link import CoordinatorLink
from korvet.gateway.service_addresses import rendezvous

_MAX_IDS: Final = 50_000


class Owners:
    """Of ids of one kind: a group and a transactional id may have the same name."""

    def __init__(self, max_ids: int = _MAX_IDS) -> None:
        self._max_ids = max_ids
        self._owners: dict[str, CoordinatorLink] = {}
        # Who did not answer for an id. It may hang, with all its connections up.
        self._doubted: dict[str, CoordinatorLink] = {}

    def choose(
        self,
        id_: str,
        links: Iterable[CoordinatorLink],
        *,
        but: CoordinatorLink | None = None,
    ) -> CoordinatorLink | None:
        """One that is up, other than `but`; None where there is none.

        One that is doubted comes last: another says who the owner is, or takes over.
        """
        owner = self._owners.get(id_)
        if owner is not None and owner is not but and owner.is_live:
            return owner
        live = [(link.address, link) for link in links if link.is_live and link is not but]
        trusted = [each for each in live if each[1] is not self._doubted.get(id_)]
        return rendezvous(id_.encode(), trusted or live) if live else None

    def remember(self, id_: str, link: CoordinatorLink) -> None:
        self._doubted.pop(id_, None)
        if self._owners.get(id_) is not link:
            self._keep(self._owners, id_, link)

    def doubt(self, id_: str, link: CoordinatorLink) -> None:
        """It did not answer for this id."""
        self.forget(id_)
        self._keep(self._doubted, id_, link)

    def forget(self, id_: str) -> None:
        self._owners.pop(id_, None)

    def _keep(
        self, known: dict[str, CoordinatorLink], id_: str, link: CoordinatorLink
    ) -> None:
        if len(known) >= self._max_ids:
            del known[next(iter(known))]
        known[id_] = link
