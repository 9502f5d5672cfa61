"""DescribeTransactions (65), v0: transactional ids with their transactions.

Groups whose offsets are part of a transaction are left out: Kafka shows a partition of its
offsets topic for them, and there is none here. `korvet transactions describe` has them.
"""

from typing import Final

from korvet.gateway.handler import Handler, RequestContext
from korvet.kafka.errors import KafkaError
from korvet.kafka.messages.describe_transactions import (
    DescribeTransactionsRequest,
    DescribeTransactionsResponse,
)
from korvet.proto.coordinator.v1 import coordinator_service_pb2 as pb

_State = DescribeTransactionsResponse.TransactionState


async def handle(
    request: DescribeTransactionsRequest, context: RequestContext
) -> DescribeTransactionsResponse:
    described = await context.transactions.describe_transactions(
        pb.DescribeTransactionsRequest(transactional_ids=request.transactional_ids)
    )
    return DescribeTransactionsResponse(
        transaction_states=[
            _state(transactional_id, transaction)
            for transactional_id, transaction in zip(
                request.transactional_ids, described.transactions, strict=True
            )
        ]
    )


def refuse(
    request: DescribeTransactionsRequest, error: KafkaError, version: int
) -> DescribeTransactionsResponse:
    return DescribeTransactionsResponse(
        transaction_states=[
            _State(transactional_id=transactional_id, error_code=error.code)
            for transactional_id in request.transactional_ids
        ]
    )


def _state(
    transactional_id: str, transaction: pb.DescribeTransactionsResponse.Transaction
) -> _State:
    if transaction.error_code:
        return _State(transactional_id=transactional_id, error_code=transaction.error_code)
    return _State(
        transactional_id=transactional_id,
        transaction_state=transaction.state,
        transaction_timeout_ms=transaction.timeout_ms,
        transaction_start_time_ms=transaction.started_ms,
        producer_id=transaction.producer_id,
        producer_epoch=transaction.producer_epoch,
        topics=[
            DescribeTransactionsResponse.TopicData(
                topic=topic.topic, partitions=list(topic.partitions)
            )
            for topic in transaction.topics
        ],
    )


HANDLER: Final = Handler(
    DescribeTransactionsRequest,
    min_version=0,
    max_version=0,
    handle=handle,
    refuse=refuse,
    cancellable=True,
)
