"""DeleteTopics (20), v1-v6.

Generated from kafka-clients 4.2.0 by libs/kafka/codegen; do not edit.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

from korvet.kafka.message import Message, Struct, not_nullable, unsupported
from korvet.kafka.primitives import ZERO_UUID, int16, int32, uuid, write_string, write_nullable_string, write_compact_string, write_compact_nullable_string, array_length, compact_array_length, Reader


@dataclass(slots=True, kw_only=True)
class DeleteTopicsRequest(Message):
    API_KEY: ClassVar[int] = 20
    MIN_VERSION: ClassVar[int] = 1
    MAX_VERSION: ClassVar[int] = 6
    FLEXIBLE_FROM: ClassVar[int] = 4

    @dataclass(slots=True, kw_only=True)
    class DeleteTopicState(Struct):
        name: str | None = None
        topic_id: bytes = ZERO_UUID

        def write(self, out: list[bytes], version: int) -> None:
            write_compact_nullable_string(out, self.name)
            out.append(uuid(self.topic_id))
            out.append(b"\x00")

        @classmethod
        def read(cls, reader: Reader, version: int) -> DeleteTopicsRequest.DeleteTopicState:
            name: str | None = reader.compact_nullable_string()
            topic_id: bytes = reader.uuid()
            reader.skip_tagged_fields()
            return cls(
                name=name,
                topic_id=topic_id,
            )

    topics: list[DeleteTopicsRequest.DeleteTopicState] = field(default_factory=list)
    topic_names: list[str] = field(default_factory=list)
    timeout_ms: int = 0

    def write(self, out: list[bytes], version: int) -> None:
        flexible = version >= 4
        if version >= 6:
            out.append(compact_array_length(len(self.topics)) if flexible else array_length(len(self.topics)))
            for topics_item in self.topics:
                topics_item.write(out, version)
        elif self.topics:
            raise unsupported("topics", version)
        if version <= 5:
            out.append(compact_array_length(len(self.topic_names)) if flexible else array_length(len(self.topic_names)))
            for topic_names_item in self.topic_names:
                if flexible:
                    write_compact_string(out, topic_names_item)
                else:
                    write_string(out, topic_names_item)
        out.append(int32(self.timeout_ms))
        if flexible:
            out.append(b"\x00")

    @classmethod
    def read(cls, reader: Reader, version: int) -> DeleteTopicsRequest:
        flexible = version >= 4
        topics: list[DeleteTopicsRequest.DeleteTopicState] = []
        if version >= 6:
            topics = [DeleteTopicsRequest.DeleteTopicState.read(reader, version) for _ in range(reader.compact_array_length() if flexible else reader.array_length())]
        topic_names: list[str] = []
        if version <= 5:
            topic_names = [reader.compact_string() if flexible else reader.string() for _ in range(reader.compact_array_length() if flexible else reader.array_length())]
        timeout_ms: int = reader.int32()
        if flexible:
            reader.skip_tagged_fields()
        return cls(
            topics=topics,
            topic_names=topic_names,
            timeout_ms=timeout_ms,
        )


@dataclass(slots=True, kw_only=True)
class DeleteTopicsResponse(Message):
    API_KEY: ClassVar[int] = 20
    MIN_VERSION: ClassVar[int] = 1
    MAX_VERSION: ClassVar[int] = 6
    FLEXIBLE_FROM: ClassVar[int] = 4

    @dataclass(slots=True, kw_only=True)
    class DeletableTopicResult(Struct):
        name: str | None = ""
        topic_id: bytes = ZERO_UUID
        error_code: int = 0
        error_message: str | None = None

        def write(self, out: list[bytes], version: int) -> None:
            flexible = version >= 4
            if self.name is None and not (version >= 6):
                raise not_nullable("name", version)
            if flexible:
                write_compact_nullable_string(out, self.name)
            else:
                write_nullable_string(out, self.name)
            if version >= 6:
                out.append(uuid(self.topic_id))
            out.append(int16(self.error_code))
            if version >= 5:
                if flexible:
                    write_compact_nullable_string(out, self.error_message)
                else:
                    write_nullable_string(out, self.error_message)
            if flexible:
                out.append(b"\x00")

        @classmethod
        def read(cls, reader: Reader, version: int) -> DeleteTopicsResponse.DeletableTopicResult:
            flexible = version >= 4
            name: str | None = (
                (reader.compact_nullable_string() if flexible else reader.nullable_string())
                if version >= 6
                else reader.compact_string() if flexible else reader.string()
            )
            topic_id: bytes = ZERO_UUID
            if version >= 6:
                topic_id = reader.uuid()
            error_code: int = reader.int16()
            error_message: str | None = None
            if version >= 5:
                error_message = reader.compact_nullable_string() if flexible else reader.nullable_string()
            if flexible:
                reader.skip_tagged_fields()
            return cls(
                name=name,
                topic_id=topic_id,
                error_code=error_code,
                error_message=error_message,
            )

    throttle_time_ms: int = 0
    responses: list[DeleteTopicsResponse.DeletableTopicResult] = field(default_factory=list)

    def write(self, out: list[bytes], version: int) -> None:
        flexible = version >= 4
        out.append(int32(self.throttle_time_ms))
        out.append(compact_array_length(len(self.responses)) if flexible else array_length(len(self.responses)))
        for responses_item in self.responses:
            responses_item.write(out, version)
        if flexible:
            out.append(b"\x00")

    @classmethod
    def read(cls, reader: Reader, version: int) -> DeleteTopicsResponse:
        flexible = version >= 4
        throttle_time_ms: int = reader.int32()
        responses: list[DeleteTopicsResponse.DeletableTopicResult] = [DeleteTopicsResponse.DeletableTopicResult.read(reader, version) for _ in range(reader.compact_array_length() if flexible else reader.array_length())]
        if flexible:
            reader.skip_tagged_fields()
        return cls(
            throttle_time_ms=throttle_time_ms,
            responses=responses,
        )
