"""Groups in Redis (`owned_store`), beside work queues, which have no state here.

One lane carries all of it in order, commits included (`committed_offsets`): so a commit
that was taken before a rebalance is in Redis before the next generation is.
"""

from dataclasses import replace

from korvet.coordinator.group import Group, State
from korvet.coordinator.group_codec import StoredGroup, decode, encode, is_queue
from korvet.coordinator.owned_store import OwnedStore, now_ms
from korvet.coordinator.owner import Owner
from korvet.coordinator.scripts import DELETE_QUEUE
from korvet.kafka.errors import ErrorCode, KafkaError


class GroupStore(OwnedStore[StoredGroup]):
    """In place of a work queue, loading has INCONSISTENT_GROUP_PROTOCOL."""

    @property
    def _names(self) -> str:
        return self._keys.groups

    def _key(self, name: str) -> str:
        return self._keys.group(name)

    def _new(self, name: str, owner: Owner) -> StoredGroup:
        return StoredGroup(
            group=Group(group_id=name), owner=owner, version=1, empty_since_ms=now_ms()
        )

    def _encode(self, stored: StoredGroup) -> bytes:
        return encode(stored)

    def _decode(self, name: str, value: bytes) -> StoredGroup:
        if is_queue(value):
            raise KafkaError(
                ErrorCode.INCONSISTENT_GROUP_PROTOCOL, f"{name} is a work queue"
            )
        return decode(name, value)

    async def save(self, stored: StoredGroup, group: Group) -> StoredGroup:
        """Save the group's next state; NotOwnerError where it is not ours any more."""
        empty_since = None
        if group.state is State.EMPTY:
            empty_since = stored.empty_since_ms or now_ms()
        wanted = replace(
            stored, group=group, version=stored.version + 1, empty_since_ms=empty_since
        )
        return await self._keep(stored, wanted)

    @staticmethod
    def is_queue(found: StoredGroup | KafkaError | None) -> bool:
        """Whether what was found is a work queue."""
        return (
            isinstance(found, KafkaError)
            and found.code is ErrorCode.INCONSISTENT_GROUP_PROTOCOL
        )

    async def delete_queue(self, group_id: str) -> None:
        await self._lane.send("EVALSHA", DELETE_QUEUE.digest, 1, self._keys.group(group_id))
        await self.forget_name(group_id)
