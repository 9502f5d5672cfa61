"""DescribeProducers (61), v0: the producers that partitions know, with open transactions.

Any gateway answers for any partition. A topic name that Kafka does not allow is
INVALID_TOPIC_EXCEPTION.
"""

from typing import Final

from korvet.gateway import committed_topics
from korvet.gateway.committed_topics import Found, partition_error
from korvet.gateway.handler import Handler, RequestContext
from korvet.gateway.topic_names import is_legal
from korvet.kafka.errors import ErrorCode, KafkaError
from korvet.kafka.messages.describe_producers import (
    DescribeProducersRequest,
    DescribeProducersResponse,
)
from korvet.proto.storage.v1 import storage_service_pb2 as pb

_Partition = DescribeProducersResponse.PartitionResponse
_Described = pb.DescribeProducersResponse.Partition


async def handle(
    request: DescribeProducersRequest, context: RequestContext
) -> DescribeProducersResponse:
    found = await committed_topics.find_names(
        (topic.name for topic in request.topics if is_legal(topic.name)),
        context.cluster,
        failure=ErrorCode.KAFKA_STORAGE_ERROR,
    )
    wanted = pb.DescribeProducersRequest()
    # In the order of the request; None where storage decides.
    results: list[_Described | None] = []
    for topic in request.topics:
        view: Found = found.get(topic.name, ErrorCode.INVALID_TOPIC_EXCEPTION)
        for partition in topic.partition_indexes:
            code = partition_error(view, partition)
            if isinstance(view, ErrorCode) or code:
                results.append(_Described(error_code=code))
                continue
            results.append(None)
            wanted.partitions.add(
                topic=pb.TopicRef(name=view.name, id=view.topic_id), partition=partition
            )
    described = iter(await _describe(wanted, context))
    answers = iter([next(described) if each is None else each for each in results])
    return DescribeProducersResponse(
        topics=[
            DescribeProducersResponse.TopicResponse(
                name=topic.name,
                partitions=[
                    _partition(partition, next(answers))
                    for partition in topic.partition_indexes
                ],
            )
            for topic in request.topics
        ]
    )


async def _describe(
    wanted: pb.DescribeProducersRequest, context: RequestContext
) -> list[_Described]:
    if not wanted.partitions:
        return []
    return list((await context.storage.describe_producers(wanted)).partitions)


def refuse(
    request: DescribeProducersRequest, error: KafkaError, version: int
) -> DescribeProducersResponse:
    refused = _Described(error_code=error.code, error_message=error.detail)
    return DescribeProducersResponse(
        topics=[
            DescribeProducersResponse.TopicResponse(
                name=topic.name,
                partitions=[
                    _partition(partition, refused) for partition in topic.partition_indexes
                ],
            )
            for topic in request.topics
        ]
    )


def _partition(index: int, described: _Described) -> _Partition:
    if described.error_code:
        return _Partition(
            partition_index=index,
            error_code=described.error_code,
            error_message=described.error_message or None,
        )
    return _Partition(
        partition_index=index,
        active_producers=[
            DescribeProducersResponse.ProducerState(
                producer_id=producer.producer_id,
                producer_epoch=producer.producer_epoch,
                last_sequence=producer.last_sequence,
                last_timestamp=producer.last_timestamp_ms,
                coordinator_epoch=producer.coordinator_epoch,
                current_txn_start_offset=producer.transaction_start_offset,
            )
            for producer in described.producers
        ],
    )


HANDLER: Final = Handler(
    DescribeProducersRequest,
    min_version=0,
    max_version=0,
    handle=handle,
    refuse=refuse,
    cancellable=True,
)
