"""DescribeTransactions (65), v0-v0.

Generated from kafka-clients 4.2.0 by libs/kafka/codegen; do not edit.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

from korvet.kafka.message import Message, Struct
from korvet.kafka.primitives import int16, int32, int64, write_compact_string, compact_array_length, Reader


@dataclass(slots=True, kw_only=True)
class DescribeTransactionsRequest(Message):
    API_KEY: ClassVar[int] = 65
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    FLEXIBLE_FROM: ClassVar[int] = 0

    transactional_ids: list[str] = field(default_factory=list)

    def write(self, out: list[bytes], version: int) -> None:
        out.append(compact_array_length(len(self.transactional_ids)))
        for transactional_ids_item in self.transactional_ids:
            write_compact_string(out, transactional_ids_item)
        out.append(b"\x00")

    @classmethod
    def read(cls, reader: Reader, version: int) -> DescribeTransactionsRequest:
        transactional_ids: list[str] = [reader.compact_string() for _ in range(reader.compact_array_length())]
        reader.skip_tagged_fields()
        return cls(
            transactional_ids=transactional_ids,
        )


@dataclass(slots=True, kw_only=True)
class DescribeTransactionsResponse(Message):
    API_KEY: ClassVar[int] = 65
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    FLEXIBLE_FROM: ClassVar[int] = 0

    @dataclass(slots=True, kw_only=True)
    class TopicData(Struct):
        topic: str = ""
        partitions: list[int] = field(default_factory=list)

        def write(self, out: list[bytes], version: int) -> None:
            write_compact_string(out, self.topic)
            out.append(compact_array_length(len(self.partitions)))
            out += map(int32, self.partitions)
            out.append(b"\x00")

        @classmethod
        def read(cls, reader: Reader, version: int) -> DescribeTransactionsResponse.TopicData:
            topic: str = reader.compact_string()
            partitions: list[int] = [reader.int32() for _ in range(reader.compact_array_length())]
            reader.skip_tagged_fields()
            return cls(
                topic=topic,
                partitions=partitions,
            )

    @dataclass(slots=True, kw_only=True)
    class TransactionState(Struct):
        error_code: int = 0
        transactional_id: str = ""
        transaction_state: str = ""
        transaction_timeout_ms: int = 0
        transaction_start_time_ms: int = 0
        producer_id: int = 0
        producer_epoch: int = 0
        topics: list[DescribeTransactionsResponse.TopicData] = field(default_factory=list)

        def write(self, out: list[bytes], version: int) -> None:
            out.append(int16(self.error_code))
            write_compact_string(out, self.transactional_id)
            write_compact_string(out, self.transaction_state)
            out.append(int32(self.transaction_timeout_ms))
            out.append(int64(self.transaction_start_time_ms))
            out.append(int64(self.producer_id))
            out.append(int16(self.producer_epoch))
            out.append(compact_array_length(len(self.topics)))
            for topics_item in self.topics:
                topics_item.write(out, version)
            out.append(b"\x00")

        @classmethod
        def read(cls, reader: Reader, version: int) -> DescribeTransactionsResponse.TransactionState:
            error_code: int = reader.int16()
            transactional_id: str = reader.compact_string()
            transaction_state: str = reader.compact_string()
            transaction_timeout_ms: int = reader.int32()
            transaction_start_time_ms: int = reader.int64()
            producer_id: int = reader.int64()
            producer_epoch: int = reader.int16()
            topics: list[DescribeTransactionsResponse.TopicData] = [DescribeTransactionsResponse.TopicData.read(reader, version) for _ in range(reader.compact_array_length())]
            reader.skip_tagged_fields()
            return cls(
                error_code=error_code,
                transactional_id=transactional_id,
                transaction_state=transaction_state,
                transaction_timeout_ms=transaction_timeout_ms,
                transaction_start_time_ms=transaction_start_time_ms,
                producer_id=producer_id,
                producer_epoch=producer_epoch,
                topics=topics,
            )

    throttle_time_ms: int = 0
    transaction_states: list[DescribeTransactionsResponse.TransactionState] = field(default_factory=list)

    def write(self, out: list[bytes], version: int) -> None:
        out.append(int32(self.throttle_time_ms))
        out.append(compact_array_length(len(self.transaction_states)))
        for transaction_states_item in self.transaction_states:
            transaction_states_item.write(out, version)
        out.append(b"\x00")

    @classmethod
    def read(cls, reader: Reader, version: int) -> DescribeTransactionsResponse:
        throttle_time_ms: int = reader.int32()
        transaction_states: list[DescribeTransactionsResponse.TransactionState] = [DescribeTransactionsResponse.TransactionState.read(reader, version) for _ in range(reader.compact_array_length())]
        reader.skip_tagged_fields()
        return cls(
            throttle_time_ms=throttle_time_ms,
            transaction_states=transaction_states,
        )
