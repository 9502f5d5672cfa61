"""Changes of configs, whichever API brings them.

Topics go to storage, all of them in one call. Everything else is decided here, and alike:
what cannot be changed is refused with a reason, and taking back what was never set is done
already. (`kafka-reassign-partitions --verify` takes back throttles of brokers each time.)
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Final, NamedTuple, TypeAlias

from korvet.gateway.config_resources import ResourceType, check_broker, resource_type
from korvet.gateway.handler import RequestContext
from korvet.kafka.errors import ErrorCode, KafkaError
from korvet.proto.storage.v1 import storage_service_pb2 as pb

ConfigOperation: TypeAlias = "pb.ConfigOperation.ValueType"


class ConfigChange(NamedTuple):
    name: str
    operation: ConfigOperation
    value: str | None


class ResourceChanges(NamedTuple):
    """What one resource of a request asks for."""

    resource_type: int
    resource_name: str
    changes: Sequence[ConfigChange]


async def apply_changes(
    resources: Sequence[ResourceChanges],
    context: RequestContext,
    *,
    replace_all: bool,
    validate_only: bool,
) -> list[KafkaError | None]:
    """Change configs; why each resource was refused, or None where it was not."""
    counts = Counter((each.resource_type, each.resource_name) for each in resources)
    request = pb.AlterTopicConfigsRequest(validate_only=validate_only)
    outcomes: list[KafkaError | None] = []
    altered: list[int] = []
    for index, resource in enumerate(resources):
        refusal: KafkaError | None = None
        try:
            if counts[resource.resource_type, resource.resource_name] > 1:
                detail = "Each resource must appear at most once."
                raise KafkaError(ErrorCode.INVALID_REQUEST, detail)
            _check(resource, context.node.node_id)
        except KafkaError as error:
            refusal = error
        else:
            if resource.resource_type == ResourceType.TOPIC:
                request.topics.append(_topic_change(resource, replace_all=replace_all))
                altered.append(index)
        outcomes.append(refusal)
    if altered:
        response = await context.storage.alter_topic_configs(request)
        for index, result in zip(altered, response.topics, strict=True):
            if result.error_code:
                code = ErrorCode(result.error_code)
                outcomes[index] = KafkaError(code, result.error_message)
    return outcomes


def _check(resource: ResourceChanges, node_id: int) -> None:
    names = [change.name for change in resource.changes]
    if len(set(names)) != len(names):
        raise KafkaError(ErrorCode.INVALID_REQUEST, "Error due to duplicate config keys")
    if any(
        change.operation == pb.CONFIG_OPERATION_UNSPECIFIED for change in resource.changes
    ):
        raise KafkaError(ErrorCode.INVALID_REQUEST, "Unknown operation on a config")
    effective = [
        change
        for change in resource.changes
        if change.operation != pb.CONFIG_OPERATION_DELETE
    ]
    nulls = [change.name for change in effective if change.value is None]
    if nulls:
        detail = f"Null value not supported for: {', '.join(nulls)}"
        raise KafkaError(ErrorCode.INVALID_REQUEST, detail)
    rule = _RULES[resource_type(resource.resource_type)]
    rule(resource.resource_name, [change.name for change in effective], node_id)


def _check_topic(name: str, changed: Sequence[str], node_id: int) -> None:
    if not name:
        detail = "Default topic resources are not allowed."
        raise KafkaError(ErrorCode.INVALID_REQUEST, detail)


def _check_broker(name: str, changed: Sequence[str], node_id: int) -> None:
    # Without a name, all brokers are meant.
    if name:
        check_broker(name, node_id)
    if changed:
        detail = (
            f"Cannot update these configs dynamically: {', '.join(changed)}. "
            "Settings of brokers are fixed when they start."
        )
        raise KafkaError(ErrorCode.INVALID_REQUEST, detail)


def _check_logger(name: str, changed: Sequence[str], node_id: int) -> None:
    check_broker(name, node_id)
    if changed:
        detail = f"Logger {changed[0]} does not exist! Log levels are fixed at start."
        raise KafkaError(ErrorCode.INVALID_CONFIG, detail)


def _check_client_metrics(name: str, changed: Sequence[str], node_id: int) -> None:
    if changed:
        detail = f"Unknown client metrics configuration: {changed[0]}"
        raise KafkaError(ErrorCode.INVALID_REQUEST, detail)


def _check_group(name: str, changed: Sequence[str], node_id: int) -> None:
    if not name:
        detail = "Default group resources are not allowed."
        raise KafkaError(ErrorCode.INVALID_REQUEST, detail)
    if changed:
        detail = f"Unknown group config name: {changed[0]}"
        raise KafkaError(ErrorCode.INVALID_CONFIG, detail)


# Each gets the resource's name, the configs that would change, and this node's id.
_RULES: Final[Mapping[ResourceType, Callable[[str, Sequence[str], int], None]]] = {
    ResourceType.TOPIC: _check_topic,
    ResourceType.BROKER: _check_broker,
    ResourceType.BROKER_LOGGER: _check_logger,
    ResourceType.CLIENT_METRICS: _check_client_metrics,
    ResourceType.GROUP: _check_group,
}


def _topic_change(resource: ResourceChanges, *, replace_all: bool) -> pb.TopicConfigChange:
    return pb.TopicConfigChange(
        topic=resource.resource_name,
        replace_all=replace_all,
        changes=[
            pb.ConfigChange(
                name=change.name, operation=change.operation, value=change.value or ""
            )
            for change in resource.changes
        ],
    )
