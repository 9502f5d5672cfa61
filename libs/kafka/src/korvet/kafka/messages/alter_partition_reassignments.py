"""AlterPartitionReassignments (45), v0-v1.

Generated from kafka-clients 4.2.0 by libs/kafka/codegen; do not edit.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

from korvet.kafka.message import Message, Struct, unsupported
from korvet.kafka.primitives import int16, int32, boolean, write_compact_string, write_compact_nullable_string, compact_array_length, Reader


@dataclass(slots=True, kw_only=True)
class AlterPartitionReassignmentsRequest(Message):
    API_KEY: ClassVar[int] = 45
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 1
    FLEXIBLE_FROM: ClassVar[int] = 0

    @dataclass(slots=True, kw_only=True)
    class ReassignablePartition(Struct):
        partition_index: int = 0
        replicas: list[int] | None = None

        def write(self, out: list[bytes], version: int) -> None:
            out.append(int32(self.partition_index))
            if self.replicas is None:
                out.append(compact_array_length(-1))
            else:
                out.append(compact_array_length(len(self.replicas)))
                out += map(int32, self.replicas)
            out.append(b"\x00")

        @classmethod
        def read(cls, reader: Reader, version: int) -> AlterPartitionReassignmentsRequest.ReassignablePartition:
            partition_index: int = reader.int32()
            length = reader.compact_nullable_array_length()
            replicas: list[int] | None = None if length < 0 else [reader.int32() for _ in range(length)]
            reader.skip_tagged_fields()
            return cls(
                partition_index=partition_index,
                replicas=replicas,
            )

    @dataclass(slots=True, kw_only=True)
    class ReassignableTopic(Struct):
        name: str = ""
        partitions: list[AlterPartitionReassignmentsRequest.ReassignablePartition] = field(default_factory=list)

        def write(self, out: list[bytes], version: int) -> None:
            write_compact_string(out, self.name)
            out.append(compact_array_length(len(self.partitions)))
            for partitions_item in self.partitions:
                partitions_item.write(out, version)
            out.append(b"\x00")

        @classmethod
        def read(cls, reader: Reader, version: int) -> AlterPartitionReassignmentsRequest.ReassignableTopic:
            name: str = reader.compact_string()
            partitions: list[AlterPartitionReassignmentsRequest.ReassignablePartition] = [AlterPartitionReassignmentsRequest.ReassignablePartition.read(reader, version) for _ in range(reader.compact_array_length())]
            reader.skip_tagged_fields()
            return cls(
                name=name,
                partitions=partitions,
            )

    timeout_ms: int = 60000
    allow_replication_factor_change: bool = True
    topics: list[AlterPartitionReassignmentsRequest.ReassignableTopic] = field(default_factory=list)

    def write(self, out: list[bytes], version: int) -> None:
        out.append(int32(self.timeout_ms))
        if version >= 1:
            out.append(boolean(self.allow_replication_factor_change))
        elif not self.allow_replication_factor_change:
            raise unsupported("allow_replication_factor_change", version)
        out.append(compact_array_length(len(self.topics)))
        for topics_item in self.topics:
            topics_item.write(out, version)
        out.append(b"\x00")

    @classmethod
    def read(cls, reader: Reader, version: int) -> AlterPartitionReassignmentsRequest:
        timeout_ms: int = reader.int32()
        allow_replication_factor_change: bool = True
        if version >= 1:
            allow_replication_factor_change = reader.boolean()
        topics: list[AlterPartitionReassignmentsRequest.ReassignableTopic] = [AlterPartitionReassignmentsRequest.ReassignableTopic.read(reader, version) for _ in range(reader.compact_array_length())]
        reader.skip_tagged_fields()
        return cls(
            timeout_ms=timeout_ms,
            allow_replication_factor_change=allow_replication_factor_change,
            topics=topics,
        )


@dataclass(slots=True, kw_only=True)
class AlterPartitionReassignmentsResponse(Message):
    API_KEY: ClassVar[int] = 45
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 1
    FLEXIBLE_FROM: ClassVar[int] = 0

    @dataclass(slots=True, kw_only=True)
    class ReassignablePartitionResponse(Struct):
        partition_index: int = 0
        error_code: int = 0
        error_message: str | None = ""

        def write(self, out: list[bytes], version: int) -> None:
            out.append(int32(self.partition_index))
            out.append(int16(self.error_code))
            write_compact_nullable_string(out, self.error_message)
            out.append(b"\x00")

        @classmethod
        def read(cls, reader: Reader, version: int) -> AlterPartitionReassignmentsResponse.ReassignablePartitionResponse:
            partition_index: int = reader.int32()
            error_code: int = reader.int16()
            error_message: str | None = reader.compact_nullable_string()
            reader.skip_tagged_fields()
            return cls(
                partition_index=partition_index,
                error_code=error_code,
                error_message=error_message,
            )

    @dataclass(slots=True, kw_only=True)
    class ReassignableTopicResponse(Struct):
        name: str = ""
        partitions: list[AlterPartitionReassignmentsResponse.ReassignablePartitionResponse] = field(default_factory=list)

        def write(self, out: list[bytes], version: int) -> None:
            write_compact_string(out, self.name)
            out.append(compact_array_length(len(self.partitions)))
            for partitions_item in self.partitions:
                partitions_item.write(out, version)
            out.append(b"\x00")

        @classmethod
        def read(cls, reader: Reader, version: int) -> AlterPartitionReassignmentsResponse.ReassignableTopicResponse:
            name: str = reader.compact_string()
            partitions: list[AlterPartitionReassignmentsResponse.ReassignablePartitionResponse] = [AlterPartitionReassignmentsResponse.ReassignablePartitionResponse.read(reader, version) for _ in range(reader.compact_array_length())]
            reader.skip_tagged_fields()
            return cls(
                name=name,
                partitions=partitions,
            )

    throttle_time_ms: int = 0
    allow_replication_factor_change: bool = True
    error_code: int = 0
    error_message: str | None = ""
    responses: list[AlterPartitionReassignmentsResponse.ReassignableTopicResponse] = field(default_factory=list)

    def write(self, out: list[bytes], version: int) -> None:
        out.append(int32(self.throttle_time_ms))
        if version >= 1:
            out.append(boolean(self.allow_replication_factor_change))
        out.append(int16(self.error_code))
        write_compact_nullable_string(out, self.error_message)
        out.append(compact_array_length(len(self.responses)))
        for responses_item in self.responses:
            responses_item.write(out, version)
        out.append(b"\x00")

    @classmethod
    def read(cls, reader: Reader, version: int) -> AlterPartitionReassignmentsResponse:
        throttle_time_ms: int = reader.int32()
        allow_replication_factor_change: bool = True
        if version >= 1:
            allow_replication_factor_change = reader.boolean()
        error_code: int = reader.int16()
        error_message: str | None = reader.compact_nullable_string()
        responses: list[AlterPartitionReassignmentsResponse.ReassignableTopicResponse] = [AlterPartitionReassignmentsResponse.ReassignableTopicResponse.read(reader, version) for _ in range(reader.compact_array_length())]
        reader.skip_tagged_fields()
        return cls(
            throttle_time_ms=throttle_time_ms,
            allow_replication_factor_change=allow_replication_factor_change,
            error_code=error_code,
            error_message=error_message,
            responses=responses,
        )
