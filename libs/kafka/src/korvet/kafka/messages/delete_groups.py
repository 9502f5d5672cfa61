"""DeleteGroups (42), v0-v2.

Generated from kafka-clients 4.2.0 by libs/kafka/codegen; do not edit.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

from korvet.kafka.message import Message, Struct
from korvet.kafka.primitives import int16, int32, write_string, write_compact_string, array_length, compact_array_length, Reader


@dataclass(slots=True, kw_only=True)
class DeleteGroupsRequest(Message):
    API_KEY: ClassVar[int] = 42
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 2
    FLEXIBLE_FROM: ClassVar[int] = 2

    groups_names: list[str] = field(default_factory=list)

    def write(self, out: list[bytes], version: int) -> None:
        flexible = version >= 2
        out.append(compact_array_length(len(self.groups_names)) if flexible else array_length(len(self.groups_names)))
        for groups_names_item in self.groups_names:
            if flexible:
                write_compact_string(out, groups_names_item)
            else:
                write_string(out, groups_names_item)
        if flexible:
            out.append(b"\x00")

    @classmethod
    def read(cls, reader: Reader, version: int) -> DeleteGroupsRequest:
        flexible = version >= 2
        groups_names: list[str] = [reader.compact_string() if flexible else reader.string() for _ in range(reader.compact_array_length() if flexible else reader.array_length())]
        if flexible:
            reader.skip_tagged_fields()
        return cls(
            groups_names=groups_names,
        )


@dataclass(slots=True, kw_only=True)
class DeleteGroupsResponse(Message):
    API_KEY: ClassVar[int] = 42
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 2
    FLEXIBLE_FROM: ClassVar[int] = 2

    @dataclass(slots=True, kw_only=True)
    class DeletableGroupResult(Struct):
        group_id: str = ""
        error_code: int = 0

        def write(self, out: list[bytes], version: int) -> None:
            flexible = version >= 2
            if flexible:
                write_compact_string(out, self.group_id)
            else:
                write_string(out, self.group_id)
            out.append(int16(self.error_code))
            if flexible:
                out.append(b"\x00")

        @classmethod
        def read(cls, reader: Reader, version: int) -> DeleteGroupsResponse.DeletableGroupResult:
            flexible = version >= 2
            group_id: str = reader.compact_string() if flexible else reader.string()
            error_code: int = reader.int16()
            if flexible:
                reader.skip_tagged_fields()
            return cls(
                group_id=group_id,
                error_code=error_code,
            )

    throttle_time_ms: int = 0
    results: list[DeleteGroupsResponse.DeletableGroupResult] = field(default_factory=list)

    def write(self, out: list[bytes], version: int) -> None:
        flexible = version >= 2
        out.append(int32(self.throttle_time_ms))
        out.append(compact_array_length(len(self.results)) if flexible else array_length(len(self.results)))
        for results_item in self.results:
            results_item.write(out, version)
        if flexible:
            out.append(b"\x00")

    @classmethod
    def read(cls, reader: Reader, version: int) -> DeleteGroupsResponse:
        flexible = version >= 2
        throttle_time_ms: int = reader.int32()
        results: list[DeleteGroupsResponse.DeletableGroupResult] = [DeleteGroupsResponse.DeletableGroupResult.read(reader, version) for _ in range(reader.compact_array_length() if flexible else reader.array_length())]
        if flexible:
            reader.skip_tagged_fields()
        return cls(
            throttle_time_ms=throttle_time_ms,
            results=results,
        )
