"""ListConfigResources (74), v0-v1.

Generated from kafka-clients 4.2.0 by libs/kafka/codegen; do not edit.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

from korvet.kafka.message import Message, Struct, unsupported
from korvet.kafka.primitives import int8, int16, int32, write_compact_string, compact_array_length, Reader


@dataclass(slots=True, kw_only=True)
class ListConfigResourcesRequest(Message):
    API_KEY: ClassVar[int] = 74
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 1
    FLEXIBLE_FROM: ClassVar[int] = 0

    resource_types: list[int] = field(default_factory=list)

    def write(self, out: list[bytes], version: int) -> None:
        if version >= 1:
            out.append(compact_array_length(len(self.resource_types)))
            out += map(int8, self.resource_types)
        elif self.resource_types:
            raise unsupported("resource_types", version)
        out.append(b"\x00")

    @classmethod
    def read(cls, reader: Reader, version: int) -> ListConfigResourcesRequest:
        resource_types: list[int] = []
        if version >= 1:
            resource_types = [reader.int8() for _ in range(reader.compact_array_length())]
        reader.skip_tagged_fields()
        return cls(
            resource_types=resource_types,
        )


@dataclass(slots=True, kw_only=True)
class ListConfigResourcesResponse(Message):
    API_KEY: ClassVar[int] = 74
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 1
    FLEXIBLE_FROM: ClassVar[int] = 0

    @dataclass(slots=True, kw_only=True)
    class ConfigResource(Struct):
        resource_name: str = ""
        resource_type: int = 16

        def write(self, out: list[bytes], version: int) -> None:
            write_compact_string(out, self.resource_name)
            if version >= 1:
                out.append(int8(self.resource_type))
            out.append(b"\x00")

        @classmethod
        def read(cls, reader: Reader, version: int) -> ListConfigResourcesResponse.ConfigResource:
            resource_name: str = reader.compact_string()
            resource_type: int = 16
            if version >= 1:
                resource_type = reader.int8()
            reader.skip_tagged_fields()
            return cls(
                resource_name=resource_name,
                resource_type=resource_type,
            )

    throttle_time_ms: int = 0
    error_code: int = 0
    config_resources: list[ListConfigResourcesResponse.ConfigResource] = field(default_factory=list)

    def write(self, out: list[bytes], version: int) -> None:
        out.append(int32(self.throttle_time_ms))
        out.append(int16(self.error_code))
        out.append(compact_array_length(len(self.config_resources)))
        for config_resources_item in self.config_resources:
            config_resources_item.write(out, version)
        out.append(b"\x00")

    @classmethod
    def read(cls, reader: Reader, version: int) -> ListConfigResourcesResponse:
        throttle_time_ms: int = reader.int32()
        error_code: int = reader.int16()
        config_resources: list[ListConfigResourcesResponse.ConfigResource] = [ListConfigResourcesResponse.ConfigResource.read(reader, version) for _ in range(reader.compact_array_length())]
        reader.skip_tagged_fields()
        return cls(
            throttle_time_ms=throttle_time_ms,
            error_code=error_code,
            config_resources=config_resources,
        )
