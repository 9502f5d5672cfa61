"""ListPartitionReassignments (46), v0-v0.

Generated from kafka-clients 4.2.0 by libs/kafka/codegen; do not edit.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

from korvet.kafka.message import Message, Struct
from korvet.kafka.primitives import int16, int32, write_compact_string, write_compact_nullable_string, compact_array_length, Reader


@dataclass(slots=True, kw_only=True)
class ListPartitionReassignmentsRequest(Message):
    API_KEY: ClassVar[int] = 46
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    FLEXIBLE_FROM: ClassVar[int] = 0

    @dataclass(slots=True, kw_only=True)
    class ListPartitionReassignmentsTopics(Struct):
        name: str = ""
        partition_indexes: list[int] = field(default_factory=list)

        def write(self, out: list[bytes], version: int) -> None:
            write_compact_string(out, self.name)
            out.append(compact_array_length(len(self.partition_indexes)))
            out += map(int32, self.partition_indexes)
            out.append(b"\x00")

        @classmethod
        def read(cls, reader: Reader, version: int) -> ListPartitionReassignmentsRequest.ListPartitionReassignmentsTopics:
            name: str = reader.compact_string()
            partition_indexes: list[int] = [reader.int32() for _ in range(reader.compact_array_length())]
            reader.skip_tagged_fields()
            return cls(
                name=name,
                partition_indexes=partition_indexes,
            )

    timeout_ms: int = 60000
    topics: list[ListPartitionReassignmentsRequest.ListPartitionReassignmentsTopics] | None = None

    def write(self, out: list[bytes], version: int) -> None:
        out.append(int32(self.timeout_ms))
        if self.topics is None:
            out.append(compact_array_length(-1))
        else:
            out.append(compact_array_length(len(self.topics)))
            for topics_item in self.topics:
                topics_item.write(out, version)
        out.append(b"\x00")

    @classmethod
    def read(cls, reader: Reader, version: int) -> ListPartitionReassignmentsRequest:
        timeout_ms: int = reader.int32()
        length = reader.compact_nullable_array_length()
        topics: list[ListPartitionReassignmentsRequest.ListPartitionReassignmentsTopics] | None = None if length < 0 else [ListPartitionReassignmentsRequest.ListPartitionReassignmentsTopics.read(reader, version) for _ in range(length)]
        reader.skip_tagged_fields()
        return cls(
            timeout_ms=timeout_ms,
            topics=topics,
        )


@dataclass(slots=True, kw_only=True)
class ListPartitionReassignmentsResponse(Message):
    API_KEY: ClassVar[int] = 46
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 0
    FLEXIBLE_FROM: ClassVar[int] = 0

    @dataclass(slots=True, kw_only=True)
    class OngoingPartitionReassignment(Struct):
        partition_index: int = 0
        replicas: list[int] = field(default_factory=list)
        adding_replicas: list[int] = field(default_factory=list)
        removing_replicas: list[int] = field(default_factory=list)

        def write(self, out: list[bytes], version: int) -> None:
            out.append(int32(self.partition_index))
            out.append(compact_array_length(len(self.replicas)))
            out += map(int32, self.replicas)
            out.append(compact_array_length(len(self.adding_replicas)))
            out += map(int32, self.adding_replicas)
            out.append(compact_array_length(len(self.removing_replicas)))
            out += map(int32, self.removing_replicas)
            out.append(b"\x00")

        @classmethod
        def read(cls, reader: Reader, version: int) -> ListPartitionReassignmentsResponse.OngoingPartitionReassignment:
            partition_index: int = reader.int32()
            replicas: list[int] = [reader.int32() for _ in range(reader.compact_array_length())]
            adding_replicas: list[int] = [reader.int32() for _ in range(reader.compact_array_length())]
            removing_replicas: list[int] = [reader.int32() for _ in range(reader.compact_array_length())]
            reader.skip_tagged_fields()
            return cls(
                partition_index=partition_index,
                replicas=replicas,
                adding_replicas=adding_replicas,
                removing_replicas=removing_replicas,
            )

    @dataclass(slots=True, kw_only=True)
    class OngoingTopicReassignment(Struct):
        name: str = ""
        partitions: list[ListPartitionReassignmentsResponse.OngoingPartitionReassignment] = field(default_factory=list)

        def write(self, out: list[bytes], version: int) -> None:
            write_compact_string(out, self.name)
            out.append(compact_array_length(len(self.partitions)))
            for partitions_item in self.partitions:
                partitions_item.write(out, version)
            out.append(b"\x00")

        @classmethod
        def read(cls, reader: Reader, version: int) -> ListPartitionReassignmentsResponse.OngoingTopicReassignment:
            name: str = reader.compact_string()
            partitions: list[ListPartitionReassignmentsResponse.OngoingPartitionReassignment] = [ListPartitionReassignmentsResponse.OngoingPartitionReassignment.read(reader, version) for _ in range(reader.compact_array_length())]
            reader.skip_tagged_fields()
            return cls(
                name=name,
                partitions=partitions,
            )

    throttle_time_ms: int = 0
    error_code: int = 0
    error_message: str | None = ""
    topics: list[ListPartitionReassignmentsResponse.OngoingTopicReassignment] = field(default_factory=list)

    def write(self, out: list[bytes], version: int) -> None:
        out.append(int32(self.throttle_time_ms))
        out.append(int16(self.error_code))
        write_compact_nullable_string(out, self.error_message)
        out.append(compact_array_length(len(self.topics)))
        for topics_item in self.topics:
            topics_item.write(out, version)
        out.append(b"\x00")

    @classmethod
    def read(cls, reader: Reader, version: int) -> ListPartitionReassignmentsResponse:
        throttle_time_ms: int = reader.int32()
        error_code: int = reader.int16()
        error_message: str | None = reader.compact_nullable_string()
        topics: list[ListPartitionReassignmentsResponse.OngoingTopicReassignment] = [ListPartitionReassignmentsResponse.OngoingTopicReassignment.read(reader, version) for _ in range(reader.compact_array_length())]
        reader.skip_tagged_fields()
        return cls(
            throttle_time_ms=throttle_time_ms,
            error_code=error_code,
            error_message=error_message,
            topics=topics,
        )
