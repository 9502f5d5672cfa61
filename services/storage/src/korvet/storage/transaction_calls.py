"""The gRPC calls about transactions. They translate; the scripts decide."""

from collections.abc import Awaitable, Callable

from korvet.kafka.errors import ErrorCode, KafkaError
from korvet.proto.storage.v1 import storage_service_pb2 as pb
from korvet.storage.appender import Target
from korvet.storage.partition_transactions import (
    ActiveProducer,
    PartitionTransactions,
    Transaction,
)
from korvet.storage.questions import answer_all, answered_for
from korvet.storage.topic_lookup import TopicLookup


class TransactionCalls:
    def __init__(self, transactions: PartitionTransactions, lookup: TopicLookup) -> None:
        self._transactions = transactions
        self._lookup = lookup

    async def begin(
        self, request: pb.BeginTransactionRequest
    ) -> pb.BeginTransactionResponse:
        transaction = _transaction(request.transaction)
        answer = self._answering(
            lambda target: self._transactions.begin(target, transaction)
        )
        codes = await answer_all(answer, request.partitions)
        return pb.BeginTransactionResponse(error_codes=codes)

    async def end(self, request: pb.EndTransactionRequest) -> pb.EndTransactionResponse:
        transaction = _transaction(request.transaction)
        answer = self._answering(
            lambda target: self._transactions.end(
                target, transaction, commit=request.commit
            )
        )
        codes = await answer_all(answer, request.partitions)
        return pb.EndTransactionResponse(error_codes=codes)

    def _answering(
        self, act: Callable[[Target], Awaitable[None]]
    ) -> Callable[[pb.TransactionPartition], Awaitable[ErrorCode]]:
        async def answer(wanted: pb.TransactionPartition) -> ErrorCode:
            try:
                topic = await self._lookup.find(wanted.topic, wanted.partition)
                target = Target(topic, wanted.partition)
                await answered_for(self._lookup, wanted.topic, topic, act(target))
            except KafkaError as error:
                if error.code is ErrorCode.UNKNOWN_TOPIC_ID:
                    return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
                return error.code
            return ErrorCode.NONE

        return answer

    async def describe_producers(
        self, request: pb.DescribeProducersRequest
    ) -> pb.DescribeProducersResponse:
        described = await answer_all(self._describe, request.partitions)
        return pb.DescribeProducersResponse(partitions=described)

    async def _describe(
        self, wanted: pb.TransactionPartition
    ) -> pb.DescribeProducersResponse.Partition:
        try:
            topic = await self._lookup.find(wanted.topic, wanted.partition)
            finding = self._transactions.producers(Target(topic, wanted.partition))
            producers = await answered_for(self._lookup, wanted.topic, topic, finding)
        except KafkaError as error:
            return pb.DescribeProducersResponse.Partition(
                error_code=error.code, error_message=str(error)
            )
        return pb.DescribeProducersResponse.Partition(
            producers=[_producer(producer) for producer in producers]
        )


def _transaction(message: pb.Transaction) -> Transaction:
    return Transaction(
        message.producer_id,
        message.producer_epoch,
        message.number,
        message.coordinator_epoch,
    )


def _producer(producer: ActiveProducer) -> pb.DescribeProducersResponse.Producer:
    return pb.DescribeProducersResponse.Producer(
        producer_id=producer.producer_id,
        producer_epoch=producer.producer_epoch,
        last_sequence=producer.last_sequence,
        last_timestamp_ms=producer.last_time_ms,
        coordinator_epoch=producer.coordinator_epoch,
        transaction_start_offset=producer.transaction_start,
    )
