"""ListGroups (16), v0-v5: the groups that there are.

Versions
    v3  flexible.
    v4  states, to choose by and in the answer (KIP-518).
    v5  types, likewise (KIP-848).

Tools ask every broker and put the answers together, so each gateway lists its share of the
groups, and none is listed twice.
"""

from typing import Final

from korvet.gateway.handler import Handler, RequestContext
from korvet.gateway.service_addresses import rendezvous
from korvet.kafka.errors import KafkaError
from korvet.kafka.messages.list_groups import ListGroupsRequest, ListGroupsResponse
from korvet.proto.coordinator.v1 import coordinator_service_pb2 as pb


async def handle(request: ListGroupsRequest, context: RequestContext) -> ListGroupsResponse:
    found = await context.coordinator.list_groups(
        pb.ListGroupsRequest(states=request.states_filter, types=request.types_filter)
    )
    nodes = [(str(broker.node_id), broker.node_id) for broker in context.cluster.brokers]
    return ListGroupsResponse(
        groups=[
            ListGroupsResponse.ListedGroup(
                group_id=group.group_id,
                protocol_type=group.protocol_type,
                group_state=group.state,
                group_type=group.type,
            )
            for group in found.groups
            if rendezvous(group.group_id.encode(), nodes) == context.node.node_id
        ]
    )


def refuse(
    request: ListGroupsRequest, error: KafkaError, version: int
) -> ListGroupsResponse:
    return ListGroupsResponse(error_code=error.code)


HANDLER: Final = Handler(
    ListGroupsRequest,
    min_version=0,
    max_version=5,
    handle=handle,
    refuse=refuse,
    cancellable=True,
)
