"""InitProducerId (22), v0-v5: give a producer its id and epoch.

Versions
    v2  flexible.
    v3  the producer's id and epoch so far (KIP-360), with which a transactional one goes on
        after an error. One without transactions gets a new id with epoch 0, as in Kafka.
    v4  PRODUCER_FENCED; before that it is INVALID_PRODUCER_EPOCH.
    v5  TRANSACTION_ABORTABLE as an error (KIP-890).

Not supported: v6, two-phase commit (KIP-939).
"""

from typing import Final

from korvet.gateway.handler import Handler, RequestContext
from korvet.gateway.transactional_ids import require_transactional_id, understood
from korvet.kafka.errors import ErrorCode, KafkaError
from korvet.kafka.messages.init_producer_id import (
    InitProducerIdRequest,
    InitProducerIdResponse,
)
from korvet.proto.coordinator.v1 import coordinator_service_pb2 as pb

_FENCED_FROM: Final = 4


async def handle(
    request: InitProducerIdRequest, context: RequestContext
) -> InitProducerIdResponse:
    if (request.producer_id == -1) != (request.producer_epoch == -1):
        raise KafkaError(ErrorCode.INVALID_REQUEST, "an id without an epoch, or without id")
    if request.transactional_id is None:
        producer_id = await context.storage.allocate_producer_id()
        return InitProducerIdResponse(producer_id=producer_id, producer_epoch=0)
    require_transactional_id(request.transactional_id)
    given = await context.transactions.init_producer(
        pb.InitProducerRequest(
            transactional_id=request.transactional_id,
            transaction_timeout_ms=request.transaction_timeout_ms,
            producer_id=request.producer_id,
            producer_epoch=request.producer_epoch,
        )
    )
    if given.error_code:
        raise KafkaError(
            ErrorCode(
                understood(given.error_code, context.api_version, fenced_from=_FENCED_FROM)
            )
        )
    return InitProducerIdResponse(
        producer_id=given.producer_id, producer_epoch=given.producer_epoch
    )


def refuse(
    request: InitProducerIdRequest, error: KafkaError, version: int
) -> InitProducerIdResponse:
    return InitProducerIdResponse(error_code=error.code, producer_id=-1, producer_epoch=-1)


HANDLER: Final = Handler(
    InitProducerIdRequest, min_version=0, max_version=5, handle=handle, refuse=refuse
)
