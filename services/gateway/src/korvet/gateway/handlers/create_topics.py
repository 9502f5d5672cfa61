"""CreateTopics (19), v2-v7: create topics, each by itself.

Versions
    v4  partitions and replication factor may be -1, the server's default (accepted in v2
        and v3 too, as Kafka does).
    v5  flexible; the answer has the topic's partitions and all its configs.
    v6  quotas, of which there are none.
    v7  topic ids.

A replication factor or assignment that could be one is accepted, and 1 is reported: a
partition has one replica, and where that is, the gateways settle among themselves.
"""

from collections import Counter
from collections.abc import Collection
from typing import Final

from korvet.gateway.config_resources import SOURCES
from korvet.gateway.handler import Handler, RequestContext
from korvet.gateway.replica_assignments import check_partition_indexes, check_replicas
from korvet.kafka.errors import ErrorCode, KafkaError
from korvet.kafka.messages.create_topics import CreateTopicsRequest, CreateTopicsResponse
from korvet.proto.storage.v1 import storage_service_pb2 as pb
from korvet.runtime.turns import in_turns

_DEFAULT: Final = -1
_REPLICATION_FACTOR: Final = 1


async def handle(
    request: CreateTopicsRequest, context: RequestContext
) -> CreateTopicsResponse:
    counts = Counter(topic.name for topic in request.topics)
    brokers = {broker.node_id for broker in context.cluster.brokers}
    results: dict[str, CreateTopicsResponse.CreatableTopicResult] = {}
    creation = pb.CreateTopicsRequest(validate_only=request.validate_only)
    async for topic in in_turns(request.topics):
        try:
            if counts[topic.name] > 1:
                raise KafkaError(ErrorCode.INVALID_REQUEST, "Duplicate topic name.")
            creation.topics.append(_new_topic(topic, brokers))
        except KafkaError as error:
            results[topic.name] = _refused(topic.name, error)
    if creation.topics:
        response = await context.storage.create_topics(creation)
        if not request.validate_only:
            context.cluster.apply_topics(
                result.topic for result in response.topics if not result.error_code
            )
        results |= {
            result.name: _result(result) async for result in in_turns(response.topics)
        }
    return CreateTopicsResponse(topics=[results[name] for name in counts])


def refuse(
    request: CreateTopicsRequest, error: KafkaError, version: int
) -> CreateTopicsResponse:
    names = dict.fromkeys(topic.name for topic in request.topics)
    return CreateTopicsResponse(topics=[_refused(name, error) for name in names])


def _new_topic(
    topic: CreateTopicsRequest.CreatableTopic, brokers: Collection[int]
) -> pb.NewTopic:
    nulls = [config.name for config in topic.configs if config.value is None]
    if nulls:
        detail = f"Null value not supported for topic configs: {', '.join(nulls)}"
        raise KafkaError(ErrorCode.INVALID_CONFIG, detail)
    return pb.NewTopic(
        name=topic.name,
        partitions=_partitions(topic, brokers),
        configs={config.name: config.value or "" for config in topic.configs},
    )


def _partitions(
    topic: CreateTopicsRequest.CreatableTopic, brokers: Collection[int]
) -> int | None:
    """How many partitions the topic is to have; None: the server decides."""
    if topic.assignments:
        _check_assignments(topic, brokers)
        return len(topic.assignments)
    if topic.replication_factor < 1 and topic.replication_factor != _DEFAULT:
        detail = "Replication factor must be larger than 0, or -1 to use the default value."
        raise KafkaError(ErrorCode.INVALID_REPLICATION_FACTOR, detail)
    return None if topic.num_partitions == _DEFAULT else topic.num_partitions


def _check_assignments(
    topic: CreateTopicsRequest.CreatableTopic, brokers: Collection[int]
) -> None:
    for what, value in (
        ("replication factor", topic.replication_factor),
        ("numPartitions", topic.num_partitions),
    ):
        if value != _DEFAULT:
            detail = (
                "A manual partition assignment was specified, "
                f"but {what} was not set to -1."
            )
            raise KafkaError(ErrorCode.INVALID_REQUEST, detail)
    check_partition_indexes([each.partition_index for each in topic.assignments])
    for assignment in topic.assignments:
        check_replicas(assignment.broker_ids, brokers)


def _result(result: pb.TopicResult) -> CreateTopicsResponse.CreatableTopicResult:
    if result.error_code:
        error = KafkaError(ErrorCode(result.error_code), result.error_message)
        return _refused(result.name, error)
    return CreateTopicsResponse.CreatableTopicResult(
        name=result.name,
        topic_id=result.topic.id,
        error_message=None,
        num_partitions=len(result.topic.leader_epochs),
        replication_factor=_REPLICATION_FACTOR,
        configs=[
            CreateTopicsResponse.CreatableTopicConfigs(
                name=config.name,
                value=config.value,
                read_only=config.read_only,
                config_source=SOURCES[config.source],
            )
            for config in result.topic.configs
        ],
    )


def _refused(name: str, error: KafkaError) -> CreateTopicsResponse.CreatableTopicResult:
    return CreateTopicsResponse.CreatableTopicResult(
        name=name, error_code=error.code, error_message=error.detail or None
    )


HANDLER: Final = Handler(
    CreateTopicsRequest, min_version=2, max_version=7, handle=handle, refuse=refuse
)
