"""DescribeGroups (15), v0-v6: groups with their members.

Versions
    v3  authorized operations (KIP-430).
    v4  group_instance_id (KIP-345).
    v5  flexible.
    v6  a group that is not there is GROUP_ID_NOT_FOUND, with a message (KIP-1043). Before
        that it is a group in state Dead, without an error.
"""

from typing import Final

from korvet.gateway.authorized_operations import NOT_ASKED, ON_GROUP
from korvet.gateway.handler import Handler, RequestContext
from korvet.kafka.errors import ErrorCode, KafkaError
from korvet.kafka.messages.describe_groups import (
    DescribeGroupsRequest,
    DescribeGroupsResponse,
)
from korvet.proto.coordinator.v1 import coordinator_service_pb2 as pb

_Group = DescribeGroupsResponse.DescribedGroup
_Member = DescribeGroupsResponse.DescribedGroupMember

_NOT_FOUND_FROM: Final = 6
_DEAD: Final = "Dead"


async def handle(
    request: DescribeGroupsRequest, context: RequestContext
) -> DescribeGroupsResponse:
    group_ids = list(dict.fromkeys(request.groups))
    found = await context.coordinator.describe_groups(
        pb.DescribeGroupsRequest(group_ids=group_ids)
    )
    operations = ON_GROUP if request.include_authorized_operations else NOT_ASKED
    return DescribeGroupsResponse(
        groups=[
            _described(group_id, group, operations, context.api_version)
            for group_id, group in zip(group_ids, found.groups, strict=True)
        ]
    )


def refuse(
    request: DescribeGroupsRequest, error: KafkaError, version: int
) -> DescribeGroupsResponse:
    return DescribeGroupsResponse(
        groups=[
            _refused(group_id, error.code, error.detail, version)
            for group_id in dict.fromkeys(request.groups)
        ]
    )


def _described(
    group_id: str, group: pb.DescribeGroupsResponse.Group, operations: int, version: int
) -> _Group:
    if group.error_code == ErrorCode.GROUP_ID_NOT_FOUND:
        if version < _NOT_FOUND_FROM:
            return _Group(
                group_id=group_id, group_state=_DEAD, authorized_operations=operations
            )
        detail = f"Group {group_id} not found."
        return _refused(group_id, group.error_code, detail, version)
    if group.error_code:
        return _refused(group_id, group.error_code, "", version)
    return _Group(
        group_id=group_id,
        group_state=group.state,
        protocol_type=group.protocol_type,
        protocol_data=group.protocol_name,
        members=[_member(member) for member in group.members],
        authorized_operations=operations,
    )


def _refused(group_id: str, error_code: int, detail: str, version: int) -> _Group:
    return _Group(
        error_code=error_code,
        error_message=(detail or None) if version >= _NOT_FOUND_FROM else None,
        group_id=group_id,
        group_state=_DEAD if error_code == ErrorCode.GROUP_ID_NOT_FOUND else "",
    )


def _member(member: pb.DescribeGroupsResponse.Member) -> _Member:
    return _Member(
        member_id=member.member_id,
        group_instance_id=(
            member.group_instance_id if member.HasField("group_instance_id") else None
        ),
        client_id=member.client_id,
        # As Java writes an address, and so as every tool shows it.
        client_host=f"/{member.client_host}",
        member_metadata=member.metadata,
        member_assignment=member.assignment,
    )


HANDLER: Final = Handler(
    DescribeGroupsRequest,
    min_version=0,
    max_version=6,
    handle=handle,
    refuse=refuse,
    cancellable=True,
)
