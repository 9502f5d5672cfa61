"""The groups that this coordinator owns."""

from collections.abc import Callable

from korvet.coordinator.background import Background
from korvet.coordinator.group import State
from korvet.coordinator.group_actor import GroupActor
from korvet.coordinator.group_codec import StoredGroup
from korvet.coordinator.group_join import Limits
from korvet.coordinator.group_store import GroupStore
from korvet.coordinator.owned_actors import OwnedActors
from korvet.coordinator.owned_store import NotOwnerError
from korvet.coordinator.registration import Registration


class Groups(OwnedActors[StoredGroup, GroupActor]):
    def __init__(
        self,
        store: GroupStore,
        registration: Registration,
        limits: Limits,
        background: Background,
    ) -> None:
        super().__init__(store, registration, background)
        self._store = store
        self._limits = limits

    def _actor(
        self, stored: StoredGroup, on_close: Callable[[GroupActor], None]
    ) -> GroupActor:
        return GroupActor(
            stored,
            self._store,
            self._limits,
            background=self._background,
            on_close=on_close,
        )

    def forget_idle(self) -> None:
        """Free the memory of groups in which nothing happens; they stay owned."""
        for actor in self.owned:
            if actor.is_idle and actor.group.state is State.EMPTY:
                actor.close(NotOwnerError())
