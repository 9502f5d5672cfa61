"""DescribeConfigs (32), v1-v4: the configs of topics and brokers.

Versions
    v1  where values come from, and what else would be in force without them (synonyms).
    v3  types and documentation (KIP-569).
    v4  flexible.

A broker's configs are the settings of this gateway, of storage and of the coordinator, all
of them fixed at start; so there are none in the cluster-wide default (a broker without
name). Groups, client metrics and loggers have no configs here. A default's synonym has the
topic config's name, where Kafka has the broker's. What is asked for twice is answered once.
"""

import asyncio
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from typing import Final, NamedTuple, TypeAlias

from korvet.gateway.config_resources import (
    SOURCES,
    ConfigSource,
    ResourceType,
    check_broker,
    resource_type,
)
from korvet.gateway.handler import BrokerConfig, Handler, RequestContext
from korvet.kafka.errors import ErrorCode, KafkaError
from korvet.kafka.messages.describe_configs import (
    DescribeConfigsRequest,
    DescribeConfigsResponse,
)
from korvet.proto.storage.v1 import storage_service_pb2 as pb
from korvet.runtime.turns import in_turns

_Resource = DescribeConfigsRequest.DescribeConfigsResource
_Result = DescribeConfigsResponse.DescribeConfigsResult
_Entry = DescribeConfigsResponse.DescribeConfigsResourceResult
_Synonym = DescribeConfigsResponse.DescribeConfigsSynonym


class _Config(NamedTuple):
    name: str
    value: str
    source: ConfigSource
    type: int
    documentation: str
    read_only: bool
    # The built-in default, where it is known to be another value.
    default: str | None = None


_Described: TypeAlias = Iterable[_Config] | KafkaError


async def handle(
    request: DescribeConfigsRequest, context: RequestContext
) -> DescribeConfigsResponse:
    topics = {
        resource.resource_name
        for resource in request.resources
        if resource.resource_type == ResourceType.TOPIC
    }
    wants_settings = any(
        resource.resource_type == ResourceType.BROKER and resource.resource_name
        for resource in request.resources
    )
    of_topics, settings = await asyncio.gather(
        _topic_configs(sorted(topics), context),
        _settings(context) if wants_settings else _nothing(),
    )

    def describe(resource: _Resource) -> _Described:
        name = resource.resource_name
        try:
            kind = resource_type(resource.resource_type)
            if kind is ResourceType.TOPIC:
                return of_topics[name]
            _NAME_RULES[kind](name, context.node.node_id)
        except KafkaError as error:
            return error
        return settings if kind is ResourceType.BROKER and name else ()

    # Once each, however often it was asked for: an answer is much longer than its question.
    distinct = {
        (each.resource_type, each.resource_name, tuple(each.configuration_keys or ())): each
        for each in request.resources
    }
    return DescribeConfigsResponse(
        results=[
            _result(
                resource,
                describe(resource),
                with_synonyms=request.include_synonyms,
                with_documentation=request.include_documentation,
            )
            async for resource in in_turns(distinct.values())
        ]
    )


def refuse(
    request: DescribeConfigsRequest, error: KafkaError, version: int
) -> DescribeConfigsResponse:
    return DescribeConfigsResponse(
        results=[_refused(resource, error) for resource in request.resources]
    )


# ---------------------------------------------------------------- what there is


async def _topic_configs(
    names: Collection[str], context: RequestContext
) -> Mapping[str, _Described]:
    if not names:
        return {}
    request = pb.DescribeTopicsRequest(topics=[pb.TopicRef(name=name) for name in names])
    try:
        response = await context.storage.describe_topics(request)
    except KafkaError as error:
        return dict.fromkeys(names, error)
    return {
        name: KafkaError(ErrorCode(result.error_code), result.error_message)
        if result.error_code
        else list(map(_from_service, result.topic.configs))
        for name, result in zip(names, response.topics, strict=True)
    }


async def _settings(context: RequestContext) -> _Described:
    """What this gateway and the services behind it were started with, by name."""
    try:
        storage, coordinator = await asyncio.gather(
            context.storage.describe_server(), context.coordinator.describe_server()
        )
    except KafkaError as error:
        return error
    settings = [*coordinator, *storage.settings]
    configs = {config.name: _from_service(config) for config in settings}
    configs |= {
        config.name: _from_settings(config) for config in context.node.broker_configs
    }
    return [configs[name] for name in sorted(configs)]


async def _nothing() -> _Described:
    return ()


def _from_service(config: pb.Config) -> _Config:
    return _Config(
        name=config.name,
        value=config.value,
        source=SOURCES[config.source],
        type=config.type,
        documentation=config.documentation,
        read_only=config.read_only,
        default=config.default_value,
    )


def _from_settings(config: BrokerConfig) -> _Config:
    return _Config(
        name=config.name,
        value=config.value,
        source=ConfigSource.STATIC_BROKER_CONFIG
        if config.is_set
        else ConfigSource.DEFAULT_CONFIG,
        type=config.type,
        documentation=config.documentation,
        read_only=True,
    )


# ---------------------------------------------------------------- which may be asked for


def _check_broker(name: str, node_id: int) -> None:
    if name:
        check_broker(name, node_id)


def _check_logger(name: str, node_id: int) -> None:
    if not name:
        raise KafkaError(ErrorCode.INVALID_REQUEST, "Broker id must not be empty")
    check_broker(name, node_id)


def _check_client_metrics(name: str, node_id: int) -> None:
    if not name:
        detail = "Client metrics subscription name must not be empty"
        raise KafkaError(ErrorCode.INVALID_REQUEST, detail)


def _check_group(name: str, node_id: int) -> None:
    if not name:
        raise KafkaError(ErrorCode.INVALID_REQUEST, "Group name must not be empty")


_NAME_RULES: Final[Mapping[ResourceType, Callable[[str, int], None]]] = {
    ResourceType.BROKER: _check_broker,
    ResourceType.BROKER_LOGGER: _check_logger,
    ResourceType.CLIENT_METRICS: _check_client_metrics,
    ResourceType.GROUP: _check_group,
}


# ---------------------------------------------------------------- answers


def _result(
    resource: _Resource,
    described: _Described,
    *,
    with_synonyms: bool,
    with_documentation: bool,
) -> _Result:
    if isinstance(described, KafkaError):
        return _refused(resource, described)
    # No names mean all of them, as null does.
    wanted = set(resource.configuration_keys or ())
    return _Result(
        resource_type=resource.resource_type,
        resource_name=resource.resource_name,
        configs=[
            _Entry(
                name=config.name,
                value=config.value,
                read_only=config.read_only,
                config_source=config.source,
                synonyms=list(_synonyms(config)) if with_synonyms else [],
                config_type=config.type,
                documentation=config.documentation if with_documentation else None,
            )
            for config in described
            if not wanted or config.name in wanted
        ],
    )


def _synonyms(config: _Config) -> Iterator[_Synonym]:
    """What would be in force, the strongest first."""
    yield _Synonym(name=config.name, value=config.value, source=config.source)
    if config.source is not ConfigSource.DEFAULT_CONFIG and config.default is not None:
        yield _Synonym(
            name=config.name, value=config.default, source=ConfigSource.DEFAULT_CONFIG
        )


def _refused(resource: _Resource, error: KafkaError) -> _Result:
    return _Result(
        error_code=error.code,
        error_message=error.detail,
        resource_type=resource.resource_type,
        resource_name=resource.resource_name,
    )


HANDLER: Final = Handler(
    DescribeConfigsRequest,
    min_version=1,
    max_version=4,
    handle=handle,
    refuse=refuse,
    cancellable=True,
)
