"""CreatePartitions (37), v0-v3.

Generated from kafka-clients 4.2.0 by libs/kafka/codegen; do not edit.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

from korvet.kafka.message import Message, Struct
from korvet.kafka.primitives import int16, int32, boolean, write_string, write_nullable_string, write_compact_string, write_compact_nullable_string, array_length, compact_array_length, Reader


@dataclass(slots=True, kw_only=True)
class CreatePartitionsRequest(Message):
    API_KEY: ClassVar[int] = 37
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 3
    FLEXIBLE_FROM: ClassVar[int] = 2

    @dataclass(slots=True, kw_only=True)
    class CreatePartitionsAssignment(Struct):
        broker_ids: list[int] = field(default_factory=list)

        def write(self, out: list[bytes], version: int) -> None:
            flexible = version >= 2
            out.append(compact_array_length(len(self.broker_ids)) if flexible else array_length(len(self.broker_ids)))
            out += map(int32, self.broker_ids)
            if flexible:
                out.append(b"\x00")

        @classmethod
        def read(cls, reader: Reader, version: int) -> CreatePartitionsRequest.CreatePartitionsAssignment:
            flexible = version >= 2
            broker_ids: list[int] = [reader.int32() for _ in range(reader.compact_array_length() if flexible else reader.array_length())]
            if flexible:
                reader.skip_tagged_fields()
            return cls(
                broker_ids=broker_ids,
            )

    @dataclass(slots=True, kw_only=True)
    class CreatePartitionsTopic(Struct):
        name: str = ""
        count: int = 0
        assignments: list[CreatePartitionsRequest.CreatePartitionsAssignment] | None = field(default_factory=list)

        def write(self, out: list[bytes], version: int) -> None:
            flexible = version >= 2
            if flexible:
                write_compact_string(out, self.name)
            else:
                write_string(out, self.name)
            out.append(int32(self.count))
            if self.assignments is None:
                out.append(compact_array_length(-1) if flexible else array_length(-1))
            else:
                out.append(compact_array_length(len(self.assignments)) if flexible else array_length(len(self.assignments)))
                for assignments_item in self.assignments:
                    assignments_item.write(out, version)
            if flexible:
                out.append(b"\x00")

        @classmethod
        def read(cls, reader: Reader, version: int) -> CreatePartitionsRequest.CreatePartitionsTopic:
            flexible = version >= 2
            name: str = reader.compact_string() if flexible else reader.string()
            count: int = reader.int32()
            length = reader.compact_nullable_array_length() if flexible else reader.nullable_array_length()
            assignments: list[CreatePartitionsRequest.CreatePartitionsAssignment] | None = None if length < 0 else [CreatePartitionsRequest.CreatePartitionsAssignment.read(reader, version) for _ in range(length)]
            if flexible:
                reader.skip_tagged_fields()
            return cls(
                name=name,
                count=count,
                assignments=assignments,
            )

    topics: list[CreatePartitionsRequest.CreatePartitionsTopic] = field(default_factory=list)
    timeout_ms: int = 0
    validate_only: bool = False

    def write(self, out: list[bytes], version: int) -> None:
        flexible = version >= 2
        out.append(compact_array_length(len(self.topics)) if flexible else array_length(len(self.topics)))
        for topics_item in self.topics:
            topics_item.write(out, version)
        out.append(int32(self.timeout_ms))
        out.append(boolean(self.validate_only))
        if flexible:
            out.append(b"\x00")

    @classmethod
    def read(cls, reader: Reader, version: int) -> CreatePartitionsRequest:
        flexible = version >= 2
        topics: list[CreatePartitionsRequest.CreatePartitionsTopic] = [CreatePartitionsRequest.CreatePartitionsTopic.read(reader, version) for _ in range(reader.compact_array_length() if flexible else reader.array_length())]
        timeout_ms: int = reader.int32()
        validate_only: bool = reader.boolean()
        if flexible:
            reader.skip_tagged_fields()
        return cls(
            topics=topics,
            timeout_ms=timeout_ms,
            validate_only=validate_only,
        )


@dataclass(slots=True, kw_only=True)
class CreatePartitionsResponse(Message):
    API_KEY: ClassVar[int] = 37
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 3
    FLEXIBLE_FROM: ClassVar[int] = 2

    @dataclass(slots=True, kw_only=True)
    class CreatePartitionsTopicResult(Struct):
        name: str = ""
        error_code: int = 0
        error_message: str | None = None

        def write(self, out: list[bytes], version: int) -> None:
            flexible = version >= 2
            if flexible:
                write_compact_string(out, self.name)
            else:
                write_string(out, self.name)
            out.append(int16(self.error_code))
            if flexible:
                write_compact_nullable_string(out, self.error_message)
            else:
                write_nullable_string(out, self.error_message)
            if flexible:
                out.append(b"\x00")

        @classmethod
        def read(cls, reader: Reader, version: int) -> CreatePartitionsResponse.CreatePartitionsTopicResult:
            flexible = version >= 2
            name: str = reader.compact_string() if flexible else reader.string()
            error_code: int = reader.int16()
            error_message: str | None = reader.compact_nullable_string() if flexible else reader.nullable_string()
            if flexible:
                reader.skip_tagged_fields()
            return cls(
                name=name,
                error_code=error_code,
                error_message=error_message,
            )

    throttle_time_ms: int = 0
    results: list[CreatePartitionsResponse.CreatePartitionsTopicResult] = field(default_factory=list)

    def write(self, out: list[bytes], version: int) -> None:
        flexible = version >= 2
        out.append(int32(self.throttle_time_ms))
        out.append(compact_array_length(len(self.results)) if flexible else array_length(len(self.results)))
        for results_item in self.results:
            results_item.write(out, version)
        if flexible:
            out.append(b"\x00")

    @classmethod
    def read(cls, reader: Reader, version: int) -> CreatePartitionsResponse:
        flexible = version >= 2
        throttle_time_ms: int = reader.int32()
        results: list[CreatePartitionsResponse.CreatePartitionsTopicResult] = [CreatePartitionsResponse.CreatePartitionsTopicResult.read(reader, version) for _ in range(reader.compact_array_length() if flexible else reader.array_length())]
        if flexible:
            reader.skip_tagged_fields()
        return cls(
            throttle_time_ms=throttle_time_ms,
            results=results,
        )
