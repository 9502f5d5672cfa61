"""ApiVersions (18), v0-v4.

Generated from kafka-clients 4.2.0 by libs/kafka/codegen; do not edit.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

from korvet.kafka.message import Message, Struct
from korvet.kafka.primitives import int16, int32, int64, boolean, write_string, write_compact_string, array_length, compact_array_length, write_tagged_fields, Reader


@dataclass(slots=True, kw_only=True)
class ApiVersionsRequest(Message):
    API_KEY: ClassVar[int] = 18
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 4
    FLEXIBLE_FROM: ClassVar[int] = 3

    client_software_name: str = ""
    client_software_version: str = ""

    def write(self, out: list[bytes], version: int) -> None:
        flexible = version >= 3
        if version >= 3:
            if flexible:
                write_compact_string(out, self.client_software_name)
            else:
                write_string(out, self.client_software_name)
        if version >= 3:
            if flexible:
                write_compact_string(out, self.client_software_version)
            else:
                write_string(out, self.client_software_version)
        if flexible:
            out.append(b"\x00")

    @classmethod
    def read(cls, reader: Reader, version: int) -> ApiVersionsRequest:
        flexible = version >= 3
        client_software_name: str = ""
        if version >= 3:
            client_software_name = reader.compact_string() if flexible else reader.string()
        client_software_version: str = ""
        if version >= 3:
            client_software_version = reader.compact_string() if flexible else reader.string()
        if flexible:
            reader.skip_tagged_fields()
        return cls(
            client_software_name=client_software_name,
            client_software_version=client_software_version,
        )


@dataclass(slots=True, kw_only=True)
class ApiVersionsResponse(Message):
    API_KEY: ClassVar[int] = 18
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 4
    FLEXIBLE_FROM: ClassVar[int] = 3

    @dataclass(slots=True, kw_only=True)
    class ApiVersion(Struct):
        api_key: int = 0
        min_version: int = 0
        max_version: int = 0

        def write(self, out: list[bytes], version: int) -> None:
            flexible = version >= 3
            out.append(int16(self.api_key))
            out.append(int16(self.min_version))
            out.append(int16(self.max_version))
            if flexible:
                out.append(b"\x00")

        @classmethod
        def read(cls, reader: Reader, version: int) -> ApiVersionsResponse.ApiVersion:
            flexible = version >= 3
            api_key: int = reader.int16()
            min_version: int = reader.int16()
            max_version: int = reader.int16()
            if flexible:
                reader.skip_tagged_fields()
            return cls(
                api_key=api_key,
                min_version=min_version,
                max_version=max_version,
            )

    @dataclass(slots=True, kw_only=True)
    class SupportedFeatureKey(Struct):
        name: str = ""
        min_version: int = 0
        max_version: int = 0

        def write(self, out: list[bytes], version: int) -> None:
            write_compact_string(out, self.name)
            out.append(int16(self.min_version))
            out.append(int16(self.max_version))
            out.append(b"\x00")

        @classmethod
        def read(cls, reader: Reader, version: int) -> ApiVersionsResponse.SupportedFeatureKey:
            name: str = reader.compact_string()
            min_version: int = reader.int16()
            max_version: int = reader.int16()
            reader.skip_tagged_fields()
            return cls(
                name=name,
                min_version=min_version,
                max_version=max_version,
            )

    @dataclass(slots=True, kw_only=True)
    class FinalizedFeatureKey(Struct):
        name: str = ""
        max_version_level: int = 0
        min_version_level: int = 0

        def write(self, out: list[bytes], version: int) -> None:
            write_compact_string(out, self.name)
            out.append(int16(self.max_version_level))
            out.append(int16(self.min_version_level))
            out.append(b"\x00")

        @classmethod
        def read(cls, reader: Reader, version: int) -> ApiVersionsResponse.FinalizedFeatureKey:
            name: str = reader.compact_string()
            max_version_level: int = reader.int16()
            min_version_level: int = reader.int16()
            reader.skip_tagged_fields()
            return cls(
                name=name,
                max_version_level=max_version_level,
                min_version_level=min_version_level,
            )

    error_code: int = 0
    api_keys: list[ApiVersionsResponse.ApiVersion] = field(default_factory=list)
    throttle_time_ms: int = 0
    supported_features: list[ApiVersionsResponse.SupportedFeatureKey] = field(default_factory=list)
    finalized_features_epoch: int = -1
    finalized_features: list[ApiVersionsResponse.FinalizedFeatureKey] = field(default_factory=list)
    zk_migration_ready: bool = False

    def write(self, out: list[bytes], version: int) -> None:
        flexible = version >= 3
        out.append(int16(self.error_code))
        out.append(compact_array_length(len(self.api_keys)) if flexible else array_length(len(self.api_keys)))
        for api_keys_item in self.api_keys:
            api_keys_item.write(out, version)
        if version >= 1:
            out.append(int32(self.throttle_time_ms))
        tags: list[tuple[int, list[bytes]]] = []
        if version >= 3:
            if self.supported_features:
                supported_features: list[bytes] = []
                supported_features.append(compact_array_length(len(self.supported_features)))
                for supported_features_item in self.supported_features:
                    supported_features_item.write(supported_features, version)
                tags.append((0, supported_features))
        if version >= 3:
            if self.finalized_features_epoch != -1:
                finalized_features_epoch: list[bytes] = []
                finalized_features_epoch.append(int64(self.finalized_features_epoch))
                tags.append((1, finalized_features_epoch))
        if version >= 3:
            if self.finalized_features:
                finalized_features: list[bytes] = []
                finalized_features.append(compact_array_length(len(self.finalized_features)))
                for finalized_features_item in self.finalized_features:
                    finalized_features_item.write(finalized_features, version)
                tags.append((2, finalized_features))
        if version >= 3:
            if self.zk_migration_ready:
                zk_migration_ready: list[bytes] = []
                zk_migration_ready.append(boolean(self.zk_migration_ready))
                tags.append((3, zk_migration_ready))
        if flexible:
            write_tagged_fields(out, tags)

    @classmethod
    def read(cls, reader: Reader, version: int) -> ApiVersionsResponse:
        flexible = version >= 3
        error_code: int = reader.int16()
        api_keys: list[ApiVersionsResponse.ApiVersion] = [ApiVersionsResponse.ApiVersion.read(reader, version) for _ in range(reader.compact_array_length() if flexible else reader.array_length())]
        throttle_time_ms: int = 0
        if version >= 1:
            throttle_time_ms = reader.int32()
        supported_features: list[ApiVersionsResponse.SupportedFeatureKey] = []
        finalized_features_epoch: int = -1
        finalized_features: list[ApiVersionsResponse.FinalizedFeatureKey] = []
        zk_migration_ready: bool = False
        if flexible:
            for _ in range(reader.unsigned_varint()):
                tag, end = reader.tagged_field()
                if tag == 0 and version >= 3:
                    supported_features = [ApiVersionsResponse.SupportedFeatureKey.read(reader, version) for _ in range(reader.compact_array_length())]
                    reader.end_tagged_field(end)
                elif tag == 1 and version >= 3:
                    finalized_features_epoch = reader.int64()
                    reader.end_tagged_field(end)
                elif tag == 2 and version >= 3:
                    finalized_features = [ApiVersionsResponse.FinalizedFeatureKey.read(reader, version) for _ in range(reader.compact_array_length())]
                    reader.end_tagged_field(end)
                elif tag == 3 and version >= 3:
                    zk_migration_ready = reader.boolean()
                    reader.end_tagged_field(end)
                else:
                    reader.position = end
        return cls(
            error_code=error_code,
            api_keys=api_keys,
            throttle_time_ms=throttle_time_ms,
            supported_features=supported_features,
            finalized_features_epoch=finalized_features_epoch,
            finalized_features=finalized_features,
            zk_migration_ready=zk_migration_ready,
        )
