"""IncrementalAlterConfigs (44), v0-v1: set, unset, extend or shorten single configs.

Versions
    v1  flexible.

Only topics have configs that can change; see `config_changes`.
"""

from collections.abc import Mapping
from typing import Final

from korvet.gateway.config_changes import (
    ConfigChange,
    ConfigOperation,
    ResourceChanges,
    apply_changes,
)
from korvet.gateway.handler import Handler, RequestContext
from korvet.kafka.errors import ErrorCode, KafkaError
from korvet.kafka.messages.incremental_alter_configs import (
    IncrementalAlterConfigsRequest,
    IncrementalAlterConfigsResponse,
)
from korvet.proto.storage.v1 import storage_service_pb2 as pb

_Resource = IncrementalAlterConfigsRequest.AlterConfigsResource
_Result = IncrementalAlterConfigsResponse.AlterConfigsResourceResponse

_OPERATIONS: Final[Mapping[int, ConfigOperation]] = {
    0: pb.CONFIG_OPERATION_SET,
    1: pb.CONFIG_OPERATION_DELETE,
    2: pb.CONFIG_OPERATION_APPEND,
    3: pb.CONFIG_OPERATION_SUBTRACT,
}


async def handle(
    request: IncrementalAlterConfigsRequest, context: RequestContext
) -> IncrementalAlterConfigsResponse:
    outcomes = await apply_changes(
        [_changes(resource) for resource in request.resources],
        context,
        replace_all=False,
        validate_only=request.validate_only,
    )
    return IncrementalAlterConfigsResponse(
        responses=[
            _result(resource, outcome)
            for resource, outcome in zip(request.resources, outcomes, strict=True)
        ]
    )


def refuse(
    request: IncrementalAlterConfigsRequest, error: KafkaError, version: int
) -> IncrementalAlterConfigsResponse:
    return IncrementalAlterConfigsResponse(
        responses=[_result(resource, error) for resource in request.resources]
    )


def _changes(resource: _Resource) -> ResourceChanges:
    return ResourceChanges(
        resource_type=resource.resource_type,
        resource_name=resource.resource_name,
        changes=[
            ConfigChange(
                config.name,
                _OPERATIONS.get(config.config_operation, pb.CONFIG_OPERATION_UNSPECIFIED),
                config.value,
            )
            for config in resource.configs
        ],
    )


def _result(resource: _Resource, error: KafkaError | None) -> _Result:
    return _Result(
        error_code=error.code if error else ErrorCode.NONE,
        error_message=error.detail or None if error else None,
        resource_type=resource.resource_type,
        resource_name=resource.resource_name,
    )


HANDLER: Final = Handler(
    IncrementalAlterConfigsRequest,
    min_version=0,
    max_version=1,
    handle=handle,
    refuse=refuse,
)
