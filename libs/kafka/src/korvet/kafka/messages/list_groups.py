"""ListGroups (16), v0-v5.

Generated from kafka-clients 4.2.0 by libs/kafka/codegen; do not edit.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

from korvet.kafka.message import Message, Struct, unsupported
from korvet.kafka.primitives import int16, int32, write_string, write_compact_string, array_length, compact_array_length, Reader


@dataclass(slots=True, kw_only=True)
class ListGroupsRequest(Message):
    API_KEY: ClassVar[int] = 16
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 5
    FLEXIBLE_FROM: ClassVar[int] = 3

    states_filter: list[str] = field(default_factory=list)
    types_filter: list[str] = field(default_factory=list)

    def write(self, out: list[bytes], version: int) -> None:
        flexible = version >= 3
        if version >= 4:
            out.append(compact_array_length(len(self.states_filter)) if flexible else array_length(len(self.states_filter)))
            for states_filter_item in self.states_filter:
                if flexible:
                    write_compact_string(out, states_filter_item)
                else:
                    write_string(out, states_filter_item)
        elif self.states_filter:
            raise unsupported("states_filter", version)
        if version >= 5:
            out.append(compact_array_length(len(self.types_filter)) if flexible else array_length(len(self.types_filter)))
            for types_filter_item in self.types_filter:
                if flexible:
                    write_compact_string(out, types_filter_item)
                else:
                    write_string(out, types_filter_item)
        elif self.types_filter:
            raise unsupported("types_filter", version)
        if flexible:
            out.append(b"\x00")

    @classmethod
    def read(cls, reader: Reader, version: int) -> ListGroupsRequest:
        flexible = version >= 3
        states_filter: list[str] = []
        if version >= 4:
            states_filter = [reader.compact_string() if flexible else reader.string() for _ in range(reader.compact_array_length() if flexible else reader.array_length())]
        types_filter: list[str] = []
        if version >= 5:
            types_filter = [reader.compact_string() if flexible else reader.string() for _ in range(reader.compact_array_length() if flexible else reader.array_length())]
        if flexible:
            reader.skip_tagged_fields()
        return cls(
            states_filter=states_filter,
            types_filter=types_filter,
        )


@dataclass(slots=True, kw_only=True)
class ListGroupsResponse(Message):
    API_KEY: ClassVar[int] = 16
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 5
    FLEXIBLE_FROM: ClassVar[int] = 3

    @dataclass(slots=True, kw_only=True)
    class ListedGroup(Struct):
        group_id: str = ""
        protocol_type: str = ""
        group_state: str = ""
        group_type: str = ""

        def write(self, out: list[bytes], version: int) -> None:
            flexible = version >= 3
            if flexible:
                write_compact_string(out, self.group_id)
            else:
                write_string(out, self.group_id)
            if flexible:
                write_compact_string(out, self.protocol_type)
            else:
                write_string(out, self.protocol_type)
            if version >= 4:
                if flexible:
                    write_compact_string(out, self.group_state)
                else:
                    write_string(out, self.group_state)
            if version >= 5:
                if flexible:
                    write_compact_string(out, self.group_type)
                else:
                    write_string(out, self.group_type)
            if flexible:
                out.append(b"\x00")

        @classmethod
        def read(cls, reader: Reader, version: int) -> ListGroupsResponse.ListedGroup:
            flexible = version >= 3
            group_id: str = reader.compact_string() if flexible else reader.string()
            protocol_type: str = reader.compact_string() if flexible else reader.string()
            group_state: str = ""
            if version >= 4:
                group_state = reader.compact_string() if flexible else reader.string()
            group_type: str = ""
            if version >= 5:
                group_type = reader.compact_string() if flexible else reader.string()
            if flexible:
                reader.skip_tagged_fields()
            return cls(
                group_id=group_id,
                protocol_type=protocol_type,
                group_state=group_state,
                group_type=group_type,
            )

    throttle_time_ms: int = 0
    error_code: int = 0
    groups: list[ListGroupsResponse.ListedGroup] = field(default_factory=list)

    def write(self, out: list[bytes], version: int) -> None:
        flexible = version >= 3
        if version >= 1:
            out.append(int32(self.throttle_time_ms))
        out.append(int16(self.error_code))
        out.append(compact_array_length(len(self.groups)) if flexible else array_length(len(self.groups)))
        for groups_item in self.groups:
            groups_item.write(out, version)
        if flexible:
            out.append(b"\x00")

    @classmethod
    def read(cls, reader: Reader, version: int) -> ListGroupsResponse:
        flexible = version >= 3
        throttle_time_ms: int = 0
        if version >= 1:
            throttle_time_ms = reader.int32()
        error_code: int = reader.int16()
        groups: list[ListGroupsResponse.ListedGroup] = [ListGroupsResponse.ListedGroup.read(reader, version) for _ in range(reader.compact_array_length() if flexible else reader.array_length())]
        if flexible:
            reader.skip_tagged_fields()
        return cls(
            throttle_time_ms=throttle_time_ms,
            error_code=error_code,
            groups=groups,
        )
