"""DescribeCluster (60), v0-v2: the live gateways.

Versions
    v1  endpoint_type: brokers or controllers (KIP-919). There are no controllers apart from
        the brokers, so asking for them is MISMATCHED_ENDPOINT_TYPE, as on a Kafka broker.
    v2  include_fenced_brokers (KIP-1073). A gateway is live or not listed.
"""

from typing import Final

from korvet.gateway.authorized_operations import NOT_ASKED, ON_CLUSTER
from korvet.gateway.handler import Handler, RequestContext
from korvet.kafka.errors import ErrorCode, KafkaError
from korvet.kafka.messages.describe_cluster import (
    DescribeClusterRequest,
    DescribeClusterResponse,
)

_BROKERS: Final = 1


async def handle(
    request: DescribeClusterRequest, context: RequestContext
) -> DescribeClusterResponse:
    if request.endpoint_type != _BROKERS:
        raise KafkaError(
            ErrorCode.MISMATCHED_ENDPOINT_TYPE, "there are no controllers to connect to"
        )
    cluster = context.cluster
    return DescribeClusterResponse(
        cluster_id=cluster.cluster_id or "",
        controller_id=cluster.controller_id,
        brokers=[
            DescribeClusterResponse.DescribeClusterBroker(
                broker_id=broker.node_id,
                host=broker.host,
                port=broker.port,
                rack=broker.rack,
            )
            for broker in cluster.brokers
        ],
        cluster_authorized_operations=(
            ON_CLUSTER if request.include_cluster_authorized_operations else NOT_ASKED
        ),
    )


def refuse(
    request: DescribeClusterRequest, error: KafkaError, version: int
) -> DescribeClusterResponse:
    return DescribeClusterResponse(
        error_code=error.code, error_message=error.detail or None
    )


HANDLER: Final = Handler(
    DescribeClusterRequest, min_version=0, max_version=2, handle=handle, refuse=refuse
)
