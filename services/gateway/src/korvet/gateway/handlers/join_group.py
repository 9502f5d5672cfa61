"""JoinGroup (11), v0-v9: become a member of a group, and wait for its next generation.

Versions
    v1  rebalance_timeout_ms; before that it is the session time-out.
    v4  a first join is MEMBER_ID_REQUIRED, with the id to join with (KIP-394).
    v5  group_instance_id: static members (KIP-345), who need no second join.
    v6  flexible.
    v7  protocol_type in the answer; a refusal has null names instead of empty ones.
    v8  reason, for the log (KIP-800).
    v9  skip_assignment: a static leader that comes back assigns nothing (KIP-814).

The request is parked in the coordinator until all members have joined or had their time,
and dropped when its client has gone.
"""

from typing import Final

from korvet.gateway.group_ids import require_group_id
from korvet.gateway.handler import Handler, RequestContext
from korvet.kafka.errors import KafkaError
from korvet.kafka.messages.join_group import JoinGroupRequest, JoinGroupResponse
from korvet.proto.coordinator.v1 import coordinator_service_pb2 as pb

_REBALANCE_TIMEOUT_FROM: Final = 1
_MEMBER_ID_REQUIRED_FROM: Final = 4
_NULL_NAMES_FROM: Final = 7
_SKIP_ASSIGNMENT_FROM: Final = 9


async def handle(request: JoinGroupRequest, context: RequestContext) -> JoinGroupResponse:
    require_group_id(request.group_id)
    version = context.api_version
    joined = await context.coordinator.join_group(
        pb.JoinGroupRequest(
            group_id=request.group_id,
            member_id=request.member_id,
            group_instance_id=request.group_instance_id,
            protocol_type=request.protocol_type,
            protocols=[
                pb.MemberProtocol(name=protocol.name, metadata=protocol.metadata)
                for protocol in request.protocols
            ],
            session_timeout_ms=request.session_timeout_ms,
            rebalance_timeout_ms=(
                request.rebalance_timeout_ms
                if version >= _REBALANCE_TIMEOUT_FROM
                else request.session_timeout_ms
            ),
            requires_member_id=(
                version >= _MEMBER_ID_REQUIRED_FROM and request.group_instance_id is None
            ),
            can_skip_assignment=version >= _SKIP_ASSIGNMENT_FROM,
            client_id=context.client_id or "",
            client_host=context.client_host,
            principal=context.principal,
            reason=request.reason or "",
        )
    )
    if joined.error_code:
        return _refused(joined.error_code, joined.member_id or request.member_id, version)
    return JoinGroupResponse(
        generation_id=joined.generation_id,
        protocol_type=joined.protocol_type,
        protocol_name=joined.protocol_name,
        leader=joined.leader,
        skip_assignment=joined.skip_assignment,
        member_id=joined.member_id,
        members=[
            JoinGroupResponse.JoinGroupResponseMember(
                member_id=member.member_id,
                group_instance_id=(
                    member.group_instance_id
                    if member.HasField("group_instance_id")
                    else None
                ),
                metadata=member.metadata,
            )
            for member in joined.members
        ],
    )


def refuse(request: JoinGroupRequest, error: KafkaError, version: int) -> JoinGroupResponse:
    return _refused(error.code, request.member_id, version)


def _refused(error_code: int, member_id: str, version: int) -> JoinGroupResponse:
    return JoinGroupResponse(
        error_code=error_code,
        protocol_name=None if version >= _NULL_NAMES_FROM else "",
        member_id=member_id,
    )


HANDLER: Final = Handler(
    JoinGroupRequest,
    min_version=0,
    max_version=9,
    handle=handle,
    refuse=refuse,
    cancellable=True,
)
