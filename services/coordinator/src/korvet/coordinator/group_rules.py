"""PURE: the classic consumer-group protocol: a function for each event.

Nothing in here awaits, logs, or reads a clock. A caller passes `now` in, keeps the group
that comes back, and carries out the effects. An event that is refused raises KafkaError
before anything has changed. Where a step has no answer, the call is parked: exactly one
effect answers it, of a later step or of the same.

The rule of a join is in `group_join`, and how a rebalance goes in `rebalance`.
"""

from dataclasses import dataclass, replace
from typing import NamedTuple

from korvet.coordinator.group import Group, State, Synced
from korvet.coordinator.group_codec import assigned_bytes, said
from korvet.coordinator.group_join import Limits
from korvet.coordinator.rebalance import Rebalance, Step, current_sync, parked_answers
from korvet.kafka.errors import ErrorCode, KafkaError


@dataclass(frozen=True, slots=True, kw_only=True)
class Sync:
    member_id: str
    instance_id: str | None = None
    generation: int
    protocol_type: str | None = None
    protocol_name: str | None = None
    # Only the leader's count.
    assignments: tuple[tuple[str, bytes], ...] = ()


class Leaving(NamedTuple):
    # May be empty where there is an instance id.
    member_id: str
    instance_id: str | None


# ---------------------------------------------------------------- sync


def sync(group: Group, request: Sync, limits: Limits, now: float) -> Step[Synced]:
    member = group.member_named(request.member_id, request.instance_id)
    if request.generation != group.generation:
        raise KafkaError(ErrorCode.ILLEGAL_GENERATION)
    if request.protocol_type not in (None, group.protocol_type) or (
        request.protocol_name not in (None, group.protocol_name)
    ):
        raise KafkaError(ErrorCode.INCONSISTENT_GROUP_PROTOCOL)
    if group.state is State.PREPARING_REBALANCE:
        raise KafkaError(ErrorCode.REBALANCE_IN_PROGRESS)
    if group.state is State.STABLE:
        group = group.with_member(replace(member, owes_sync=False).heard_from(now))
        return Step(group, current_sync(group, member.member_id))
    # An earlier call of its is not waited for any more, but none is left unanswered.
    effects = parked_answers(member, ErrorCode.REBALANCE_IN_PROGRESS)
    waiting = replace(member, is_syncing=True, owes_sync=False)
    rebalance = Rebalance(group.with_member(waiting), now)
    if group.leader == member.member_id:
        members = group.members.keys()
        assigned = {key: each for key, each in request.assignments if key in members}
        if assigned_bytes(assigned.values()) > limits.max_bytes:
            rebalance.refuse_assignments()
        else:
            rebalance.assign(assigned)
    return Step(rebalance.group, None, (*effects, *rebalance.effects))


# ---------------------------------------------------------------- the rest


def heartbeat(
    group: Group, member_id: str, instance_id: str | None, generation: int, now: float
) -> Step[ErrorCode]:
    member = group.member_named(member_id, instance_id)
    if generation != group.generation:
        raise KafkaError(ErrorCode.ILLEGAL_GENERATION)
    # A member that has its join response but not yet its assignment is in order: only
    # PREPARING_REBALANCE asks members to rejoin.
    rejoin = group.state is State.PREPARING_REBALANCE
    code = ErrorCode.REBALANCE_IN_PROGRESS if rejoin else ErrorCode.NONE
    return Step(group.with_member(member.heard_from(now)), code)


def leave(
    group: Group, leaving: tuple[Leaving, ...], now: float
) -> Step[tuple[ErrorCode, ...]]:
    rebalance = Rebalance(group, now)
    codes: list[ErrorCode] = []
    for who in leaving:
        try:
            member_id = _leaving_member(rebalance.group, who)
        except KafkaError as refusal:
            codes.append(refusal.code)
            continue
        rebalance.remove(member_id)
        codes.append(ErrorCode.NONE)
    rebalance.settle()
    return Step(rebalance.group, tuple(codes), tuple(rebalance.effects))


def _leaving_member(group: Group, who: Leaving) -> str:
    if who.member_id in group.pending:
        return who.member_id
    if who.member_id or who.instance_id is None:
        return group.member_named(who.member_id, who.instance_id).member_id
    member = group.static_member(who.instance_id)
    if member is None:
        raise KafkaError(ErrorCode.UNKNOWN_MEMBER_ID)
    return member.member_id


def check_commit(
    group: Group, member_id: str, instance_id: str | None, generation: int, now: float
) -> Step[ErrorCode]:
    """Whether these offsets may be committed: by a member, or from outside."""
    if generation < 0 and group.state is State.EMPTY:
        return Step(group, ErrorCode.NONE)
    if generation < 0 and not member_id and instance_id is None:
        # Nobody commits from outside for a group whose members do.
        raise KafkaError(ErrorCode.UNKNOWN_MEMBER_ID)
    member = group.member_named(member_id, instance_id)
    if generation != group.generation:
        raise KafkaError(ErrorCode.ILLEGAL_GENERATION)
    if group.state is State.COMPLETING_REBALANCE:
        raise KafkaError(ErrorCode.REBALANCE_IN_PROGRESS)
    return Step(group.with_member(member.heard_from(now)), ErrorCode.NONE)


def check_transactional_commit(
    group: Group, member_id: str, instance_id: str | None, generation: int
) -> None:
    """The same for offsets that are part of a transaction (KIP-447): such a commit tells
    nothing of whether its member is alive, and is not kept from outside."""
    if generation < 0 and (
        group.state is State.EMPTY or (not member_id and instance_id is None)
    ):
        return
    group.member_named(member_id, instance_id)
    if generation != group.generation:
        raise KafkaError(ErrorCode.ILLEGAL_GENERATION)


def forget_call(group: Group, member_id: str, now: float) -> Group:
    """A member's parked call is not waited for any more: its client has gone.

    It may be back before its session ends. Until then it has joined, as in Kafka, so that
    the others go on at once; but it must ask once more for its assignment.
    """
    member = group.members.get(member_id)
    if member is None or not member.is_parked:
        return group
    gone = replace(
        member,
        has_vanished=member.is_joining,
        is_syncing=False,
        owes_sync=member.is_syncing or member.owes_sync,
    )
    return group.with_member(gone.heard_from(now))


def expire(group: Group, now: float) -> Step[None]:
    """Do what is due: take out the silent, and end the waiting for those who are late."""
    rebalance = Rebalance(group, now)
    for member in group.members.values():
        if not member.is_parked and member.session_deadline <= now:
            rebalance.remove(member.member_id)
    for member_id, until in group.pending.items():
        if until <= now:
            rebalance.remove(member_id)
    if group.sync_deadline is not None and group.sync_deadline <= now:
        rebalance.remove_unsynced()
    rebalance.settle()
    return Step(rebalance.group, None, tuple(rebalance.effects))


def resumed(group: Group, now: float) -> Group:
    """A group as its new owner takes it over: nobody is parked, and all have full time."""
    limit = now + group.rebalance_timeout
    is_completing = group.state is State.COMPLETING_REBALANCE
    members = {
        # Who of a stable group has asked for its assignment is not kept: all may have.
        key: replace(
            member,
            is_joining=False,
            is_syncing=False,
            has_vanished=False,
            owes_sync=is_completing,
            said=said(member),
        ).heard_from(now)
        for key, member in group.members.items()
    }
    return replace(
        group,
        members=members,
        pending={},
        join_deadline=limit if group.state is State.PREPARING_REBALANCE else None,
        delay=0.0,
        has_grown=False,
        sync_deadline=limit if is_completing else None,
    )


def is_transition(before: Group, after: Group) -> bool:
    """Whether a step is one that must survive: it is then saved before it takes effect.

    Who joins while a rebalance is prepared is not: should the coordinator die then, they
    join again. But who has left, or has been replaced, does not come back.
    """
    return (
        before.state is not after.state
        or before.generation != after.generation
        or not before.members.keys() <= after.members.keys()
    )
