"""AlterConfigs (33), v0-v2: give resources new configs in place of all they have.

Versions
    v2  flexible.

What is not named goes back to its default, except what is fixed when a topic is created.
Only topics have configs that can change; see `config_changes`. Tools since Kafka 2.3 use
IncrementalAlterConfigs.
"""

from typing import Final

from korvet.gateway.config_changes import ConfigChange, ResourceChanges, apply_changes
from korvet.gateway.handler import Handler, RequestContext
from korvet.kafka.errors import ErrorCode, KafkaError
from korvet.kafka.messages.alter_configs import AlterConfigsRequest, AlterConfigsResponse
from korvet.proto.storage.v1 import storage_service_pb2 as pb

_Resource = AlterConfigsRequest.AlterConfigsResource
_Result = AlterConfigsResponse.AlterConfigsResourceResponse


async def handle(
    request: AlterConfigsRequest, context: RequestContext
) -> AlterConfigsResponse:
    outcomes = await apply_changes(
        [_changes(resource) for resource in request.resources],
        context,
        replace_all=True,
        validate_only=request.validate_only,
    )
    return AlterConfigsResponse(
        responses=[
            _result(resource, outcome)
            for resource, outcome in zip(request.resources, outcomes, strict=True)
        ]
    )


def refuse(
    request: AlterConfigsRequest, error: KafkaError, version: int
) -> AlterConfigsResponse:
    return AlterConfigsResponse(
        responses=[_result(resource, error) for resource in request.resources]
    )


def _changes(resource: _Resource) -> ResourceChanges:
    return ResourceChanges(
        resource_type=resource.resource_type,
        resource_name=resource.resource_name,
        changes=[
            ConfigChange(config.name, pb.CONFIG_OPERATION_SET, config.value)
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
    AlterConfigsRequest, min_version=0, max_version=2, handle=handle, refuse=refuse
)
