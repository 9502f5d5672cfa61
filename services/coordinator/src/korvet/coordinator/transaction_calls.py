"""The calls of transactional producers, from message to message. The rules are in
`transaction_rules`."""

from korvet.coordinator.refusals import answered
from korvet.coordinator.transaction import NO_PRODUCER, Partition, Producer
from korvet.coordinator.transaction_actor import TransactionActor
from korvet.coordinator.transactions import Transactions
from korvet.kafka.errors import ErrorCode, KafkaError
from korvet.proto.coordinator.v1 import coordinator_service_pb2 as pb
from korvet.redis.topic_ids import topic_id_text


class TransactionCalls:
    def __init__(self, transactions: Transactions, *, max_timeout_ms: int) -> None:
        self._transactions = transactions
        self._max_timeout_ms = max_timeout_ms

    # --- who the producer is ---

    async def init_producer(
        self, request: pb.InitProducerRequest
    ) -> pb.InitProducerResponse:
        return await answered(self._init_producer(request), pb.InitProducerResponse)

    async def _init_producer(
        self, request: pb.InitProducerRequest
    ) -> pb.InitProducerResponse:
        _check_id(request.transactional_id)
        if not 0 < request.transaction_timeout_ms <= self._max_timeout_ms:
            raise KafkaError(ErrorCode.INVALID_TRANSACTION_TIMEOUT)
        actor = await self._transactions.claim(request.transactional_id)
        producer = await actor.init_producer(
            timeout_ms=request.transaction_timeout_ms, expected=_expected(request)
        )
        return pb.InitProducerResponse(
            producer_id=producer.producer_id, producer_epoch=producer.epoch
        )

    # --- what takes part ---

    async def add_partitions(
        self, request: pb.AddPartitionsRequest
    ) -> pb.AddPartitionsResponse:
        return await answered(self._add_partitions(request), pb.AddPartitionsResponse)

    async def _add_partitions(
        self, request: pb.AddPartitionsRequest
    ) -> pb.AddPartitionsResponse:
        actor = await self._known(request.transactional_id)
        producer = Producer(request.producer_id, request.producer_epoch)
        partitions = [
            Partition(each.topic, topic_id_text(each.topic_id), each.partition)
            for each in request.partitions
        ]
        if request.verify_only:
            codes = list(await actor.verify_partitions(producer, partitions))
        else:
            codes = await actor.add_partitions(producer, partitions)
        return pb.AddPartitionsResponse(partition_error_codes=codes)

    async def add_group(self, request: pb.AddGroupRequest) -> pb.AddGroupResponse:
        return await answered(self._add_group(request), pb.AddGroupResponse)

    async def _add_group(self, request: pb.AddGroupRequest) -> pb.AddGroupResponse:
        actor = await self._known(request.transactional_id)
        producer = Producer(request.producer_id, request.producer_epoch)
        await actor.add_group(producer, request.group_id)
        return pb.AddGroupResponse()

    # --- how it ends ---

    async def end(self, request: pb.EndTransactionRequest) -> pb.EndTransactionResponse:
        return await answered(self._end(request), pb.EndTransactionResponse)

    async def _end(self, request: pb.EndTransactionRequest) -> pb.EndTransactionResponse:
        actor = await self._known(request.transactional_id)
        producer = await actor.end(
            Producer(request.producer_id, request.producer_epoch),
            is_commit=request.commit,
            bumps_epoch=request.bumps_epoch,
        )
        return pb.EndTransactionResponse(
            producer_id=producer.producer_id, producer_epoch=producer.epoch
        )

    async def abort(
        self, request: pb.AbortTransactionRequest
    ) -> pb.AbortTransactionResponse:
        return await answered(
            self._abort(request.transactional_id), pb.AbortTransactionResponse
        )

    async def _abort(self, transactional_id: str) -> pb.AbortTransactionResponse:
        actor = await self._transactions.find(transactional_id)
        if actor is None:
            raise KafkaError(ErrorCode.TRANSACTIONAL_ID_NOT_FOUND)
        await actor.abort()
        return pb.AbortTransactionResponse()

    async def _known(self, transactional_id: str) -> TransactionActor:
        _check_id(transactional_id)
        actor = await self._transactions.find(transactional_id)
        if actor is None:
            raise KafkaError(ErrorCode.INVALID_PRODUCER_ID_MAPPING)
        return actor


def _check_id(transactional_id: str) -> None:
    if not transactional_id:
        raise KafkaError(ErrorCode.INVALID_REQUEST, "no transactional id")


def _expected(request: pb.InitProducerRequest) -> Producer | None:
    expected = Producer(request.producer_id, request.producer_epoch)
    if expected == NO_PRODUCER:
        return None
    if expected.producer_id < 0 or expected.epoch < 0:
        raise KafkaError(ErrorCode.INVALID_REQUEST, "half a producer")
    return expected
