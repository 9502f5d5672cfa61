"""A coordinator of transactions in memory, for tests of the gateway's handlers.

It answers with what a test sets (`transaction_coordinator.TransactionCoordinator`): the
rules are the real coordinator's. It can also be away.
"""

from korvet.kafka.errors import ErrorCode, KafkaError
from korvet.proto.coordinator.v1 import coordinator_service_pb2 as pb


class FakeTransactions:
    def __init__(self) -> None:
        # What was asked, in order.
        self.requests: list[object] = []
        # Raised by every call.
        self.is_away_with: ErrorCode | None = None
        # What every call about a transactional id gets.
        self.code = ErrorCode.NONE
        # Partition -> what adding it gets.
        self.partition_codes: dict[tuple[str, int], ErrorCode] = {}
        # What InitProducer gives, and EndTransaction to who bumps epochs.
        self.producer_id = 4000
        self.producer_epoch = 3
        self.transactions: dict[str, pb.DescribeTransactionsResponse.Transaction] = {}

    async def init_producer(
        self, request: pb.InitProducerRequest
    ) -> pb.InitProducerResponse:
        self._called(request)
        if self.code:
            return pb.InitProducerResponse(error_code=self.code)
        return pb.InitProducerResponse(
            producer_id=self.producer_id, producer_epoch=self.producer_epoch
        )

    async def add_partitions(
        self, request: pb.AddPartitionsRequest
    ) -> pb.AddPartitionsResponse:
        self._called(request)
        if self.code:
            return pb.AddPartitionsResponse(error_code=self.code)
        return pb.AddPartitionsResponse(
            partition_error_codes=[
                self.partition_codes.get((each.topic, each.partition), ErrorCode.NONE)
                for each in request.partitions
            ]
        )

    async def add_group(self, request: pb.AddGroupRequest) -> pb.AddGroupResponse:
        self._called(request)
        return pb.AddGroupResponse(error_code=self.code)

    async def end_transaction(
        self, request: pb.EndTransactionRequest
    ) -> pb.EndTransactionResponse:
        self._called(request)
        if self.code or not request.bumps_epoch:
            return pb.EndTransactionResponse(error_code=self.code)
        return pb.EndTransactionResponse(
            producer_id=self.producer_id, producer_epoch=self.producer_epoch
        )

    async def list_transactions(
        self, request: pb.ListTransactionsRequest
    ) -> pb.ListTransactionsResponse:
        self._called(request)
        if self.code:
            return pb.ListTransactionsResponse(error_code=self.code)
        return pb.ListTransactionsResponse(
            transactions=[
                pb.ListTransactionsResponse.Transaction(
                    transactional_id=transactional_id,
                    producer_id=each.producer_id,
                    state=each.state,
                )
                for transactional_id, each in self.transactions.items()
                if not request.states or each.state in request.states
            ]
        )

    async def describe_transactions(
        self, request: pb.DescribeTransactionsRequest
    ) -> pb.DescribeTransactionsResponse:
        self._called(request)
        absent = pb.DescribeTransactionsResponse.Transaction(
            error_code=ErrorCode.TRANSACTIONAL_ID_NOT_FOUND
        )
        return pb.DescribeTransactionsResponse(
            transactions=[
                self.transactions.get(transactional_id, absent)
                for transactional_id in request.transactional_ids
            ]
        )

    def _called(self, request: object) -> None:
        self.requests.append(request)
        if self.is_away_with is not None:
            raise KafkaError(self.is_away_with, "the coordinator cannot be reached")
