"""ListOffsets (2), v1-v11.

Generated from kafka-clients 4.2.0 by libs/kafka/codegen; do not edit.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

from korvet.kafka.message import Message, Struct, unsupported
from korvet.kafka.primitives import int8, int16, int32, int64, write_string, write_compact_string, array_length, compact_array_length, Reader


@dataclass(slots=True, kw_only=True)
class ListOffsetsRequest(Message):
    API_KEY: ClassVar[int] = 2
    MIN_VERSION: ClassVar[int] = 1
    MAX_VERSION: ClassVar[int] = 11
    FLEXIBLE_FROM: ClassVar[int] = 6

    @dataclass(slots=True, kw_only=True)
    class ListOffsetsPartition(Struct):
        partition_index: int = 0
        current_leader_epoch: int = -1
        timestamp: int = 0

        def write(self, out: list[bytes], version: int) -> None:
            flexible = version >= 6
            out.append(int32(self.partition_index))
            if version >= 4:
                out.append(int32(self.current_leader_epoch))
            out.append(int64(self.timestamp))
            if flexible:
                out.append(b"\x00")

        @classmethod
        def read(cls, reader: Reader, version: int) -> ListOffsetsRequest.ListOffsetsPartition:
            flexible = version >= 6
            partition_index: int = reader.int32()
            current_leader_epoch: int = -1
            if version >= 4:
                current_leader_epoch = reader.int32()
            timestamp: int = reader.int64()
            if flexible:
                reader.skip_tagged_fields()
            return cls(
                partition_index=partition_index,
                current_leader_epoch=current_leader_epoch,
                timestamp=timestamp,
            )

    @dataclass(slots=True, kw_only=True)
    class ListOffsetsTopic(Struct):
        name: str = ""
        partitions: list[ListOffsetsRequest.ListOffsetsPartition] = field(default_factory=list)

        def write(self, out: list[bytes], version: int) -> None:
            flexible = version >= 6
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
        def read(cls, reader: Reader, version: int) -> ListOffsetsRequest.ListOffsetsTopic:
            flexible = version >= 6
            name: str = reader.compact_string() if flexible else reader.string()
            partitions: list[ListOffsetsRequest.ListOffsetsPartition] = [ListOffsetsRequest.ListOffsetsPartition.read(reader, version) for _ in range(reader.compact_array_length() if flexible else reader.array_length())]
            if flexible:
                reader.skip_tagged_fields()
            return cls(
                name=name,
                partitions=partitions,
            )

    replica_id: int = 0
    isolation_level: int = 0
    topics: list[ListOffsetsRequest.ListOffsetsTopic] = field(default_factory=list)
    timeout_ms: int = 0

    def write(self, out: list[bytes], version: int) -> None:
        flexible = version >= 6
        out.append(int32(self.replica_id))
        if version >= 2:
            out.append(int8(self.isolation_level))
        elif self.isolation_level != 0:
            raise unsupported("isolation_level", version)
        out.append(compact_array_length(len(self.topics)) if flexible else array_length(len(self.topics)))
        for topics_item in self.topics:
            topics_item.write(out, version)
        if version >= 10:
            out.append(int32(self.timeout_ms))
        if flexible:
            out.append(b"\x00")

    @classmethod
    def read(cls, reader: Reader, version: int) -> ListOffsetsRequest:
        flexible = version >= 6
        replica_id: int = reader.int32()
        isolation_level: int = 0
        if version >= 2:
            isolation_level = reader.int8()
        topics: list[ListOffsetsRequest.ListOffsetsTopic] = [ListOffsetsRequest.ListOffsetsTopic.read(reader, version) for _ in range(reader.compact_array_length() if flexible else reader.array_length())]
        timeout_ms: int = 0
        if version >= 10:
            timeout_ms = reader.int32()
        if flexible:
            reader.skip_tagged_fields()
        return cls(
            replica_id=replica_id,
            isolation_level=isolation_level,
            topics=topics,
            timeout_ms=timeout_ms,
        )


@dataclass(slots=True, kw_only=True)
class ListOffsetsResponse(Message):
    API_KEY: ClassVar[int] = 2
    MIN_VERSION: ClassVar[int] = 1
    MAX_VERSION: ClassVar[int] = 11
    FLEXIBLE_FROM: ClassVar[int] = 6

    @dataclass(slots=True, kw_only=True)
    class ListOffsetsPartitionResponse(Struct):
        partition_index: int = 0
        error_code: int = 0
        timestamp: int = -1
        offset: int = -1
        leader_epoch: int = -1

        def write(self, out: list[bytes], version: int) -> None:
            flexible = version >= 6
            out.append(int32(self.partition_index))
            out.append(int16(self.error_code))
            out.append(int64(self.timestamp))
            out.append(int64(self.offset))
            if version >= 4:
                out.append(int32(self.leader_epoch))
            elif self.leader_epoch != -1:
                raise unsupported("leader_epoch", version)
            if flexible:
                out.append(b"\x00")

        @classmethod
        def read(cls, reader: Reader, version: int) -> ListOffsetsResponse.ListOffsetsPartitionResponse:
            flexible = version >= 6
            partition_index: int = reader.int32()
            error_code: int = reader.int16()
            timestamp: int = reader.int64()
            offset: int = reader.int64()
            leader_epoch: int = -1
            if version >= 4:
                leader_epoch = reader.int32()
            if flexible:
                reader.skip_tagged_fields()
            return cls(
                partition_index=partition_index,
                error_code=error_code,
                timestamp=timestamp,
                offset=offset,
                leader_epoch=leader_epoch,
            )

    @dataclass(slots=True, kw_only=True)
    class ListOffsetsTopicResponse(Struct):
        name: str = ""
        partitions: list[ListOffsetsResponse.ListOffsetsPartitionResponse] = field(default_factory=list)

        def write(self, out: list[bytes], version: int) -> None:
            flexible = version >= 6
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
        def read(cls, reader: Reader, version: int) -> ListOffsetsResponse.ListOffsetsTopicResponse:
            flexible = version >= 6
            name: str = reader.compact_string() if flexible else reader.string()
            partitions: list[ListOffsetsResponse.ListOffsetsPartitionResponse] = [ListOffsetsResponse.ListOffsetsPartitionResponse.read(reader, version) for _ in range(reader.compact_array_length() if flexible else reader.array_length())]
            if flexible:
                reader.skip_tagged_fields()
            return cls(
                name=name,
                partitions=partitions,
            )

    throttle_time_ms: int = 0
    topics: list[ListOffsetsResponse.ListOffsetsTopicResponse] = field(default_factory=list)

    def write(self, out: list[bytes], version: int) -> None:
        flexible = version >= 6
        if version >= 2:
            out.append(int32(self.throttle_time_ms))
        out.append(compact_array_length(len(self.topics)) if flexible else array_length(len(self.topics)))
        for topics_item in self.topics:
            topics_item.write(out, version)
        if flexible:
            out.append(b"\x00")

    @classmethod
    def read(cls, reader: Reader, version: int) -> ListOffsetsResponse:
        flexible = version >= 6
        throttle_time_ms: int = 0
        if version >= 2:
            throttle_time_ms = reader.int32()
        topics: list[ListOffsetsResponse.ListOffsetsTopicResponse] = [ListOffsetsResponse.ListOffsetsTopicResponse.read(reader, version) for _ in range(reader.compact_array_length() if flexible else reader.array_length())]
        if flexible:
            reader.skip_tagged_fields()
        return cls(
            throttle_time_ms=throttle_time_ms,
            topics=topics,
        )
