"""DeleteRecords (21), v0-v2.

Generated from kafka-clients 4.2.0 by libs/kafka/codegen; do not edit.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

from korvet.kafka.message import Message, Struct
from korvet.kafka.primitives import int16, int32, int64, write_string, write_compact_string, array_length, compact_array_length, Reader


@dataclass(slots=True, kw_only=True)
class DeleteRecordsRequest(Message):
    API_KEY: ClassVar[int] = 21
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 2
    FLEXIBLE_FROM: ClassVar[int] = 2

    @dataclass(slots=True, kw_only=True)
    class DeleteRecordsPartition(Struct):
        partition_index: int = 0
        offset: int = 0

        def write(self, out: list[bytes], version: int) -> None:
            flexible = version >= 2
            out.append(int32(self.partition_index))
            out.append(int64(self.offset))
            if flexible:
                out.append(b"\x00")

        @classmethod
        def read(cls, reader: Reader, version: int) -> DeleteRecordsRequest.DeleteRecordsPartition:
            flexible = version >= 2
            partition_index: int = reader.int32()
            offset: int = reader.int64()
            if flexible:
                reader.skip_tagged_fields()
            return cls(
                partition_index=partition_index,
                offset=offset,
            )

    @dataclass(slots=True, kw_only=True)
    class DeleteRecordsTopic(Struct):
        name: str = ""
        partitions: list[DeleteRecordsRequest.DeleteRecordsPartition] = field(default_factory=list)

        def write(self, out: list[bytes], version: int) -> None:
            flexible = version >= 2
            if flexible:
                write_compact_string(out, self.name)
            else:
                write_string(out, self.name)
            out.append(compact_array_length(len(self.partitions)) if flexible else array_length(len(self.partitions)))
            for partitions_item in self.partitions:
                partitions_item.write(out, version)
            if flexible:
                out.append(b"\x00")

        @classmethod
        def read(cls, reader: Reader, version: int) -> DeleteRecordsRequest.DeleteRecordsTopic:
            flexible = version >= 2
            name: str = reader.compact_string() if flexible else reader.string()
            partitions: list[DeleteRecordsRequest.DeleteRecordsPartition] = [DeleteRecordsRequest.DeleteRecordsPartition.read(reader, version) for _ in range(reader.compact_array_length() if flexible else reader.array_length())]
            if flexible:
                reader.skip_tagged_fields()
            return cls(
                name=name,
                partitions=partitions,
            )

    topics: list[DeleteRecordsRequest.DeleteRecordsTopic] = field(default_factory=list)
    timeout_ms: int = 0

    def write(self, out: list[bytes], version: int) -> None:
        flexible = version >= 2
        out.append(compact_array_length(len(self.topics)) if flexible else array_length(len(self.topics)))
        for topics_item in self.topics:
            topics_item.write(out, version)
        out.append(int32(self.timeout_ms))
        if flexible:
            out.append(b"\x00")

    @classmethod
    def read(cls, reader: Reader, version: int) -> DeleteRecordsRequest:
        flexible = version >= 2
        topics: list[DeleteRecordsRequest.DeleteRecordsTopic] = [DeleteRecordsRequest.DeleteRecordsTopic.read(reader, version) for _ in range(reader.compact_array_length() if flexible else reader.array_length())]
        timeout_ms: int = reader.int32()
        if flexible:
            reader.skip_tagged_fields()
        return cls(
            topics=topics,
            timeout_ms=timeout_ms,
        )


@dataclass(slots=True, kw_only=True)
class DeleteRecordsResponse(Message):
    API_KEY: ClassVar[int] = 21
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 2
    FLEXIBLE_FROM: ClassVar[int] = 2

    @dataclass(slots=True, kw_only=True)
    class DeleteRecordsPartitionResult(Struct):
        partition_index: int = 0
        low_watermark: int = 0
        error_code: int = 0

        def write(self, out: list[bytes], version: int) -> None:
            flexible = version >= 2
            out.append(int32(self.partition_index))
            out.append(int64(self.low_watermark))
            out.append(int16(self.error_code))
            if flexible:
                out.append(b"\x00")

        @classmethod
        def read(cls, reader: Reader, version: int) -> DeleteRecordsResponse.DeleteRecordsPartitionResult:
            flexible = version >= 2
            partition_index: int = reader.int32()
            low_watermark: int = reader.int64()
            error_code: int = reader.int16()
            if flexible:
                reader.skip_tagged_fields()
            return cls(
                partition_index=partition_index,
                low_watermark=low_watermark,
                error_code=error_code,
            )

    @dataclass(slots=True, kw_only=True)
    class DeleteRecordsTopicResult(Struct):
        name: str = ""
        partitions: list[DeleteRecordsResponse.DeleteRecordsPartitionResult] = field(default_factory=list)

        def write(self, out: list[bytes], version: int) -> None:
            flexible = version >= 2
            if flexible:
                write_compact_string(out, self.name)
            else:
                write_string(out, self.name)
            out.append(compact_array_length(len(self.partitions)) if flexible else array_length(len(self.partitions)))
            for partitions_item in self.partitions:
                partitions_item.write(out, version)
            if flexible:
                out.append(b"\x00")

        @classmethod
        def read(cls, reader: Reader, version: int) -> DeleteRecordsResponse.DeleteRecordsTopicResult:
            flexible = version >= 2
            name: str = reader.compact_string() if flexible else reader.string()
            partitions: list[DeleteRecordsResponse.DeleteRecordsPartitionResult] = [DeleteRecordsResponse.DeleteRecordsPartitionResult.read(reader, version) for _ in range(reader.compact_array_length() if flexible else reader.array_length())]
            if flexible:
                reader.skip_tagged_fields()
            return cls(
                name=name,
                partitions=partitions,
            )

    throttle_time_ms: int = 0
    topics: list[DeleteRecordsResponse.DeleteRecordsTopicResult] = field(default_factory=list)

    def write(self, out: list[bytes], version: int) -> None:
        flexible = version >= 2
        out.append(int32(self.throttle_time_ms))
        out.append(compact_array_length(len(self.topics)) if flexible else array_length(len(self.topics)))
        for topics_item in self.topics:
            topics_item.write(out, version)
        if flexible:
            out.append(b"\x00")

    @classmethod
    def read(cls, reader: Reader, version: int) -> DeleteRecordsResponse:
        flexible = version >= 2
        throttle_time_ms: int = reader.int32()
        topics: list[DeleteRecordsResponse.DeleteRecordsTopicResult] = [DeleteRecordsResponse.DeleteRecordsTopicResult.read(reader, version) for _ in range(reader.compact_array_length() if flexible else reader.array_length())]
        if flexible:
            reader.skip_tagged_fields()
        return cls(
            throttle_time_ms=throttle_time_ms,
            topics=topics,
        )
