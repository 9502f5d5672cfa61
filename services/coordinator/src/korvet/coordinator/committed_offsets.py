"""What groups have committed: a string key for each offset, as the seeds have it, and a
hash for each group with what belongs to them.

A value of the hash is "topic id, leader epoch, commit time in ms, metadata", separated by
spaces.
"""

import asyncio
from collections.abc import Iterable, Mapping, Sequence
from typing import Final, NamedTuple

from korvet.coordinator.owned_store import NotOwnerError
from korvet.coordinator.owner import Owner
from korvet.coordinator.scripts import COMMIT_OFFSETS, DELETE_OFFSETS
from korvet.redis.keys import Keys
from korvet.redis.lane import Lane, Reply

_AT_ONCE: Final = 1000


class TopicPartition(NamedTuple):
    topic: str
    partition: int


class Commit(NamedTuple):
    """One committed offset, as a client hands it in or gets it back."""

    offset: int
    # As Kafka writes ids; of the topic that the offset is of.
    topic_id: str
    # -1 where it is not known.
    leader_epoch: int
    metadata: str


class Committed(NamedTuple):
    commit: Commit
    time_ms: int


class CommittedOffsets:
    def __init__(self, lane: Lane, keys: Keys, *, transaction_retention: float) -> None:
        """`transaction_retention`: how long transactions outlive a deleted group."""
        self._lane = lane
        self._keys = keys
        self._transaction_retention_ms = round(transaction_retention * 1000)

    # --- by the group's owner ---

    def send(
        self, group_id: str, owner: Owner, commits: Mapping[TopicPartition, Commit]
    ) -> "asyncio.Future[Reply]":
        """Send a commit on its way, in order with everything else on the lane."""
        keys = [self._keys.group(group_id), self._keys.group_offsets(group_id)]
        arguments: list[str | int] = [owner_text(owner)]
        for place, commit in commits.items():
            stream = self._keys.stream(*place)
            keys.append(self._keys.commit(stream, group_id))
            arguments += [
                stream, commit.offset, commit.topic_id, commit.leader_epoch, commit.metadata
            ]  # fmt: skip
        return self._lane.send(
            "EVALSHA", COMMIT_OFFSETS.digest, len(keys), *keys, *arguments
        )

    @staticmethod
    async def sent(reply: "asyncio.Future[Reply]") -> None:
        """Wait for a commit; NotOwnerError where the group has another owner."""
        (outcome,) = await reply
        if outcome != b"OK":
            raise NotOwnerError

    async def delete(
        self,
        group_id: str,
        owner: Owner,
        places: Iterable[TopicPartition],
        *,
        with_group: bool = False,
    ) -> None:
        """Forget offsets, and the group itself where nothing shall be left of it."""
        streams = [self._keys.stream(*place) for place in places]
        keys = [
            self._keys.group(group_id),
            self._keys.group_offsets(group_id),
            self._keys.group_transactions(group_id),
            self._keys.group_pending(group_id),
            *(self._keys.commit(stream, group_id) for stream in streams),
        ]
        flag = "1" if with_group else "0"
        (outcome,) = await self._lane.send(
            "EVALSHA",
            DELETE_OFFSETS.digest,
            len(keys),
            *keys,
            owner_text(owner),
            flag,
            self._transaction_retention_ms,
            *streams,
        )
        if outcome != b"OK":
            raise NotOwnerError

    # --- by anybody ---

    async def fetch(
        self, group_id: str, places: Sequence[TopicPartition]
    ) -> Mapping[TopicPartition, Committed]:
        """What was committed for these partitions; those without a commit are left out."""
        found: dict[TopicPartition, Committed] = {}
        for first in range(0, len(places), _AT_ONCE):
            some = places[first : first + _AT_ONCE]
            streams = [self._keys.stream(*place) for place in some]
            details = self._lane.send("HMGET", self._keys.group_offsets(group_id), *streams)
            offsets = self._lane.send(
                "MGET", *(self._keys.commit(stream, group_id) for stream in streams)
            )
            for place, detail, offset in zip(
                some, await details, await offsets, strict=True
            ):
                if detail is not None and offset is not None:
                    found[place] = _parse(detail, offset)
        return found

    async def fetch_all(self, group_id: str) -> Mapping[TopicPartition, Committed]:
        return await self.fetch(group_id, await self.places(group_id))

    async def places(self, group_id: str) -> list[TopicPartition]:
        """Every partition for which the group has committed something."""
        fields = await self._lane.send("HKEYS", self._keys.group_offsets(group_id))
        return [
            TopicPartition(*self._keys.partition_of_stream(field.decode()))
            for field in fields
        ]


def owner_text(owner: Owner) -> str:
    """As `is_owned` (owned.lua) compares it."""
    return f"{owner.epoch} {owner.incarnation} {owner.address}"


def _parse(detail: bytes, offset: bytes) -> Committed:
    topic_id, leader_epoch, time_ms, metadata = detail.decode().split(" ", 3)
    commit = Commit(int(offset), topic_id, int(leader_epoch), metadata)
    return Committed(commit, int(time_ms))
