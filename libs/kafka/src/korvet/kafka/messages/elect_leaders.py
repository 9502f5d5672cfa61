"""ElectLeaders (43), v0-v2.

Generated from kafka-clients 4.2.0 by libs/kafka/codegen; do not edit.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

from korvet.kafka.message import Message, Struct, unsupported
from korvet.kafka.primitives import int8, int16, int32, write_string, write_nullable_string, write_compact_string, write_compact_nullable_string, array_length, compact_array_length, Reader


@dataclass(slots=True, kw_only=True)
class ElectLeadersRequest(Message):
    API_KEY: ClassVar[int] = 43
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 2
    FLEXIBLE_FROM: ClassVar[int] = 2

    @dataclass(slots=True, kw_only=True)
    class TopicPartitions(Struct):
        topic: str = ""
        partitions: list[int] = field(default_factory=list)

        def write(self, out: list[bytes], version: int) -> None:
            flexible = version >= 2
            if flexible:
                write_compact_string(out, self.topic)
            else:
                write_string(out, self.topic)
            out.append(compact_array_length(len(self.partitions)) if flexible else array_length(len(self.partitions)))
            out += map(int32, self.partitions)
            if flexible:
                out.append(b"\x00")

        @classmethod
        def read(cls, reader: Reader, version: int) -> ElectLeadersRequest.TopicPartitions:
            flexible = version >= 2
            topic: str = reader.compact_string() if flexible else reader.string()
            partitions: list[int] = [reader.int32() for _ in range(reader.compact_array_length() if flexible else reader.array_length())]
            if flexible:
                reader.skip_tagged_fields()
            return cls(
                topic=topic,
                partitions=partitions,
            )

    election_type: int = 0
    topic_partitions: list[ElectLeadersRequest.TopicPartitions] | None = field(default_factory=list)
    timeout_ms: int = 60000

    def write(self, out: list[bytes], version: int) -> None:
        flexible = version >= 2
        if version >= 1:
            out.append(int8(self.election_type))
        elif self.election_type != 0:
            raise unsupported("election_type", version)
        if self.topic_partitions is None:
            out.append(compact_array_length(-1) if flexible else array_length(-1))
        else:
            out.append(compact_array_length(len(self.topic_partitions)) if flexible else array_length(len(self.topic_partitions)))
            for topic_partitions_item in self.topic_partitions:
                topic_partitions_item.write(out, version)
        out.append(int32(self.timeout_ms))
        if flexible:
            out.append(b"\x00")

    @classmethod
    def read(cls, reader: Reader, version: int) -> ElectLeadersRequest:
        flexible = version >= 2
        election_type: int = 0
        if version >= 1:
            election_type = reader.int8()
        length = reader.compact_nullable_array_length() if flexible else reader.nullable_array_length()
        topic_partitions: list[ElectLeadersRequest.TopicPartitions] | None = None if length < 0 else [ElectLeadersRequest.TopicPartitions.read(reader, version) for _ in range(length)]
        timeout_ms: int = reader.int32()
        if flexible:
            reader.skip_tagged_fields()
        return cls(
            election_type=election_type,
            topic_partitions=topic_partitions,
            timeout_ms=timeout_ms,
        )


@dataclass(slots=True, kw_only=True)
class ElectLeadersResponse(Message):
    API_KEY: ClassVar[int] = 43
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 2
    FLEXIBLE_FROM: ClassVar[int] = 2

    @dataclass(slots=True, kw_only=True)
    class PartitionResult(Struct):
        partition_id: int = 0
        error_code: int = 0
        error_message: str | None = ""

        def write(self, out: list[bytes], version: int) -> None:
            flexible = version >= 2
            out.append(int32(self.partition_id))
            out.append(int16(self.error_code))
            if flexible:
                write_compact_nullable_string(out, self.error_message)
            else:
                write_nullable_string(out, self.error_message)
            if flexible:
                out.append(b"\x00")

        @classmethod
        def read(cls, reader: Reader, version: int) -> ElectLeadersResponse.PartitionResult:
            flexible = version >= 2
            partition_id: int = reader.int32()
            error_code: int = reader.int16()
            error_message: str | None = reader.compact_nullable_string() if flexible else reader.nullable_string()
            if flexible:
                reader.skip_tagged_fields()
            return cls(
                partition_id=partition_id,
                error_code=error_code,
                error_message=error_message,
            )

    @dataclass(slots=True, kw_only=True)
    class ReplicaElectionResult(Struct):
        topic: str = ""
        partition_result: list[ElectLeadersResponse.PartitionResult] = field(default_factory=list)

        def write(self, out: list[bytes], version: int) -> None:
            flexible = version >= 2
            if flexible:
                write_compact_string(out, self.topic)
            else:
                write_string(out, self.topic)
            out.append(compact_array_length(len(self.partition_result)) if flexible else array_length(len(self.partition_result)))
            for partition_result_item in self.partition_result:
                partition_result_item.write(out, version)
            if flexible:
                out.append(b"\x00")

        @classmethod
        def read(cls, reader: Reader, version: int) -> ElectLeadersResponse.ReplicaElectionResult:
            flexible = version >= 2
            topic: str = reader.compact_string() if flexible else reader.string()
            partition_result: list[ElectLeadersResponse.PartitionResult] = [ElectLeadersResponse.PartitionResult.read(reader, version) for _ in range(reader.compact_array_length() if flexible else reader.array_length())]
            if flexible:
                reader.skip_tagged_fields()
            return cls(
                topic=topic,
                partition_result=partition_result,
            )

    throttle_time_ms: int = 0
    error_code: int = 0
    replica_election_results: list[ElectLeadersResponse.ReplicaElectionResult] = field(default_factory=list)

    def write(self, out: list[bytes], version: int) -> None:
        flexible = version >= 2
        out.append(int32(self.throttle_time_ms))
        if version >= 1:
            out.append(int16(self.error_code))
        elif self.error_code != 0:
            raise unsupported("error_code", version)
        out.append(compact_array_length(len(self.replica_election_results)) if flexible else array_length(len(self.replica_election_results)))
        for replica_election_results_item in self.replica_election_results:
            replica_election_results_item.write(out, version)
        if flexible:
            out.append(b"\x00")

    @classmethod
    def read(cls, reader: Reader, version: int) -> ElectLeadersResponse:
        flexible = version >= 2
        throttle_time_ms: int = reader.int32()
        error_code: int = 0
        if version >= 1:
            error_code = reader.int16()
        replica_election_results: list[ElectLeadersResponse.ReplicaElectionResult] = [ElectLeadersResponse.ReplicaElectionResult.read(reader, version) for _ in range(reader.compact_array_length() if flexible else reader.array_length())]
        if flexible:
            reader.skip_tagged_fields()
        return cls(
            throttle_time_ms=throttle_time_ms,
            error_code=error_code,
            replica_election_results=replica_election_results,
        )
