"""EndTxn (26), v0-v5: commit or abort a transaction.

Versions
    v2  PRODUCER_FENCED; before that it is INVALID_PRODUCER_EPOCH.
    v3  flexible.
    v4  TRANSACTION_ABORTABLE as an error (KIP-890).
    v5  every transaction has an epoch of its own: the answer has the next one (KIP-890).
"""

from typing import Final

from korvet.gateway.handler import Handler, RequestContext
from korvet.gateway.transactional_ids import require_transactional_id, understood
from korvet.kafka.errors import KafkaError
from korvet.kafka.messages.end_txn import EndTxnRequest, EndTxnResponse
from korvet.proto.coordinator.v1 import coordinator_service_pb2 as pb

_FENCED_FROM: Final = 2
_BUMPS_EPOCH_FROM: Final = 5


async def handle(request: EndTxnRequest, context: RequestContext) -> EndTxnResponse:
    require_transactional_id(request.transactional_id)
    bumps_epoch = context.api_version >= _BUMPS_EPOCH_FROM
    context.joins.forget(request.transactional_id)
    ended = await context.transactions.end_transaction(
        pb.EndTransactionRequest(
            transactional_id=request.transactional_id,
            producer_id=request.producer_id,
            producer_epoch=request.producer_epoch,
            commit=request.committed,
            bumps_epoch=bumps_epoch,
        )
    )
    if ended.error_code or not bumps_epoch:
        return EndTxnResponse(
            error_code=understood(
                ended.error_code, context.api_version, fenced_from=_FENCED_FROM
            )
        )
    return EndTxnResponse(
        producer_id=ended.producer_id, producer_epoch=ended.producer_epoch
    )


def refuse(request: EndTxnRequest, error: KafkaError, version: int) -> EndTxnResponse:
    return EndTxnResponse(error_code=error.code)


HANDLER: Final = Handler(
    EndTxnRequest, min_version=0, max_version=5, handle=handle, refuse=refuse
)
