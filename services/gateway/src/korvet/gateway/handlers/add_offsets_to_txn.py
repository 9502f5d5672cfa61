"""AddOffsetsToTxn (25), v0-v4: have a transaction commit offsets of a group.

Versions
    v2  PRODUCER_FENCED; before that it is INVALID_PRODUCER_EPOCH.
    v3  flexible.
    v4  TRANSACTION_ABORTABLE as an error (KIP-890).

From TxnOffsetCommit v5 on clients need it no more.
"""

from typing import Final

from korvet.gateway.handler import Handler, RequestContext
from korvet.gateway.transactional_ids import require_transactional_id, understood
from korvet.kafka.errors import KafkaError
from korvet.kafka.messages.add_offsets_to_txn import (
    AddOffsetsToTxnRequest,
    AddOffsetsToTxnResponse,
)
from korvet.proto.coordinator.v1 import coordinator_service_pb2 as pb

_FENCED_FROM: Final = 2


async def handle(
    request: AddOffsetsToTxnRequest, context: RequestContext
) -> AddOffsetsToTxnResponse:
    require_transactional_id(request.transactional_id)
    added = await context.transactions.add_group(
        pb.AddGroupRequest(
            transactional_id=request.transactional_id,
            producer_id=request.producer_id,
            producer_epoch=request.producer_epoch,
            group_id=request.group_id,
        )
    )
    return AddOffsetsToTxnResponse(
        error_code=understood(
            added.error_code, context.api_version, fenced_from=_FENCED_FROM
        )
    )


def refuse(
    request: AddOffsetsToTxnRequest, error: KafkaError, version: int
) -> AddOffsetsToTxnResponse:
    return AddOffsetsToTxnResponse(error_code=error.code)


HANDLER: Final = Handler(
    AddOffsetsToTxnRequest, min_version=0, max_version=4, handle=handle, refuse=refuse
)
