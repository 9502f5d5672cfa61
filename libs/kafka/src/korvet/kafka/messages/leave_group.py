"""LeaveGroup (13), v0-v5.

Generated from kafka-clients 4.2.0 by libs/kafka/codegen; do not edit.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

from korvet.kafka.message import Message, Struct, unsupported
from korvet.kafka.primitives import int16, int32, write_string, write_nullable_string, write_compact_string, write_compact_nullable_string, array_length, compact_array_length, Reader


@dataclass(slots=True, kw_only=True)
class LeaveGroupRequest(Message):
    API_KEY: ClassVar[int] = 13
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 5
    FLEXIBLE_FROM: ClassVar[int] = 4

    @dataclass(slots=True, kw_only=True)
    class MemberIdentity(Struct):
        member_id: str = ""
        group_instance_id: str | None = None
        reason: str | None = None

        def write(self, out: list[bytes], version: int) -> None:
            flexible = version >= 4
            if flexible:
                write_compact_string(out, self.member_id)
            else:
                write_string(out, self.member_id)
            if flexible:
                write_compact_nullable_string(out, self.group_instance_id)
            else:
                write_nullable_string(out, self.group_instance_id)
            if version >= 5:
                if flexible:
                    write_compact_nullable_string(out, self.reason)
                else:
                    write_nullable_string(out, self.reason)
            if flexible:
                out.append(b"\x00")

        @classmethod
        def read(cls, reader: Reader, version: int) -> LeaveGroupRequest.MemberIdentity:
            flexible = version >= 4
            member_id: str = reader.compact_string() if flexible else reader.string()
            group_instance_id: str | None = reader.compact_nullable_string() if flexible else reader.nullable_string()
            reason: str | None = None
            if version >= 5:
                reason = reader.compact_nullable_string() if flexible else reader.nullable_string()
            if flexible:
                reader.skip_tagged_fields()
            return cls(
                member_id=member_id,
                group_instance_id=group_instance_id,
                reason=reason,
            )

    group_id: str = ""
    member_id: str = ""
    members: list[LeaveGroupRequest.MemberIdentity] = field(default_factory=list)

    def write(self, out: list[bytes], version: int) -> None:
        flexible = version >= 4
        if flexible:
            write_compact_string(out, self.group_id)
        else:
            write_string(out, self.group_id)
        if version <= 2:
            if flexible:
                write_compact_string(out, self.member_id)
            else:
                write_string(out, self.member_id)
        elif self.member_id != "":
            raise unsupported("member_id", version)
        if version >= 3:
            out.append(compact_array_length(len(self.members)) if flexible else array_length(len(self.members)))
            for members_item in self.members:
                members_item.write(out, version)
        elif self.members:
            raise unsupported("members", version)
        if flexible:
            out.append(b"\x00")

    @classmethod
    def read(cls, reader: Reader, version: int) -> LeaveGroupRequest:
        flexible = version >= 4
        group_id: str = reader.compact_string() if flexible else reader.string()
        member_id: str = ""
        if version <= 2:
            member_id = reader.compact_string() if flexible else reader.string()
        members: list[LeaveGroupRequest.MemberIdentity] = []
        if version >= 3:
            members = [LeaveGroupRequest.MemberIdentity.read(reader, version) for _ in range(reader.compact_array_length() if flexible else reader.array_length())]
        if flexible:
            reader.skip_tagged_fields()
        return cls(
            group_id=group_id,
            member_id=member_id,
            members=members,
        )


@dataclass(slots=True, kw_only=True)
class LeaveGroupResponse(Message):
    API_KEY: ClassVar[int] = 13
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 5
    FLEXIBLE_FROM: ClassVar[int] = 4

    @dataclass(slots=True, kw_only=True)
    class MemberResponse(Struct):
        member_id: str = ""
        group_instance_id: str | None = ""
        error_code: int = 0

        def write(self, out: list[bytes], version: int) -> None:
            flexible = version >= 4
            if flexible:
                write_compact_string(out, self.member_id)
            else:
                write_string(out, self.member_id)
            if flexible:
                write_compact_nullable_string(out, self.group_instance_id)
            else:
                write_nullable_string(out, self.group_instance_id)
            out.append(int16(self.error_code))
            if flexible:
                out.append(b"\x00")

        @classmethod
        def read(cls, reader: Reader, version: int) -> LeaveGroupResponse.MemberResponse:
            flexible = version >= 4
            member_id: str = reader.compact_string() if flexible else reader.string()
            group_instance_id: str | None = reader.compact_nullable_string() if flexible else reader.nullable_string()
            error_code: int = reader.int16()
            if flexible:
                reader.skip_tagged_fields()
            return cls(
                member_id=member_id,
                group_instance_id=group_instance_id,
                error_code=error_code,
            )

    throttle_time_ms: int = 0
    error_code: int = 0
    members: list[LeaveGroupResponse.MemberResponse] = field(default_factory=list)

    def write(self, out: list[bytes], version: int) -> None:
        flexible = version >= 4
        if version >= 1:
            out.append(int32(self.throttle_time_ms))
        out.append(int16(self.error_code))
        if version >= 3:
            out.append(compact_array_length(len(self.members)) if flexible else array_length(len(self.members)))
            for members_item in self.members:
                members_item.write(out, version)
        elif self.members:
            raise unsupported("members", version)
        if flexible:
            out.append(b"\x00")

    @classmethod
    def read(cls, reader: Reader, version: int) -> LeaveGroupResponse:
        flexible = version >= 4
        throttle_time_ms: int = 0
        if version >= 1:
            throttle_time_ms = reader.int32()
        error_code: int = reader.int16()
        members: list[LeaveGroupResponse.MemberResponse] = []
        if version >= 3:
            members = [LeaveGroupResponse.MemberResponse.read(reader, version) for _ in range(reader.compact_array_length() if flexible else reader.array_length())]
        if flexible:
            reader.skip_tagged_fields()
        return cls(
            throttle_time_ms=throttle_time_ms,
            error_code=error_code,
            members=members,
        )
