"""DeleteGroups (42), v0-v2: delete groups without members, with their offsets.

Versions
    v2  flexible.
"""

import asyncio
from typing import Final

from korvet.gateway.handler import Handler, RequestContext
from korvet.kafka.errors import KafkaError
from korvet.kafka.messages.delete_groups import DeleteGroupsRequest, DeleteGroupsResponse
from korvet.proto.coordinator.v1 import coordinator_service_pb2 as pb

_Result = DeleteGroupsResponse.DeletableGroupResult

# Each group is its owner's to delete, so each is a call by itself.
_AT_ONCE: Final = 32


async def handle(
    request: DeleteGroupsRequest, context: RequestContext
) -> DeleteGroupsResponse:
    turns = asyncio.Semaphore(_AT_ONCE)

    async def delete(group_id: str) -> _Result:
        async with turns:
            try:
                deleted = await context.coordinator.delete_group(
                    pb.DeleteGroupRequest(group_id=group_id)
                )
            except KafkaError as error:
                return _Result(group_id=group_id, error_code=error.code)
        return _Result(group_id=group_id, error_code=deleted.error_code)

    return DeleteGroupsResponse(
        results=await asyncio.gather(*map(delete, dict.fromkeys(request.groups_names)))
    )


def refuse(
    request: DeleteGroupsRequest, error: KafkaError, version: int
) -> DeleteGroupsResponse:
    return DeleteGroupsResponse(
        results=[
            _Result(group_id=group_id, error_code=error.code)
            for group_id in dict.fromkeys(request.groups_names)
        ]
    )


HANDLER: Final = Handler(
    DeleteGroupsRequest, min_version=0, max_version=2, handle=handle, refuse=refuse
)
