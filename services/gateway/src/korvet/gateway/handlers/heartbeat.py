"""Heartbeat (12), v0-v4: say that a member is alive, and hear whether to join again.

Versions
    v3  group_instance_id (KIP-345).
    v4  flexible.
"""

from typing import Final

from korvet.gateway.group_ids import require_group_id
from korvet.gateway.handler import Handler, RequestContext
from korvet.kafka.errors import KafkaError
from korvet.kafka.messages.heartbeat import HeartbeatRequest, HeartbeatResponse
from korvet.proto.coordinator.v1 import coordinator_service_pb2 as pb


async def handle(request: HeartbeatRequest, context: RequestContext) -> HeartbeatResponse:
    require_group_id(request.group_id)
    answer = await context.coordinator.heartbeat(
        pb.HeartbeatRequest(
            group_id=request.group_id,
            generation_id=request.generation_id,
            member_id=request.member_id,
            group_instance_id=request.group_instance_id,
        )
    )
    return HeartbeatResponse(error_code=answer.error_code)


def refuse(request: HeartbeatRequest, error: KafkaError, version: int) -> HeartbeatResponse:
    return HeartbeatResponse(error_code=error.code)


HANDLER: Final = Handler(
    HeartbeatRequest, min_version=0, max_version=4, handle=handle, refuse=refuse
)
