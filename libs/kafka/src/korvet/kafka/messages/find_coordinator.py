"""FindCoordinator (10), v0-v6.

Generated from kafka-clients 4.2.0 by libs/kafka/codegen; do not edit.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

from korvet.kafka.message import Message, Struct, unsupported
from korvet.kafka.primitives import int8, int16, int32, write_string, write_nullable_string, write_compact_string, write_compact_nullable_string, array_length, compact_array_length, Reader


@dataclass(slots=True, kw_only=True)
class FindCoordinatorRequest(Message):
    API_KEY: ClassVar[int] = 10
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 6
    FLEXIBLE_FROM: ClassVar[int] = 3

    key: str = ""
    key_type: int = 0
    coordinator_keys: list[str] = field(default_factory=list)

    def write(self, out: list[bytes], version: int) -> None:
        flexible = version >= 3
        if version <= 3:
            if flexible:
                write_compact_string(out, self.key)
            else:
                write_string(out, self.key)
        elif self.key != "":
            raise unsupported("key", version)
        if version >= 1:
            out.append(int8(self.key_type))
        elif self.key_type != 0:
            raise unsupported("key_type", version)
        if version >= 4:
            out.append(compact_array_length(len(self.coordinator_keys)) if flexible else array_length(len(self.coordinator_keys)))
            for coordinator_keys_item in self.coordinator_keys:
                if flexible:
                    write_compact_string(out, coordinator_keys_item)
                else:
                    write_string(out, coordinator_keys_item)
        elif self.coordinator_keys:
            raise unsupported("coordinator_keys", version)
        if flexible:
            out.append(b"\x00")

    @classmethod
    def read(cls, reader: Reader, version: int) -> FindCoordinatorRequest:
        flexible = version >= 3
        key: str = ""
        if version <= 3:
            key = reader.compact_string() if flexible else reader.string()
        key_type: int = 0
        if version >= 1:
            key_type = reader.int8()
        coordinator_keys: list[str] = []
        if version >= 4:
            coordinator_keys = [reader.compact_string() if flexible else reader.string() for _ in range(reader.compact_array_length() if flexible else reader.array_length())]
        if flexible:
            reader.skip_tagged_fields()
        return cls(
            key=key,
            key_type=key_type,
            coordinator_keys=coordinator_keys,
        )


@dataclass(slots=True, kw_only=True)
class FindCoordinatorResponse(Message):
    API_KEY: ClassVar[int] = 10
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 6
    FLEXIBLE_FROM: ClassVar[int] = 3

    @dataclass(slots=True, kw_only=True)
    class Coordinator(Struct):
        key: str = ""
        node_id: int = 0
        host: str = ""
        port: int = 0
        error_code: int = 0
        error_message: str | None = ""

        def write(self, out: list[bytes], version: int) -> None:
            write_compact_string(out, self.key)
            out.append(int32(self.node_id))
            write_compact_string(out, self.host)
            out.append(int32(self.port))
            out.append(int16(self.error_code))
            write_compact_nullable_string(out, self.error_message)
            out.append(b"\x00")

        @classmethod
        def read(cls, reader: Reader, version: int) -> FindCoordinatorResponse.Coordinator:
            key: str = reader.compact_string()
            node_id: int = reader.int32()
            host: str = reader.compact_string()
            port: int = reader.int32()
            error_code: int = reader.int16()
            error_message: str | None = reader.compact_nullable_string()
            reader.skip_tagged_fields()
            return cls(
                key=key,
                node_id=node_id,
                host=host,
                port=port,
                error_code=error_code,
                error_message=error_message,
            )

    throttle_time_ms: int = 0
    error_code: int = 0
    error_message: str | None = ""
    node_id: int = 0
    host: str = ""
    port: int = 0
    coordinators: list[FindCoordinatorResponse.Coordinator] = field(default_factory=list)

    def write(self, out: list[bytes], version: int) -> None:
        flexible = version >= 3
        if version >= 1:
            out.append(int32(self.throttle_time_ms))
        if version <= 3:
            out.append(int16(self.error_code))
        elif self.error_code != 0:
            raise unsupported("error_code", version)
        if 1 <= version <= 3:
            if flexible:
                write_compact_nullable_string(out, self.error_message)
            else:
                write_nullable_string(out, self.error_message)
        if version <= 3:
            out.append(int32(self.node_id))
        elif self.node_id != 0:
            raise unsupported("node_id", version)
        if version <= 3:
            if flexible:
                write_compact_string(out, self.host)
            else:
                write_string(out, self.host)
        elif self.host != "":
            raise unsupported("host", version)
        if version <= 3:
            out.append(int32(self.port))
        elif self.port != 0:
            raise unsupported("port", version)
        if version >= 4:
            out.append(compact_array_length(len(self.coordinators)) if flexible else array_length(len(self.coordinators)))
            for coordinators_item in self.coordinators:
                coordinators_item.write(out, version)
        elif self.coordinators:
            raise unsupported("coordinators", version)
        if flexible:
            out.append(b"\x00")

    @classmethod
    def read(cls, reader: Reader, version: int) -> FindCoordinatorResponse:
        flexible = version >= 3
        throttle_time_ms: int = 0
        if version >= 1:
            throttle_time_ms = reader.int32()
        error_code: int = 0
        if version <= 3:
            error_code = reader.int16()
        error_message: str | None = ""
        if 1 <= version <= 3:
            error_message = reader.compact_nullable_string() if flexible else reader.nullable_string()
        node_id: int = 0
        if version <= 3:
            node_id = reader.int32()
        host: str = ""
        if version <= 3:
            host = reader.compact_string() if flexible else reader.string()
        port: int = 0
        if version <= 3:
            port = reader.int32()
        coordinators: list[FindCoordinatorResponse.Coordinator] = []
        if version >= 4:
            coordinators = [FindCoordinatorResponse.Coordinator.read(reader, version) for _ in range(reader.compact_array_length() if flexible else reader.array_length())]
        if flexible:
            reader.skip_tagged_fields()
        return cls(
            throttle_time_ms=throttle_time_ms,
            error_code=error_code,
            error_message=error_message,
            node_id=node_id,
            host=host,
            port=port,
            coordinators=coordinators,
        )
