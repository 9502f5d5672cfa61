"""The transactional ids that this coordinator owns."""

from collections.abc import Callable
from typing import Final

from korvet.coordinator.background import Background
from korvet.coordinator.owned_actors import OwnedActors
from korvet.coordinator.owned_store import NotOwnerError, now_ms
from korvet.coordinator.participants import Participants
from korvet.coordinator.registration import Registration
from korvet.coordinator.transaction_actor import TransactionActor
from korvet.coordinator.transaction_codec import StoredTransaction
from korvet.coordinator.transaction_store import TransactionStore
from korvet.runtime import metrics

_open: Final = metrics.gauge(
    "korvet.transaction.open",
    unit="{transaction}",
    description="Transactions of this coordinator's ids that have not ended everywhere.",
)

# A producer that is at work is sooner back than this.
_IDLE_MS: Final = 60_000


class Transactions(OwnedActors[StoredTransaction, TransactionActor]):
    def __init__(
        self,
        store: TransactionStore,
        registration: Registration,
        participants: Participants,
        background: Background,
    ) -> None:
        super().__init__(store, registration, background)
        self._store = store
        self._participants = participants
        self._on_orphan: list[Callable[[], None]] = []

    def subscribe_to_orphans(self, on_orphan: Callable[[], None]) -> None:
        """Be told when an open transaction has lost its actor, and nobody carries it on."""
        self._on_orphan.append(on_orphan)

    def _actor(
        self, stored: StoredTransaction, on_close: Callable[[TransactionActor], None]
    ) -> TransactionActor:
        actor = TransactionActor(
            stored,
            self._store,
            self._participants,
            background=self._background,
            on_close=on_close,
        )
        actor.start()
        return actor

    def _closed(self, name: str, actor: TransactionActor) -> None:
        super()._closed(name, actor)
        if actor.transaction.is_open:
            for on_orphan in self._on_orphan:
                on_orphan()

    def look(self) -> None:
        """Tell what is open, to those who read metrics."""
        _open.of().value = sum(actor.transaction.is_open for actor in self.owned)

    def forget_idle(self) -> None:
        """Free the memory of ids with which nothing happens; they stay owned."""
        for actor in self.owned:
            idle_ms = now_ms() - actor.transaction.updated_ms
            if actor.is_idle and idle_ms > _IDLE_MS:
                actor.close(NotOwnerError())
