"""SyncGroup (14), v0-v5.

Generated from kafka-clients 4.2.0 by libs/kafka/codegen; do not edit.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

from korvet.kafka.message import Message, Struct, unsupported
from korvet.kafka.primitives import int16, int32, write_string, write_nullable_string, write_compact_string, write_compact_nullable_string, write_data, write_compact_data, array_length, compact_array_length, Reader


@dataclass(slots=True, kw_only=True)
class SyncGroupRequest(Message):
    API_KEY: ClassVar[int] = 14
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 5
    FLEXIBLE_FROM: ClassVar[int] = 4

    @dataclass(slots=True, kw_only=True)
    class SyncGroupRequestAssignment(Struct):
        member_id: str = ""
        assignment: bytes = field(default=b'', repr=False)

        def write(self, out: list[bytes], version: int) -> None:
            flexible = version >= 4
            if flexible:
                write_compact_string(out, self.member_id)
            else:
                write_string(out, self.member_id)
            if flexible:
                write_compact_data(out, self.assignment)
            else:
                write_data(out, self.assignment)
            if flexible:
                out.append(b"\x00")

        @classmethod
        def read(cls, reader: Reader, version: int) -> SyncGroupRequest.SyncGroupRequestAssignment:
            flexible = version >= 4
            member_id: str = reader.compact_string() if flexible else reader.string()
            assignment: bytes = reader.compact_data() if flexible else reader.data()
            if flexible:
                reader.skip_tagged_fields()
            return cls(
                member_id=member_id,
                assignment=assignment,
            )

    group_id: str = ""
    generation_id: int = 0
    member_id: str = ""
    group_instance_id: str | None = None
    protocol_type: str | None = None
    protocol_name: str | None = None
    assignments: list[SyncGroupRequest.SyncGroupRequestAssignment] = field(default_factory=list)

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
        if version >= 5:
            if flexible:
                write_compact_nullable_string(out, self.protocol_type)
            else:
                write_nullable_string(out, self.protocol_type)
        if version >= 5:
            if flexible:
                write_compact_nullable_string(out, self.protocol_name)
            else:
                write_nullable_string(out, self.protocol_name)
        out.append(compact_array_length(len(self.assignments)) if flexible else array_length(len(self.assignments)))
        for assignments_item in self.assignments:
            assignments_item.write(out, version)
        if flexible:
            out.append(b"\x00")

    @classmethod
    def read(cls, reader: Reader, version: int) -> SyncGroupRequest:
        flexible = version >= 4
        group_id: str = reader.compact_string() if flexible else reader.string()
        generation_id: int = reader.int32()
        member_id: str = reader.compact_string() if flexible else reader.string()
        group_instance_id: str | None = None
        if version >= 3:
            group_instance_id = reader.compact_nullable_string() if flexible else reader.nullable_string()
        protocol_type: str | None = None
        if version >= 5:
            protocol_type = reader.compact_nullable_string() if flexible else reader.nullable_string()
        protocol_name: str | None = None
        if version >= 5:
            protocol_name = reader.compact_nullable_string() if flexible else reader.nullable_string()
        assignments: list[SyncGroupRequest.SyncGroupRequestAssignment] = [SyncGroupRequest.SyncGroupRequestAssignment.read(reader, version) for _ in range(reader.compact_array_length() if flexible else reader.array_length())]
        if flexible:
            reader.skip_tagged_fields()
        return cls(
            group_id=group_id,
            generation_id=generation_id,
            member_id=member_id,
            group_instance_id=group_instance_id,
            protocol_type=protocol_type,
            protocol_name=protocol_name,
            assignments=assignments,
        )


@dataclass(slots=True, kw_only=True)
class SyncGroupResponse(Message):
    API_KEY: ClassVar[int] = 14
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 5
    FLEXIBLE_FROM: ClassVar[int] = 4

    throttle_time_ms: int = 0
    error_code: int = 0
    protocol_type: str | None = None
    protocol_name: str | None = None
    assignment: bytes = field(default=b'', repr=False)

    def write(self, out: list[bytes], version: int) -> None:
        flexible = version >= 4
        if version >= 1:
            out.append(int32(self.throttle_time_ms))
        out.append(int16(self.error_code))
        if version >= 5:
            if flexible:
                write_compact_nullable_string(out, self.protocol_type)
            else:
                write_nullable_string(out, self.protocol_type)
        if version >= 5:
            if flexible:
                write_compact_nullable_string(out, self.protocol_name)
            else:
                write_nullable_string(out, self.protocol_name)
        if flexible:
            write_compact_data(out, self.assignment)
        else:
            write_data(out, self.assignment)
        if flexible:
            out.append(b"\x00")

    @classmethod
    def read(cls, reader: Reader, version: int) -> SyncGroupResponse:
        flexible = version >= 4
        throttle_time_ms: int = 0
        if version >= 1:
            throttle_time_ms = reader.int32()
        error_code: int = reader.int16()
        protocol_type: str | None = None
        if version >= 5:
            protocol_type = reader.compact_nullable_string() if flexible else reader.nullable_string()
        protocol_name: str | None = None
        if version >= 5:
            protocol_name = reader.compact_nullable_string() if flexible else reader.nullable_string()
        assignment: bytes = reader.compact_data() if flexible else reader.data()
        if flexible:
            reader.skip_tagged_fields()
        return cls(
            throttle_time_ms=throttle_time_ms,
            error_code=error_code,
            protocol_type=protocol_type,
            protocol_name=protocol_name,
            assignment=assignment,
        )
