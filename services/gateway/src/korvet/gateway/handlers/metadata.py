"""Metadata (3), v0-v13: gateways, topics, and where each partition's clients are sent.

Versions
    v0  an empty list asks for all topics; from v1 on null does, and empty asks for none.
    v4  the client says whether missing topics may be created; before, they may.
    v7  leader epochs (KIP-320).
    v8  authorized operations (KIP-430).
    v9  flexible.
    v10 topic ids in answers (KIP-516), v12 also in requests.
    v11 no cluster authorized operations any more: DescribeCluster has them.
    v13 an error code for the whole answer (KIP-1102).

The brokers are the live gateways. A partition has one replica, its leader, and any gateway
serves any partition: leaders only spread the work.
"""

from collections.abc import Mapping, Sequence
from typing import Final

from korvet.gateway.authorized_operations import NOT_ASKED, ON_CLUSTER, ON_TOPIC
from korvet.gateway.cluster import Cluster, TopicView
from korvet.gateway.handler import Handler, RequestContext
from korvet.gateway.topic_names import is_legal
from korvet.kafka.errors import ErrorCode, KafkaError
from korvet.kafka.messages.metadata import MetadataRequest, MetadataResponse
from korvet.proto.storage.v1 import storage_service_pb2 as pb
from korvet.runtime.turns import in_turns

_IDS_IN_REQUESTS_FROM: Final = 12
_NAME_MAY_BE_NULL_FROM: Final = 12
_TOP_LEVEL_ERROR_FROM: Final = 13

_Topic = MetadataResponse.MetadataResponseTopic


async def handle(request: MetadataRequest, context: RequestContext) -> MetadataResponse:
    cluster = context.cluster
    operations = ON_TOPIC if request.include_topic_authorized_operations else NOT_ASKED
    if _asks_for_all(request, context.api_version):
        topics = [
            _described(topic, cluster, operations)
            async for topic in in_turns(await cluster.topics())
        ]
    else:
        topics = await _named_topics(request, context, operations)
    return MetadataResponse(
        brokers=[
            MetadataResponse.MetadataResponseBroker(
                node_id=broker.node_id, host=broker.host, port=broker.port, rack=broker.rack
            )
            for broker in cluster.brokers
        ],
        cluster_id=cluster.cluster_id,
        controller_id=cluster.controller_id,
        topics=topics,
        cluster_authorized_operations=(
            ON_CLUSTER if request.include_cluster_authorized_operations else NOT_ASKED
        ),
    )


def refuse(
    request: MetadataRequest, error: KafkaError, version: int
) -> MetadataResponse | None:
    if version >= _TOP_LEVEL_ERROR_FROM:
        return MetadataResponse(error_code=error.code)
    if _asks_for_all(request, version) or not request.topics:
        # An empty answer would say that there are no topics.
        return None
    return MetadataResponse(
        topics=[
            _Topic(
                error_code=error.code,
                name=topic.name if version >= _NAME_MAY_BE_NULL_FROM else topic.name or "",
                topic_id=topic.topic_id,
            )
            for topic in request.topics
        ]
    )


def _asks_for_all(request: MetadataRequest, version: int) -> bool:
    return request.topics is None or (version == 0 and not request.topics)


async def _named_topics(
    request: MetadataRequest, context: RequestContext, operations: int
) -> list[_Topic]:
    names: list[str] = []
    topic_ids: list[bytes] = []
    for topic in request.topics or ():
        if topic.name is not None:
            names.append(topic.name)
        elif context.api_version >= _IDS_IN_REQUESTS_FROM:
            topic_ids.append(topic.topic_id)
        else:
            raise KafkaError(ErrorCode.INVALID_REQUEST, "a topic without a name")
    by_name = await _find(names, context, may_create=request.allow_auto_topic_creation)
    by_id = await context.cluster.find_ids(topic_ids)
    return [
        _described(found, context.cluster, operations)
        if isinstance(found, TopicView)
        else _Topic(error_code=found, name=name)
        async for name, found in in_turns(by_name.items())
    ] + [
        _described(found, context.cluster, operations)
        if isinstance(found, TopicView)
        else _Topic(error_code=found, name=None, topic_id=topic_id)
        async for topic_id, found in in_turns(by_id.items())
    ]


async def _find(
    names: Sequence[str], context: RequestContext, *, may_create: bool
) -> Mapping[str, TopicView | ErrorCode]:
    legal = [name for name in names if is_legal(name)]
    found = dict(await context.cluster.find_names(legal))
    if may_create and context.node.auto_create_topics_enable:
        missing = [
            name
            for name, topic in found.items()
            if topic is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        ]
        if missing:
            found |= await _create(missing, context)
    return {name: found.get(name, ErrorCode.INVALID_TOPIC_EXCEPTION) for name in names}


async def _create(
    names: Sequence[str], context: RequestContext
) -> Mapping[str, TopicView | ErrorCode]:
    request = pb.CreateTopicsRequest(topics=[pb.NewTopic(name=name) for name in names])
    try:
        results = (await context.storage.create_topics(request)).topics
    except KafkaError:
        return dict.fromkeys(names, ErrorCode.LEADER_NOT_AVAILABLE)
    context.cluster.apply_topics(
        result.topic for result in results if not result.error_code
    )
    created = await context.cluster.find_names(
        result.name for result in results if not result.error_code
    )
    return {
        # One that somebody else has created meanwhile will be known in a moment.
        result.name: ErrorCode.LEADER_NOT_AVAILABLE
        if result.error_code == ErrorCode.TOPIC_ALREADY_EXISTS
        else ErrorCode(result.error_code)
        for result in results
        if result.error_code
    } | dict(created)


def _described(topic: TopicView, cluster: Cluster, operations: int) -> _Topic:
    return _Topic(
        name=topic.name,
        topic_id=topic.topic_id,
        partitions=[
            MetadataResponse.MetadataResponsePartition(
                partition_index=index,
                leader_id=leader,
                leader_epoch=epoch,
                replica_nodes=[leader],
                isr_nodes=[leader],
            )
            for index, (leader, epoch) in enumerate(
                zip(cluster.leaders(topic), topic.leader_epochs, strict=True)
            )
        ],
        topic_authorized_operations=operations,
    )


HANDLER: Final = Handler(
    MetadataRequest, min_version=0, max_version=13, handle=handle, refuse=refuse
)
