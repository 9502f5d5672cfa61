"""PURE: how a rebalance begins, waits, completes, and what it answers.

A `Rebalance` is one step of a group in the making: it holds the group as changed so far,
and collects the effects. It is made, used and read within one function of `group_rules`.
"""

from collections.abc import Mapping
from dataclasses import replace
from typing import Final, Generic, NamedTuple, TypeVar

from korvet.coordinator.group import (
    Effect,
    Group,
    JoinAnswer,
    Joined,
    Member,
    State,
    SyncAnswer,
    Synced,
)
from korvet.kafka.errors import ErrorCode

# Of a rebalance that nobody joins, so that it does not go round and round.
MIN_WAIT: Final = 1.0
# An empty group's first rebalance waits for ids that were given away no longer than this:
# they are used within a round trip, or their client has vanished. Kafka waits for none, but
# then clients that start at once often need a second rebalance, of which those who were
# first learn by a heartbeat, seconds later.
ID_WAIT: Final = 0.25

Answer = TypeVar("Answer")


class Step(NamedTuple, Generic[Answer]):
    """What an event leads to."""

    group: Group
    # None: the call is parked.
    answer: Answer | None
    effects: tuple[Effect, ...] = ()


class Rebalance:
    def __init__(self, group: Group, now: float) -> None:
        self.group = group
        self.effects: list[Effect] = []
        self._now = now
        self._has_lost = False

    # --- who is in ---

    def remove(self, member_id: str) -> None:
        """Take a member, or an id that was given away, out; `settle` draws conclusions."""
        if member_id in self.group.pending:
            pending = {k: at for k, at in self.group.pending.items() if k != member_id}
            self.group = replace(self.group, pending=pending)
            return
        member = self.group.members.get(member_id)
        if member is None:
            return
        self.effects += parked_answers(member, ErrorCode.UNKNOWN_MEMBER_ID)
        self.group = self.group.without_member(member_id)
        self._has_lost = True

    def remove_unsynced(self) -> None:
        for member in self.group.members.values():
            if member.owes_sync:
                self.remove(member.member_id)
        self.group = replace(self.group, sync_deadline=None)

    def settle(self) -> None:
        """After members were taken out, or time has passed."""
        if self.group.state is State.PREPARING_REBALANCE:
            self._complete_if_due()
        elif self._has_lost:
            self.begin(0.0)

    # --- PREPARING_REBALANCE ---

    def begin(self, initial_delay: float) -> None:
        """Ask everybody to join again, or go on asking. A first rebalance is put off."""
        if self.group.state is not State.PREPARING_REBALANCE:
            is_first = self.group.state is State.EMPTY
            delay = initial_delay if is_first else 0.0
            if self.group.state is State.COMPLETING_REBALANCE:
                self._give_up_assigning()
            limit = self._now + self.group.rebalance_timeout
            wait = self._now + (delay or ID_WAIT)
            self.group = replace(
                self.group.enter(State.PREPARING_REBALANCE),
                join_deadline=min(limit, wait) if is_first else limit,
                delay=delay,
                delay_limit=limit,
                has_grown=False,
                sync_deadline=None,
            )
        self._complete_if_due()

    def _give_up_assigning(self) -> None:
        """Nobody gets what the leader would assign, and nobody has anything any more."""
        refused = ErrorCode.REBALANCE_IN_PROGRESS
        waiting = [key for key, one in self.group.members.items() if one.is_syncing]
        self.effects += [SyncAnswer(key, refused) for key in waiting]
        members = {
            key: replace(
                member.heard_from(self._now) if member.is_syncing else member,
                is_syncing=False,
                assignment=b"",
            )
            for key, member in self.group.members.items()
        }
        self.group = replace(self.group, members=members)

    def _complete_if_due(self) -> None:
        group = self.group
        assert group.join_deadline is not None
        if not group.members and not group.pending:
            self._complete()
        elif group.join_deadline <= self._now:
            if group.delay and group.has_grown and group.delay_limit > self._now:
                # More have come, so that even more may: wait once more.
                until = min(self._now + group.delay, group.delay_limit)
                self.group = replace(group, join_deadline=until, has_grown=False)
            else:
                self._complete()
        elif not group.delay and not group.pending and self._have_all_joined():
            self._complete()

    def _have_all_joined(self) -> bool:
        return all(member.is_joining for member in self.group.members.values())

    def _complete(self) -> None:
        """Begin the next generation, with those who have joined."""
        for member in self.group.members.values():
            # Static members may be away for as long as their session lasts.
            if not member.is_joining and member.instance_id is None:
                self.remove(member.member_id)
        group = self.group
        parked = [
            key
            for key, member in group.members.items()
            if member.is_joining and member.is_parked
        ]
        if group.members and not parked:
            # Nobody could lead: wait for one of them, or until their sessions end.
            until = self._now + max(group.rebalance_timeout, MIN_WAIT)
            self.group = replace(group, join_deadline=until, delay=0.0)
            return
        group = replace(
            group,
            generation=next_generation(group.generation),
            join_deadline=None,
            delay=0.0,
            has_grown=False,
        )
        if not group.members:
            self.group = replace(group.enter(State.EMPTY), protocol_name=None, leader=None)
            return
        # Who has vanished does not lead: the others would wait for what it assigns.
        if group.leader not in parked:
            group = replace(group, leader=parked[0])
        group = replace(
            group.enter(State.COMPLETING_REBALANCE),
            protocol_name=group.choose_protocol(),
            sync_deadline=self._now + group.rebalance_timeout,
            members={
                key: replace(
                    member.heard_from(self._now) if member.is_parked else member,
                    is_joining=False,
                    has_vanished=False,
                    owes_sync=member.is_joining,
                )
                for key, member in group.members.items()
            },
        )
        self.group = group
        self.effects += [JoinAnswer(key, current_join(group, key)) for key in parked]

    # --- COMPLETING_REBALANCE ---

    def assign(self, assignments: Mapping[str, bytes]) -> None:
        """Take the leader's assignments; who is not in them gets none."""
        waiting = [key for key, one in self.group.members.items() if one.is_syncing]
        group = replace(
            self.group.enter(State.STABLE),
            members={
                key: replace(
                    member.heard_from(self._now) if member.is_syncing else member,
                    is_syncing=False,
                    assignment=assignments.get(key, b""),
                )
                for key, member in self.group.members.items()
            },
        )
        self.group = group
        self.effects += [SyncAnswer(key, current_sync(group, key)) for key in waiting]

    def refuse_assignments(self) -> None:
        """The leader's are more than can be kept: Kafka tells everybody so, and clients
        take that for the end; here the others need only come again."""
        assert self.group.leader is not None
        leader = self.group.members[self.group.leader]
        self.effects += parked_answers(leader, ErrorCode.UNKNOWN_SERVER_ERROR)
        self.group = self.group.with_member(replace(leader, is_syncing=False))
        self.begin(0.0)


def parked_answers(member: Member, code: ErrorCode) -> tuple[Effect, ...]:
    """Tell a member's parked call, if there is one, why it has waited in vain."""
    if member.is_joining and not member.has_vanished:
        return (JoinAnswer(member.member_id, code),)
    if member.is_syncing:
        return (SyncAnswer(member.member_id, code),)
    return ()


def next_generation(generation: int) -> int:
    """An int32 at the wire, and never negative: that means "outside of a group"."""
    return generation % ((1 << 31) - 1) + 1


def current_join(group: Group, member_id: str) -> Joined:
    """What a member is told of this generation."""
    assert group.leader is not None
    everybody: tuple[tuple[str, str | None, bytes], ...] = ()
    if group.leader == member_id:
        everybody = tuple(
            (key, member.instance_id, member.metadata_for(group.protocol_name))
            for key, member in group.members.items()
        )
    return Joined(
        generation=group.generation,
        protocol_type=group.protocol_type,
        protocol_name=group.protocol_name,
        leader=group.leader,
        member_id=member_id,
        members=everybody,
    )


def current_sync(group: Group, member_id: str) -> Synced:
    assignment = group.members[member_id].assignment
    return Synced(group.protocol_type, group.protocol_name, assignment)
