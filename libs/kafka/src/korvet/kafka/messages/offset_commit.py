"""OffsetCommit (8), v2-v10.

Generated from kafka-clients 4.2.0 by libs/kafka/codegen; do not edit.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

from korvet.kafka.message import Message, Struct, unsupported
from korvet.kafka.primitives import ZERO_UUID, int16, int32, int64, uuid, write_string, write_nullable_string, write_compact_string, write_compact_nullable_string, array_length, compact_array_length, Reader


@dataclass(slots=True, kw_only=True)
class OffsetCommitRequest(Message):
    API_KEY: ClassVar[int] = 8
    MIN_VERSION: ClassVar[int] = 2
    MAX_VERSION: ClassVar[int] = 10
    FLEXIBLE_FROM: ClassVar[int] = 8

    @dataclass(slots=True, kw_only=True)
    class OffsetCommitRequestPartition(Struct):
        partition_index: int = 0
        committed_offset: int = 0
        committed_leader_epoch: int = -1
        committed_metadata: str | None = ""

        def write(self, out: list[bytes], version: int) -> None:
            flexible = version >= 8
            out.append(int32(self.partition_index))
            out.append(int64(self.committed_offset))
            if version >= 6:
                out.append(int32(self.committed_leader_epoch))
            if flexible:
                write_compact_nullable_string(out, self.committed_metadata)
            else:
                write_nullable_string(out, self.committed_metadata)
            if flexible:
                out.append(b"\x00")

        @classmethod
        def read(cls, reader: Reader, version: int) -> OffsetCommitRequest.OffsetCommitRequestPartition:
            flexible = version >= 8
            partition_index: int = reader.int32()
            committed_offset: int = reader.int64()
            committed_leader_epoch: int = -1
            if version >= 6:
                committed_leader_epoch = reader.int32()
            committed_metadata: str | None = reader.compact_nullable_string() if flexible else reader.nullable_string()
            if flexible:
                reader.skip_tagged_fields()
            return cls(
                partition_index=partition_index,
                committed_offset=committed_offset,
                committed_leader_epoch=committed_leader_epoch,
                committed_metadata=committed_metadata,
            )

    @dataclass(slots=True, kw_only=True)
    class OffsetCommitRequestTopic(Struct):
        name: str = ""
        topic_id: bytes = ZERO_UUID
        partitions: list[OffsetCommitRequest.OffsetCommitRequestPartition] = field(default_factory=list)

        def write(self, out: list[bytes], version: int) -> None:
            flexible = version >= 8
            if version <= 9:
                if flexible:
                    write_compact_string(out, self.name)
                else:
                    write_string(out, self.name)
            if version >= 10:
                out.append(uuid(self.topic_id))
            out.append(compact_array_length(len(self.partitions)) if flexible else array_length(len(self.partitions)))
            for partitions_item in self.partitions:
                partitions_item.write(out, version)
            if flexible:
                out.append(b"\x00")

        @classmethod
        def read(cls, reader: Reader, version: int) -> OffsetCommitRequest.OffsetCommitRequestTopic:
            flexible = version >= 8
            name: str = ""
            if version <= 9:
                name = reader.compact_string() if flexible else reader.string()
            topic_id: bytes = ZERO_UUID
            if version >= 10:
                topic_id = reader.uuid()
            partitions: list[OffsetCommitRequest.OffsetCommitRequestPartition] = [OffsetCommitRequest.OffsetCommitRequestPartition.read(reader, version) for _ in range(reader.compact_array_length() if flexible else reader.array_length())]
            if flexible:
                reader.skip_tagged_fields()
            return cls(
                name=name,
                topic_id=topic_id,
                partitions=partitions,
            )

    group_id: str = ""
    generation_id_or_member_epoch: int = -1
    member_id: str = ""
    group_instance_id: str | None = None
    retention_time_ms: int = -1
    topics: list[OffsetCommitRequest.OffsetCommitRequestTopic] = field(default_factory=list)

    def write(self, out: list[bytes], version: int) -> None:
        flexible = version >= 8
        if flexible:
            write_compact_string(out, self.group_id)
        else:
            write_string(out, self.group_id)
        out.append(int32(self.generation_id_or_member_epoch))
        if flexible:
            write_compact_string(out, self.member_id)
        else:
            write_string(out, self.member_id)
        if version >= 7:
            if flexible:
                write_compact_nullable_string(out, self.group_instance_id)
            else:
                write_nullable_string(out, self.group_instance_id)
        elif self.group_instance_id is not None:
            raise unsupported("group_instance_id", version)
        if version <= 4:
            out.append(int64(self.retention_time_ms))
        out.append(compact_array_length(len(self.topics)) if flexible else array_length(len(self.topics)))
        for topics_item in self.topics:
            topics_item.write(out, version)
        if flexible:
            out.append(b"\x00")

    @classmethod
    def read(cls, reader: Reader, version: int) -> OffsetCommitRequest:
        flexible = version >= 8
        group_id: str = reader.compact_string() if flexible else reader.string()
        generation_id_or_member_epoch: int = reader.int32()
        member_id: str = reader.compact_string() if flexible else reader.string()
        group_instance_id: str | None = None
        if version >= 7:
            group_instance_id = reader.compact_nullable_string() if flexible else reader.nullable_string()
        retention_time_ms: int = -1
        if version <= 4:
            retention_time_ms = reader.int64()
        topics: list[OffsetCommitRequest.OffsetCommitRequestTopic] = [OffsetCommitRequest.OffsetCommitRequestTopic.read(reader, version) for _ in range(reader.compact_array_length() if flexible else reader.array_length())]
        if flexible:
            reader.skip_tagged_fields()
        return cls(
            group_id=group_id,
            generation_id_or_member_epoch=generation_id_or_member_epoch,
            member_id=member_id,
            group_instance_id=group_instance_id,
            retention_time_ms=retention_time_ms,
            topics=topics,
        )


@dataclass(slots=True, kw_only=True)
class OffsetCommitResponse(Message):
    API_KEY: ClassVar[int] = 8
    MIN_VERSION: ClassVar[int] = 2
    MAX_VERSION: ClassVar[int] = 10
    FLEXIBLE_FROM: ClassVar[int] = 8

    @dataclass(slots=True, kw_only=True)
    class OffsetCommitResponsePartition(Struct):
        partition_index: int = 0
        error_code: int = 0

        def write(self, out: list[bytes], version: int) -> None:
            flexible = version >= 8
            out.append(int32(self.partition_index))
            out.append(int16(self.error_code))
            if flexible:
                out.append(b"\x00")

        @classmethod
        def read(cls, reader: Reader, version: int) -> OffsetCommitResponse.OffsetCommitResponsePartition:
            flexible = version >= 8
            partition_index: int = reader.int32()
            error_code: int = reader.int16()
            if flexible:
                reader.skip_tagged_fields()
            return cls(
                partition_index=partition_index,
                error_code=error_code,
            )

    @dataclass(slots=True, kw_only=True)
    class OffsetCommitResponseTopic(Struct):
        name: str = ""
        topic_id: bytes = ZERO_UUID
        partitions: list[OffsetCommitResponse.OffsetCommitResponsePartition] = field(default_factory=list)

        def write(self, out: list[bytes], version: int) -> None:
            flexible = version >= 8
            if version <= 9:
                if flexible:
                    write_compact_string(out, self.name)
                else:
                    write_string(out, self.name)
            if version >= 10:
                out.append(uuid(self.topic_id))
            out.append(compact_array_length(len(self.partitions)) if flexible else array_length(len(self.partitions)))
            for partitions_item in self.partitions:
                partitions_item.write(out, version)
            if flexible:
                out.append(b"\x00")

        @classmethod
        def read(cls, reader: Reader, version: int) -> OffsetCommitResponse.OffsetCommitResponseTopic:
            flexible = version >= 8
            name: str = ""
            if version <= 9:
                name = reader.compact_string() if flexible else reader.string()
            topic_id: bytes = ZERO_UUID
            if version >= 10:
                topic_id = reader.uuid()
            partitions: list[OffsetCommitResponse.OffsetCommitResponsePartition] = [OffsetCommitResponse.OffsetCommitResponsePartition.read(reader, version) for _ in range(reader.compact_array_length() if flexible else reader.array_length())]
            if flexible:
                reader.skip_tagged_fields()
            return cls(
                name=name,
                topic_id=topic_id,
                partitions=partitions,
            )

    throttle_time_ms: int = 0
    topics: list[OffsetCommitResponse.OffsetCommitResponseTopic] = field(default_factory=list)

    def write(self, out: list[bytes], version: int) -> None:
        flexible = version >= 8
        if version >= 3:
            out.append(int32(self.throttle_time_ms))
        out.append(compact_array_length(len(self.topics)) if flexible else array_length(len(self.topics)))
        for topics_item in self.topics:
            topics_item.write(out, version)
        if flexible:
            out.append(b"\x00")

    @classmethod
    def read(cls, reader: Reader, version: int) -> OffsetCommitResponse:
        flexible = version >= 8
        throttle_time_ms: int = 0
        if version >= 3:
            throttle_time_ms = reader.int32()
        topics: list[OffsetCommitResponse.OffsetCommitResponseTopic] = [OffsetCommitResponse.OffsetCommitResponseTopic.read(reader, version) for _ in range(reader.compact_array_length() if flexible else reader.array_length())]
        if flexible:
            reader.skip_tagged_fields()
        return cls(
            throttle_time_ms=throttle_time_ms,
            topics=topics,
        )
