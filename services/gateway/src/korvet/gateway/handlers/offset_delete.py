"""OffsetDelete (47), v0: forget what a group has committed for some partitions.

A topic that a member is subscribed to keeps its offsets (GROUP_SUBSCRIBED_TO_TOPIC), and
one that does not exist has none. Neither keeps the others from being deleted.
"""

from typing import Final

from korvet.gateway import committed_topics
from korvet.gateway.committed_topics import partition_error
from korvet.gateway.group_ids import require_group_id
from korvet.gateway.handler import Handler, RequestContext
from korvet.kafka.errors import ErrorCode, KafkaError
from korvet.kafka.messages.offset_delete import OffsetDeleteRequest, OffsetDeleteResponse
from korvet.proto.coordinator.v1 import coordinator_service_pb2 as pb


async def handle(
    request: OffsetDeleteRequest, context: RequestContext
) -> OffsetDeleteResponse:
    require_group_id(request.group_id)
    deletion = pb.DeleteOffsetsRequest(group_id=request.group_id)
    # In the order of the request; None where the coordinator decides.
    codes: list[int | None] = []
    topics = await committed_topics.find_names(
        (topic.name for topic in request.topics),
        context.cluster,
        failure=ErrorCode.COORDINATOR_NOT_AVAILABLE,
    )
    for topic in request.topics:
        for partition in topic.partitions:
            code = partition_error(topics[topic.name], partition.partition_index)
            codes.append(code or None)
            if not code:
                deletion.partitions.add(
                    topic=topic.name, partition=partition.partition_index
                )
    answer = await context.coordinator.delete_offsets(deletion)
    if answer.error_code:
        return OffsetDeleteResponse(error_code=answer.error_code)
    decided = iter(answer.partition_error_codes)
    remaining = iter([next(decided) if code is None else code for code in codes])
    return OffsetDeleteResponse(
        topics=[
            OffsetDeleteResponse.OffsetDeleteResponseTopic(
                name=topic.name,
                partitions=[
                    OffsetDeleteResponse.OffsetDeleteResponsePartition(
                        partition_index=partition.partition_index,
                        error_code=next(remaining),
                    )
                    for partition in topic.partitions
                ],
            )
            for topic in request.topics
        ]
    )


def refuse(
    request: OffsetDeleteRequest, error: KafkaError, version: int
) -> OffsetDeleteResponse:
    return OffsetDeleteResponse(error_code=error.code)


HANDLER: Final = Handler(
    OffsetDeleteRequest, min_version=0, max_version=0, handle=handle, refuse=refuse
)
