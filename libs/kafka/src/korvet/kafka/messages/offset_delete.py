"""OffsetDelete (47), v0-v0.

Generated from kafka-clients 4.2.0 by libs/kafka/codegen; do not edit.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

from korvet.kafka.message import Message, Struct
from korvet.kafka.primitives import int16, int32, write_string, array_length, Reader


@dataclass(slots=True, kw_only=True)
class OffsetDeleteRequest(Message):
    API_KEY: ClassVar[int] = 47
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    FLEXIBLE_FROM: ClassVar[int] = 32767

    @dataclass(slots=True, kw_only=True)
    class OffsetDeleteRequestPartition(Struct):
        partition_index: int = 0

        def write(self, out: list[bytes], version: int) -> None:
            out.append(int32(self.partition_index))

        @classmethod
        def read(cls, reader: Reader, version: int) -> OffsetDeleteRequest.OffsetDeleteRequestPartition:
            partition_index: int = reader.int32()
            return cls(
                partition_index=partition_index,
            )

    @dataclass(slots=True, kw_only=True)
    class OffsetDeleteRequestTopic(Struct):
        name: str = ""
        partitions: list[OffsetDeleteRequest.OffsetDeleteRequestPartition] = field(default_factory=list)

        def write(self, out: list[bytes], version: int) -> None:
            write_string(out, self.name)
            out.append(array_length(len(self.partitions)))
            for partitions_item in self.partitions:
                partitions_item.write(out, version)

        @classmethod
        def read(cls, reader: Reader, version: int) -> OffsetDeleteRequest.OffsetDeleteRequestTopic:
            name: str = reader.string()
            partitions: list[OffsetDeleteRequest.OffsetDeleteRequestPartition] = [OffsetDeleteRequest.OffsetDeleteRequestPartition.read(reader, version) for _ in range(reader.array_length())]
            return cls(
                name=name,
                partitions=partitions,
            )

    group_id: str = ""
    topics: list[OffsetDeleteRequest.OffsetDeleteRequestTopic] = field(default_factory=list)

    def write(self, out: list[bytes], version: int) -> None:
        write_string(out, self.group_id)
        out.append(array_length(len(self.topics)))
        for topics_item in self.topics:
            topics_item.write(out, version)

    @classmethod
    def read(cls, reader: Reader, version: int) -> OffsetDeleteRequest:
        group_id: str = reader.string()
        topics: list[OffsetDeleteRequest.OffsetDeleteRequestTopic] = [OffsetDeleteRequest.OffsetDeleteRequestTopic.read(reader, version) for _ in range(reader.array_length())]
        return cls(
            group_id=group_id,
            topics=topics,
        )


@dataclass(slots=True, kw_only=True)
class OffsetDeleteResponse(Message):
    API_KEY: ClassVar[int] = 47
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    FLEXIBLE_FROM: ClassVar[int] = 32767

    @dataclass(slots=True, kw_only=True)
    class OffsetDeleteResponsePartition(Struct):
        partition_index: int = 0
        error_code: int = 0

        def write(self, out: list[bytes], version: int) -> None:
            out.append(int32(self.partition_index))
            out.append(int16(self.error_code))

        @classmethod
        def read(cls, reader: Reader, version: int) -> OffsetDeleteResponse.OffsetDeleteResponsePartition:
            partition_index: int = reader.int32()
            error_code: int = reader.int16()
            return cls(
                partition_index=partition_index,
                error_code=error_code,
            )

    @dataclass(slots=True, kw_only=True)
    class OffsetDeleteResponseTopic(Struct):
        name: str = ""
        partitions: list[OffsetDeleteResponse.OffsetDeleteResponsePartition] = field(default_factory=list)

        def write(self, out: list[bytes], version: int) -> None:
            write_string(out, self.name)
            out.append(array_length(len(self.partitions)))
            for partitions_item in self.partitions:
                partitions_item.write(out, version)

        @classmethod
        def read(cls, reader: Reader, version: int) -> OffsetDeleteResponse.OffsetDeleteResponseTopic:
            name: str = reader.string()
            partitions: list[OffsetDeleteResponse.OffsetDeleteResponsePartition] = [OffsetDeleteResponse.OffsetDeleteResponsePartition.read(reader, version) for _ in range(reader.array_length())]
            return cls(
                name=name,
                partitions=partitions,
            )

    error_code: int = 0
    throttle_time_ms: int = 0
    topics: list[OffsetDeleteResponse.OffsetDeleteResponseTopic] = field(default_factory=list)

    def write(self, out: list[bytes], version: int) -> None:
        out.append(int16(self.error_code))
        out.append(int32(self.throttle_time_ms))
        out.append(array_length(len(self.topics)))
        for topics_item in self.topics:
            topics_item.write(out, version)

    @classmethod
    def read(cls, reader: Reader, version: int) -> OffsetDeleteResponse:
        error_code: int = reader.int16()
        throttle_time_ms: int = reader.int32()
        topics: list[OffsetDeleteResponse.OffsetDeleteResponseTopic] = [OffsetDeleteResponse.OffsetDeleteResponseTopic.read(reader, version) for _ in range(reader.array_length())]
        return cls(
            error_code=error_code,
            throttle_time_ms=throttle_time_ms,
            topics=topics,
        )
