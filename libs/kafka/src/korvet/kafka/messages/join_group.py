"""JoinGroup (11), v0-v9.

Generated from kafka-clients 4.2.0 by libs/kafka/codegen; do not edit.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

from korvet.kafka.message import Message, Struct, not_nullable, unsupported
from korvet.kafka.primitives import int16, int32, boolean, write_string, write_nullable_string, write_compact_string, write_compact_nullable_string, write_data, write_compact_data, array_length, compact_array_length, Reader


@dataclass(slots=True, kw_only=True)
class JoinGroupRequest(Message):
    API_KEY: ClassVar[int] = 11
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 9
    FLEXIBLE_FROM: ClassVar[int] = 6

    @dataclass(slots=True, kw_only=True)
    class JoinGroupRequestProtocol(Struct):
        name: str = ""
        metadata: bytes = field(default=b'', repr=False)

        def write(self, out: list[bytes], version: int) -> None:
            flexible = version >= 6
            if flexible:
                write_compact_string(out, self.name)
            else:
                write_string(out, self.name)
            if flexible:
                write_compact_data(out, self.metadata)
            else:
                write_data(out, self.metadata)
            if flexible:
                out.append(b"\x00")

        @classmethod
        def read(cls, reader: Reader, version: int) -> JoinGroupRequest.JoinGroupRequestProtocol:
            flexible = version >= 6
            name: str = reader.compact_string() if flexible else reader.string()
            metadata: bytes = reader.compact_data() if flexible else reader.data()
            if flexible:
                reader.skip_tagged_fields()
            return cls(
                name=name,
                metadata=metadata,
            )

    group_id: str = ""
    session_timeout_ms: int = 0
    rebalance_timeout_ms: int = -1
    member_id: str = ""
    group_instance_id: str | None = None
    protocol_type: str = ""
    protocols: list[JoinGroupRequest.JoinGroupRequestProtocol] = field(default_factory=list)
    reason: str | None = None

    def write(self, out: list[bytes], version: int) -> None:
        flexible = version >= 6
        if flexible:
            write_compact_string(out, self.group_id)
        else:
            write_string(out, self.group_id)
        out.append(int32(self.session_timeout_ms))
        if version >= 1:
            out.append(int32(self.rebalance_timeout_ms))
        if flexible:
            write_compact_string(out, self.member_id)
        else:
            write_string(out, self.member_id)
        if version >= 5:
            if flexible:
                write_compact_nullable_string(out, self.group_instance_id)
            else:
                write_nullable_string(out, self.group_instance_id)
        elif self.group_instance_id is not None:
            raise unsupported("group_instance_id", version)
        if flexible:
            write_compact_string(out, self.protocol_type)
        else:
            write_string(out, self.protocol_type)
        out.append(compact_array_length(len(self.protocols)) if flexible else array_length(len(self.protocols)))
        for protocols_item in self.protocols:
            protocols_item.write(out, version)
        if version >= 8:
            if flexible:
                write_compact_nullable_string(out, self.reason)
            else:
                write_nullable_string(out, self.reason)
        if flexible:
            out.append(b"\x00")

    @classmethod
    def read(cls, reader: Reader, version: int) -> JoinGroupRequest:
        flexible = version >= 6
        group_id: str = reader.compact_string() if flexible else reader.string()
        session_timeout_ms: int = reader.int32()
        rebalance_timeout_ms: int = -1
        if version >= 1:
            rebalance_timeout_ms = reader.int32()
        member_id: str = reader.compact_string() if flexible else reader.string()
        group_instance_id: str | None = None
        if version >= 5:
            group_instance_id = reader.compact_nullable_string() if flexible else reader.nullable_string()
        protocol_type: str = reader.compact_string() if flexible else reader.string()
        protocols: list[JoinGroupRequest.JoinGroupRequestProtocol] = [JoinGroupRequest.JoinGroupRequestProtocol.read(reader, version) for _ in range(reader.compact_array_length() if flexible else reader.array_length())]
        reason: str | None = None
        if version >= 8:
            reason = reader.compact_nullable_string() if flexible else reader.nullable_string()
        if flexible:
            reader.skip_tagged_fields()
        return cls(
            group_id=group_id,
            session_timeout_ms=session_timeout_ms,
            rebalance_timeout_ms=rebalance_timeout_ms,
            member_id=member_id,
            group_instance_id=group_instance_id,
            protocol_type=protocol_type,
            protocols=protocols,
            reason=reason,
        )


@dataclass(slots=True, kw_only=True)
class JoinGroupResponse(Message):
    API_KEY: ClassVar[int] = 11
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 9
    FLEXIBLE_FROM: ClassVar[int] = 6

    @dataclass(slots=True, kw_only=True)
    class JoinGroupResponseMember(Struct):
        member_id: str = ""
        group_instance_id: str | None = None
        metadata: bytes = field(default=b'', repr=False)

        def write(self, out: list[bytes], version: int) -> None:
            flexible = version >= 6
            if flexible:
                write_compact_string(out, self.member_id)
            else:
                write_string(out, self.member_id)
            if version >= 5:
                if flexible:
                    write_compact_nullable_string(out, self.group_instance_id)
                else:
                    write_nullable_string(out, self.group_instance_id)
            if flexible:
                write_compact_data(out, self.metadata)
            else:
                write_data(out, self.metadata)
            if flexible:
                out.append(b"\x00")

        @classmethod
        def read(cls, reader: Reader, version: int) -> JoinGroupResponse.JoinGroupResponseMember:
            flexible = version >= 6
            member_id: str = reader.compact_string() if flexible else reader.string()
            group_instance_id: str | None = None
            if version >= 5:
                group_instance_id = reader.compact_nullable_string() if flexible else reader.nullable_string()
            metadata: bytes = reader.compact_data() if flexible else reader.data()
            if flexible:
                reader.skip_tagged_fields()
            return cls(
                member_id=member_id,
                group_instance_id=group_instance_id,
                metadata=metadata,
            )

    throttle_time_ms: int = 0
    error_code: int = 0
    generation_id: int = -1
    protocol_type: str | None = None
    protocol_name: str | None = ""
    leader: str = ""
    skip_assignment: bool = False
    member_id: str = ""
    members: list[JoinGroupResponse.JoinGroupResponseMember] = field(default_factory=list)

    def write(self, out: list[bytes], version: int) -> None:
        flexible = version >= 6
        if version >= 2:
            out.append(int32(self.throttle_time_ms))
        out.append(int16(self.error_code))
        out.append(int32(self.generation_id))
        if version >= 7:
            if flexible:
                write_compact_nullable_string(out, self.protocol_type)
            else:
                write_nullable_string(out, self.protocol_type)
        if self.protocol_name is None and not (version >= 7):
            raise not_nullable("protocol_name", version)
        if flexible:
            write_compact_nullable_string(out, self.protocol_name)
        else:
            write_nullable_string(out, self.protocol_name)
        if flexible:
            write_compact_string(out, self.leader)
        else:
            write_string(out, self.leader)
        if version >= 9:
            out.append(boolean(self.skip_assignment))
        elif self.skip_assignment:
            raise unsupported("skip_assignment", version)
        if flexible:
            write_compact_string(out, self.member_id)
        else:
            write_string(out, self.member_id)
        out.append(compact_array_length(len(self.members)) if flexible else array_length(len(self.members)))
        for members_item in self.members:
            members_item.write(out, version)
        if flexible:
            out.append(b"\x00")

    @classmethod
    def read(cls, reader: Reader, version: int) -> JoinGroupResponse:
        flexible = version >= 6
        throttle_time_ms: int = 0
        if version >= 2:
            throttle_time_ms = reader.int32()
        error_code: int = reader.int16()
        generation_id: int = reader.int32()
        protocol_type: str | None = None
        if version >= 7:
            protocol_type = reader.compact_nullable_string() if flexible else reader.nullable_string()
        protocol_name: str | None = (
            (reader.compact_nullable_string() if flexible else reader.nullable_string())
            if version >= 7
            else reader.compact_string() if flexible else reader.string()
        )
        leader: str = reader.compact_string() if flexible else reader.string()
        skip_assignment: bool = False
        if version >= 9:
            skip_assignment = reader.boolean()
        member_id: str = reader.compact_string() if flexible else reader.string()
        members: list[JoinGroupResponse.JoinGroupResponseMember] = [JoinGroupResponse.JoinGroupResponseMember.read(reader, version) for _ in range(reader.compact_array_length() if flexible else reader.array_length())]
        if flexible:
            reader.skip_tagged_fields()
        return cls(
            throttle_time_ms=throttle_time_ms,
            error_code=error_code,
            generation_id=generation_id,
            protocol_type=protocol_type,
            protocol_name=protocol_name,
            leader=leader,
            skip_assignment=skip_assignment,
            member_id=member_id,
            members=members,
        )
