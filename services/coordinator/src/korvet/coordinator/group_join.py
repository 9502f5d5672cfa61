"""PURE: the rule of a join: who may come in, and whether that takes a rebalance.

A member is in a group under one id at a time, and a static member (KIP-345) under one
instance id: whoever comes back under it gets a new member id, and fences the old one.
"""

from dataclasses import dataclass, replace
from typing import NamedTuple, TypeAlias

from korvet.coordinator.group import Group, JoinAnswer, Joined, Member, Protocol, State
from korvet.coordinator.group_codec import said
from korvet.coordinator.rebalance import Rebalance, Step, current_join, parked_answers
from korvet.kafka.errors import ErrorCode, KafkaError


@dataclass(frozen=True, slots=True, kw_only=True)
class Limits:
    min_session_timeout: float = 6.0
    max_session_timeout: float = 1800.0
    max_size: int = (1 << 31) - 1
    # As saved: of all that members say, and as much again of what they are assigned. Kafka
    # keeps a group in one record of at most 1 MiB, with one of each member's protocols; a
    # group that fits there fits here with three of them. It is written, read and made JSON
    # of in one go, while everybody else waits, so that it may not be large.
    max_bytes: int = 4 << 20
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
        return _turn_away(group, request, ErrorCode.GROUP_MAX_SIZE_REACHED, now)
    comer = _comer(request, known)
    others = group.said_bytes - (len(known.said) if known else 0)
    if others + len(comer.said) > limits.max_bytes:
        # What Kafka says when a group does not fit into its log.
        return _turn_away(group, request, ErrorCode.UNKNOWN_SERVER_ERROR, now)
    if known is not None and known.member_id == request.member_id:
        return _join_again(group, known, comer, now)
    if known is not None:
        return _replace_static(group, known, comer, request, now)
    is_first = not request.member_id and request.instance_id is None
    if is_first and request.requires_member_id:
        until = now + request.session_timeout
        pending = {**group.pending, request.new_member_id: until}
        return Step(
            replace(group, pending=pending), MemberIdRequired(request.new_member_id)
        )
    return _join_first(group, comer, request.protocol_type, limits, now)


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
    if not (
        request.protocol_type
        and names
        and (not group.members or request.protocol_type == group.protocol_type)
        and _is_spoken(group, known, names)
    ):
        raise KafkaError(ErrorCode.INCONSISTENT_GROUP_PROTOCOL)


def _is_spoken(group: Group, known: Member | None, names: set[str]) -> bool:
    """Whether all members but the one that is known speak one of these protocols."""
    if known is not None and names == {protocol.name for protocol in known.protocols}:
        # As they did: most joins are of members that join again.
        return True
    others = group.without_member(known.member_id) if known else group
    return not others.members or bool(names & others.common_protocols())


def _is_full(group: Group, known: Member | None, limits: Limits) -> bool:
    if group.state is not State.PREPARING_REBALANCE:
        return known is None and len(group.members) >= limits.max_size
    # All places are given anew: who comes back late may find them taken.
    joined = sum(member.is_joining for member in group.members.values())
    return joined >= limits.max_size and not (known is not None and known.is_joining)


def _turn_away(
    group: Group, request: Join, code: ErrorCode, now: float
) -> Step[JoinResult]:
    """Nobody waits any longer for the one that is turned away."""
    rebalance = Rebalance(group, now)
    rebalance.remove(request.member_id)
    rebalance.settle()
    member_id = request.member_id or request.new_member_id
    refusal = JoinAnswer(member_id, code)
    return Step(rebalance.group, None, (refusal, *rebalance.effects))


# ---------------------------------------------------------------- coming in


def _comer(request: Join, known: Member | None) -> Member:
    """Who joins, as the request has it; a member may leave out its instance id."""
    comer = Member(
        member_id=request.member_id or request.new_member_id,
        instance_id=known.instance_id if known else request.instance_id,
        client_id=request.client_id,
        client_host=request.client_host,
        principal=request.principal,
        session_timeout=request.session_timeout,
        rebalance_timeout=request.rebalance_timeout,
        protocols=request.protocols,
    )
    return replace(comer, said=said(comer))


def _join_first(
    group: Group, comer: Member, protocol_type: str, limits: Limits, now: float
) -> Step[JoinResult]:
    pending = {key: at for key, at in group.pending.items() if key != comer.member_id}
    group = replace(group, pending=pending, protocol_type=protocol_type, has_grown=True)
    rebalance = Rebalance(group.with_member(replace(comer, is_joining=True)), now)
    rebalance.begin(limits.initial_delay)
    return Step(rebalance.group, None, tuple(rebalance.effects))


def _join_again(
    group: Group, member: Member, comer: Member, now: float
) -> Step[JoinResult]:
    # An earlier call of its is not waited for any more, but none is left unanswered.
    effects = parked_answers(member, ErrorCode.REBALANCE_IN_PROGRESS)
    is_completing = group.state is State.COMPLETING_REBALANCE
    is_current = member.protocols == comer.protocols and (
        is_completing
        # A leader that joins again wants to assign anew.
        or (group.state is State.STABLE and group.leader != member.member_id)
    )
    updated = _updated(member, comer)
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
    group: Group, member: Member, comer: Member, request: Join, now: float
) -> Step[JoinResult]:
    """A static member has come back under its instance id, and gets a new member id."""
    effects = parked_answers(member, ErrorCode.FENCED_INSTANCE_ID)
    former_leader = group.leader or ""
    came_back = _updated(member, comer).heard_from(now)
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


def _updated(member: Member, comer: Member) -> Member:
    """A member as it says now that it is; no call of its is parked any more."""
    return replace(
        comer,
        assignment=member.assignment,
        owes_sync=member.owes_sync,
        session_deadline=member.session_deadline,
    )
