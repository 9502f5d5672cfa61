"""DescribeTopicPartitions (75), v0-v0.

Generated from kafka-clients 4.2.0 by libs/kafka/codegen; do not edit.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

from korvet.kafka.message import Message, Struct
from korvet.kafka.primitives import ZERO_UUID, int8, int16, int32, boolean, uuid, write_compact_string, write_compact_nullable_string, compact_array_length, Reader


@dataclass(slots=True, kw_only=True)
class DescribeTopicPartitionsRequest(Message):
    API_KEY: ClassVar[int] = 75
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    FLEXIBLE_FROM: ClassVar[int] = 0

    @dataclass(slots=True, kw_only=True)
    class TopicRequest(Struct):
        name: str = ""

        def write(self, out: list[bytes], version: int) -> None:
            write_compact_string(out, self.name)
            out.append(b"\x00")

        @classmethod
        def read(cls, reader: Reader, version: int) -> DescribeTopicPartitionsRequest.TopicRequest:
            name: str = reader.compact_string()
            reader.skip_tagged_fields()
            return cls(
                name=name,
            )

    @dataclass(slots=True, kw_only=True)
    class Cursor(Struct):
        topic_name: str = ""
        partition_index: int = 0

        def write(self, out: list[bytes], version: int) -> None:
            write_compact_string(out, self.topic_name)
            out.append(int32(self.partition_index))
            out.append(b"\x00")

        @classmethod
        def read(cls, reader: Reader, version: int) -> DescribeTopicPartitionsRequest.Cursor:
            topic_name: str = reader.compact_string()
            partition_index: int = reader.int32()
            reader.skip_tagged_fields()
            return cls(
                topic_name=topic_name,
                partition_index=partition_index,
            )

    topics: list[DescribeTopicPartitionsRequest.TopicRequest] = field(default_factory=list)
    response_partition_limit: int = 2000
    cursor: DescribeTopicPartitionsRequest.Cursor | None = None

    def write(self, out: list[bytes], version: int) -> None:
        out.append(compact_array_length(len(self.topics)))
        for topics_item in self.topics:
            topics_item.write(out, version)
        out.append(int32(self.response_partition_limit))
        if self.cursor is None:
            out.append(int8(-1))
        else:
            out.append(int8(1))
            self.cursor.write(out, version)
        out.append(b"\x00")

    @classmethod
    def read(cls, reader: Reader, version: int) -> DescribeTopicPartitionsRequest:
        topics: list[DescribeTopicPartitionsRequest.TopicRequest] = [DescribeTopicPartitionsRequest.TopicRequest.read(reader, version) for _ in range(reader.compact_array_length())]
        response_partition_limit: int = reader.int32()
        cursor: DescribeTopicPartitionsRequest.Cursor | None = DescribeTopicPartitionsRequest.Cursor.read(reader, version) if reader.int8() >= 0 else None
        reader.skip_tagged_fields()
        return cls(
            topics=topics,
            response_partition_limit=response_partition_limit,
            cursor=cursor,
        )


@dataclass(slots=True, kw_only=True)
class DescribeTopicPartitionsResponse(Message):
    API_KEY: ClassVar[int] = 75
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    FLEXIBLE_FROM: ClassVar[int] = 0

    @dataclass(slots=True, kw_only=True)
    class DescribeTopicPartitionsResponsePartition(Struct):
        error_code: int = 0
        partition_index: int = 0
        leader_id: int = 0
        leader_epoch: int = -1
        replica_nodes: list[int] = field(default_factory=list)
        isr_nodes: list[int] = field(default_factory=list)
        eligible_leader_replicas: list[int] | None = None
        last_known_elr: list[int] | None = None
        offline_replicas: list[int] = field(default_factory=list)

        def write(self, out: list[bytes], version: int) -> None:
            out.append(int16(self.error_code))
            out.append(int32(self.partition_index))
            out.append(int32(self.leader_id))
            out.append(int32(self.leader_epoch))
            out.append(compact_array_length(len(self.replica_nodes)))
            out += map(int32, self.replica_nodes)
            out.append(compact_array_length(len(self.isr_nodes)))
            out += map(int32, self.isr_nodes)
            if self.eligible_leader_replicas is None:
                out.append(compact_array_length(-1))
            else:
                out.append(compact_array_length(len(self.eligible_leader_replicas)))
                out += map(int32, self.eligible_leader_replicas)
            if self.last_known_elr is None:
                out.append(compact_array_length(-1))
            else:
                out.append(compact_array_length(len(self.last_known_elr)))
                out += map(int32, self.last_known_elr)
            out.append(compact_array_length(len(self.offline_replicas)))
            out += map(int32, self.offline_replicas)
            out.append(b"\x00")

        @classmethod
        def read(cls, reader: Reader, version: int) -> DescribeTopicPartitionsResponse.DescribeTopicPartitionsResponsePartition:
            error_code: int = reader.int16()
            partition_index: int = reader.int32()
            leader_id: int = reader.int32()
            leader_epoch: int = reader.int32()
            replica_nodes: list[int] = [reader.int32() for _ in range(reader.compact_array_length())]
            isr_nodes: list[int] = [reader.int32() for _ in range(reader.compact_array_length())]
            length = reader.compact_nullable_array_length()
            eligible_leader_replicas: list[int] | None = None if length < 0 else [reader.int32() for _ in range(length)]
            length = reader.compact_nullable_array_length()
            last_known_elr: list[int] | None = None if length < 0 else [reader.int32() for _ in range(length)]
            offline_replicas: list[int] = [reader.int32() for _ in range(reader.compact_array_length())]
            reader.skip_tagged_fields()
            return cls(
                error_code=error_code,
                partition_index=partition_index,
                leader_id=leader_id,
                leader_epoch=leader_epoch,
                replica_nodes=replica_nodes,
                isr_nodes=isr_nodes,
                eligible_leader_replicas=eligible_leader_replicas,
                last_known_elr=last_known_elr,
                offline_replicas=offline_replicas,
            )

    @dataclass(slots=True, kw_only=True)
    class DescribeTopicPartitionsResponseTopic(Struct):
        error_code: int = 0
        name: str | None = ""
        topic_id: bytes = ZERO_UUID
        is_internal: bool = False
        partitions: list[DescribeTopicPartitionsResponse.DescribeTopicPartitionsResponsePartition] = field(default_factory=list)
        topic_authorized_operations: int = -2147483648

        def write(self, out: list[bytes], version: int) -> None:
            out.append(int16(self.error_code))
            write_compact_nullable_string(out, self.name)
            out.append(uuid(self.topic_id))
            out.append(boolean(self.is_internal))
            out.append(compact_array_length(len(self.partitions)))
            for partitions_item in self.partitions:
                partitions_item.write(out, version)
            out.append(int32(self.topic_authorized_operations))
            out.append(b"\x00")

        @classmethod
        def read(cls, reader: Reader, version: int) -> DescribeTopicPartitionsResponse.DescribeTopicPartitionsResponseTopic:
            error_code: int = reader.int16()
            name: str | None = reader.compact_nullable_string()
            topic_id: bytes = reader.uuid()
            is_internal: bool = reader.boolean()
            partitions: list[DescribeTopicPartitionsResponse.DescribeTopicPartitionsResponsePartition] = [DescribeTopicPartitionsResponse.DescribeTopicPartitionsResponsePartition.read(reader, version) for _ in range(reader.compact_array_length())]
            topic_authorized_operations: int = reader.int32()
            reader.skip_tagged_fields()
            return cls(
                error_code=error_code,
                name=name,
                topic_id=topic_id,
                is_internal=is_internal,
                partitions=partitions,
                topic_authorized_operations=topic_authorized_operations,
            )

    @dataclass(slots=True, kw_only=True)
    class Cursor(Struct):
        topic_name: str = ""
        partition_index: int = 0

        def write(self, out: list[bytes], version: int) -> None:
            write_compact_string(out, self.topic_name)
            out.append(int32(self.partition_index))
            out.append(b"\x00")

        @classmethod
        def read(cls, reader: Reader, version: int) -> DescribeTopicPartitionsResponse.Cursor:
            topic_name: str = reader.compact_string()
            partition_index: int = reader.int32()
            reader.skip_tagged_fields()
            return cls(
                topic_name=topic_name,
                partition_index=partition_index,
            )

    throttle_time_ms: int = 0
    topics: list[DescribeTopicPartitionsResponse.DescribeTopicPartitionsResponseTopic] = field(default_factory=list)
    next_cursor: DescribeTopicPartitionsResponse.Cursor | None = None

    def write(self, out: list[bytes], version: int) -> None:
        out.append(int32(self.throttle_time_ms))
        out.append(compact_array_length(len(self.topics)))
        for topics_item in self.topics:
            topics_item.write(out, version)
        if self.next_cursor is None:
            out.append(int8(-1))
        else:
            out.append(int8(1))
            self.next_cursor.write(out, version)
        out.append(b"\x00")

    @classmethod
    def read(cls, reader: Reader, version: int) -> DescribeTopicPartitionsResponse:
        throttle_time_ms: int = reader.int32()
        topics: list[DescribeTopicPartitionsResponse.DescribeTopicPartitionsResponseTopic] = [DescribeTopicPartitionsResponse.DescribeTopicPartitionsResponseTopic.read(reader, version) for _ in range(reader.compact_array_length())]
        next_cursor: DescribeTopicPartitionsResponse.Cursor | None = DescribeTopicPartitionsResponse.Cursor.read(reader, version) if reader.int8() >= 0 else None
        reader.skip_tagged_fields()
        return cls(
            throttle_time_ms=throttle_time_ms,
            topics=topics,
            next_cursor=next_cursor,
        )
