"""The transactions of producers, as the gateway's handlers see their coordinator."""

from typing import Protocol

from korvet.proto.coordinator.v1 import coordinator_service_pb2 as pb


class TransactionCoordinator(Protocol):
    """CoordinatorService again: its calls about transactional ids.

    Whoever owns an id is found, so no answer is NOT_COORDINATOR. Where no coordinator could
    answer, they raise KafkaError with a code that is retried.
    """

    async def init_producer(
        self, request: pb.InitProducerRequest
    ) -> pb.InitProducerResponse: ...

    async def add_partitions(
        self, request: pb.AddPartitionsRequest
    ) -> pb.AddPartitionsResponse: ...

    async def add_group(self, request: pb.AddGroupRequest) -> pb.AddGroupResponse: ...

    async def end_transaction(
        self, request: pb.EndTransactionRequest
    ) -> pb.EndTransactionResponse: ...

    async def list_transactions(
        self, request: pb.ListTransactionsRequest
    ) -> pb.ListTransactionsResponse: ...

    async def describe_transactions(
        self, request: pb.DescribeTransactionsRequest
    ) -> pb.DescribeTransactionsResponse: ...
