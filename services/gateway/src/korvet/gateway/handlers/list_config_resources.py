"""ListConfigResources (74), v0-v1: what has configs.

Versions
    v1  other types than client metrics, of which there are none here (KIP-1142).

Topics and brokers are listed. Groups, client metrics and loggers have no configs here.
"""

from typing import Final

from korvet.gateway.config_resources import ResourceType
from korvet.gateway.handler import Handler, RequestContext
from korvet.kafka.errors import ErrorCode, KafkaError
from korvet.kafka.messages.list_config_resources import (
    ListConfigResourcesRequest,
    ListConfigResourcesResponse,
)

_Resource = ListConfigResourcesResponse.ConfigResource

_TYPES_FROM: Final = 1


async def handle(
    request: ListConfigResourcesRequest, context: RequestContext
) -> ListConfigResourcesResponse:
    if context.api_version < _TYPES_FROM:
        return ListConfigResourcesResponse()
    wanted = set(request.resource_types) or set(ResourceType)
    unknown = sorted(wanted - set(ResourceType))
    if unknown:
        detail = f"Unsupported config resource types: {unknown}"
        raise KafkaError(ErrorCode.UNSUPPORTED_VERSION, detail)
    resources: list[_Resource] = []
    if ResourceType.BROKER in wanted:
        resources += (
            _Resource(resource_name=str(broker.node_id), resource_type=ResourceType.BROKER)
            for broker in context.cluster.brokers
        )
    if ResourceType.TOPIC in wanted:
        resources += [
            _Resource(resource_name=topic.name, resource_type=ResourceType.TOPIC)
            for topic in await context.cluster.topics()
        ]
    return ListConfigResourcesResponse(config_resources=resources)


def refuse(
    request: ListConfigResourcesRequest, error: KafkaError, version: int
) -> ListConfigResourcesResponse:
    return ListConfigResourcesResponse(error_code=error.code)


HANDLER: Final = Handler(
    ListConfigResourcesRequest,
    min_version=0,
    max_version=1,
    handle=handle,
    refuse=refuse,
    cancellable=True,
)
