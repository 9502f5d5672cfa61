"""AlterConfigs (33), v0-v2.

Generated from kafka-clients 4.2.0 by libs/kafka/codegen; do not edit.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

from korvet.kafka.message import Message, Struct
from korvet.kafka.primitives import int8, int16, int32, boolean, write_string, write_nullable_string, write_compact_string, write_compact_nullable_string, array_length, compact_array_length, Reader


@dataclass(slots=True, kw_only=True)
class AlterConfigsRequest(Message):
    API_KEY: ClassVar[int] = 33
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 2
    FLEXIBLE_FROM: ClassVar[int] = 2

    @dataclass(slots=True, kw_only=True)
    class AlterableConfig(Struct):
        name: str = ""
        value: str | None = ""

        def write(self, out: list[bytes], version: int) -> None:
            flexible = version >= 2
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
        def read(cls, reader: Reader, version: int) -> AlterConfigsRequest.AlterableConfig:
            flexible = version >= 2
            name: str = reader.compact_string() if flexible else reader.string()
            value: str | None = reader.compact_nullable_string() if flexible else reader.nullable_string()
            if flexible:
                reader.skip_tagged_fields()
            return cls(
                name=name,
                value=value,
            )

    @dataclass(slots=True, kw_only=True)
    class AlterConfigsResource(Struct):
        resource_type: int = 0
        resource_name: str = ""
        configs: list[AlterConfigsRequest.AlterableConfig] = field(default_factory=list)

        def write(self, out: list[bytes], version: int) -> None:
            flexible = version >= 2
            out.append(int8(self.resource_type))
            if flexible:
                write_compact_string(out, self.resource_name)
            else:
                write_string(out, self.resource_name)
            out.append(compact_array_length(len(self.configs)) if flexible else array_length(len(self.configs)))
            for configs_item in self.configs:
                configs_item.write(out, version)
            if flexible:
                out.append(b"\x00")

        @classmethod
        def read(cls, reader: Reader, version: int) -> AlterConfigsRequest.AlterConfigsResource:
            flexible = version >= 2
            resource_type: int = reader.int8()
            resource_name: str = reader.compact_string() if flexible else reader.string()
            configs: list[AlterConfigsRequest.AlterableConfig] = [AlterConfigsRequest.AlterableConfig.read(reader, version) for _ in range(reader.compact_array_length() if flexible else reader.array_length())]
            if flexible:
                reader.skip_tagged_fields()
            return cls(
                resource_type=resource_type,
                resource_name=resource_name,
                configs=configs,
            )

    resources: list[AlterConfigsRequest.AlterConfigsResource] = field(default_factory=list)
    validate_only: bool = False

    def write(self, out: list[bytes], version: int) -> None:
        flexible = version >= 2
        out.append(compact_array_length(len(self.resources)) if flexible else array_length(len(self.resources)))
        for resources_item in self.resources:
            resources_item.write(out, version)
        out.append(boolean(self.validate_only))
        if flexible:
            out.append(b"\x00")

    @classmethod
    def read(cls, reader: Reader, version: int) -> AlterConfigsRequest:
        flexible = version >= 2
        resources: list[AlterConfigsRequest.AlterConfigsResource] = [AlterConfigsRequest.AlterConfigsResource.read(reader, version) for _ in range(reader.compact_array_length() if flexible else reader.array_length())]
        validate_only: bool = reader.boolean()
        if flexible:
            reader.skip_tagged_fields()
        return cls(
            resources=resources,
            validate_only=validate_only,
        )


@dataclass(slots=True, kw_only=True)
class AlterConfigsResponse(Message):
    API_KEY: ClassVar[int] = 33
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 2
    FLEXIBLE_FROM: ClassVar[int] = 2

    @dataclass(slots=True, kw_only=True)
    class AlterConfigsResourceResponse(Struct):
        error_code: int = 0
        error_message: str | None = ""
        resource_type: int = 0
        resource_name: str = ""

        def write(self, out: list[bytes], version: int) -> None:
            flexible = version >= 2
            out.append(int16(self.error_code))
            if flexible:
                write_compact_nullable_string(out, self.error_message)
            else:
                write_nullable_string(out, self.error_message)
            out.append(int8(self.resource_type))
            if flexible:
                write_compact_string(out, self.resource_name)
            else:
                write_string(out, self.resource_name)
            if flexible:
                out.append(b"\x00")

        @classmethod
        def read(cls, reader: Reader, version: int) -> AlterConfigsResponse.AlterConfigsResourceResponse:
            flexible = version >= 2
            error_code: int = reader.int16()
            error_message: str | None = reader.compact_nullable_string() if flexible else reader.nullable_string()
            resource_type: int = reader.int8()
            resource_name: str = reader.compact_string() if flexible else reader.string()
            if flexible:
                reader.skip_tagged_fields()
            return cls(
                error_code=error_code,
                error_message=error_message,
                resource_type=resource_type,
                resource_name=resource_name,
            )

    throttle_time_ms: int = 0
    responses: list[AlterConfigsResponse.AlterConfigsResourceResponse] = field(default_factory=list)

    def write(self, out: list[bytes], version: int) -> None:
        flexible = version >= 2
        out.append(int32(self.throttle_time_ms))
        out.append(compact_array_length(len(self.responses)) if flexible else array_length(len(self.responses)))
        for responses_item in self.responses:
            responses_item.write(out, version)
        if flexible:
            out.append(b"\x00")

    @classmethod
    def read(cls, reader: Reader, version: int) -> AlterConfigsResponse:
        flexible = version >= 2
        throttle_time_ms: int = reader.int32()
        responses: list[AlterConfigsResponse.AlterConfigsResourceResponse] = [AlterConfigsResponse.AlterConfigsResourceResponse.read(reader, version) for _ in range(reader.compact_array_length() if flexible else reader.array_length())]
        if flexible:
            reader.skip_tagged_fields()
        return cls(
            throttle_time_ms=throttle_time_ms,
            responses=responses,
        )
