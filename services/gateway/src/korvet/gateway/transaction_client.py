"""korvet.proto.coordinator -> TransactionCoordinator: calls to an id's owner.

Every call has a deadline. One that could not be answered is COORDINATOR_LOAD_IN_PROGRESS:
every client takes it as passing for each of these APIs, and asks again over the connection
that it has. The other codes for this make some of them close it first, to look for a
coordinator and find this gateway again.
"""

from typing import Final

from korvet.gateway.coordinator_link import CoordinatorLink
from korvet.gateway.owner_calls import OwnerCalls
from korvet.gateway.service_links import ServiceLinks
from korvet.gateway.unary_calls import UnaryCalls
from korvet.kafka.errors import ErrorCode
from korvet.proto.coordinator.v1 import coordinator_service_pb2 as pb
from korvet.proto.coordinator.v1 import coordinator_service_pb2_grpc as pb_grpc

_AWAY: Final = ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
# What a call about an id may wait, on top, until the transaction before it is carried out.
_PATIENCE: Final = 6.0


class TransactionClient:
    def __init__(self, links: ServiceLinks[CoordinatorLink], *, deadline: float) -> None:
        self._calls: UnaryCalls[pb_grpc.CoordinatorServiceAsyncStub] = UnaryCalls(
            "coordinator", links
        )
        self._owners = OwnerCalls(links, deadline=deadline)
        self._deadline = deadline
        self._owners_deadline = deadline + _PATIENCE

    async def init_producer(
        self, request: pb.InitProducerRequest
    ) -> pb.InitProducerResponse:
        return await self._owners.call(
            request.transactional_id,
            lambda stub: stub.InitProducer(request, timeout=self._owners_deadline),
            _AWAY,
        )

    async def add_partitions(
        self, request: pb.AddPartitionsRequest
    ) -> pb.AddPartitionsResponse:
        return await self._owners.call(
            request.transactional_id,
            lambda stub: stub.AddPartitions(request, timeout=self._owners_deadline),
            _AWAY,
        )

    async def add_group(self, request: pb.AddGroupRequest) -> pb.AddGroupResponse:
        return await self._owners.call(
            request.transactional_id,
            lambda stub: stub.AddGroup(request, timeout=self._owners_deadline),
            _AWAY,
        )

    async def end_transaction(
        self, request: pb.EndTransactionRequest
    ) -> pb.EndTransactionResponse:
        return await self._owners.call(
            request.transactional_id,
            lambda stub: stub.EndTransaction(request, timeout=self._owners_deadline),
            _AWAY,
        )

    async def list_transactions(
        self, request: pb.ListTransactionsRequest
    ) -> pb.ListTransactionsResponse:
        return await self._calls.ask(
            lambda stub: stub.ListTransactions(request, timeout=self._deadline), _AWAY
        )

    async def describe_transactions(
        self, request: pb.DescribeTransactionsRequest
    ) -> pb.DescribeTransactionsResponse:
        return await self._calls.ask(
            lambda stub: stub.DescribeTransactions(request, timeout=self._deadline), _AWAY
        )
