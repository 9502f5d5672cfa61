"""How far this coordinator's groups are behind, in records, and in which states they are.

Storage counts from the index, exactly and on either encoding, so that the lag is what
`korvet groups describe` shows. Each group is told by its owner alone, and only while
somebody reads metrics.
"""

import logging
from collections import Counter
from collections.abc import Collection, Sequence
from itertools import islice
from typing import Final, NamedTuple

import hiredis

from korvet.coordinator.committed_offsets import Commit, CommittedOffsets, TopicPartition
from korvet.coordinator.group import State
from korvet.coordinator.group_actor import REBALANCES
from korvet.coordinator.group_codec import CLASSIC
from korvet.coordinator.group_store import GroupStore
from korvet.coordinator.groups import Groups
from korvet.coordinator.refusals import REDIS_IS_AWAY
from korvet.coordinator.registration import Registration
from korvet.coordinator.storage_client import StorageAwayError, StorageClient
from korvet.kafka.errors import ErrorCode
from korvet.proto.storage.v1 import storage_service_pb2 as pb
from korvet.redis.topic_ids import parse_topic_id
from korvet.runtime import metrics

log = logging.getLogger(__name__)

LAGS_SHOWN: Final = 1000
_POSITIONS_A_CALL: Final = 500

_GROUP: Final = "messaging.consumer.group.name"

_lag: Final = metrics.gauge(
    "korvet.group.lag",
    unit="{record}",
    description="Records behind what a group has committed, from its owner; markers of"
    " transactions included. Of more positions than there is room for, the first by group,"
    " topic and partition.",
    attributes=(
        _GROUP,
        "messaging.destination.name",
        "messaging.destination.partition.id",
    ),
    limit=LAGS_SHOWN,
)
_uncounted: Final = metrics.gauge(
    "korvet.group.lag.left_out",
    unit="{partition}",
    description="Positions of groups for which there was no room among the lags.",
)
_groups: Final = metrics.gauge(
    "korvet.group.count",
    unit="{group}",
    description="Groups that this coordinator owns, by Kafka's names of their states.",
    attributes=("korvet.group.state",),
)
_members: Final = metrics.gauge(
    "korvet.group.members",
    unit="{member}",
    description="Members of the groups that this coordinator owns.",
)


class _Position(NamedTuple):
    group_id: str
    place: TopicPartition
    offset: int
    # Empty where it is not known which topic of the name it was for.
    topic_id: bytes


class GroupLag:
    def __init__(
        self,
        groups: Groups,
        store: GroupStore,
        offsets: CommittedOffsets,
        registration: Registration,
        storage: StorageClient,
    ) -> None:
        self._groups = groups
        self._store = store
        self._offsets = offsets
        self._registration = registration
        self._storage = storage

    async def sample(self) -> None:
        try:
            names = await self._store.names()
            _forget_but(names)
            owned = await self._owned(names)
            self._tell_states(len(owned))
            positions = await self._positions(owned)
            _lag.set_all(await self._lags(positions[:LAGS_SHOWN]))
            _uncounted.of().value = max(0, len(positions) - LAGS_SHOWN)
        except (StorageAwayError, *REDIS_IS_AWAY) as error:
            log.debug("the lag of groups is not known now: %s", error)
            self.forget()

    def forget(self) -> None:
        for gauge in (_lag, _uncounted, _groups, _members):
            gauge.set_all({})

    def _tell_states(self, count: int) -> None:
        # A group that is owned and not in memory has neither members nor anything to do.
        groups = [actor.group for actor in self._groups.owned]
        states = Counter(group.state for group in groups)
        states[State.EMPTY] += max(0, count - len(groups))
        _groups.set_all({(state,): states[state] for state in State})
        _members.of().value = sum(len(group.members) for group in groups)

    async def _owned(self, names: Sequence[str]) -> list[str]:
        ours = self._registration.incarnation
        return await self._store.owned_by(names, CLASSIC, ours) if ours else []

    async def _positions(self, group_ids: Sequence[str]) -> list[_Position]:
        found: list[_Position] = []
        for group_id in group_ids:
            try:
                commits = await self._offsets.fetch_all(group_id)
                found += [
                    _position(group_id, place, each.commit)
                    for place, each in sorted(commits.items())
                ]
            except (ValueError, hiredis.ReplyError):
                # What one group committed cannot be read, which the upkeep tells.
                continue
        return found

    async def _lags(self, positions: Sequence[_Position]) -> dict[tuple[str, ...], float]:
        lags: dict[tuple[str, ...], float] = {}
        waiting = iter(positions)
        while some := list(islice(waiting, _POSITIONS_A_CALL)):
            request = pb.CountRecordsRequest(positions=map(_asked, some))
            answer = await self._storage.count_records(request)
            for (group_id, (topic, partition), *_), count in zip(
                some, answer.counts, strict=True
            ):
                # A commit for a topic that is no more has no lag.
                if count.error_code == ErrorCode.NONE:
                    lags[group_id, topic, str(partition)] = count.records
        return lags


def _forget_but(names: Collection[str]) -> None:
    """Groups that are no more make room for others."""
    known = {metrics.OTHER, *names}
    for (group_id,), _ in REBALANCES.series():
        if group_id not in known:
            REBALANCES.forget(_GROUP, group_id)


def _position(group_id: str, place: TopicPartition, commit: Commit) -> _Position:
    topic_id = parse_topic_id(commit.topic_id) if commit.topic_id else b""
    return _Position(group_id, place, commit.offset, topic_id)


def _asked(position: _Position) -> pb.CountRecordsRequest.Position:
    topic, partition = position.place
    return pb.CountRecordsRequest.Position(
        topic=pb.TopicRef(name=topic, id=position.topic_id),
        partition=partition,
        offset=position.offset,
    )
