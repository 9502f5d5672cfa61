"""Partitions and groups that join a transaction by being used in it (KIP-890).

Java's producers do this; here it is done over the wire, through two gateways, of which one
never hears of the transactions' ends.
"""

from collections.abc import Iterator

import pytest

from korvet.kafka.errors import ErrorCode
from korvet.kafka.messages.end_txn import EndTxnRequest, EndTxnResponse
from korvet.kafka.messages.init_producer_id import (
    InitProducerIdRequest,
    InitProducerIdResponse,
)
from korvet.kafka.messages.offset_fetch import OffsetFetchRequest, OffsetFetchResponse
from korvet.kafka.messages.produce import ProduceRequest, ProduceResponse
from korvet.kafka.messages.txn_offset_commit import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitResponse,
)
from korvet.kafka.records import build_batch
from tests.support.korvet_process import KorvetCluster
from tests.support.topic_admin import create_topic
from tests.support.wire_client import WireClient

pytestmark = pytest.mark.e2e


@pytest.fixture(scope="module")
def korvet(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KorvetCluster]:
    """Two gateways that these tests share."""
    with KorvetCluster(tmp_path_factory.mktemp("joins"), gateways=2) as cluster:
        yield cluster


class TransactionalProducer:
    """Talks to its coordinator through one gateway, and produces through the other."""

    def __init__(self, coordinator: WireClient, leader: WireClient, name: str) -> None:
        self._coordinator = coordinator
        self._leader = leader
        # Of the transactional id, the topic and the group.
        self._name = name
        given = coordinator.call(
            InitProducerIdRequest(transactional_id=name, transaction_timeout_ms=60_000),
            InitProducerIdResponse,
            5,
        )
        assert given.error_code == ErrorCode.NONE
        self.producer = (given.producer_id, given.producer_epoch)

    def produce(
        self, sequence: int, *, producer: tuple[int, int] | None = None, version: int = 12
    ) -> int:
        producer_id, epoch = producer or self.producer
        batch = build_batch(
            [(0, 1, None, b"value", [])],
            base_offset=0,
            producer_id=producer_id,
            producer_epoch=epoch,
            base_sequence=sequence,
            transactional=True,
        )
        partition = ProduceRequest.PartitionProduceData(index=0, records=batch)
        topic = ProduceRequest.TopicProduceData(name=self._name, partition_data=[partition])
        answer = self._leader.call(
            ProduceRequest(
                transactional_id=self._name, acks=-1, timeout_ms=10_000, topic_data=[topic]
            ),
            ProduceResponse,
            version,
        )
        return answer.responses[0].partition_responses[0].error_code

    def commit_offset(self, offset: int) -> int:
        request = TxnOffsetCommitRequest
        partition = request.TxnOffsetCommitRequestPartition(committed_offset=offset)
        topic = request.TxnOffsetCommitRequestTopic(name=self._name, partitions=[partition])
        producer_id, epoch = self.producer
        answer = self._leader.call(
            request(
                transactional_id=self._name,
                group_id=self._name,
                producer_id=producer_id,
                producer_epoch=epoch,
                topics=[topic],
            ),
            TxnOffsetCommitResponse,
            5,
        )
        return answer.topics[0].partitions[0].error_code

    def committed(self) -> tuple[int, int]:
        """The group's offset and its error code, asked for everything."""
        group = OffsetFetchRequest.OffsetFetchRequestGroup(group_id=self._name, topics=None)
        answer = self._leader.call(
            OffsetFetchRequest(groups=[group], require_stable=True), OffsetFetchResponse, 9
        )
        (topic,) = answer.groups[0].topics
        return topic.partitions[0].committed_offset, topic.partitions[0].error_code

    def end(self, *, commit: bool = True) -> None:
        producer_id, epoch = self.producer
        ended = self._coordinator.call(
            EndTxnRequest(
                transactional_id=self._name,
                producer_id=producer_id,
                producer_epoch=epoch,
                committed=commit,
            ),
            EndTxnResponse,
            5,
        )
        assert ended.error_code == ErrorCode.NONE
        self.producer = (ended.producer_id, ended.producer_epoch)


@pytest.fixture
def producer(korvet: KorvetCluster, topic: str) -> Iterator[TransactionalProducer]:
    create_topic(korvet.bootstrap, topic)
    first, second = korvet.gateways
    with WireClient(first.address) as coordinator, WireClient(second.address) as leader:
        yield TransactionalProducer(coordinator, leader, topic)


def test_one_transaction_follows_the_other(producer: TransactionalProducer) -> None:
    epochs = []
    for commit in (True, False, True):
        assert [producer.produce(sequence) for sequence in range(3)] == [0, 0, 0]
        epochs.append(producer.producer[1])
        producer.end(commit=commit)

    assert epochs == [0, 1, 2]


def test_what_comes_after_the_end_is_refused_and_opens_nothing(
    producer: TransactionalProducer,
) -> None:
    before = producer.producer
    assert producer.produce(0) == ErrorCode.NONE
    producer.end()

    # The gateway takes the partition for a part of that transaction still.
    assert producer.produce(1, producer=before) == ErrorCode.INVALID_PRODUCER_EPOCH
    assert producer.produce(1, producer=before) == ErrorCode.INVALID_PRODUCER_EPOCH
    assert producer.produce(0) == ErrorCode.NONE
    producer.end()


def test_a_batch_that_overtakes_a_refused_one_is_refused_too(
    producer: TransactionalProducer,
) -> None:
    for _ in range(2):
        assert producer.produce(1) == ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
        assert [producer.produce(sequence) for sequence in range(3)] == [0, 0, 0]
        producer.end()


def test_before_v12_nothing_joins_by_itself(producer: TransactionalProducer) -> None:
    assert producer.produce(0, version=10) == ErrorCode.INVALID_TXN_STATE
    assert producer.produce(0, version=11) == ErrorCode.TRANSACTION_ABORTABLE
    assert producer.produce(0, version=12) == ErrorCode.NONE


def test_another_producers_transactional_id_is_refused(
    producer: TransactionalProducer,
) -> None:
    producer_id, epoch = producer.producer

    stranger = producer.produce(0, producer=(producer_id + 1, epoch))

    assert stranger == ErrorCode.INVALID_PRODUCER_ID_MAPPING


def test_a_groups_offset_shows_with_its_transaction_or_never(
    producer: TransactionalProducer,
) -> None:
    assert producer.commit_offset(7) == ErrorCode.NONE
    assert producer.committed() == (-1, ErrorCode.UNSTABLE_OFFSET_COMMIT)
    producer.end()
    assert producer.committed() == (7, ErrorCode.NONE)

    assert producer.commit_offset(9) == ErrorCode.NONE
    assert producer.committed() == (-1, ErrorCode.UNSTABLE_OFFSET_COMMIT)
    producer.end(commit=False)
    assert producer.committed() == (7, ErrorCode.NONE)
