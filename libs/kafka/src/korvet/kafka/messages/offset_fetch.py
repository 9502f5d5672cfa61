"""OffsetFetch (9), v1-v10.

Generated from kafka-clients 4.2.0 by libs/kafka/codegen; do not edit.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

from korvet.kafka.message import Message, Struct, not_nullable, unsupported
from korvet.kafka.primitives import ZERO_UUID, int16, int32, int64, boolean, uuid, write_string, write_nullable_string, write_compact_string, write_compact_nullable_string, array_length, compact_array_length, Reader


@dataclass(slots=True, kw_only=True)
class OffsetFetchRequest(Message):
    API_KEY: ClassVar[int] = 9
    MIN_VERSION: ClassVar[int] = 1
    MAX_VERSION: ClassVar[int] = 10
    FLEXIBLE_FROM: ClassVar[int] = 6

    @dataclass(slots=True, kw_only=True)
    class OffsetFetchRequestTopic(Struct):
        name: str = ""
        partition_indexes: list[int] = field(default_factory=list)

        def write(self, out: list[bytes], version: int) -> None:
            flexible = version >= 6
            if flexible:
                write_compact_string(out, self.name)
            else:
                write_string(out, self.name)
            out.append(compact_array_length(len(self.partition_indexes)) if flexible else array_length(len(self.partition_indexes)))
            out += map(int32, self.partition_indexes)
            if flexible:
                out.append(b"\x00")

        @classmethod
        def read(cls, reader: Reader, version: int) -> OffsetFetchRequest.OffsetFetchRequestTopic:
            flexible = version >= 6
            name: str = reader.compact_string() if flexible else reader.string()
            partition_indexes: list[int] = [reader.int32() for _ in range(reader.compact_array_length() if flexible else reader.array_length())]
            if flexible:
                reader.skip_tagged_fields()
            return cls(
                name=name,
                partition_indexes=partition_indexes,
            )

    @dataclass(slots=True, kw_only=True)
    class OffsetFetchRequestTopics(Struct):
        name: str = ""
        topic_id: bytes = ZERO_UUID
        partition_indexes: list[int] = field(default_factory=list)

        def write(self, out: list[bytes], version: int) -> None:
            if version <= 9:
                write_compact_string(out, self.name)
            if version >= 10:
                out.append(uuid(self.topic_id))
            out.append(compact_array_length(len(self.partition_indexes)))
            out += map(int32, self.partition_indexes)
            out.append(b"\x00")

        @classmethod
        def read(cls, reader: Reader, version: int) -> OffsetFetchRequest.OffsetFetchRequestTopics:
            name: str = ""
            if version <= 9:
                name = reader.compact_string()
            topic_id: bytes = ZERO_UUID
            if version >= 10:
                topic_id = reader.uuid()
            partition_indexes: list[int] = [reader.int32() for _ in range(reader.compact_array_length())]
            reader.skip_tagged_fields()
            return cls(
                name=name,
                topic_id=topic_id,
                partition_indexes=partition_indexes,
            )

    @dataclass(slots=True, kw_only=True)
    class OffsetFetchRequestGroup(Struct):
        group_id: str = ""
        member_id: str | None = None
        member_epoch: int = -1
        topics: list[OffsetFetchRequest.OffsetFetchRequestTopics] | None = field(default_factory=list)

        def write(self, out: list[bytes], version: int) -> None:
            write_compact_string(out, self.group_id)
            if version >= 9:
                write_compact_nullable_string(out, self.member_id)
            if version >= 9:
                out.append(int32(self.member_epoch))
            if self.topics is None:
                out.append(compact_array_length(-1))
            else:
                out.append(compact_array_length(len(self.topics)))
                for topics_item in self.topics:
                    topics_item.write(out, version)
            out.append(b"\x00")

        @classmethod
        def read(cls, reader: Reader, version: int) -> OffsetFetchRequest.OffsetFetchRequestGroup:
            group_id: str = reader.compact_string()
            member_id: str | None = None
            if version >= 9:
                member_id = reader.compact_nullable_string()
            member_epoch: int = -1
            if version >= 9:
                member_epoch = reader.int32()
            length = reader.compact_nullable_array_length()
            topics: list[OffsetFetchRequest.OffsetFetchRequestTopics] | None = None if length < 0 else [OffsetFetchRequest.OffsetFetchRequestTopics.read(reader, version) for _ in range(length)]
            reader.skip_tagged_fields()
            return cls(
                group_id=group_id,
                member_id=member_id,
                member_epoch=member_epoch,
                topics=topics,
            )

    group_id: str = ""
    topics: list[OffsetFetchRequest.OffsetFetchRequestTopic] | None = field(default_factory=list)
    groups: list[OffsetFetchRequest.OffsetFetchRequestGroup] = field(default_factory=list)
    require_stable: bool = False

    def write(self, out: list[bytes], version: int) -> None:
        flexible = version >= 6
        if version <= 7:
            if flexible:
                write_compact_string(out, self.group_id)
            else:
                write_string(out, self.group_id)
        elif self.group_id != "":
            raise unsupported("group_id", version)
        if version <= 7:
            if self.topics is None and not (version >= 2):
                raise not_nullable("topics", version)
            if self.topics is None:
                out.append(compact_array_length(-1) if flexible else array_length(-1))
            else:
                out.append(compact_array_length(len(self.topics)) if flexible else array_length(len(self.topics)))
                for topics_item in self.topics:
                    topics_item.write(out, version)
        elif self.topics != []:
            raise unsupported("topics", version)
        if version >= 8:
            out.append(compact_array_length(len(self.groups)) if flexible else array_length(len(self.groups)))
            for groups_item in self.groups:
                groups_item.write(out, version)
        elif self.groups:
            raise unsupported("groups", version)
        if version >= 7:
            out.append(boolean(self.require_stable))
        elif self.require_stable:
            raise unsupported("require_stable", version)
        if flexible:
            out.append(b"\x00")

    @classmethod
    def read(cls, reader: Reader, version: int) -> OffsetFetchRequest:
        flexible = version >= 6
        group_id: str = ""
        if version <= 7:
            group_id = reader.compact_string() if flexible else reader.string()
        topics: list[OffsetFetchRequest.OffsetFetchRequestTopic] | None = []
        if version <= 7:
            length = (reader.compact_nullable_array_length() if flexible else reader.nullable_array_length()) if version >= 2 else (reader.compact_array_length() if flexible else reader.array_length())
            topics = None if length < 0 else [OffsetFetchRequest.OffsetFetchRequestTopic.read(reader, version) for _ in range(length)]
        groups: list[OffsetFetchRequest.OffsetFetchRequestGroup] = []
        if version >= 8:
            groups = [OffsetFetchRequest.OffsetFetchRequestGroup.read(reader, version) for _ in range(reader.compact_array_length() if flexible else reader.array_length())]
        require_stable: bool = False
        if version >= 7:
            require_stable = reader.boolean()
        if flexible:
            reader.skip_tagged_fields()
        return cls(
            group_id=group_id,
            topics=topics,
            groups=groups,
            require_stable=require_stable,
        )


@dataclass(slots=True, kw_only=True)
class OffsetFetchResponse(Message):
    API_KEY: ClassVar[int] = 9
    MIN_VERSION: ClassVar[int] = 1
    MAX_VERSION: ClassVar[int] = 10
    FLEXIBLE_FROM: ClassVar[int] = 6

    @dataclass(slots=True, kw_only=True)
    class OffsetFetchResponsePartition(Struct):
        partition_index: int = 0
        committed_offset: int = 0
        committed_leader_epoch: int = -1
        metadata: str | None = ""
        error_code: int = 0

        def write(self, out: list[bytes], version: int) -> None:
            flexible = version >= 6
            out.append(int32(self.partition_index))
            out.append(int64(self.committed_offset))
            if version >= 5:
                out.append(int32(self.committed_leader_epoch))
            if flexible:
                write_compact_nullable_string(out, self.metadata)
            else:
                write_nullable_string(out, self.metadata)
            out.append(int16(self.error_code))
            if flexible:
                out.append(b"\x00")

        @classmethod
        def read(cls, reader: Reader, version: int) -> OffsetFetchResponse.OffsetFetchResponsePartition:
            flexible = version >= 6
            partition_index: int = reader.int32()
            committed_offset: int = reader.int64()
            committed_leader_epoch: int = -1
            if version >= 5:
                committed_leader_epoch = reader.int32()
            metadata: str | None = reader.compact_nullable_string() if flexible else reader.nullable_string()
            error_code: int = reader.int16()
            if flexible:
                reader.skip_tagged_fields()
            return cls(
                partition_index=partition_index,
                committed_offset=committed_offset,
                committed_leader_epoch=committed_leader_epoch,
                metadata=metadata,
                error_code=error_code,
            )

    @dataclass(slots=True, kw_only=True)
    class OffsetFetchResponseTopic(Struct):
        name: str = ""
        partitions: list[OffsetFetchResponse.OffsetFetchResponsePartition] = field(default_factory=list)

        def write(self, out: list[bytes], version: int) -> None:
            flexible = version >= 6
            if flexible:
                write_compact_string(out, self.name)
            else:
                write_string(out, self.name)
            out.append(compact_array_length(len(self.partitions)) if flexible else array_length(len(self.partitions)))
            for partitions_item in self.partitions:
                partitions_item.write(out, version)
            if flexible:
                out.append(b"\x00")

        @classmethod
        def read(cls, reader: Reader, version: int) -> OffsetFetchResponse.OffsetFetchResponseTopic:
            flexible = version >= 6
            name: str = reader.compact_string() if flexible else reader.string()
            partitions: list[OffsetFetchResponse.OffsetFetchResponsePartition] = [OffsetFetchResponse.OffsetFetchResponsePartition.read(reader, version) for _ in range(reader.compact_array_length() if flexible else reader.array_length())]
            if flexible:
                reader.skip_tagged_fields()
            return cls(
                name=name,
                partitions=partitions,
            )

    @dataclass(slots=True, kw_only=True)
    class OffsetFetchResponsePartitions(Struct):
        partition_index: int = 0
        committed_offset: int = 0
        committed_leader_epoch: int = -1
        metadata: str | None = ""
        error_code: int = 0

        def write(self, out: list[bytes], version: int) -> None:
            out.append(int32(self.partition_index))
            out.append(int64(self.committed_offset))
            out.append(int32(self.committed_leader_epoch))
            write_compact_nullable_string(out, self.metadata)
            out.append(int16(self.error_code))
            out.append(b"\x00")

        @classmethod
        def read(cls, reader: Reader, version: int) -> OffsetFetchResponse.OffsetFetchResponsePartitions:
            partition_index: int = reader.int32()
            committed_offset: int = reader.int64()
            committed_leader_epoch: int = reader.int32()
            metadata: str | None = reader.compact_nullable_string()
            error_code: int = reader.int16()
            reader.skip_tagged_fields()
            return cls(
                partition_index=partition_index,
                committed_offset=committed_offset,
                committed_leader_epoch=committed_leader_epoch,
                metadata=metadata,
                error_code=error_code,
            )

    @dataclass(slots=True, kw_only=True)
    class OffsetFetchResponseTopics(Struct):
        name: str = ""
        topic_id: bytes = ZERO_UUID
        partitions: list[OffsetFetchResponse.OffsetFetchResponsePartitions] = field(default_factory=list)

        def write(self, out: list[bytes], version: int) -> None:
            if version <= 9:
                write_compact_string(out, self.name)
            if version >= 10:
                out.append(uuid(self.topic_id))
            out.append(compact_array_length(len(self.partitions)))
            for partitions_item in self.partitions:
                partitions_item.write(out, version)
            out.append(b"\x00")

        @classmethod
        def read(cls, reader: Reader, version: int) -> OffsetFetchResponse.OffsetFetchResponseTopics:
            name: str = ""
            if version <= 9:
                name = reader.compact_string()
            topic_id: bytes = ZERO_UUID
            if version >= 10:
                topic_id = reader.uuid()
            partitions: list[OffsetFetchResponse.OffsetFetchResponsePartitions] = [OffsetFetchResponse.OffsetFetchResponsePartitions.read(reader, version) for _ in range(reader.compact_array_length())]
            reader.skip_tagged_fields()
            return cls(
                name=name,
                topic_id=topic_id,
                partitions=partitions,
            )

    @dataclass(slots=True, kw_only=True)
    class OffsetFetchResponseGroup(Struct):
        group_id: str = ""
        topics: list[OffsetFetchResponse.OffsetFetchResponseTopics] = field(default_factory=list)
        error_code: int = 0

        def write(self, out: list[bytes], version: int) -> None:
            write_compact_string(out, self.group_id)
            out.append(compact_array_length(len(self.topics)))
            for topics_item in self.topics:
                topics_item.write(out, version)
            out.append(int16(self.error_code))
            out.append(b"\x00")

        @classmethod
        def read(cls, reader: Reader, version: int) -> OffsetFetchResponse.OffsetFetchResponseGroup:
            group_id: str = reader.compact_string()
            topics: list[OffsetFetchResponse.OffsetFetchResponseTopics] = [OffsetFetchResponse.OffsetFetchResponseTopics.read(reader, version) for _ in range(reader.compact_array_length())]
            error_code: int = reader.int16()
            reader.skip_tagged_fields()
            return cls(
                group_id=group_id,
                topics=topics,
                error_code=error_code,
            )

    throttle_time_ms: int = 0
    topics: list[OffsetFetchResponse.OffsetFetchResponseTopic] = field(default_factory=list)
    error_code: int = 0
    groups: list[OffsetFetchResponse.OffsetFetchResponseGroup] = field(default_factory=list)

    def write(self, out: list[bytes], version: int) -> None:
        flexible = version >= 6
        if version >= 3:
            out.append(int32(self.throttle_time_ms))
        if version <= 7:
            out.append(compact_array_length(len(self.topics)) if flexible else array_length(len(self.topics)))
            for topics_item in self.topics:
                topics_item.write(out, version)
        elif self.topics:
            raise unsupported("topics", version)
        if 2 <= version <= 7:
            out.append(int16(self.error_code))
        if version >= 8:
            out.append(compact_array_length(len(self.groups)) if flexible else array_length(len(self.groups)))
            for groups_item in self.groups:
                groups_item.write(out, version)
        elif self.groups:
            raise unsupported("groups", version)
        if flexible:
            out.append(b"\x00")

    @classmethod
    def read(cls, reader: Reader, version: int) -> OffsetFetchResponse:
        flexible = version >= 6
        throttle_time_ms: int = 0
        if version >= 3:
            throttle_time_ms = reader.int32()
        topics: list[OffsetFetchResponse.OffsetFetchResponseTopic] = []
        if version <= 7:
            topics = [OffsetFetchResponse.OffsetFetchResponseTopic.read(reader, version) for _ in range(reader.compact_array_length() if flexible else reader.array_length())]
        error_code: int = 0
        if 2 <= version <= 7:
            error_code = reader.int16()
        groups: list[OffsetFetchResponse.OffsetFetchResponseGroup] = []
        if version >= 8:
            groups = [OffsetFetchResponse.OffsetFetchResponseGroup.read(reader, version) for _ in range(reader.compact_array_length() if flexible else reader.array_length())]
        if flexible:
            reader.skip_tagged_fields()
        return cls(
            throttle_time_ms=throttle_time_ms,
            topics=topics,
            error_code=error_code,
            groups=groups,
        )
