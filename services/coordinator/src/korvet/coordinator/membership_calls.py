"""The calls about membership, from message to message. The rules are in `group_rules`."""

import uuid
from typing import Final, NoReturn

from korvet.coordinator.group import Protocol
from korvet.coordinator.group_join import (
    Join,
    JoinResult,
    Limits,
    MemberIdRequired,
    check_session_time,
)
from korvet.coordinator.group_rules import Leaving, Sync
from korvet.coordinator.groups import Groups
from korvet.coordinator.refusals import answered, explained
from korvet.kafka.errors import ErrorCode, KafkaError
from korvet.proto.coordinator.v1 import coordinator_service_pb2 as pb

# No client has so many; each costs time, however short it is.
_MAX_PROTOCOLS: Final = 1000
_MAX_ASSIGNMENTS: Final = 20_000


class MembershipCalls:
    def __init__(self, groups: Groups, limits: Limits) -> None:
        self._groups = groups
        self._limits = limits

    async def join(self, request: pb.JoinGroupRequest) -> pb.JoinGroupResponse:
        return await answered(self._join(request), pb.JoinGroupResponse)

    async def _join(self, request: pb.JoinGroupRequest) -> pb.JoinGroupResponse:
        _check_group_id(request.group_id)
        # Before anything is made of it, so that it takes up nobody's time.
        if request.ByteSize() > self._limits.max_bytes:
            _refuse(f"{request.ByteSize()} bytes for one member")
        if len(request.protocols) > _MAX_PROTOCOLS:
            _refuse(f"{len(request.protocols)} protocols")
        event = _join_event(request)
        check_session_time(event, self._limits)
        if request.member_id:
            actor = await self._groups.find(request.group_id)
            if actor is None:
                raise KafkaError(ErrorCode.UNKNOWN_MEMBER_ID)
        else:
            actor = await self._groups.claim(request.group_id)
        try:
            return _joined(await actor.join(event))
        except KafkaError as refusal:
            # Some clients look at the id even then.
            return pb.JoinGroupResponse(
                error_code=refusal.code, member_id=request.member_id, generation_id=-1
            )

    async def sync(self, request: pb.SyncGroupRequest) -> pb.SyncGroupResponse:
        return await answered(self._sync(request), pb.SyncGroupResponse)

    async def _sync(self, request: pb.SyncGroupRequest) -> pb.SyncGroupResponse:
        _check_group_id(request.group_id)
        if len(request.assignments) > _MAX_ASSIGNMENTS:
            _refuse(f"{len(request.assignments)} assignments")
        actor = await self._groups.find(request.group_id)
        if actor is None:
            raise KafkaError(ErrorCode.UNKNOWN_MEMBER_ID)
        event = Sync(
            member_id=request.member_id,
            instance_id=_instance_id(request),
            generation=request.generation_id,
            protocol_type=_given(request, "protocol_type"),
            protocol_name=_given(request, "protocol_name"),
            assignments=tuple((a.member_id, a.assignment) for a in request.assignments),
        )
        synced = await actor.sync(event)
        return pb.SyncGroupResponse(
            protocol_type=synced.protocol_type,
            protocol_name=synced.protocol_name or "",
            assignment=synced.assignment,
        )

    def heartbeat_now(self, request: pb.HeartbeatRequest) -> pb.HeartbeatResponse | None:
        """The answer, if the group is at hand and nothing is under way in it.

        The hot path: idle members do nothing else.
        """
        actor = self._groups.here(request.group_id)
        if actor is None:
            return None
        try:
            code = actor.heartbeat_now(
                request.member_id, _instance_id(request), request.generation_id
            )
        except Exception as error:  # noqa: BLE001 - each kind has its code
            refused, address = explained(error)
            return pb.HeartbeatResponse(error_code=refused, coordinator_address=address)
        return None if code is None else pb.HeartbeatResponse(error_code=code)

    async def heartbeat(self, request: pb.HeartbeatRequest) -> pb.HeartbeatResponse:
        return await answered(self._heartbeat(request), pb.HeartbeatResponse)

    async def _heartbeat(self, request: pb.HeartbeatRequest) -> pb.HeartbeatResponse:
        _check_group_id(request.group_id)
        actor = await self._groups.find(request.group_id)
        if actor is None:
            raise KafkaError(ErrorCode.UNKNOWN_MEMBER_ID)
        code = await actor.heartbeat(
            request.member_id, _instance_id(request), request.generation_id
        )
        return pb.HeartbeatResponse(error_code=code)

    async def leave(self, request: pb.LeaveGroupRequest) -> pb.LeaveGroupResponse:
        return await answered(self._leave(request), pb.LeaveGroupResponse)

    async def _leave(self, request: pb.LeaveGroupRequest) -> pb.LeaveGroupResponse:
        _check_group_id(request.group_id)
        leaving = tuple(
            Leaving(member.member_id, _instance_id(member)) for member in request.members
        )
        actor = await self._groups.find(request.group_id)
        codes: tuple[ErrorCode, ...] = (ErrorCode.UNKNOWN_MEMBER_ID,) * len(leaving)
        if actor is not None:
            codes = await actor.leave(leaving)
        return pb.LeaveGroupResponse(member_error_codes=codes)


def _check_group_id(group_id: str) -> None:
    if not group_id:
        raise KafkaError(ErrorCode.INVALID_GROUP_ID)


def _refuse(what: str) -> NoReturn:
    # What Kafka says when a group's state does not fit into its log.
    raise KafkaError(ErrorCode.UNKNOWN_SERVER_ERROR, f"{what} are more than is kept")


def _given(request: pb.SyncGroupRequest, field: str) -> str | None:
    return str(getattr(request, field)) if request.HasField(field) else None  # type: ignore[arg-type]


def _instance_id(
    message: pb.JoinGroupRequest
    | pb.SyncGroupRequest
    | pb.HeartbeatRequest
    | pb.LeaveGroupRequest.Member,
) -> str | None:
    if not message.HasField("group_instance_id"):
        return None
    return message.group_instance_id


def _join_event(request: pb.JoinGroupRequest) -> Join:
    instance_id = _instance_id(request)
    return Join(
        member_id=request.member_id,
        new_member_id=f"{instance_id or request.client_id}-{uuid.uuid4()}",
        instance_id=instance_id,
        protocol_type=request.protocol_type,
        protocols=tuple(Protocol(p.name, p.metadata) for p in request.protocols),
        session_timeout=request.session_timeout_ms / 1000,
        rebalance_timeout=request.rebalance_timeout_ms / 1000,
        requires_member_id=request.requires_member_id,
        can_skip_assignment=request.can_skip_assignment,
        client_id=request.client_id,
        client_host=request.client_host,
        principal=request.principal,
    )


def _joined(result: JoinResult) -> pb.JoinGroupResponse:
    if isinstance(result, MemberIdRequired):
        return pb.JoinGroupResponse(
            error_code=ErrorCode.MEMBER_ID_REQUIRED,
            member_id=result.member_id,
            generation_id=-1,
        )
    response = pb.JoinGroupResponse(
        generation_id=result.generation,
        protocol_type=result.protocol_type,
        protocol_name=result.protocol_name or "",
        leader=result.leader,
        skip_assignment=result.skip_assignment,
        member_id=result.member_id,
    )
    for member_id, instance_id, metadata in result.members:
        response.members.add(
            member_id=member_id, group_instance_id=instance_id, metadata=metadata
        )
    return response
