"""AlterReplicaLogDirs (34), v1-v2.

Generated from kafka-clients 4.2.0 by libs/kafka/codegen; do not edit.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

from korvet.kafka.message import Message, Struct
from korvet.kafka.primitives import int16, int32, write_string, write_compact_string, array_length, compact_array_length, Reader


@dataclass(slots=True, kw_only=True)
class AlterReplicaLogDirsRequest(Message):
    API_KEY: ClassVar[int] = 34
    MIN_VERSION: ClassVar[int] = 1
    MAX_VERSION: ClassVar[int] = 2
    FLEXIBLE_FROM: ClassVar[int] = 2

    @dataclass(slots=True, kw_only=True)
    class AlterReplicaLogDirTopic(Struct):
        name: str = ""
        partitions: list[int] = field(default_factory=list)

        def write(self, out: list[bytes], version: int) -> None:
            flexible = version >= 2
            if flexible:
                write_compact_string(out, self.name)
            else:
                write_string(out, self.name)
            out.append(compact_array_length(len(self.partitions)) if flexible else array_length(len(self.partitions)))
            out += map(int32, self.partitions)
            if flexible:
                out.append(b"\x00")

        @classmethod
        def read(cls, reader: Reader, version: int) -> AlterReplicaLogDirsRequest.AlterReplicaLogDirTopic:
            flexible = version >= 2
            name: str = reader.compact_string() if flexible else reader.string()
            partitions: list[int] = [reader.int32() for _ in range(reader.compact_array_length() if flexible else reader.array_length())]
            if flexible:
                reader.skip_tagged_fields()
            return cls(
                name=name,
                partitions=partitions,
            )

    @dataclass(slots=True, kw_only=True)
    class AlterReplicaLogDir(Struct):
        path: str = ""
        topics: list[AlterReplicaLogDirsRequest.AlterReplicaLogDirTopic] = field(default_factory=list)

        def write(self, out: list[bytes], version: int) -> None:
            flexible = version >= 2
            if flexible:
                write_compact_string(out, self.path)
            else:
                write_string(out, self.path)
            out.append(compact_array_length(len(self.topics)) if flexible else array_length(len(self.topics)))
            for topics_item in self.topics:
                topics_item.write(out, version)
            if flexible:
                out.append(b"\x00")

        @classmethod
        def read(cls, reader: Reader, version: int) -> AlterReplicaLogDirsRequest.AlterReplicaLogDir:
            flexible = version >= 2
            path: str = reader.compact_string() if flexible else reader.string()
            topics: list[AlterReplicaLogDirsRequest.AlterReplicaLogDirTopic] = [AlterReplicaLogDirsRequest.AlterReplicaLogDirTopic.read(reader, version) for _ in range(reader.compact_array_length() if flexible else reader.array_length())]
            if flexible:
                reader.skip_tagged_fields()
            return cls(
                path=path,
                topics=topics,
            )

    dirs: list[AlterReplicaLogDirsRequest.AlterReplicaLogDir] = field(default_factory=list)

    def write(self, out: list[bytes], version: int) -> None:
        flexible = version >= 2
        out.append(compact_array_length(len(self.dirs)) if flexible else array_length(len(self.dirs)))
        for dirs_item in self.dirs:
            dirs_item.write(out, version)
        if flexible:
            out.append(b"\x00")

    @classmethod
    def read(cls, reader: Reader, version: int) -> AlterReplicaLogDirsRequest:
        flexible = version >= 2
        dirs: list[AlterReplicaLogDirsRequest.AlterReplicaLogDir] = [AlterReplicaLogDirsRequest.AlterReplicaLogDir.read(reader, version) for _ in range(reader.compact_array_length() if flexible else reader.array_length())]
        if flexible:
            reader.skip_tagged_fields()
        return cls(
            dirs=dirs,
        )


@dataclass(slots=True, kw_only=True)
class AlterReplicaLogDirsResponse(Message):
    API_KEY: ClassVar[int] = 34
    MIN_VERSION: ClassVar[int] = 1
    MAX_VERSION: ClassVar[int] = 2
    FLEXIBLE_FROM: ClassVar[int] = 2

    @dataclass(slots=True, kw_only=True)
    class AlterReplicaLogDirPartitionResult(Struct):
        partition_index: int = 0
        error_code: int = 0

        def write(self, out: list[bytes], version: int) -> None:
            flexible = version >= 2
            out.append(int32(self.partition_index))
            out.append(int16(self.error_code))
            if flexible:
                out.append(b"\x00")

        @classmethod
        def read(cls, reader: Reader, version: int) -> AlterReplicaLogDirsResponse.AlterReplicaLogDirPartitionResult:
            flexible = version >= 2
            partition_index: int = reader.int32()
            error_code: int = reader.int16()
            if flexible:
                reader.skip_tagged_fields()
            return cls(
                partition_index=partition_index,
                error_code=error_code,
            )

    @dataclass(slots=True, kw_only=True)
    class AlterReplicaLogDirTopicResult(Struct):
        topic_name: str = ""
        partitions: list[AlterReplicaLogDirsResponse.AlterReplicaLogDirPartitionResult] = field(default_factory=list)

        def write(self, out: list[bytes], version: int) -> None:
            flexible = version >= 2
            if flexible:
                write_compact_string(out, self.topic_name)
            else:
                write_string(out, self.topic_name)
            out.append(compact_array_length(len(self.partitions)) if flexible else array_length(len(self.partitions)))
            for partitions_item in self.partitions:
                partitions_item.write(out, version)
            if flexible:
                out.append(b"\x00")

        @classmethod
        def read(cls, reader: Reader, version: int) -> AlterReplicaLogDirsResponse.AlterReplicaLogDirTopicResult:
            flexible = version >= 2
            topic_name: str = reader.compact_string() if flexible else reader.string()
            partitions: list[AlterReplicaLogDirsResponse.AlterReplicaLogDirPartitionResult] = [AlterReplicaLogDirsResponse.AlterReplicaLogDirPartitionResult.read(reader, version) for _ in range(reader.compact_array_length() if flexible else reader.array_length())]
            if flexible:
                reader.skip_tagged_fields()
            return cls(
                topic_name=topic_name,
                partitions=partitions,
            )

    throttle_time_ms: int = 0
    results: list[AlterReplicaLogDirsResponse.AlterReplicaLogDirTopicResult] = field(default_factory=list)

    def write(self, out: list[bytes], version: int) -> None:
        flexible = version >= 2
        out.append(int32(self.throttle_time_ms))
        out.append(compact_array_length(len(self.results)) if flexible else array_length(len(self.results)))
        for results_item in self.results:
            results_item.write(out, version)
        if flexible:
            out.append(b"\x00")

    @classmethod
    def read(cls, reader: Reader, version: int) -> AlterReplicaLogDirsResponse:
        flexible = version >= 2
        throttle_time_ms: int = reader.int32()
        results: list[AlterReplicaLogDirsResponse.AlterReplicaLogDirTopicResult] = [AlterReplicaLogDirsResponse.AlterReplicaLogDirTopicResult.read(reader, version) for _ in range(reader.compact_array_length() if flexible else reader.array_length())]
        if flexible:
            reader.skip_tagged_fields()
        return cls(
            throttle_time_ms=throttle_time_ms,
            results=results,
        )
