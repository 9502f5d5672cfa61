"""DescribeConfigs (32), v1-v4.

Generated from kafka-clients 4.2.0 by libs/kafka/codegen; do not edit.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

from korvet.kafka.message import Message, Struct, unsupported
from korvet.kafka.primitives import int8, int16, int32, boolean, write_string, write_nullable_string, write_compact_string, write_compact_nullable_string, array_length, compact_array_length, Reader


@dataclass(slots=True, kw_only=True)
class DescribeConfigsRequest(Message):
    API_KEY: ClassVar[int] = 32
    MIN_VERSION: ClassVar[int] = 1
    MAX_VERSION: ClassVar[int] = 4
    FLEXIBLE_FROM: ClassVar[int] = 4

    @dataclass(slots=True, kw_only=True)
    class DescribeConfigsResource(Struct):
        resource_type: int = 0
        resource_name: str = ""
        configuration_keys: list[str] | None = field(default_factory=list)

        def write(self, out: list[bytes], version: int) -> None:
            flexible = version >= 4
            out.append(int8(self.resource_type))
            if flexible:
                write_compact_string(out, self.resource_name)
            else:
                write_string(out, self.resource_name)
            if self.configuration_keys is None:
                out.append(compact_array_length(-1) if flexible else array_length(-1))
            else:
                out.append(compact_array_length(len(self.configuration_keys)) if flexible else array_length(len(self.configuration_keys)))
                for configuration_keys_item in self.configuration_keys:
                    if flexible:
                        write_compact_string(out, configuration_keys_item)
                    else:
                        write_string(out, configuration_keys_item)
            if flexible:
                out.append(b"\x00")

        @classmethod
        def read(cls, reader: Reader, version: int) -> DescribeConfigsRequest.DescribeConfigsResource:
            flexible = version >= 4
            resource_type: int = reader.int8()
            resource_name: str = reader.compact_string() if flexible else reader.string()
            length = reader.compact_nullable_array_length() if flexible else reader.nullable_array_length()
            configuration_keys: list[str] | None = None if length < 0 else [reader.compact_string() if flexible else reader.string() for _ in range(length)]
            if flexible:
                reader.skip_tagged_fields()
            return cls(
                resource_type=resource_type,
                resource_name=resource_name,
                configuration_keys=configuration_keys,
            )

    resources: list[DescribeConfigsRequest.DescribeConfigsResource] = field(default_factory=list)
    include_synonyms: bool = False
    include_documentation: bool = False

    def write(self, out: list[bytes], version: int) -> None:
        flexible = version >= 4
        out.append(compact_array_length(len(self.resources)) if flexible else array_length(len(self.resources)))
        for resources_item in self.resources:
            resources_item.write(out, version)
        out.append(boolean(self.include_synonyms))
        if version >= 3:
            out.append(boolean(self.include_documentation))
        elif self.include_documentation:
            raise unsupported("include_documentation", version)
        if flexible:
            out.append(b"\x00")

    @classmethod
    def read(cls, reader: Reader, version: int) -> DescribeConfigsRequest:
        flexible = version >= 4
        resources: list[DescribeConfigsRequest.DescribeConfigsResource] = [DescribeConfigsRequest.DescribeConfigsResource.read(reader, version) for _ in range(reader.compact_array_length() if flexible else reader.array_length())]
        include_synonyms: bool = reader.boolean()
        include_documentation: bool = False
        if version >= 3:
            include_documentation = reader.boolean()
        if flexible:
            reader.skip_tagged_fields()
        return cls(
            resources=resources,
            include_synonyms=include_synonyms,
            include_documentation=include_documentation,
        )


@dataclass(slots=True, kw_only=True)
class DescribeConfigsResponse(Message):
    API_KEY: ClassVar[int] = 32
    MIN_VERSION: ClassVar[int] = 1
    MAX_VERSION: ClassVar[int] = 4
    FLEXIBLE_FROM: ClassVar[int] = 4

    @dataclass(slots=True, kw_only=True)
    class DescribeConfigsSynonym(Struct):
        name: str = ""
        value: str | None = ""
        source: int = 0

        def write(self, out: list[bytes], version: int) -> None:
            flexible = version >= 4
            if flexible:
                write_compact_string(out, self.name)
            else:
                write_string(out, self.name)
            if flexible:
                write_compact_nullable_string(out, self.value)
            else:
                write_nullable_string(out, self.value)
            out.append(int8(self.source))
            if flexible:
                out.append(b"\x00")

        @classmethod
        def read(cls, reader: Reader, version: int) -> DescribeConfigsResponse.DescribeConfigsSynonym:
            flexible = version >= 4
            name: str = reader.compact_string() if flexible else reader.string()
            value: str | None = reader.compact_nullable_string() if flexible else reader.nullable_string()
            source: int = reader.int8()
            if flexible:
                reader.skip_tagged_fields()
            return cls(
                name=name,
                value=value,
                source=source,
            )

    @dataclass(slots=True, kw_only=True)
    class DescribeConfigsResourceResult(Struct):
        name: str = ""
        value: str | None = ""
        read_only: bool = False
        config_source: int = -1
        is_sensitive: bool = False
        synonyms: list[DescribeConfigsResponse.DescribeConfigsSynonym] = field(default_factory=list)
        config_type: int = 0
        documentation: str | None = ""

        def write(self, out: list[bytes], version: int) -> None:
            flexible = version >= 4
            if flexible:
                write_compact_string(out, self.name)
            else:
                write_string(out, self.name)
            if flexible:
                write_compact_nullable_string(out, self.value)
            else:
                write_nullable_string(out, self.value)
            out.append(boolean(self.read_only))
            out.append(int8(self.config_source))
            out.append(boolean(self.is_sensitive))
            out.append(compact_array_length(len(self.synonyms)) if flexible else array_length(len(self.synonyms)))
            for synonyms_item in self.synonyms:
                synonyms_item.write(out, version)
            if version >= 3:
                out.append(int8(self.config_type))
            if version >= 3:
                if flexible:
                    write_compact_nullable_string(out, self.documentation)
                else:
                    write_nullable_string(out, self.documentation)
            if flexible:
                out.append(b"\x00")

        @classmethod
        def read(cls, reader: Reader, version: int) -> DescribeConfigsResponse.DescribeConfigsResourceResult:
            flexible = version >= 4
            name: str = reader.compact_string() if flexible else reader.string()
            value: str | None = reader.compact_nullable_string() if flexible else reader.nullable_string()
            read_only: bool = reader.boolean()
            config_source: int = reader.int8()
            is_sensitive: bool = reader.boolean()
            synonyms: list[DescribeConfigsResponse.DescribeConfigsSynonym] = [DescribeConfigsResponse.DescribeConfigsSynonym.read(reader, version) for _ in range(reader.compact_array_length() if flexible else reader.array_length())]
            config_type: int = 0
            if version >= 3:
                config_type = reader.int8()
            documentation: str | None = ""
            if version >= 3:
                documentation = reader.compact_nullable_string() if flexible else reader.nullable_string()
            if flexible:
                reader.skip_tagged_fields()
            return cls(
                name=name,
                value=value,
                read_only=read_only,
                config_source=config_source,
                is_sensitive=is_sensitive,
                synonyms=synonyms,
                config_type=config_type,
                documentation=documentation,
            )

    @dataclass(slots=True, kw_only=True)
    class DescribeConfigsResult(Struct):
        error_code: int = 0
        error_message: str | None = ""
        resource_type: int = 0
        resource_name: str = ""
        configs: list[DescribeConfigsResponse.DescribeConfigsResourceResult] = field(default_factory=list)

        def write(self, out: list[bytes], version: int) -> None:
            flexible = version >= 4
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
            out.append(compact_array_length(len(self.configs)) if flexible else array_length(len(self.configs)))
            for configs_item in self.configs:
                configs_item.write(out, version)
            if flexible:
                out.append(b"\x00")

        @classmethod
        def read(cls, reader: Reader, version: int) -> DescribeConfigsResponse.DescribeConfigsResult:
            flexible = version >= 4
            error_code: int = reader.int16()
            error_message: str | None = reader.compact_nullable_string() if flexible else reader.nullable_string()
            resource_type: int = reader.int8()
            resource_name: str = reader.compact_string() if flexible else reader.string()
            configs: list[DescribeConfigsResponse.DescribeConfigsResourceResult] = [DescribeConfigsResponse.DescribeConfigsResourceResult.read(reader, version) for _ in range(reader.compact_array_length() if flexible else reader.array_length())]
            if flexible:
                reader.skip_tagged_fields()
            return cls(
                error_code=error_code,
                error_message=error_message,
                resource_type=resource_type,
                resource_name=resource_name,
                configs=configs,
            )

    throttle_time_ms: int = 0
    results: list[DescribeConfigsResponse.DescribeConfigsResult] = field(default_factory=list)

    def write(self, out: list[bytes], version: int) -> None:
        flexible = version >= 4
        out.append(int32(self.throttle_time_ms))
        out.append(compact_array_length(len(self.results)) if flexible else array_length(len(self.results)))
        for results_item in self.results:
            results_item.write(out, version)
        if flexible:
            out.append(b"\x00")

    @classmethod
    def read(cls, reader: Reader, version: int) -> DescribeConfigsResponse:
        flexible = version >= 4
        throttle_time_ms: int = reader.int32()
        results: list[DescribeConfigsResponse.DescribeConfigsResult] = [DescribeConfigsResponse.DescribeConfigsResult.read(reader, version) for _ in range(reader.compact_array_length() if flexible else reader.array_length())]
        if flexible:
            reader.skip_tagged_fields()
        return cls(
            throttle_time_ms=throttle_time_ms,
            results=results,
        )
