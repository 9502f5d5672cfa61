"""LeaveGroup (13), v0-v5: take members out of a group.

Versions
    v3  several members, static ones by their instance ids (KIP-345): how administrators
        remove them. Before that, the one member whose answer it is.
    v4  flexible.
    v5  reason, for the log (KIP-800).
"""

from collections.abc import Sequence
from typing import Final

from korvet.gateway.group_ids import require_group_id
from korvet.gateway.handler import Handler, RequestContext
from korvet.kafka.errors import KafkaError
from korvet.kafka.messages.leave_group import LeaveGroupRequest, LeaveGroupResponse
from korvet.proto.coordinator.v1 import coordinator_service_pb2 as pb

_Leaving = LeaveGroupRequest.MemberIdentity

_SEVERAL_MEMBERS_FROM: Final = 3


async def handle(request: LeaveGroupRequest, context: RequestContext) -> LeaveGroupResponse:
    require_group_id(request.group_id)
    version = context.api_version
    leaving = _leaving(request, version)
    left = await context.coordinator.leave_group(
        pb.LeaveGroupRequest(
            group_id=request.group_id,
            members=[
                pb.LeaveGroupRequest.Member(
                    member_id=member.member_id,
                    group_instance_id=member.group_instance_id,
                    reason=member.reason or "",
                )
                for member in leaving
            ],
        )
    )
    if left.error_code:
        return LeaveGroupResponse(error_code=left.error_code)
    if version < _SEVERAL_MEMBERS_FROM:
        (error_code,) = left.member_error_codes
        return LeaveGroupResponse(error_code=error_code)
    return LeaveGroupResponse(
        members=[
            LeaveGroupResponse.MemberResponse(
                member_id=member.member_id,
                group_instance_id=member.group_instance_id,
                error_code=error_code,
            )
            for member, error_code in zip(leaving, left.member_error_codes, strict=True)
        ]
    )


def refuse(
    request: LeaveGroupRequest, error: KafkaError, version: int
) -> LeaveGroupResponse:
    return LeaveGroupResponse(error_code=error.code)


def _leaving(request: LeaveGroupRequest, version: int) -> Sequence[_Leaving]:
    if version >= _SEVERAL_MEMBERS_FROM:
        return request.members
    return [_Leaving(member_id=request.member_id)]


HANDLER: Final = Handler(
    LeaveGroupRequest, min_version=0, max_version=5, handle=handle, refuse=refuse
)
