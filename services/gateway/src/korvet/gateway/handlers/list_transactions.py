"""ListTransactions (66), v0-v2: the transactional ids that there are.

Versions
    v1  only those that have been running for longer than some time (KIP-994).
    v2  only those whose id matches a regular expression (KIP-1152).

Tools ask every broker and put the answers together, so each gateway lists its share of the
ids, and none is listed twice. A state that does not exist is named in the answer.
"""

from typing import Final

from korvet.gateway.handler import Handler, RequestContext
from korvet.gateway.service_addresses import rendezvous
from korvet.kafka.errors import ErrorCode, KafkaError
from korvet.kafka.messages.list_transactions import (
    ListTransactionsRequest,
    ListTransactionsResponse,
)
from korvet.proto.coordinator.v1 import coordinator_service_pb2 as pb

_STATES: Final = {
    "Empty",
    "Ongoing",
    "PrepareCommit",
    "PrepareAbort",
    "CompleteCommit",
    "CompleteAbort",
}
# Kafka knows these too. Here no transaction is ever in them.
_NEVER: Final = {"Dead", "PrepareEpochFence"}


async def handle(
    request: ListTransactionsRequest, context: RequestContext
) -> ListTransactionsResponse:
    unknown = [each for each in request.state_filters if each not in _STATES | _NEVER]
    states = [each for each in request.state_filters if each in _STATES]
    if request.state_filters and not states:
        return ListTransactionsResponse(unknown_state_filters=unknown)
    found = await context.transactions.list_transactions(
        pb.ListTransactionsRequest(
            states=states,
            producer_ids=request.producer_id_filters,
            running_longer_than_ms=request.duration_filter,
            transactional_id_pattern=request.transactional_id_pattern or "",
        )
    )
    if found.error_code:
        raise KafkaError(ErrorCode(found.error_code))
    nodes = [(str(broker.node_id), broker.node_id) for broker in context.cluster.brokers]
    return ListTransactionsResponse(
        unknown_state_filters=unknown,
        transaction_states=[
            ListTransactionsResponse.TransactionState(
                transactional_id=each.transactional_id,
                producer_id=each.producer_id,
                transaction_state=each.state,
            )
            for each in found.transactions
            if rendezvous(each.transactional_id.encode(), nodes) == context.node.node_id
        ],
    )


def refuse(
    request: ListTransactionsRequest, error: KafkaError, version: int
) -> ListTransactionsResponse:
    return ListTransactionsResponse(error_code=error.code)


HANDLER: Final = Handler(
    ListTransactionsRequest,
    min_version=0,
    max_version=2,
    handle=handle,
    refuse=refuse,
    cancellable=True,
)
