"""PURE: a consumer group: its states and members, and what may follow what.

A group is a value: the rules (`group_rules`) make the next one out of it. Times are those
of the caller's clock, in seconds.
"""

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Final, NamedTuple, TypeAlias

from korvet.kafka.errors import ErrorCode, KafkaError


class State(StrEnum):
    """Kafka's names, as DescribeGroups and ListGroups show them."""

    EMPTY = "Empty"
    # Members are asked to join again.
    PREPARING_REBALANCE = "PreparingRebalance"
    # All have joined, and wait for the leader's assignments.
    COMPLETING_REBALANCE = "CompletingRebalance"
    STABLE = "Stable"


TRANSITIONS: Final[Mapping[State, frozenset[State]]] = {
    State.EMPTY: frozenset({State.PREPARING_REBALANCE}),
    State.PREPARING_REBALANCE: frozenset({State.COMPLETING_REBALANCE, State.EMPTY}),
    State.COMPLETING_REBALANCE: frozenset({State.STABLE, State.PREPARING_REBALANCE}),
    State.STABLE: frozenset({State.PREPARING_REBALANCE}),
}


class Protocol(NamedTuple):
    """A way of assigning partitions that a member supports, and what it says for it."""

    name: str
    metadata: bytes


@dataclass(frozen=True, slots=True, kw_only=True)
class Member:
    member_id: str
    # A static member's name for itself (KIP-345).
    instance_id: str | None = None
    client_id: str = ""
    client_host: str = ""
    principal: str = ""
    session_timeout: float
    rebalance_timeout: float
    # In its order of preference.
    protocols: tuple[Protocol, ...]
    # The last one, which is shown until there is another. A sync is answered with it in a
    # stable group only, where all have theirs of its generation.
    assignment: bytes = b""
    # Whether it has joined the generation that is to come, or waits for its assignment.
    is_joining: bool = False
    is_syncing: bool = False
    # Whether the client of its join has gone: it counts for joined, but nobody is answered.
    has_vanished: bool = False
    # Whether it has joined this generation, and is yet to ask for its assignment.
    owes_sync: bool = False
    # When it is taken for dead, unless it is heard from or parked.
    session_deadline: float = float("inf")
    # All of it that is saved but its assignment, as it is saved (`group_codec.said`): made
    # once for a join, and not again each time that the group is saved.
    said: str = field(default="", compare=False, repr=False)

    @property
    def is_parked(self) -> bool:
        """Whether a call of its waits for an answer. Such a member is alive."""
        return (self.is_joining and not self.has_vanished) or self.is_syncing

    def metadata_for(self, protocol_name: str | None) -> bytes:
        for protocol in self.protocols:
            if protocol.name == protocol_name:
                return protocol.metadata
        return b""

    def heard_from(self, now: float) -> "Member":
        return replace(self, session_deadline=now + self.session_timeout)


@dataclass(frozen=True, slots=True, kw_only=True)
class Group:
    group_id: str
    state: State = State.EMPTY
    generation: int = 0
    protocol_type: str = ""
    # The one in force; None while there is none.
    protocol_name: str | None = None
    leader: str | None = None
    # In the order in which they joined.
    members: Mapping[str, Member] = field(default_factory=dict)
    # Ids that were given away for a first join (KIP-394), until when they are waited for.
    pending: Mapping[str, float] = field(default_factory=dict)
    # PREPARING_REBALANCE ends then, with those who have joined.
    join_deadline: float | None = None
    # An empty group's first rebalance is put off by `delay`, and again while members keep
    # coming, but not beyond the limit.
    delay: float = 0.0
    delay_limit: float = 0.0
    has_grown: bool = False
    # Who still owes a sync then is taken out.
    sync_deadline: float | None = None

    def enter(self, state: State) -> "Group":
        if state not in TRANSITIONS[self.state]:
            raise AssertionError(f"{self.group_id}: {self.state} -> {state}")
        return replace(self, state=state)

    def with_member(self, member: Member) -> "Group":
        """Add a member or change it; the first one leads."""
        members = {**self.members, member.member_id: member}
        return replace(self, members=members, leader=self.leader or member.member_id)

    def without_member(self, member_id: str) -> "Group":
        members = {key: one for key, one in self.members.items() if key != member_id}
        leader = self.leader if self.leader != member_id else next(iter(members), None)
        return replace(self, members=members, leader=leader)

    def static_member(self, instance_id: str) -> Member | None:
        for member in self.members.values():
            if member.instance_id == instance_id:
                return member
        return None

    def member_named(self, member_id: str, instance_id: str | None) -> Member:
        """The member that a call names, if it is still the one that it says it is."""
        if instance_id is not None:
            static = self.static_member(instance_id)
            if static is not None and static.member_id != member_id:
                raise KafkaError(ErrorCode.FENCED_INSTANCE_ID)
        member = self.members.get(member_id)
        if member is None or (
            instance_id is not None and member.instance_id != instance_id
        ):
            raise KafkaError(ErrorCode.UNKNOWN_MEMBER_ID)
        return member

    @property
    def said_bytes(self) -> int:
        return sum(len(member.said) for member in self.members.values())

    # --- the choice of a protocol ---

    def common_protocols(self) -> set[str]:
        """What every member supports."""
        supported = [{p.name for p in member.protocols} for member in self.members.values()]
        return set.intersection(*supported) if supported else set()

    def choose_protocol(self) -> str:
        """The one that most members prefer among those that all support."""
        common = self.common_protocols()
        votes = Counter(
            next(p.name for p in member.protocols if p.name in common)
            for member in self.members.values()
        )
        return votes.most_common(1)[0][0]

    # --- time ---

    @property
    def rebalance_timeout(self) -> float:
        return max((one.rebalance_timeout for one in self.members.values()), default=0.0)

    def next_deadline(self) -> float | None:
        """When `expire` has something to do."""
        return min(self._deadlines(), default=None)

    def _deadlines(self) -> Iterator[float]:
        for member in self.members.values():
            if not member.is_parked:
                yield member.session_deadline
        yield from self.pending.values()
        if self.join_deadline is not None:
            yield self.join_deadline
        if self.sync_deadline is not None:
            yield self.sync_deadline


# ---------------------------------------------------------------- answers


class Joined(NamedTuple):
    """The answer to a join."""

    generation: int
    protocol_type: str
    protocol_name: str | None
    leader: str
    member_id: str
    # For the leader: everybody, with what they say for the protocol in force.
    members: tuple[tuple[str, str | None, bytes], ...] = ()
    skip_assignment: bool = False


class Synced(NamedTuple):
    """The answer to a sync."""

    protocol_type: str
    protocol_name: str | None
    assignment: bytes


class JoinAnswer(NamedTuple):
    """Answer the join that is parked for this member."""

    member_id: str
    answer: Joined | ErrorCode


class SyncAnswer(NamedTuple):
    """Answer the sync that is parked for this member."""

    member_id: str
    answer: Synced | ErrorCode


Effect: TypeAlias = JoinAnswer | SyncAnswer
