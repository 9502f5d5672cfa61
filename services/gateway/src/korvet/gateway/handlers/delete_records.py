"""DeleteRecords (21), v0-v2: delete the records before an offset.

Versions
    v2  flexible.

The offset -1 is the high watermark. The answer's low watermark is where the log now starts.
"""

from collections.abc import Iterable
from typing import Final

from korvet.gateway.handler import Handler, RequestContext
from korvet.kafka.errors import KafkaError
from korvet.kafka.messages.delete_records import (
    DeleteRecordsRequest,
    DeleteRecordsResponse,
)
from korvet.proto.storage.v1 import storage_service_pb2 as pb

_Result = pb.DeleteRecordsResponse.Result

_INVALID_LOW_WATERMARK: Final = -1


async def handle(
    request: DeleteRecordsRequest, context: RequestContext
) -> DeleteRecordsResponse:
    cuts = [
        pb.DeleteRecordsRequest.Cut(
            topic=pb.TopicRef(name=topic.name),
            partition=partition.partition_index,
            offset=partition.offset,
        )
        for topic in request.topics
        for partition in topic.partitions
    ]
    response = await context.storage.delete_records(pb.DeleteRecordsRequest(cuts=cuts))
    return _response(request, response.results)


def refuse(
    request: DeleteRecordsRequest, error: KafkaError, version: int
) -> DeleteRecordsResponse:
    refused = _Result(error_code=error.code)
    return _response(
        request, (refused for topic in request.topics for _ in topic.partitions)
    )


def _response(
    request: DeleteRecordsRequest, results: Iterable[_Result]
) -> DeleteRecordsResponse:
    """Give each partition of the request the next result."""
    remaining = iter(results)
    return DeleteRecordsResponse(
        topics=[
            DeleteRecordsResponse.DeleteRecordsTopicResult(
                name=topic.name,
                partitions=[
                    _answer(partition.partition_index, next(remaining))
                    for partition in topic.partitions
                ],
            )
            for topic in request.topics
        ]
    )


def _answer(
    index: int, result: _Result
) -> DeleteRecordsResponse.DeleteRecordsPartitionResult:
    return DeleteRecordsResponse.DeleteRecordsPartitionResult(
        partition_index=index,
        low_watermark=(
            _INVALID_LOW_WATERMARK if result.error_code else result.low_watermark
        ),
        error_code=result.error_code,
    )


HANDLER: Final = Handler(
    DeleteRecordsRequest, min_version=0, max_version=2, handle=handle, refuse=refuse
)
