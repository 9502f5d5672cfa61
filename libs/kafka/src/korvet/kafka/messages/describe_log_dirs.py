"""DescribeLogDirs (35), v1-v4.

Generated from kafka-clients 4.2.0 by libs/kafka/codegen; do not edit.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

from korvet.kafka.message import Message, Struct
from korvet.kafka.primitives import int16, int32, int64, boolean, write_string, write_compact_string, array_length, compact_array_length, Reader


@dataclass(slots=True, kw_only=True)
class DescribeLogDirsRequest(Message):
    API_KEY: ClassVar[int] = 35
    MIN_VERSION: ClassVar[int] = 1
    MAX_VERSION: ClassVar[int] = 4
    FLEXIBLE_FROM: ClassVar[int] = 2

    @dataclass(slots=True, kw_only=True)
    class DescribableLogDirTopic(Struct):
        topic: str = ""
        partitions: list[int] = field(default_factory=list)

        def write(self, out: list[bytes], version: int) -> None:
            flexible = version >= 2
            if flexible:
                write_compact_string(out, self.topic)
            else:
                write_string(out, self.topic)
            out.append(compact_array_length(len(self.partitions)) if flexible else array_length(len(self.partitions)))
            out += map(int32, self.partitions)
            if flexible:
                out.append(b"\x00")

        @classmethod
        def read(cls, reader: Reader, version: int) -> DescribeLogDirsRequest.DescribableLogDirTopic:
            flexible = version >= 2
            topic: str = reader.compact_string() if flexible else reader.string()
            partitions: list[int] = [reader.int32() for _ in range(reader.compact_array_length() if flexible else reader.array_length())]
            if flexible:
                reader.skip_tagged_fields()
            return cls(
                topic=topic,
                partitions=partitions,
            )

    topics: list[DescribeLogDirsRequest.DescribableLogDirTopic] | None = field(default_factory=list)

    def write(self, out: list[bytes], version: int) -> None:
        flexible = version >= 2
        if self.topics is None:
            out.append(compact_array_length(-1) if flexible else array_length(-1))
        else:
            out.append(compact_array_length(len(self.topics)) if flexible else array_length(len(self.topics)))
            for topics_item in self.topics:
                topics_item.write(out, version)
        if flexible:
            out.append(b"\x00")

    @classmethod
    def read(cls, reader: Reader, version: int) -> DescribeLogDirsRequest:
        flexible = version >= 2
        length = reader.compact_nullable_array_length() if flexible else reader.nullable_array_length()
        topics: list[DescribeLogDirsRequest.DescribableLogDirTopic] | None = None if length < 0 else [DescribeLogDirsRequest.DescribableLogDirTopic.read(reader, version) for _ in range(length)]
        if flexible:
            reader.skip_tagged_fields()
        return cls(
            topics=topics,
        )


@dataclass(slots=True, kw_only=True)
class DescribeLogDirsResponse(Message):
    API_KEY: ClassVar[int] = 35
    MIN_VERSION: ClassVar[int] = 1
    MAX_VERSION: ClassVar[int] = 4
    FLEXIBLE_FROM: ClassVar[int] = 2

    @dataclass(slots=True, kw_only=True)
    class DescribeLogDirsPartition(Struct):
        partition_index: int = 0
        partition_size: int = 0
        offset_lag: int = 0
        is_future_key: bool = False

        def write(self, out: list[bytes], version: int) -> None:
            flexible = version >= 2
            out.append(int32(self.partition_index))
            out.append(int64(self.partition_size))
            out.append(int64(self.offset_lag))
            out.append(boolean(self.is_future_key))
            if flexible:
                out.append(b"\x00")

        @classmethod
        def read(cls, reader: Reader, version: int) -> DescribeLogDirsResponse.DescribeLogDirsPartition:
            flexible = version >= 2
            partition_index: int = reader.int32()
            partition_size: int = reader.int64()
            offset_lag: int = reader.int64()
            is_future_key: bool = reader.boolean()
            if flexible:
                reader.skip_tagged_fields()
            return cls(
                partition_index=partition_index,
                partition_size=partition_size,
                offset_lag=offset_lag,
                is_future_key=is_future_key,
            )

    @dataclass(slots=True, kw_only=True)
    class DescribeLogDirsTopic(Struct):
        name: str = ""
        partitions: list[DescribeLogDirsResponse.DescribeLogDirsPartition] = field(default_factory=list)

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
        def read(cls, reader: Reader, version: int) -> DescribeLogDirsResponse.DescribeLogDirsTopic:
            flexible = version >= 2
            name: str = reader.compact_string() if flexible else reader.string()
            partitions: list[DescribeLogDirsResponse.DescribeLogDirsPartition] = [DescribeLogDirsResponse.DescribeLogDirsPartition.read(reader, version) for _ in range(reader.compact_array_length() if flexible else reader.array_length())]
            if flexible:
                reader.skip_tagged_fields()
            return cls(
                name=name,
                partitions=partitions,
            )

    @dataclass(slots=True, kw_only=True)
    class DescribeLogDirsResult(Struct):
        error_code: int = 0
        log_dir: str = ""
        topics: list[DescribeLogDirsResponse.DescribeLogDirsTopic] = field(default_factory=list)
        total_bytes: int = -1
        usable_bytes: int = -1

        def write(self, out: list[bytes], version: int) -> None:
            flexible = version >= 2
            out.append(int16(self.error_code))
            if flexible:
                write_compact_string(out, self.log_dir)
            else:
                write_string(out, self.log_dir)
            out.append(compact_array_length(len(self.topics)) if flexible else array_length(len(self.topics)))
            for topics_item in self.topics:
                topics_item.write(out, version)
            if version >= 4:
                out.append(int64(self.total_bytes))
            if version >= 4:
                out.append(int64(self.usable_bytes))
            if flexible:
                out.append(b"\x00")

        @classmethod
        def read(cls, reader: Reader, version: int) -> DescribeLogDirsResponse.DescribeLogDirsResult:
            flexible = version >= 2
            error_code: int = reader.int16()
            log_dir: str = reader.compact_string() if flexible else reader.string()
            topics: list[DescribeLogDirsResponse.DescribeLogDirsTopic] = [DescribeLogDirsResponse.DescribeLogDirsTopic.read(reader, version) for _ in range(reader.compact_array_length() if flexible else reader.array_length())]
            total_bytes: int = -1
            if version >= 4:
                total_bytes = reader.int64()
            usable_bytes: int = -1
            if version >= 4:
                usable_bytes = reader.int64()
            if flexible:
                reader.skip_tagged_fields()
            return cls(
                error_code=error_code,
                log_dir=log_dir,
                topics=topics,
                total_bytes=total_bytes,
                usable_bytes=usable_bytes,
            )

    throttle_time_ms: int = 0
    error_code: int = 0
    results: list[DescribeLogDirsResponse.DescribeLogDirsResult] = field(default_factory=list)

    def write(self, out: list[bytes], version: int) -> None:
        flexible = version >= 2
        out.append(int32(self.throttle_time_ms))
        if version >= 3:
            out.append(int16(self.error_code))
        out.append(compact_array_length(len(self.results)) if flexible else array_length(len(self.results)))
        for results_item in self.results:
            results_item.write(out, version)
        if flexible:
            out.append(b"\x00")

    @classmethod
    def read(cls, reader: Reader, version: int) -> DescribeLogDirsResponse:
        flexible = version >= 2
        throttle_time_ms: int = reader.int32()
        error_code: int = 0
        if version >= 3:
            error_code = reader.int16()
        results: list[DescribeLogDirsResponse.DescribeLogDirsResult] = [DescribeLogDirsResponse.DescribeLogDirsResult.read(reader, version) for _ in range(reader.compact_array_length() if flexible else reader.array_length())]
        if flexible:
            reader.skip_tagged_fields()
        return cls(
            throttle_time_ms=throttle_time_ms,
            error_code=error_code,
            results=results,
        )
