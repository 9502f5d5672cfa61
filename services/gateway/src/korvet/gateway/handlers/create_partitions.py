"""CreatePartitions (37), v0-v3: add partitions to topics.

Versions
    v2  flexible.
    v3  quotas, of which there are none.

Partitions are never removed. An assignment is checked, and then left to the gateways, as in
CreateTopics.
"""

from collections import Counter
from collections.abc import Collection
from typing import Final

from korvet.gateway.cluster import TopicView
from korvet.gateway.handler import Handler, RequestContext
from korvet.gateway.replica_assignments import check_replicas
from korvet.kafka.errors import ErrorCode, KafkaError
from korvet.kafka.messages.create_partitions import (
    CreatePartitionsRequest,
    CreatePartitionsResponse,
)
from korvet.proto.storage.v1 import storage_service_pb2 as pb

_Asked = CreatePartitionsRequest.CreatePartitionsTopic
_Result = CreatePartitionsResponse.CreatePartitionsTopicResult


async def handle(
    request: CreatePartitionsRequest, context: RequestContext
) -> CreatePartitionsResponse:
    counts = Counter(topic.name for topic in request.topics)
    brokers = {broker.node_id for broker in context.cluster.brokers}
    assigned = await context.cluster.find_names(
        topic.name for topic in request.topics if topic.assignments is not None
    )
    results: dict[str, _Result] = {}
    growth = pb.CreatePartitionsRequest(validate_only=request.validate_only)
    for topic in request.topics:
        try:
            if counts[topic.name] > 1:
                raise KafkaError(ErrorCode.INVALID_REQUEST, "Duplicate topic name.")
            _check_assignments(topic, assigned.get(topic.name), brokers)
        except KafkaError as error:
            results[topic.name] = _refused(topic.name, error)
        else:
            growth.topics.add(topic=topic.name, count=topic.count)
    if growth.topics:
        response = await context.storage.create_partitions(growth)
        if not request.validate_only:
            context.cluster.apply_topics(
                result.topic for result in response.topics if not result.error_code
            )
        results |= {result.name: _result(result) for result in response.topics}
    return CreatePartitionsResponse(results=[results[name] for name in counts])


def refuse(
    request: CreatePartitionsRequest, error: KafkaError, version: int
) -> CreatePartitionsResponse:
    names = dict.fromkeys(topic.name for topic in request.topics)
    return CreatePartitionsResponse(results=[_refused(name, error) for name in names])


def _check_assignments(
    asked: _Asked, topic: TopicView | ErrorCode | None, brokers: Collection[int]
) -> None:
    if asked.assignments is None:
        return
    # What else is wrong (no such topic, no increase) storage says better.
    if isinstance(topic, TopicView) and asked.count > len(topic.leader_epochs):
        added = asked.count - len(topic.leader_epochs)
        if len(asked.assignments) != added:
            detail = (
                f"Attempted to add {added} additional partition(s), but only "
                f"{len(asked.assignments)} assignment(s) were specified."
            )
            raise KafkaError(ErrorCode.INVALID_REPLICA_ASSIGNMENT, detail)
        for assignment in asked.assignments:
            check_replicas(assignment.broker_ids, brokers)


def _result(result: pb.TopicResult) -> _Result:
    if result.error_code:
        error = KafkaError(ErrorCode(result.error_code), result.error_message)
        return _refused(result.name, error)
    return _Result(name=result.name)


def _refused(name: str, error: KafkaError) -> _Result:
    return _Result(name=name, error_code=error.code, error_message=error.detail or None)


HANDLER: Final = Handler(
    CreatePartitionsRequest, min_version=0, max_version=3, handle=handle, refuse=refuse
)
