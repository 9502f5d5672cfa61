"""OffsetForLeaderEpoch (23), v2-v4.

Generated from kafka-clients 4.2.0 by libs/kafka/codegen; do not edit.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

from korvet.kafka.message import Message, Struct
from korvet.kafka.primitives import int16, int32, int64, write_string, write_compact_string, array_length, compact_array_length, Reader


@dataclass(slots=True, kw_only=True)
class OffsetForLeaderEpochRequest(Message):
    API_KEY: ClassVar[int] = 23
    MIN_VERSION: ClassVar[int] = 2
    MAX_VERSION: ClassVar[int] = 4
    FLEXIBLE_FROM: ClassVar[int] = 4

    @dataclass(slots=True, kw_only=True)
    class OffsetForLeaderPartition(Struct):
        partition: int = 0
        current_leader_epoch: int = -1
        leader_epoch: int = 0

        def write(self, out: list[bytes], version: int) -> None:
            flexible = version >= 4
            out.append(int32(self.partition))
            out.append(int32(self.current_leader_epoch))
            out.append(int32(self.leader_epoch))
            if flexible:
                out.append(b"\x00")

        @classmethod
        def read(cls, reader: Reader, version: int) -> OffsetForLeaderEpochRequest.OffsetForLeaderPartition:
            flexible = version >= 4
            partition: int = reader.int32()
            current_leader_epoch: int = reader.int32()
            leader_epoch: int = reader.int32()
            if flexible:
                reader.skip_tagged_fields()
            return cls(
                partition=partition,
                current_leader_epoch=current_leader_epoch,
                leader_epoch=leader_epoch,
            )

    @dataclass(slots=True, kw_only=True)
    class OffsetForLeaderTopic(Struct):
        topic: str = ""
        partitions: list[OffsetForLeaderEpochRequest.OffsetForLeaderPartition] = field(default_factory=list)

        def write(self, out: list[bytes], version: int) -> None:
            flexible = version >= 4
            if flexible:
                write_compact_string(out, self.topic)
            else:
                write_string(out, self.topic)
            out.append(compact_array_length(len(self.partitions)) if flexible else array_length(len(self.partitions)))
            for partitions_item in self.partitions:
                partitions_item.write(out, version)
            if flexible:
                out.append(b"\x00")

        @classmethod
        def read(cls, reader: Reader, version: int) -> OffsetForLeaderEpochRequest.OffsetForLeaderTopic:
            flexible = version >= 4
            topic: str = reader.compact_string() if flexible else reader.string()
            partitions: list[OffsetForLeaderEpochRequest.OffsetForLeaderPartition] = [OffsetForLeaderEpochRequest.OffsetForLeaderPartition.read(reader, version) for _ in range(reader.compact_array_length() if flexible else reader.array_length())]
            if flexible:
                reader.skip_tagged_fields()
            return cls(
                topic=topic,
                partitions=partitions,
            )

    replica_id: int = -2
    topics: list[OffsetForLeaderEpochRequest.OffsetForLeaderTopic] = field(default_factory=list)

    def write(self, out: list[bytes], version: int) -> None:
        flexible = version >= 4
        if version >= 3:
            out.append(int32(self.replica_id))
        out.append(compact_array_length(len(self.topics)) if flexible else array_length(len(self.topics)))
        for topics_item in self.topics:
            topics_item.write(out, version)
        if flexible:
            out.append(b"\x00")

    @classmethod
    def read(cls, reader: Reader, version: int) -> OffsetForLeaderEpochRequest:
        flexible = version >= 4
        replica_id: int = -2
        if version >= 3:
            replica_id = reader.int32()
        topics: list[OffsetForLeaderEpochRequest.OffsetForLeaderTopic] = [OffsetForLeaderEpochRequest.OffsetForLeaderTopic.read(reader, version) for _ in range(reader.compact_array_length() if flexible else reader.array_length())]
        if flexible:
            reader.skip_tagged_fields()
        return cls(
            replica_id=replica_id,
            topics=topics,
        )


@dataclass(slots=True, kw_only=True)
class OffsetForLeaderEpochResponse(Message):
    API_KEY: ClassVar[int] = 23
    MIN_VERSION: ClassVar[int] = 2
    MAX_VERSION: ClassVar[int] = 4
    FLEXIBLE_FROM: ClassVar[int] = 4

    @dataclass(slots=True, kw_only=True)
    class EpochEndOffset(Struct):
        error_code: int = 0
        partition: int = 0
        leader_epoch: int = -1
        end_offset: int = -1

        def write(self, out: list[bytes], version: int) -> None:
            flexible = version >= 4
            out.append(int16(self.error_code))
            out.append(int32(self.partition))
            out.append(int32(self.leader_epoch))
            out.append(int64(self.end_offset))
            if flexible:
                out.append(b"\x00")

        @classmethod
        def read(cls, reader: Reader, version: int) -> OffsetForLeaderEpochResponse.EpochEndOffset:
            flexible = version >= 4
            error_code: int = reader.int16()
            partition: int = reader.int32()
            leader_epoch: int = reader.int32()
            end_offset: int = reader.int64()
            if flexible:
                reader.skip_tagged_fields()
            return cls(
                error_code=error_code,
                partition=partition,
                leader_epoch=leader_epoch,
                end_offset=end_offset,
            )

    @dataclass(slots=True, kw_only=True)
    class OffsetForLeaderTopicResult(Struct):
        topic: str = ""
        partitions: list[OffsetForLeaderEpochResponse.EpochEndOffset] = field(default_factory=list)

        def write(self, out: list[bytes], version: int) -> None:
            flexible = version >= 4
            if flexible:
                write_compact_string(out, self.topic)
            else:
                write_string(out, self.topic)
            out.append(compact_array_length(len(self.partitions)) if flexible else array_length(len(self.partitions)))
            for partitions_item in self.partitions:
                partitions_item.write(out, version)
            if flexible:
                out.append(b"\x00")

        @classmethod
        def read(cls, reader: Reader, version: int) -> OffsetForLeaderEpochResponse.OffsetForLeaderTopicResult:
            flexible = version >= 4
            topic: str = reader.compact_string() if flexible else reader.string()
            partitions: list[OffsetForLeaderEpochResponse.EpochEndOffset] = [OffsetForLeaderEpochResponse.EpochEndOffset.read(reader, version) for _ in range(reader.compact_array_length() if flexible else reader.array_length())]
            if flexible:
                reader.skip_tagged_fields()
            return cls(
                topic=topic,
                partitions=partitions,
            )

    throttle_time_ms: int = 0
    topics: list[OffsetForLeaderEpochResponse.OffsetForLeaderTopicResult] = field(default_factory=list)

    def write(self, out: list[bytes], version: int) -> None:
        flexible = version >= 4
        out.append(int32(self.throttle_time_ms))
        out.append(compact_array_length(len(self.topics)) if flexible else array_length(len(self.topics)))
        for topics_item in self.topics:
            topics_item.write(out, version)
        if flexible:
            out.append(b"\x00")

    @classmethod
    def read(cls, reader: Reader, version: int) -> OffsetForLeaderEpochResponse:
        flexible = version >= 4
        throttle_time_ms: int = reader.int32()
        topics: list[OffsetForLeaderEpochResponse.OffsetForLeaderTopicResult] = [OffsetForLeaderEpochResponse.OffsetForLeaderTopicResult.read(reader, version) for _ in range(reader.compact_array_length() if flexible else reader.array_length())]
        if flexible:
            reader.skip_tagged_fields()
        return cls(
            throttle_time_ms=throttle_time_ms,
            topics=topics,
        )
