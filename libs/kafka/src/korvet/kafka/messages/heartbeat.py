"""Heartbeat (12), v0-v4.

Generated from kafka-clients 4.2.0 by libs/kafka/codegen; do not edit.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from korvet.kafka.message import Message, unsupported
from korvet.kafka.primitives import int16, int32, write_string, write_nullable_string, write_compact_string, write_compact_nullable_string, Reader


@dataclass(slots=True, kw_only=True)
class HeartbeatRequest(Message):
    API_KEY: ClassVar[int] = 12
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 4
    FLEXIBLE_FROM: ClassVar[int] = 4

    group_id: str = ""
    generation_id: int = 0
    member_id: str = ""
    group_instance_id: str | None = None

    def write(self, out: list[bytes], version: int) -> None:
        flexible = version >= 4
        if flexible:
            write_compact_string(out, self.group_id)
        else:
            write_string(out, self.group_id)
        out.append(int32(self.generation_id))
        if flexible:
            write_compact_string(out, self.member_id)
        else:
            write_string(out, self.member_id)
        if version >= 3:
            if flexible:
                write_compact_nullable_string(out, self.group_instance_id)
            else:
                write_nullable_string(out, self.group_instance_id)
        elif self.group_instance_id is not None:
            raise unsupported("group_instance_id", version)
        if flexible:
            out.append(b"\x00")

    @classmethod
    def read(cls, reader: Reader, version: int) -> HeartbeatRequest:
        flexible = version >= 4
        group_id: str = reader.compact_string() if flexible else reader.string()
        generation_id: int = reader.int32()
        member_id: str = reader.compact_string() if flexible else reader.string()
        group_instance_id: str | None = None
        if version >= 3:
            group_instance_id = reader.compact_nullable_string() if flexible else reader.nullable_string()
        if flexible:
            reader.skip_tagged_fields()
        return cls(
            group_id=group_id,
            generation_id=generation_id,
            member_id=member_id,
            group_instance_id=group_instance_id,
        )


@dataclass(slots=True, kw_only=True)
class HeartbeatResponse(Message):
    API_KEY: ClassVar[int] = 12
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 4
    FLEXIBLE_FROM: ClassVar[int] = 4

    throttle_time_ms: int = 0
    error_code: int = 0

    def write(self, out: list[bytes], version: int) -> None:
        flexible = version >= 4
        if version >= 1:
            out.append(int32(self.throttle_time_ms))
        out.append(int16(self.error_code))
        if flexible:
            out.append(b"\x00")

    @classmethod
    def read(cls, reader: Reader, version: int) -> HeartbeatResponse:
        flexible = version >= 4
        throttle_time_ms: int = 0
        if version >= 1:
            throttle_time_ms = reader.int32()
        error_code: int = reader.int16()
        if flexible:
            reader.skip_tagged_fields()
        return cls(
            throttle_time_ms=throttle_time_ms,
            error_code=error_code,
        )
