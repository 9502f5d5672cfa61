"""A Kafka client of bare requests: what it is answered is what the test sees.

Real clients hide error codes behind retries. Here nothing is retried, nothing is cached,
and a topic is named as the test says: a str is its name, bytes are its id.
"""

import time
from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple, TypeAlias

from korvet.kafka.errors import ErrorCode
from korvet.kafka.messages.create_topics import CreateTopicsRequest, CreateTopicsResponse
from korvet.kafka.messages.delete_topics import DeleteTopicsRequest, DeleteTopicsResponse
from korvet.kafka.messages.fetch import FetchRequest, FetchResponse
from korvet.kafka.messages.init_producer_id import (
    InitProducerIdRequest,
    InitProducerIdResponse,
)
from korvet.kafka.messages.list_offsets import ListOffsetsRequest, ListOffsetsResponse
from korvet.kafka.messages.metadata import MetadataRequest, MetadataResponse
from korvet.kafka.messages.offset_for_leader_epoch import (
    OffsetForLeaderEpochRequest,
    OffsetForLeaderEpochResponse,
)
from korvet.kafka.messages.produce import ProduceRequest, ProduceResponse
from korvet.kafka.records import Record, build_batch, read_records, split_batches
from tests.support.kafka_wire import KafkaWire

TopicName: TypeAlias = str | bytes

EARLIEST: Final = -2
LATEST: Final = -1

_MAX_BYTES: Final = 16 << 20


class Produced(NamedTuple):
    error: ErrorCode
    base_offset: int


class Fetched(NamedTuple):
    error: ErrorCode
    high_watermark: int
    # Those from the offset that was asked for on.
    records: Sequence[Record]


class FoundOffset(NamedTuple):
    error: ErrorCode
    offset: int


class TopicFound(NamedTuple):
    error: ErrorCode
    topic_id: bytes
    leader_epochs: Sequence[int]


class EpochEnd(NamedTuple):
    error: ErrorCode
    leader_epoch: int
    end_offset: int


class ProducerId(NamedTuple):
    producer_id: int
    epoch: int


class WireClient(KafkaWire):
    """The requests that tests of faults need."""

    # ------------------------------------------------------------ the log

    def produce(
        self,
        topic: TopicName,
        batch: bytes,
        *,
        partition: int = 0,
        timeout: float = 10.0,
    ) -> Produced:
        self.send_produce(topic, batch, partition=partition, timeout=timeout)
        return self.receive_produced(topic)

    def send_produce(
        self,
        topic: TopicName,
        batch: bytes,
        *,
        partition: int = 0,
        timeout: float = 10.0,
    ) -> None:
        request, version = produce_request(topic, batch, partition, timeout)
        self.send(request, version)

    def receive_produced(self, topic: TopicName) -> Produced:
        response = self.receive(ProduceResponse, _produce_version(topic))
        answer = response.responses[0].partition_responses[0]
        return Produced(ErrorCode(answer.error_code), answer.base_offset)

    def fetch(
        self,
        topic: TopicName,
        offset: int,
        *,
        partition: int = 0,
        leader_epoch: int = -1,
        max_wait: float = 0.0,
    ) -> Fetched:
        self.send_fetch(
            topic, offset, partition=partition, leader_epoch=leader_epoch, max_wait=max_wait
        )
        return self.receive_fetched(topic, offset)

    def send_fetch(
        self,
        topic: TopicName,
        offset: int,
        *,
        partition: int = 0,
        leader_epoch: int = -1,
        max_wait: float = 0.0,
    ) -> None:
        request = FetchRequest(
            max_wait_ms=int(max_wait * 1000),
            min_bytes=1,
            max_bytes=_MAX_BYTES,
            topics=[
                FetchRequest.FetchTopic(
                    topic=topic if isinstance(topic, str) else "",
                    topic_id=topic if isinstance(topic, bytes) else bytes(16),
                    partitions=[
                        FetchRequest.FetchPartition(
                            partition=partition,
                            current_leader_epoch=leader_epoch,
                            fetch_offset=offset,
                            partition_max_bytes=_MAX_BYTES,
                        )
                    ],
                )
            ],
        )
        self.send(request, _fetch_version(topic))

    def receive_fetched(self, topic: TopicName, offset: int) -> Fetched:
        response = self.receive(FetchResponse, _fetch_version(topic))
        if response.error_code:
            return Fetched(ErrorCode(response.error_code), -1, ())
        data = response.responses[0].partitions[0]
        records = [
            record
            for _, batch in split_batches(data.records or b"")
            for record in read_records(bytes(batch), _MAX_BYTES)
            if record.offset >= offset
        ]
        return Fetched(ErrorCode(data.error_code), data.high_watermark, records)

    def read_all(
        self, topic: TopicName, *, partition: int = 0, within: float = 20.0
    ) -> list[Record]:
        """Everything up to the high watermark, asking again while that is impossible."""
        found: list[Record] = []
        offset = 0
        deadline = time.monotonic() + within
        while time.monotonic() < deadline:
            answer = self.fetch(topic, offset, partition=partition, max_wait=0.05)
            if answer.error is ErrorCode.KAFKA_STORAGE_ERROR:
                continue
            assert answer.error is ErrorCode.NONE, f"{topic!r}: {answer.error!r}"
            found += answer.records
            if not answer.records or found[-1].offset + 1 >= answer.high_watermark:
                return found
            offset = found[-1].offset + 1
        raise TimeoutError(f"{topic!r}: still reading at {offset}")

    def is_stable(self, topic: str, partition: int = 0) -> bool:
        """Whether who reads what is committed can read everything."""
        stable = self.find_offset(topic, LATEST, partition=partition, committed=True)
        return stable == self.find_offset(topic, LATEST, partition=partition)

    def offset_at(self, topic: str, timestamp: int, *, partition: int = 0) -> int:
        """The offset at a time, EARLIEST or LATEST; fails where there is an error."""
        found = self.find_offset(topic, timestamp, partition=partition)
        assert found.error is ErrorCode.NONE, f"{topic}: {found.error!r}"
        return found.offset

    def find_offset(
        self, topic: str, timestamp: int, *, partition: int = 0, committed: bool = False
    ) -> FoundOffset:
        request = ListOffsetsRequest(
            replica_id=-1,
            isolation_level=int(committed),
            topics=[
                ListOffsetsRequest.ListOffsetsTopic(
                    name=topic,
                    partitions=[
                        ListOffsetsRequest.ListOffsetsPartition(
                            partition_index=partition, timestamp=timestamp
                        )
                    ],
                )
            ],
        )
        response = self.call(request, ListOffsetsResponse, 7)
        answer = response.topics[0].partitions[0]
        return FoundOffset(ErrorCode(answer.error_code), answer.offset)

    def epoch_end(
        self, topic: str, leader_epoch: int, *, current: int = -1, partition: int = 0
    ) -> EpochEnd:
        request = OffsetForLeaderEpochRequest(
            replica_id=-1,
            topics=[
                OffsetForLeaderEpochRequest.OffsetForLeaderTopic(
                    topic=topic,
                    partitions=[
                        OffsetForLeaderEpochRequest.OffsetForLeaderPartition(
                            partition=partition,
                            current_leader_epoch=current,
                            leader_epoch=leader_epoch,
                        )
                    ],
                )
            ],
        )
        response = self.call(request, OffsetForLeaderEpochResponse, 4)
        answer = response.topics[0].partitions[0]
        return EpochEnd(
            ErrorCode(answer.error_code), answer.leader_epoch, answer.end_offset
        )

    def new_producer_id(self) -> ProducerId:
        request = InitProducerIdRequest(
            transactional_id=None, transaction_timeout_ms=60_000
        )
        response = self.call(request, InitProducerIdResponse, 4)
        assert not response.error_code, ErrorCode(response.error_code)
        return ProducerId(response.producer_id, response.producer_epoch)

    # ------------------------------------------------------------ topics

    def find_topic(self, topic: TopicName) -> TopicFound:
        wanted = MetadataRequest.MetadataRequestTopic(
            name=topic if isinstance(topic, str) else None,
            topic_id=topic if isinstance(topic, bytes) else bytes(16),
        )
        request = MetadataRequest(topics=[wanted], allow_auto_topic_creation=False)
        response = self.call(request, MetadataResponse, 12)
        found = response.topics[0]
        return TopicFound(
            ErrorCode(found.error_code),
            found.topic_id,
            [
                partition.leader_epoch
                for partition in sorted(found.partitions, key=lambda p: p.partition_index)
            ],
        )

    def brokers(self) -> list[int]:
        """The ids of the gateways that Metadata lists."""
        response = self.call(MetadataRequest(topics=[]), MetadataResponse, 12)
        return [broker.node_id for broker in response.brokers]

    def create_topic(
        self, name: str, configs: Mapping[str, str] | None = None, *, partitions: int = 1
    ) -> ErrorCode:
        request = CreateTopicsRequest(
            topics=[
                CreateTopicsRequest.CreatableTopic(
                    name=name,
                    num_partitions=partitions,
                    replication_factor=-1,
                    configs=[
                        CreateTopicsRequest.CreatableTopicConfig(name=key, value=value)
                        for key, value in (configs or {}).items()
                    ],
                )
            ]
        )
        response = self.call(request, CreateTopicsResponse, 7)
        return ErrorCode(response.topics[0].error_code)

    def delete_topic(self, name: str) -> ErrorCode:
        request = DeleteTopicsRequest(
            topics=[DeleteTopicsRequest.DeleteTopicState(name=name)], timeout_ms=10_000
        )
        response = self.call(request, DeleteTopicsResponse, 6)
        return ErrorCode(response.responses[0].error_code)


def produce_request(
    topic: TopicName, batch: bytes, partition: int = 0, timeout: float = 10.0
) -> tuple[ProduceRequest, int]:
    """The request, and the version that can carry it."""
    request = ProduceRequest(
        acks=-1,
        timeout_ms=int(timeout * 1000),
        topic_data=[
            ProduceRequest.TopicProduceData(
                name=topic if isinstance(topic, str) else "",
                topic_id=topic if isinstance(topic, bytes) else bytes(16),
                partition_data=[
                    ProduceRequest.PartitionProduceData(index=partition, records=batch)
                ],
            )
        ],
    )
    return request, _produce_version(topic)


def batch_of(
    values: Sequence[bytes],
    *,
    producer: ProducerId | None = None,
    sequence: int = -1,
    transactional: bool = False,
) -> bytes:
    """A batch as a producer sends it; with `producer`, an idempotent one's."""
    now = time.time_ns() // 1_000_000
    return build_batch(
        [(index, now, None, value, []) for index, value in enumerate(values)],
        base_offset=0,
        producer_id=producer.producer_id if producer else -1,
        producer_epoch=producer.epoch if producer else -1,
        base_sequence=sequence,
        transactional=transactional,
    )


def values_of(records: Sequence[Record]) -> list[bytes]:
    return [record.value or b"" for record in records]


def _produce_version(topic: TopicName) -> int:
    return 9 if isinstance(topic, str) else 13


def _fetch_version(topic: TopicName) -> int:
    return 12 if isinstance(topic, str) else 16
