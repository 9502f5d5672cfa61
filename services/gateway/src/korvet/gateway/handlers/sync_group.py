"""SyncGroup (14), v0-v5: hand in the leader's assignments, and wait for one's own.

Versions
    v3  group_instance_id (KIP-345).
    v4  flexible.
    v5  the protocol's type and name, which must be the group's; without them it is
        INCONSISTENT_GROUP_PROTOCOL.

The request is parked in the coordinator until the leader has sent its own, and dropped when
its client has gone.
"""

from typing import Final

from korvet.gateway.group_ids import require_group_id
from korvet.gateway.handler import Handler, RequestContext
from korvet.kafka.errors import ErrorCode, KafkaError
from korvet.kafka.messages.sync_group import SyncGroupRequest, SyncGroupResponse
from korvet.proto.coordinator.v1 import coordinator_service_pb2 as pb

_PROTOCOL_FROM: Final = 5


async def handle(request: SyncGroupRequest, context: RequestContext) -> SyncGroupResponse:
    if context.api_version >= _PROTOCOL_FROM and (
        request.protocol_type is None or request.protocol_name is None
    ):
        raise KafkaError(ErrorCode.INCONSISTENT_GROUP_PROTOCOL)
    require_group_id(request.group_id)
    synced = await context.coordinator.sync_group(
        pb.SyncGroupRequest(
            group_id=request.group_id,
            generation_id=request.generation_id,
            member_id=request.member_id,
            group_instance_id=request.group_instance_id,
            protocol_type=request.protocol_type,
            protocol_name=request.protocol_name,
            assignments=[
                pb.SyncGroupRequest.Assignment(
                    member_id=assignment.member_id, assignment=assignment.assignment
                )
                for assignment in request.assignments
            ],
        )
    )
    if synced.error_code:
        return SyncGroupResponse(error_code=synced.error_code)
    return SyncGroupResponse(
        protocol_type=synced.protocol_type,
        protocol_name=synced.protocol_name,
        assignment=synced.assignment,
    )


def refuse(request: SyncGroupRequest, error: KafkaError, version: int) -> SyncGroupResponse:
    return SyncGroupResponse(error_code=error.code)


HANDLER: Final = Handler(
    SyncGroupRequest,
    min_version=0,
    max_version=5,
    handle=handle,
    refuse=refuse,
    cancellable=True,
)
