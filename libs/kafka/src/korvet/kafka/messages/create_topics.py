"""CreateTopics (19), v2-v7.

Generated from kafka-clients 4.2.0 by libs/kafka/codegen; do not edit.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

from korvet.kafka.message import Message, Struct
from korvet.kafka.primitives import ZERO_UUID, int8, int16, int32, boolean, uuid, write_string, write_nullable_string, write_compact_string, write_compact_nullable_string, array_length, compact_array_length, write_tagged_fields, Reader


@dataclass(slots=True, kw_only=True)
class CreateTopicsRequest(Message):
    API_KEY: ClassVar[int] = 19
    MIN_VERSION: ClassVar[int] = 2
    MAX_VERSION: ClassVar[int] = 7
    FLEXIBLE_FROM: ClassVar[int] = 5

    @dataclass(slots=True, kw_only=True)
    class CreatableReplicaAssignment(Struct):
        partition_index: int = 0
        broker_ids: list[int] = field(default_factory=list)

        def write(self, out: list[bytes], version: int) -> None:
            flexible = version >= 5
            out.append(int32(self.partition_index))
            out.append(compact_array_length(len(self.broker_ids)) if flexible else array_length(len(self.broker_ids)))
            out += map(int32, self.broker_ids)
            if flexible:
                out.append(b"\x00")

        @classmethod
        def read(cls, reader: Reader, version: int) -> CreateTopicsRequest.CreatableReplicaAssignment:
            flexible = version >= 5
            partition_index: int = reader.int32()
            broker_ids: list[int] = [reader.int32() for _ in range(reader.compact_array_length() if flexible else reader.array_length())]
            if flexible:
                reader.skip_tagged_fields()
            return cls(
                partition_index=partition_index,
                broker_ids=broker_ids,
            )

    @dataclass(slots=True, kw_only=True)
    class CreatableTopicConfig(Struct):
        name: str = ""
        value: str | None = ""

        def write(self, out: list[bytes], version: int) -> None:
            flexible = version >= 5
            if flexible:
                write_compact_string(out, self.name)
            else:
                write_string(out, self.name)
            if flexible:
                write_compact_nullable_string(out, self.value)
            else:
                write_nullable_string(out, self.value)
            if flexible:
                out.append(b"\x00")

        @classmethod
        def read(cls, reader: Reader, version: int) -> CreateTopicsRequest.CreatableTopicConfig:
            flexible = version >= 5
            name: str = reader.compact_string() if flexible else reader.string()
            value: str | None = reader.compact_nullable_string() if flexible else reader.nullable_string()
            if flexible:
                reader.skip_tagged_fields()
            return cls(
                name=name,
                value=value,
            )

    @dataclass(slots=True, kw_only=True)
    class CreatableTopic(Struct):
        name: str = ""
        num_partitions: int = 0
        replication_factor: int = 0
        assignments: list[CreateTopicsRequest.CreatableReplicaAssignment] = field(default_factory=list)
        configs: list[CreateTopicsRequest.CreatableTopicConfig] = field(default_factory=list)

        def write(self, out: list[bytes], version: int) -> None:
            flexible = version >= 5
            if flexible:
                write_compact_string(out, self.name)
            else:
                write_string(out, self.name)
            out.append(int32(self.num_partitions))
            out.append(int16(self.replication_factor))
            out.append(compact_array_length(len(self.assignments)) if flexible else array_length(len(self.assignments)))
            for assignments_item in self.assignments:
                assignments_item.write(out, version)
            out.append(compact_array_length(len(self.configs)) if flexible else array_length(len(self.configs)))
            for configs_item in self.configs:
                configs_item.write(out, version)
            if flexible:
                out.append(b"\x00")

        @classmethod
        def read(cls, reader: Reader, version: int) -> CreateTopicsRequest.CreatableTopic:
            flexible = version >= 5
            name: str = reader.compact_string() if flexible else reader.string()
            num_partitions: int = reader.int32()
            replication_factor: int = reader.int16()
            assignments: list[CreateTopicsRequest.CreatableReplicaAssignment] = [CreateTopicsRequest.CreatableReplicaAssignment.read(reader, version) for _ in range(reader.compact_array_length() if flexible else reader.array_length())]
            configs: list[CreateTopicsRequest.CreatableTopicConfig] = [CreateTopicsRequest.CreatableTopicConfig.read(reader, version) for _ in range(reader.compact_array_length() if flexible else reader.array_length())]
            if flexible:
                reader.skip_tagged_fields()
            return cls(
                name=name,
                num_partitions=num_partitions,
                replication_factor=replication_factor,
                assignments=assignments,
                configs=configs,
            )

    topics: list[CreateTopicsRequest.CreatableTopic] = field(default_factory=list)
    timeout_ms: int = 60000
    validate_only: bool = False

    def write(self, out: list[bytes], version: int) -> None:
        flexible = version >= 5
        out.append(compact_array_length(len(self.topics)) if flexible else array_length(len(self.topics)))
        for topics_item in self.topics:
            topics_item.write(out, version)
        out.append(int32(self.timeout_ms))
        out.append(boolean(self.validate_only))
        if flexible:
            out.append(b"\x00")

    @classmethod
    def read(cls, reader: Reader, version: int) -> CreateTopicsRequest:
        flexible = version >= 5
        topics: list[CreateTopicsRequest.CreatableTopic] = [CreateTopicsRequest.CreatableTopic.read(reader, version) for _ in range(reader.compact_array_length() if flexible else reader.array_length())]
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
class CreateTopicsResponse(Message):
    API_KEY: ClassVar[int] = 19
    MIN_VERSION: ClassVar[int] = 2
    MAX_VERSION: ClassVar[int] = 7
    FLEXIBLE_FROM: ClassVar[int] = 5

    @dataclass(slots=True, kw_only=True)
    class CreatableTopicConfigs(Struct):
        name: str = ""
        value: str | None = ""
        read_only: bool = False
        config_source: int = -1
        is_sensitive: bool = False

        def write(self, out: list[bytes], version: int) -> None:
            write_compact_string(out, self.name)
            write_compact_nullable_string(out, self.value)
            out.append(boolean(self.read_only))
            out.append(int8(self.config_source))
            out.append(boolean(self.is_sensitive))
            out.append(b"\x00")

        @classmethod
        def read(cls, reader: Reader, version: int) -> CreateTopicsResponse.CreatableTopicConfigs:
            name: str = reader.compact_string()
            value: str | None = reader.compact_nullable_string()
            read_only: bool = reader.boolean()
            config_source: int = reader.int8()
            is_sensitive: bool = reader.boolean()
            reader.skip_tagged_fields()
            return cls(
                name=name,
                value=value,
                read_only=read_only,
                config_source=config_source,
                is_sensitive=is_sensitive,
            )

    @dataclass(slots=True, kw_only=True)
    class CreatableTopicResult(Struct):
        name: str = ""
        topic_id: bytes = ZERO_UUID
        error_code: int = 0
        error_message: str | None = ""
        topic_config_error_code: int = 0
        num_partitions: int = -1
        replication_factor: int = -1
        configs: list[CreateTopicsResponse.CreatableTopicConfigs] | None = field(default_factory=list)

        def write(self, out: list[bytes], version: int) -> None:
            flexible = version >= 5
            if flexible:
                write_compact_string(out, self.name)
            else:
                write_string(out, self.name)
            if version >= 7:
                out.append(uuid(self.topic_id))
            out.append(int16(self.error_code))
            if flexible:
                write_compact_nullable_string(out, self.error_message)
            else:
                write_nullable_string(out, self.error_message)
            if version >= 5:
                out.append(int32(self.num_partitions))
            if version >= 5:
                out.append(int16(self.replication_factor))
            if version >= 5:
                if self.configs is None:
                    out.append(compact_array_length(-1) if flexible else array_length(-1))
                else:
                    out.append(compact_array_length(len(self.configs)) if flexible else array_length(len(self.configs)))
                    for configs_item in self.configs:
                        configs_item.write(out, version)
            tags: list[tuple[int, list[bytes]]] = []
            if version >= 5:
                if self.topic_config_error_code != 0:
                    topic_config_error_code: list[bytes] = []
                    topic_config_error_code.append(int16(self.topic_config_error_code))
                    tags.append((0, topic_config_error_code))
            if flexible:
                write_tagged_fields(out, tags)

        @classmethod
        def read(cls, reader: Reader, version: int) -> CreateTopicsResponse.CreatableTopicResult:
            flexible = version >= 5
            name: str = reader.compact_string() if flexible else reader.string()
            topic_id: bytes = ZERO_UUID
            if version >= 7:
                topic_id = reader.uuid()
            error_code: int = reader.int16()
            error_message: str | None = reader.compact_nullable_string() if flexible else reader.nullable_string()
            num_partitions: int = -1
            if version >= 5:
                num_partitions = reader.int32()
            replication_factor: int = -1
            if version >= 5:
                replication_factor = reader.int16()
            configs: list[CreateTopicsResponse.CreatableTopicConfigs] | None = []
            if version >= 5:
                length = reader.compact_nullable_array_length() if flexible else reader.nullable_array_length()
                configs = None if length < 0 else [CreateTopicsResponse.CreatableTopicConfigs.read(reader, version) for _ in range(length)]
            topic_config_error_code: int = 0
            if flexible:
                for _ in range(reader.unsigned_varint()):
                    tag, end = reader.tagged_field()
                    if tag == 0 and version >= 5:
                        topic_config_error_code = reader.int16()
                        reader.end_tagged_field(end)
                    else:
                        reader.position = end
            return cls(
                name=name,
                topic_id=topic_id,
                error_code=error_code,
                error_message=error_message,
                topic_config_error_code=topic_config_error_code,
                num_partitions=num_partitions,
                replication_factor=replication_factor,
                configs=configs,
            )

    throttle_time_ms: int = 0
    topics: list[CreateTopicsResponse.CreatableTopicResult] = field(default_factory=list)

    def write(self, out: list[bytes], version: int) -> None:
        flexible = version >= 5
        out.append(int32(self.throttle_time_ms))
        out.append(compact_array_length(len(self.topics)) if flexible else array_length(len(self.topics)))
        for topics_item in self.topics:
            topics_item.write(out, version)
        if flexible:
            out.append(b"\x00")

    @classmethod
    def read(cls, reader: Reader, version: int) -> CreateTopicsResponse:
        flexible = version >= 5
        throttle_time_ms: int = reader.int32()
        topics: list[CreateTopicsResponse.CreatableTopicResult] = [CreateTopicsResponse.CreatableTopicResult.read(reader, version) for _ in range(reader.compact_array_length() if flexible else reader.array_length())]
        if flexible:
            reader.skip_tagged_fields()
        return cls(
            throttle_time_ms=throttle_time_ms,
            topics=topics,
        )
