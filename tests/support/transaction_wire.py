"""A transactional producer of bare requests: what it is answered is what the test sees."""

from collections.abc import Callable
from typing import Final, NamedTuple

from korvet.kafka.errors import ErrorCode
from korvet.kafka.messages.add_offsets_to_txn import (
    AddOffsetsToTxnRequest,
    AddOffsetsToTxnResponse,
)
from korvet.kafka.messages.add_partitions_to_txn import (
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnResponse,
)
from korvet.kafka.messages.describe_transactions import (
    DescribeTransactionsRequest,
    DescribeTransactionsResponse,
)
from korvet.kafka.messages.end_txn import EndTxnRequest, EndTxnResponse
from korvet.kafka.messages.init_producer_id import (
    InitProducerIdRequest,
    InitProducerIdResponse,
)
from korvet.kafka.messages.produce import ProduceRequest, ProduceResponse
from korvet.kafka.messages.txn_offset_commit import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitResponse,
)
from tests.support import group_wire
from tests.support.eventually import eventually_true
from tests.support.group_member import Place
from tests.support.traffic import PATIENCE
from tests.support.wire_client import Produced, ProducerId, batch_of

# The newest that clients without KIP-890's second part use, and the first with it.
OLDER_END: Final = 4
NEWER_END: Final = 5
_OLDER_PRODUCE: Final = 11
_NOBODY: Final = ProducerId(-1, -1)
# What a producer is told while something is away or not done yet, and asks again.
AWAY: Final = frozenset(
    {
        *group_wire.AWAY,
        ErrorCode.KAFKA_STORAGE_ERROR,
        ErrorCode.NOT_ENOUGH_REPLICAS,
        ErrorCode.REQUEST_TIMED_OUT,
        ErrorCode.CONCURRENT_TRANSACTIONS,
    }
)


class Named(NamedTuple):
    """What InitProducerId and EndTxn tell: who the producer is from now on."""

    error: ErrorCode
    producer: ProducerId


class Described(NamedTuple):
    error: ErrorCode
    state: str


class TransactionWire(group_wire.GroupWire):
    """One transactional id; who it is with a request is for the test to say."""

    transactional_id = ""

    def init(
        self,
        *,
        timeout_ms: int = 60_000,
        expected: ProducerId = _NOBODY,
        version: int = 4,
    ) -> Named:
        request = InitProducerIdRequest(
            transactional_id=self.transactional_id,
            transaction_timeout_ms=timeout_ms,
            producer_id=expected.producer_id,
            producer_epoch=expected.epoch,
        )
        found = self.call(request, InitProducerIdResponse, version)
        producer = ProducerId(found.producer_id, found.producer_epoch)
        return Named(ErrorCode(found.error_code), producer)

    def started(self, *, timeout_ms: int = 60_000) -> ProducerId:
        error, producer = self.init(timeout_ms=timeout_ms)
        assert error is ErrorCode.NONE, repr(error)
        return producer

    def add(
        self, producer: ProducerId, *places: Place, version: int = 3
    ) -> list[ErrorCode]:
        """What is answered for each place, which are of different topics."""
        request = AddPartitionsToTxnRequest(
            v3_and_below_transactional_id=self.transactional_id,
            v3_and_below_producer_id=producer.producer_id,
            v3_and_below_producer_epoch=producer.epoch,
            v3_and_below_topics=[
                AddPartitionsToTxnRequest.AddPartitionsToTxnTopic(
                    name=topic, partitions=[partition]
                )
                for topic, partition in places
            ],
        )
        answer = self.call(request, AddPartitionsToTxnResponse, version)
        return [
            ErrorCode(partition.partition_error_code)
            for topic in answer.results_by_topic_v3_and_below
            for partition in topic.results_by_partition
        ]

    def write(
        self,
        producer: ProducerId,
        place: Place,
        value: bytes,
        sequence: int,
        *,
        version: int = _OLDER_PRODUCE,
        names_id: bool = True,
    ) -> Produced:
        """One record of the transaction."""
        batch = batch_of([value], producer=producer, sequence=sequence, transactional=True)
        request = ProduceRequest(
            transactional_id=self.transactional_id if names_id else None,
            acks=-1,
            timeout_ms=10_000,
            topic_data=[
                ProduceRequest.TopicProduceData(
                    name=place[0],
                    partition_data=[
                        ProduceRequest.PartitionProduceData(index=place[1], records=batch)
                    ],
                )
            ],
        )
        response = self.call(request, ProduceResponse, version)
        answer = response.responses[0].partition_responses[0]
        return Produced(ErrorCode(answer.error_code), answer.base_offset)

    def add_group(self, producer: ProducerId, group: str, version: int = 3) -> ErrorCode:
        request = AddOffsetsToTxnRequest(
            transactional_id=self.transactional_id,
            producer_id=producer.producer_id,
            producer_epoch=producer.epoch,
            group_id=group,
        )
        return ErrorCode(self.call(request, AddOffsetsToTxnResponse, version).error_code)

    def commit_offset(
        self,
        producer: ProducerId,
        group: str,
        place: Place,
        offset: int,
        *,
        version: int = 3,
    ) -> ErrorCode:
        """From outside of the group."""
        partition = TxnOffsetCommitRequest.TxnOffsetCommitRequestPartition(
            partition_index=place[1], committed_offset=offset
        )
        request = TxnOffsetCommitRequest(
            transactional_id=self.transactional_id,
            group_id=group,
            producer_id=producer.producer_id,
            producer_epoch=producer.epoch,
            topics=[
                TxnOffsetCommitRequest.TxnOffsetCommitRequestTopic(
                    name=place[0], partitions=[partition]
                )
            ],
        )
        answer = self.call(request, TxnOffsetCommitResponse, version)
        return ErrorCode(answer.topics[0].partitions[0].error_code)

    def end(self, producer: ProducerId, *, commit: bool, version: int = OLDER_END) -> Named:
        self.send_end(producer, commit=commit, version=version)
        return self.receive_end(version)

    def send_end(
        self, producer: ProducerId, *, commit: bool, version: int = OLDER_END
    ) -> None:
        request = EndTxnRequest(
            transactional_id=self.transactional_id,
            producer_id=producer.producer_id,
            producer_epoch=producer.epoch,
            committed=commit,
        )
        self.send(request, version)

    def receive_end(self, version: int = OLDER_END) -> Named:
        answer = self.receive(EndTxnResponse, version)
        producer = ProducerId(answer.producer_id, answer.producer_epoch)
        return Named(ErrorCode(answer.error_code), producer)

    def describe(self) -> Described:
        request = DescribeTransactionsRequest(transactional_ids=[self.transactional_id])
        answer = self.call(request, DescribeTransactionsResponse, 0)
        (found,) = answer.transaction_states
        return Described(ErrorCode(found.error_code), found.transaction_state)


def insist(ask: Callable[[], ErrorCode]) -> None:
    """Ask again while something is away; anything but success is then a failure."""
    answers: list[ErrorCode] = []

    def is_answered() -> bool:
        answers.append(ask())
        return answers[-1] not in AWAY

    eventually_true(is_answered, PATIENCE)
    assert answers[-1] is ErrorCode.NONE, answers
