"""Requests as clients send them, for the gateway's tests."""

from korvet.kafka.messages.fetch import FetchRequest
from korvet.kafka.messages.produce import ProduceRequest
from korvet.kafka.records import build_batch

BATCH = build_batch([(0, 1000, b"key", b"value", [])], base_offset=0)


def batch_of(value: bytes, *, timestamp: int = 0) -> bytes:
    return build_batch([(0, timestamp, None, value, [])], base_offset=0)


def produce(
    topic: str = "orders",
    *,
    acks: int = 1,
    batch: bytes | None = BATCH,
    partition: int = 0,
    topic_id: bytes = bytes(16),
    transactional_id: str | None = None,
) -> ProduceRequest:
    return ProduceRequest(
        transactional_id=transactional_id,
        acks=acks,
        timeout_ms=1000,
        topic_data=[
            ProduceRequest.TopicProduceData(
                name=topic,
                topic_id=topic_id,
                partition_data=[
                    ProduceRequest.PartitionProduceData(index=partition, records=batch)
                ],
            )
        ],
    )


def fetch(
    topic: str = "orders",
    *,
    offset: int = 0,
    partition: int = 0,
    topic_id: bytes = bytes(16),
    max_wait_ms: int = 60_000,
    max_bytes: int = 1 << 20,
    session_id: int = 0,
    session_epoch: int = -1,
    isolation_level: int = 0,
    current_leader_epoch: int = -1,
) -> FetchRequest:
    return FetchRequest(
        max_wait_ms=max_wait_ms,
        min_bytes=1,
        max_bytes=max_bytes,
        session_id=session_id,
        session_epoch=session_epoch,
        isolation_level=isolation_level,
        topics=[
            FetchRequest.FetchTopic(
                topic=topic,
                topic_id=topic_id,
                partitions=[
                    FetchRequest.FetchPartition(
                        partition=partition,
                        fetch_offset=offset,
                        current_leader_epoch=current_leader_epoch,
                        partition_max_bytes=1 << 20,
                    )
                ],
            )
        ],
    )
