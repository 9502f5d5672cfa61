"""DescribeProducers (61), v0-v0.

Generated from kafka-clients 4.2.0 by libs/kafka/codegen; do not edit.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

from korvet.kafka.message import Message, Struct
from korvet.kafka.primitives import int16, int32, int64, write_compact_string, write_compact_nullable_string, compact_array_length, Reader


@dataclass(slots=True, kw_only=True)
class DescribeProducersRequest(Message):
    API_KEY: ClassVar[int] = 61
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    FLEXIBLE_FROM: ClassVar[int] = 0

    @dataclass(slots=True, kw_only=True)
    class TopicRequest(Struct):
        name: str = ""
        partition_indexes: list[int] = field(default_factory=list)

        def write(self, out: list[bytes], version: int) -> None:
            write_compact_string(out, self.name)
            out.append(compact_array_length(len(self.partition_indexes)))
            out += map(int32, self.partition_indexes)
            out.append(b"\x00")

        @classmethod
        def read(cls, reader: Reader, version: int) -> DescribeProducersRequest.TopicRequest:
            name: str = reader.compact_string()
            partition_indexes: list[int] = [reader.int32() for _ in range(reader.compact_array_length())]
            reader.skip_tagged_fields()
            return cls(
                name=name,
                partition_indexes=partition_indexes,
            )

    topics: list[DescribeProducersRequest.TopicRequest] = field(default_factory=list)

    def write(self, out: list[bytes], version: int) -> None:
        out.append(compact_array_length(len(self.topics)))
        for topics_item in self.topics:
            topics_item.write(out, version)
        out.append(b"\x00")

    @classmethod
    def read(cls, reader: Reader, version: int) -> DescribeProducersRequest:
        topics: list[DescribeProducersRequest.TopicRequest] = [DescribeProducersRequest.TopicRequest.read(reader, version) for _ in range(reader.compact_array_length())]
        reader.skip_tagged_fields()
        return cls(
            topics=topics,
        )


@dataclass(slots=True, kw_only=True)
class DescribeProducersResponse(Message):
    API_KEY: ClassVar[int] = 61
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    FLEXIBLE_FROM: ClassVar[int] = 0

    @dataclass(slots=True, kw_only=True)
    class ProducerState(Struct):
        producer_id: int = 0
        producer_epoch: int = 0
        last_sequence: int = -1
        last_timestamp: int = -1
        coordinator_epoch: int = 0
        current_txn_start_offset: int = -1

        def write(self, out: list[bytes], version: int) -> None:
            out.append(int64(self.producer_id))
            out.append(int32(self.producer_epoch))
            out.append(int32(self.last_sequence))
            out.append(int64(self.last_timestamp))
            out.append(int32(self.coordinator_epoch))
            out.append(int64(self.current_txn_start_offset))
            out.append(b"\x00")

        @classmethod
        def read(cls, reader: Reader, version: int) -> DescribeProducersResponse.ProducerState:
            producer_id: int = reader.int64()
            producer_epoch: int = reader.int32()
            last_sequence: int = reader.int32()
            last_timestamp: int = reader.int64()
            coordinator_epoch: int = reader.int32()
            current_txn_start_offset: int = reader.int64()
            reader.skip_tagged_fields()
            return cls(
                producer_id=producer_id,
                producer_epoch=producer_epoch,
                last_sequence=last_sequence,
                last_timestamp=last_timestamp,
                coordinator_epoch=coordinator_epoch,
                current_txn_start_offset=current_txn_start_offset,
            )

    @dataclass(slots=True, kw_only=True)
    class PartitionResponse(Struct):
        partition_index: int = 0
        error_code: int = 0
        error_message: str | None = None
        active_producers: list[DescribeProducersResponse.ProducerState] = field(default_factory=list)

        def write(self, out: list[bytes], version: int) -> None:
            out.append(int32(self.partition_index))
            out.append(int16(self.error_code))
            write_compact_nullable_string(out, self.error_message)
            out.append(compact_array_length(len(self.active_producers)))
            for active_producers_item in self.active_producers:
                active_producers_item.write(out, version)
            out.append(b"\x00")

        @classmethod
        def read(cls, reader: Reader, version: int) -> DescribeProducersResponse.PartitionResponse:
            partition_index: int = reader.int32()
            error_code: int = reader.int16()
            error_message: str | None = reader.compact_nullable_string()
            active_producers: list[DescribeProducersResponse.ProducerState] = [DescribeProducersResponse.ProducerState.read(reader, version) for _ in range(reader.compact_array_length())]
            reader.skip_tagged_fields()
            return cls(
                partition_index=partition_index,
                error_code=error_code,
                error_message=error_message,
                active_producers=active_producers,
            )

    @dataclass(slots=True, kw_only=True)
    class TopicResponse(Struct):
        name: str = ""
        partitions: list[DescribeProducersResponse.PartitionResponse] = field(default_factory=list)

        def write(self, out: list[bytes], version: int) -> None:
            write_compact_string(out, self.name)
            out.append(compact_array_length(len(self.partitions)))
            for partitions_item in self.partitions:
                partitions_item.write(out, version)
            out.append(b"\x00")

        @classmethod
        def read(cls, reader: Reader, version: int) -> DescribeProducersResponse.TopicResponse:
            name: str = reader.compact_string()
            partitions: list[DescribeProducersResponse.PartitionResponse] = [DescribeProducersResponse.PartitionResponse.read(reader, version) for _ in range(reader.compact_array_length())]
            reader.skip_tagged_fields()
            return cls(
                name=name,
                partitions=partitions,
            )

    throttle_time_ms: int = 0
    topics: list[DescribeProducersResponse.TopicResponse] = field(default_factory=list)

    def write(self, out: list[bytes], version: int) -> None:
        out.append(int32(self.throttle_time_ms))
        out.append(compact_array_length(len(self.topics)))
        for topics_item in self.topics:
            topics_item.write(out, version)
        out.append(b"\x00")

    @classmethod
    def read(cls, reader: Reader, version: int) -> DescribeProducersResponse:
        throttle_time_ms: int = reader.int32()
        topics: list[DescribeProducersResponse.TopicResponse] = [DescribeProducersResponse.TopicResponse.read(reader, version) for _ in range(reader.compact_array_length())]
        reader.skip_tagged_fields()
        return cls(
            throttle_time_ms=throttle_time_ms,
            topics=topics,
        )
