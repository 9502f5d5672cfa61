"""TxnOffsetCommit (28), v0-v5.

Generated from kafka-clients 4.2.0 by libs/kafka/codegen; do not edit.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

from korvet.kafka.message import Message, Struct, unsupported
from korvet.kafka.primitives import int16, int32, int64, write_string, write_nullable_string, write_compact_string, write_compact_nullable_string, array_length, compact_array_length, Reader


@dataclass(slots=True, kw_only=True)
class TxnOffsetCommitRequest(Message):
    API_KEY: ClassVar[int] = 28
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 5
    FLEXIBLE_FROM: ClassVar[int] = 3

    @dataclass(slots=True, kw_only=True)
    class TxnOffsetCommitRequestPartition(Struct):
        partition_index: int = 0
        committed_offset: int = 0
        committed_leader_epoch: int = -1
        committed_metadata: str | None = ""

        def write(self, out: list[bytes], version: int) -> None:
            flexible = version >= 3
            out.append(int32(self.partition_index))
            out.append(int64(self.committed_offset))
            if version >= 2:
                out.append(int32(self.committed_leader_epoch))
            if flexible:
                write_compact_nullable_string(out, self.committed_metadata)
            else:
                write_nullable_string(out, self.committed_metadata)
            if flexible:
                out.append(b"\x00")

        @classmethod
        def read(cls, reader: Reader, version: int) -> TxnOffsetCommitRequest.TxnOffsetCommitRequestPartition:
            flexible = version >= 3
            partition_index: int = reader.int32()
            committed_offset: int = reader.int64()
            committed_leader_epoch: int = -1
            if version >= 2:
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
    class TxnOffsetCommitRequestTopic(Struct):
        name: str = ""
        partitions: list[TxnOffsetCommitRequest.TxnOffsetCommitRequestPartition] = field(default_factory=list)

        def write(self, out: list[bytes], version: int) -> None:
            flexible = version >= 3
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
        def read(cls, reader: Reader, version: int) -> TxnOffsetCommitRequest.TxnOffsetCommitRequestTopic:
            flexible = version >= 3
            name: str = reader.compact_string() if flexible else reader.string()
            partitions: list[TxnOffsetCommitRequest.TxnOffsetCommitRequestPartition] = [TxnOffsetCommitRequest.TxnOffsetCommitRequestPartition.read(reader, version) for _ in range(reader.compact_array_length() if flexible else reader.array_length())]
            if flexible:
                reader.skip_tagged_fields()
            return cls(
                name=name,
                partitions=partitions,
            )

    transactional_id: str = ""
    group_id: str = ""
    producer_id: int = 0
    producer_epoch: int = 0
    generation_id: int = -1
    member_id: str = ""
    group_instance_id: str | None = None
    topics: list[TxnOffsetCommitRequest.TxnOffsetCommitRequestTopic] = field(default_factory=list)

    def write(self, out: list[bytes], version: int) -> None:
        flexible = version >= 3
        if flexible:
            write_compact_string(out, self.transactional_id)
        else:
            write_string(out, self.transactional_id)
        if flexible:
            write_compact_string(out, self.group_id)
        else:
            write_string(out, self.group_id)
        out.append(int64(self.producer_id))
        out.append(int16(self.producer_epoch))
        if version >= 3:
            out.append(int32(self.generation_id))
        elif self.generation_id != -1:
            raise unsupported("generation_id", version)
        if version >= 3:
            if flexible:
                write_compact_string(out, self.member_id)
            else:
                write_string(out, self.member_id)
        elif self.member_id != "":
            raise unsupported("member_id", version)
        if version >= 3:
            if flexible:
                write_compact_nullable_string(out, self.group_instance_id)
            else:
                write_nullable_string(out, self.group_instance_id)
        elif self.group_instance_id is not None:
            raise unsupported("group_instance_id", version)
        out.append(compact_array_length(len(self.topics)) if flexible else array_length(len(self.topics)))
        for topics_item in self.topics:
            topics_item.write(out, version)
        if flexible:
            out.append(b"\x00")

    @classmethod
    def read(cls, reader: Reader, version: int) -> TxnOffsetCommitRequest:
        flexible = version >= 3
        transactional_id: str = reader.compact_string() if flexible else reader.string()
        group_id: str = reader.compact_string() if flexible else reader.string()
        producer_id: int = reader.int64()
        producer_epoch: int = reader.int16()
        generation_id: int = -1
        if version >= 3:
            generation_id = reader.int32()
        member_id: str = ""
        if version >= 3:
            member_id = reader.compact_string() if flexible else reader.string()
        group_instance_id: str | None = None
        if version >= 3:
            group_instance_id = reader.compact_nullable_string() if flexible else reader.nullable_string()
        topics: list[TxnOffsetCommitRequest.TxnOffsetCommitRequestTopic] = [TxnOffsetCommitRequest.TxnOffsetCommitRequestTopic.read(reader, version) for _ in range(reader.compact_array_length() if flexible else reader.array_length())]
        if flexible:
            reader.skip_tagged_fields()
        return cls(
            transactional_id=transactional_id,
            group_id=group_id,
            producer_id=producer_id,
            producer_epoch=producer_epoch,
            generation_id=generation_id,
            member_id=member_id,
            group_instance_id=group_instance_id,
            topics=topics,
        )


@dataclass(slots=True, kw_only=True)
class TxnOffsetCommitResponse(Message):
    API_KEY: ClassVar[int] = 28
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 5
    FLEXIBLE_FROM: ClassVar[int] = 3

    @dataclass(slots=True, kw_only=True)
    class TxnOffsetCommitResponsePartition(Struct):
        partition_index: int = 0
        error_code: int = 0

        def write(self, out: list[bytes], version: int) -> None:
            flexible = version >= 3
            out.append(int32(self.partition_index))
            out.append(int16(self.error_code))
            if flexible:
                out.append(b"\x00")

        @classmethod
        def read(cls, reader: Reader, version: int) -> TxnOffsetCommitResponse.TxnOffsetCommitResponsePartition:
            flexible = version >= 3
            partition_index: int = reader.int32()
            error_code: int = reader.int16()
            if flexible:
                reader.skip_tagged_fields()
            return cls(
                partition_index=partition_index,
                error_code=error_code,
            )

    @dataclass(slots=True, kw_only=True)
    class TxnOffsetCommitResponseTopic(Struct):
        name: str = ""
        partitions: list[TxnOffsetCommitResponse.TxnOffsetCommitResponsePartition] = field(default_factory=list)

        def write(self, out: list[bytes], version: int) -> None:
            flexible = version >= 3
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
        def read(cls, reader: Reader, version: int) -> TxnOffsetCommitResponse.TxnOffsetCommitResponseTopic:
            flexible = version >= 3
            name: str = reader.compact_string() if flexible else reader.string()
            partitions: list[TxnOffsetCommitResponse.TxnOffsetCommitResponsePartition] = [TxnOffsetCommitResponse.TxnOffsetCommitResponsePartition.read(reader, version) for _ in range(reader.compact_array_length() if flexible else reader.array_length())]
            if flexible:
                reader.skip_tagged_fields()
            return cls(
                name=name,
                partitions=partitions,
            )

    throttle_time_ms: int = 0
    topics: list[TxnOffsetCommitResponse.TxnOffsetCommitResponseTopic] = field(default_factory=list)

    def write(self, out: list[bytes], version: int) -> None:
        flexible = version >= 3
        out.append(int32(self.throttle_time_ms))
        out.append(compact_array_length(len(self.topics)) if flexible else array_length(len(self.topics)))
        for topics_item in self.topics:
            topics_item.write(out, version)
        if flexible:
            out.append(b"\x00")

    @classmethod
    def read(cls, reader: Reader, version: int) -> TxnOffsetCommitResponse:
        flexible = version >= 3
        throttle_time_ms: int = reader.int32()
        topics: list[TxnOffsetCommitResponse.TxnOffsetCommitResponseTopic] = [TxnOffsetCommitResponse.TxnOffsetCommitResponseTopic.read(reader, version) for _ in range(reader.compact_array_length() if flexible else reader.array_length())]
        if flexible:
            reader.skip_tagged_fields()
        return cls(
            throttle_time_ms=throttle_time_ms,
            topics=topics,
        )
