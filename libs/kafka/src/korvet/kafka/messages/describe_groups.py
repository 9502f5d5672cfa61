"""DescribeGroups (15), v0-v6.

Generated from kafka-clients 4.2.0 by libs/kafka/codegen; do not edit.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

from korvet.kafka.message import Message, Struct, unsupported
from korvet.kafka.primitives import int16, int32, boolean, write_string, write_nullable_string, write_compact_string, write_compact_nullable_string, write_data, write_compact_data, array_length, compact_array_length, Reader


@dataclass(slots=True, kw_only=True)
class DescribeGroupsRequest(Message):
    API_KEY: ClassVar[int] = 15
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 6
    FLEXIBLE_FROM: ClassVar[int] = 5

    groups: list[str] = field(default_factory=list)
    include_authorized_operations: bool = False

    def write(self, out: list[bytes], version: int) -> None:
        flexible = version >= 5
        out.append(compact_array_length(len(self.groups)) if flexible else array_length(len(self.groups)))
        for groups_item in self.groups:
            if flexible:
                write_compact_string(out, groups_item)
            else:
                write_string(out, groups_item)
        if version >= 3:
            out.append(boolean(self.include_authorized_operations))
        elif self.include_authorized_operations:
            raise unsupported("include_authorized_operations", version)
        if flexible:
            out.append(b"\x00")

    @classmethod
    def read(cls, reader: Reader, version: int) -> DescribeGroupsRequest:
        flexible = version >= 5
        groups: list[str] = [reader.compact_string() if flexible else reader.string() for _ in range(reader.compact_array_length() if flexible else reader.array_length())]
        include_authorized_operations: bool = False
        if version >= 3:
            include_authorized_operations = reader.boolean()
        if flexible:
            reader.skip_tagged_fields()
        return cls(
            groups=groups,
            include_authorized_operations=include_authorized_operations,
        )


@dataclass(slots=True, kw_only=True)
class DescribeGroupsResponse(Message):
    API_KEY: ClassVar[int] = 15
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 6
    FLEXIBLE_FROM: ClassVar[int] = 5

    @dataclass(slots=True, kw_only=True)
    class DescribedGroupMember(Struct):
        member_id: str = ""
        group_instance_id: str | None = None
        client_id: str = ""
        client_host: str = ""
        member_metadata: bytes = field(default=b'', repr=False)
        member_assignment: bytes = field(default=b'', repr=False)

        def write(self, out: list[bytes], version: int) -> None:
            flexible = version >= 5
            if flexible:
                write_compact_string(out, self.member_id)
            else:
                write_string(out, self.member_id)
            if version >= 4:
                if flexible:
                    write_compact_nullable_string(out, self.group_instance_id)
                else:
                    write_nullable_string(out, self.group_instance_id)
            if flexible:
                write_compact_string(out, self.client_id)
            else:
                write_string(out, self.client_id)
            if flexible:
                write_compact_string(out, self.client_host)
            else:
                write_string(out, self.client_host)
            if flexible:
                write_compact_data(out, self.member_metadata)
            else:
                write_data(out, self.member_metadata)
            if flexible:
                write_compact_data(out, self.member_assignment)
            else:
                write_data(out, self.member_assignment)
            if flexible:
                out.append(b"\x00")

        @classmethod
        def read(cls, reader: Reader, version: int) -> DescribeGroupsResponse.DescribedGroupMember:
            flexible = version >= 5
            member_id: str = reader.compact_string() if flexible else reader.string()
            group_instance_id: str | None = None
            if version >= 4:
                group_instance_id = reader.compact_nullable_string() if flexible else reader.nullable_string()
            client_id: str = reader.compact_string() if flexible else reader.string()
            client_host: str = reader.compact_string() if flexible else reader.string()
            member_metadata: bytes = reader.compact_data() if flexible else reader.data()
            member_assignment: bytes = reader.compact_data() if flexible else reader.data()
            if flexible:
                reader.skip_tagged_fields()
            return cls(
                member_id=member_id,
                group_instance_id=group_instance_id,
                client_id=client_id,
                client_host=client_host,
                member_metadata=member_metadata,
                member_assignment=member_assignment,
            )

    @dataclass(slots=True, kw_only=True)
    class DescribedGroup(Struct):
        error_code: int = 0
        error_message: str | None = None
        group_id: str = ""
        group_state: str = ""
        protocol_type: str = ""
        protocol_data: str = ""
        members: list[DescribeGroupsResponse.DescribedGroupMember] = field(default_factory=list)
        authorized_operations: int = -2147483648

        def write(self, out: list[bytes], version: int) -> None:
            flexible = version >= 5
            out.append(int16(self.error_code))
            if version >= 6:
                if flexible:
                    write_compact_nullable_string(out, self.error_message)
                else:
                    write_nullable_string(out, self.error_message)
            elif self.error_message is not None:
                raise unsupported("error_message", version)
            if flexible:
                write_compact_string(out, self.group_id)
            else:
                write_string(out, self.group_id)
            if flexible:
                write_compact_string(out, self.group_state)
            else:
                write_string(out, self.group_state)
            if flexible:
                write_compact_string(out, self.protocol_type)
            else:
                write_string(out, self.protocol_type)
            if flexible:
                write_compact_string(out, self.protocol_data)
            else:
                write_string(out, self.protocol_data)
            out.append(compact_array_length(len(self.members)) if flexible else array_length(len(self.members)))
            for members_item in self.members:
                members_item.write(out, version)
            if version >= 3:
                out.append(int32(self.authorized_operations))
            elif self.authorized_operations != -2147483648:
                raise unsupported("authorized_operations", version)
            if flexible:
                out.append(b"\x00")

        @classmethod
        def read(cls, reader: Reader, version: int) -> DescribeGroupsResponse.DescribedGroup:
            flexible = version >= 5
            error_code: int = reader.int16()
            error_message: str | None = None
            if version >= 6:
                error_message = reader.compact_nullable_string() if flexible else reader.nullable_string()
            group_id: str = reader.compact_string() if flexible else reader.string()
            group_state: str = reader.compact_string() if flexible else reader.string()
            protocol_type: str = reader.compact_string() if flexible else reader.string()
            protocol_data: str = reader.compact_string() if flexible else reader.string()
            members: list[DescribeGroupsResponse.DescribedGroupMember] = [DescribeGroupsResponse.DescribedGroupMember.read(reader, version) for _ in range(reader.compact_array_length() if flexible else reader.array_length())]
            authorized_operations: int = -2147483648
            if version >= 3:
                authorized_operations = reader.int32()
            if flexible:
                reader.skip_tagged_fields()
            return cls(
                error_code=error_code,
                error_message=error_message,
                group_id=group_id,
                group_state=group_state,
                protocol_type=protocol_type,
                protocol_data=protocol_data,
                members=members,
                authorized_operations=authorized_operations,
            )

    throttle_time_ms: int = 0
    groups: list[DescribeGroupsResponse.DescribedGroup] = field(default_factory=list)

    def write(self, out: list[bytes], version: int) -> None:
        flexible = version >= 5
        if version >= 1:
            out.append(int32(self.throttle_time_ms))
        out.append(compact_array_length(len(self.groups)) if flexible else array_length(len(self.groups)))
        for groups_item in self.groups:
            groups_item.write(out, version)
        if flexible:
            out.append(b"\x00")

    @classmethod
    def read(cls, reader: Reader, version: int) -> DescribeGroupsResponse:
        flexible = version >= 5
        throttle_time_ms: int = 0
        if version >= 1:
            throttle_time_ms = reader.int32()
        groups: list[DescribeGroupsResponse.DescribedGroup] = [DescribeGroupsResponse.DescribedGroup.read(reader, version) for _ in range(reader.compact_array_length() if flexible else reader.array_length())]
        if flexible:
            reader.skip_tagged_fields()
        return cls(
            throttle_time_ms=throttle_time_ms,
            groups=groups,
        )
