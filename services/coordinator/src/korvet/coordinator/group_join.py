"""PURE: the rule of a join: who may come in, and whether that takes a rebalance.

A member is in a group under one id at a time, and a static member (KIP-345) under one
instance id: whoever comes back under it gets a new member id, and fences the old one.
"""

from dataclasses import dataclass, replace
from typing import NamedTuple, TypeAlias

from korvet.coordinator.group import Group, JoinAnswer, Joined, Member, Protocol, State
from korvet.coordinator.rebalance import Rebalance, Step, current_join, parked_answers
from korvet.kafka.errors import ErrorCode, KafkaError


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    min_session_timeout: float = 6.0
    max_session_timeout: float = 1800.0
    max_size: int = (1 << 31) - 1
    initial_delay: float = 3.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Join:
    # Empty on a first join.
    member_id: str
    # What a new member is called, or a static one that comes back.
    new_member_id: str
    instance_id: str | None = None
    protocol_type: str
    protocols: tuple[Protocol, ...]
    session_timeout: float
    rebalance_timeout: float
    requires_member_id: bool = True
    can_skip_assignment: bool = True
    client_id: str = ""
    client_host: str = ""
    principal: str = ""


class MemberIdRequired(NamedTuple):
    """Join again, under this id (KIP-394)."""

    member_id: str


JoinResult: TypeAlias = Joined | MemberIdRequired


def join(group: Group, request: Join, limits: Limits, now: float) -> Step[JoinResult]:
    check_session_time(request, limits)
    known = _known_member(group, request)
    _check_protocols(group, known, request)
    if _is_full(group, known, limits):
        return _refuse_for_size(group, request, now)
    if known is not None and known.member_id == request.member_id:
        return _join_again(group, known, request, now)
    if known is not None:
        return _replace_static(group, known, request, now)
    is_first = not request.member_id and request.instance_id is None
    if is_first and request.requires_member_id:
        until = now + request.session_timeout
        pending = {**group.pending, request.new_member_id: until}
        return Step(
            replace(group, pending=pending), MemberIdRequired(request.new_member_id)
        )
    return _join_first(group, request, limits, now)


# ---------------------------------------------------------------- who may come in


def check_session_time(request: Join, limits: Limits) -> None:
    """Whatever the group: what is refused here does not make one."""
    shortest, longest = limits.min_session_timeout, limits.max_session_timeout
    if not shortest <= request.session_timeout <= longest:
        raise KafkaError(ErrorCode.INVALID_SESSION_TIMEOUT)


def _known_member(group: Group, request: Join) -> Member | None:
    """Whom this join continues or replaces; None for one that is new."""
    if not request.member_id:
        if request.instance_id is None:
            return None
        return group.static_member(request.instance_id)
    if request.member_id in group.pending and request.instance_id is None:
        return None
    return group.member_named(request.member_id, request.instance_id)


def _check_protocols(group: Group, known: Member | None, request: Join) -> None:
    """A member must speak what all the others do."""
    names = {protocol.name for protocol in request.protocols}
    others = group.without_member(known.member_id) if known else group
    if not (
        request.protocol_type
        and names
        and (not group.members or request.protocol_type == group.protocol_type)
        and (not others.members or names & others.common_protocols())
    ):
        raise KafkaError(ErrorCode.INCONSISTENT_GROUP_PROTOCOL)


def _is_full(group: Group, known: Member | None, limits: Limits) -> bool:
    if group.state is not State.PREPARING_REBALANCE:
        return known is None and len(group.members) >= limits.max_size
    # All places are given anew: who comes back late may find them taken.
    joined = sum(member.is_joining for member in group.members.values())
    return joined >= limits.max_size and not (known is not None and known.is_joining)


def _refuse_for_size(group: Group, request: Join, now: float) -> Step[JoinResult]:
    """Nobody waits any longer for the one that is turned away."""
    rebalance = Rebalance(group, now)
    rebalance.remove(request.member_id)
    rebalance.settle()
    member_id = request.member_id or request.new_member_id
    refusal = JoinAnswer(member_id, ErrorCode.GROUP_MAX_SIZE_REACHED)
    return Step(rebalance.group, None, (refusal, *rebalance.effects))


# ---------------------------------------------------------------- coming in


def _join_first(
    group: Group, request: Join, limits: Limits, now: float
) -> Step[JoinResult]:
    member_id = request.member_id or request.new_member_id
    pending = {key: at for key, at in group.pending.items() if key != member_id}
    group = replace(
        group, pending=pending, protocol_type=request.protocol_type, has_grown=True
    )
    member = Member(
        member_id=member_id,
        instance_id=request.instance_id,
        client_id=request.client_id,
        client_host=request.client_host,
        principal=request.principal,
        session_timeout=request.session_timeout,
        rebalance_timeout=request.rebalance_timeout,
        protocols=request.protocols,
        is_joining=True,
    )
    rebalance = Rebalance(group.with_member(member), now)
    rebalance.begin(limits.initial_delay)
    return Step(rebalance.group, None, tuple(rebalance.effects))


def _join_again(
    group: Group, member: Member, request: Join, now: float
) -> Step[JoinResult]:
    # An earlier call of its is not waited for any more, but none is left unanswered.
    effects = parked_answers(member, ErrorCode.REBALANCE_IN_PROGRESS)
    is_completing = group.state is State.COMPLETING_REBALANCE
    is_current = member.protocols == request.protocols and (
        is_completing
        # A leader that joins again wants to assign anew.
        or (group.state is State.STABLE and group.leader != member.member_id)
    )
    updated = replace(_updated(member, request), is_joining=False, is_syncing=False)
    if is_current:
        alive = replace(updated, owes_sync=is_completing or member.owes_sync).heard_from(
            now
        )
        group = group.with_member(alive)
        return Step(group, current_join(group, alive.member_id), effects)
    rebalance = Rebalance(group.with_member(replace(updated, is_joining=True)), now)
    rebalance.begin(0.0)
    return Step(rebalance.group, None, (*effects, *rebalance.effects))


def _replace_static(
    group: Group, member: Member, request: Join, now: float
) -> Step[JoinResult]:
    """A static member has come back under its instance id, and gets a new member id."""
    effects = parked_answers(member, ErrorCode.FENCED_INSTANCE_ID)
    former_leader = group.leader or ""
    came_back = replace(
        _updated(member, request),
        member_id=request.new_member_id,
        is_joining=False,
        is_syncing=False,
    ).heard_from(now)
    group = _with_replaced(group, member, came_back)
    if group.state is State.STABLE and group.choose_protocol() == group.protocol_name:
        answer = current_join(group, came_back.member_id)
        if request.can_skip_assignment:
            is_leader = group.leader == came_back.member_id
            return Step(group, answer._replace(skip_assignment=is_leader), effects)
        # It is told of its former self as the leader, so that it assigns nothing.
        answer = answer._replace(leader=former_leader, members=())
        return Step(group, answer, effects)
    rebalance = Rebalance(group.with_member(replace(came_back, is_joining=True)), now)
    rebalance.begin(0.0)
    return Step(rebalance.group, None, (*effects, *rebalance.effects))


def _with_replaced(group: Group, gone: Member, came: Member) -> Group:
    """With the one in the other's place, and as the leader if the other led."""
    members = [came if one is gone else one for one in group.members.values()]
    return replace(
        group,
        members={member.member_id: member for member in members},
        leader=came.member_id if group.leader == gone.member_id else group.leader,
    )


def _updated(member: Member, request: Join) -> Member:
    return replace(
        member,
        client_id=request.client_id,
        client_host=request.client_host,
        principal=request.principal,
        session_timeout=request.session_timeout,
        rebalance_timeout=request.rebalance_timeout,
        protocols=request.protocols,
    )
