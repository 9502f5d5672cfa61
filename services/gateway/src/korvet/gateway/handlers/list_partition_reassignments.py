"""ListPartitionReassignments (46), v0: which partitions are being moved.

None ever is: see AlterPartitionReassignments. As in Kafka, what is not being moved, or does
not exist, is left out.
"""

from typing import Final

from korvet.gateway.handler import Handler, RequestContext
from korvet.kafka.errors import KafkaError
from korvet.kafka.messages.list_partition_reassignments import (
    ListPartitionReassignmentsRequest,
    ListPartitionReassignmentsResponse,
)


async def handle(
    request: ListPartitionReassignmentsRequest, context: RequestContext
) -> ListPartitionReassignmentsResponse:
    return ListPartitionReassignmentsResponse(error_message=None)


def refuse(
    request: ListPartitionReassignmentsRequest, error: KafkaError, version: int
) -> ListPartitionReassignmentsResponse:
    return ListPartitionReassignmentsResponse(
        error_code=error.code, error_message=error.detail or None
    )


HANDLER: Final = Handler(
    ListPartitionReassignmentsRequest,
    min_version=0,
    max_version=0,
    handle=handle,
    refuse=refuse,
    cancellable=True,
)
