"""DescribeQuorum (55), v0-v2.

Generated from kafka-clients 4.2.0 by libs/kafka/codegen; do not edit.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

from korvet.kafka.message import Message, Struct, unsupported
from korvet.kafka.primitives import ZERO_UUID, int16, uint16, int32, int64, uuid, write_compact_string, write_compact_nullable_string, compact_array_length, Reader


@dataclass(slots=True, kw_only=True)
class DescribeQuorumRequest(Message):
    API_KEY: ClassVar[int] = 55
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 2
    FLEXIBLE_FROM: ClassVar[int] = 0

    @dataclass(slots=True, kw_only=True)
    class PartitionData(Struct):
        partition_index: int = 0

        def write(self, out: list[bytes], version: int) -> None:
            out.append(int32(self.partition_index))
            out.append(b"\x00")

        @classmethod
        def read(cls, reader: Reader, version: int) -> DescribeQuorumRequest.PartitionData:
            partition_index: int = reader.int32()
            reader.skip_tagged_fields()
            return cls(
                partition_index=partition_index,
            )

    @dataclass(slots=True, kw_only=True)
    class TopicData(Struct):
        topic_name: str = ""
        partitions: list[DescribeQuorumRequest.PartitionData] = field(default_factory=list)

        def write(self, out: list[bytes], version: int) -> None:
            write_compact_string(out, self.topic_name)
            out.append(compact_array_length(len(self.partitions)))
            for partitions_item in self.partitions:
                partitions_item.write(out, version)
            out.append(b"\x00")

        @classmethod
        def read(cls, reader: Reader, version: int) -> DescribeQuorumRequest.TopicData:
            topic_name: str = reader.compact_string()
            partitions: list[DescribeQuorumRequest.PartitionData] = [DescribeQuorumRequest.PartitionData.read(reader, version) for _ in range(reader.compact_array_length())]
            reader.skip_tagged_fields()
            return cls(
                topic_name=topic_name,
                partitions=partitions,
            )

    topics: list[DescribeQuorumRequest.TopicData] = field(default_factory=list)

    def write(self, out: list[bytes], version: int) -> None:
        out.append(compact_array_length(len(self.topics)))
        for topics_item in self.topics:
            topics_item.write(out, version)
        out.append(b"\x00")

    @classmethod
    def read(cls, reader: Reader, version: int) -> DescribeQuorumRequest:
        topics: list[DescribeQuorumRequest.TopicData] = [DescribeQuorumRequest.TopicData.read(reader, version) for _ in range(reader.compact_array_length())]
        reader.skip_tagged_fields()
        return cls(
            topics=topics,
        )


@dataclass(slots=True, kw_only=True)
class DescribeQuorumResponse(Message):
    API_KEY: ClassVar[int] = 55
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 2
    FLEXIBLE_FROM: ClassVar[int] = 0

    @dataclass(slots=True, kw_only=True)
    class ReplicaState(Struct):
        replica_id: int = 0
        replica_directory_id: bytes = ZERO_UUID
        log_end_offset: int = 0
        last_fetch_timestamp: int = -1
        last_caught_up_timestamp: int = -1

        def write(self, out: list[bytes], version: int) -> None:
            out.append(int32(self.replica_id))
            if version >= 2:
                out.append(uuid(self.replica_directory_id))
            elif self.replica_directory_id != ZERO_UUID:
                raise unsupported("replica_directory_id", version)
            out.append(int64(self.log_end_offset))
            if version >= 1:
                out.append(int64(self.last_fetch_timestamp))
            if version >= 1:
                out.append(int64(self.last_caught_up_timestamp))
            out.append(b"\x00")

        @classmethod
        def read(cls, reader: Reader, version: int) -> DescribeQuorumResponse.ReplicaState:
            replica_id: int = reader.int32()
            replica_directory_id: bytes = ZERO_UUID
            if version >= 2:
                replica_directory_id = reader.uuid()
            log_end_offset: int = reader.int64()
            last_fetch_timestamp: int = -1
            if version >= 1:
                last_fetch_timestamp = reader.int64()
            last_caught_up_timestamp: int = -1
            if version >= 1:
                last_caught_up_timestamp = reader.int64()
            reader.skip_tagged_fields()
            return cls(
                replica_id=replica_id,
                replica_directory_id=replica_directory_id,
                log_end_offset=log_end_offset,
                last_fetch_timestamp=last_fetch_timestamp,
                last_caught_up_timestamp=last_caught_up_timestamp,
            )

    @dataclass(slots=True, kw_only=True)
    class PartitionData(Struct):
        partition_index: int = 0
        error_code: int = 0
        error_message: str | None = ""
        leader_id: int = 0
        leader_epoch: int = 0
        high_watermark: int = 0
        current_voters: list[DescribeQuorumResponse.ReplicaState] = field(default_factory=list)
        observers: list[DescribeQuorumResponse.ReplicaState] = field(default_factory=list)

        def write(self, out: list[bytes], version: int) -> None:
            out.append(int32(self.partition_index))
            out.append(int16(self.error_code))
            if version >= 2:
                write_compact_nullable_string(out, self.error_message)
            out.append(int32(self.leader_id))
            out.append(int32(self.leader_epoch))
            out.append(int64(self.high_watermark))
            out.append(compact_array_length(len(self.current_voters)))
            for current_voters_item in self.current_voters:
                current_voters_item.write(out, version)
            out.append(compact_array_length(len(self.observers)))
            for observers_item in self.observers:
                observers_item.write(out, version)
            out.append(b"\x00")

        @classmethod
        def read(cls, reader: Reader, version: int) -> DescribeQuorumResponse.PartitionData:
            partition_index: int = reader.int32()
            error_code: int = reader.int16()
            error_message: str | None = ""
            if version >= 2:
                error_message = reader.compact_nullable_string()
            leader_id: int = reader.int32()
            leader_epoch: int = reader.int32()
            high_watermark: int = reader.int64()
            current_voters: list[DescribeQuorumResponse.ReplicaState] = [DescribeQuorumResponse.ReplicaState.read(reader, version) for _ in range(reader.compact_array_length())]
            observers: list[DescribeQuorumResponse.ReplicaState] = [DescribeQuorumResponse.ReplicaState.read(reader, version) for _ in range(reader.compact_array_length())]
            reader.skip_tagged_fields()
            return cls(
                partition_index=partition_index,
                error_code=error_code,
                error_message=error_message,
                leader_id=leader_id,
                leader_epoch=leader_epoch,
                high_watermark=high_watermark,
                current_voters=current_voters,
                observers=observers,
            )

    @dataclass(slots=True, kw_only=True)
    class TopicData(Struct):
        topic_name: str = ""
        partitions: list[DescribeQuorumResponse.PartitionData] = field(default_factory=list)

        def write(self, out: list[bytes], version: int) -> None:
            write_compact_string(out, self.topic_name)
            out.append(compact_array_length(len(self.partitions)))
            for partitions_item in self.partitions:
                partitions_item.write(out, version)
            out.append(b"\x00")

        @classmethod
        def read(cls, reader: Reader, version: int) -> DescribeQuorumResponse.TopicData:
            topic_name: str = reader.compact_string()
            partitions: list[DescribeQuorumResponse.PartitionData] = [DescribeQuorumResponse.PartitionData.read(reader, version) for _ in range(reader.compact_array_length())]
            reader.skip_tagged_fields()
            return cls(
                topic_name=topic_name,
                partitions=partitions,
            )

    @dataclass(slots=True, kw_only=True)
    class Listener(Struct):
        name: str = ""
        host: str = ""
        port: int = 0

        def write(self, out: list[bytes], version: int) -> None:
            write_compact_string(out, self.name)
            write_compact_string(out, self.host)
            out.append(uint16(self.port))
            out.append(b"\x00")

        @classmethod
        def read(cls, reader: Reader, version: int) -> DescribeQuorumResponse.Listener:
            name: str = reader.compact_string()
            host: str = reader.compact_string()
            port: int = reader.uint16()
            reader.skip_tagged_fields()
            return cls(
                name=name,
                host=host,
                port=port,
            )

    @dataclass(slots=True, kw_only=True)
    class Node(Struct):
        node_id: int = 0
        listeners: list[DescribeQuorumResponse.Listener] = field(default_factory=list)

        def write(self, out: list[bytes], version: int) -> None:
            out.append(int32(self.node_id))
            out.append(compact_array_length(len(self.listeners)))
            for listeners_item in self.listeners:
                listeners_item.write(out, version)
            out.append(b"\x00")

        @classmethod
        def read(cls, reader: Reader, version: int) -> DescribeQuorumResponse.Node:
            node_id: int = reader.int32()
            listeners: list[DescribeQuorumResponse.Listener] = [DescribeQuorumResponse.Listener.read(reader, version) for _ in range(reader.compact_array_length())]
            reader.skip_tagged_fields()
            return cls(
                node_id=node_id,
                listeners=listeners,
            )

    error_code: int = 0
    error_message: str | None = ""
    topics: list[DescribeQuorumResponse.TopicData] = field(default_factory=list)
    nodes: list[DescribeQuorumResponse.Node] = field(default_factory=list)

    def write(self, out: list[bytes], version: int) -> None:
        out.append(int16(self.error_code))
        if version >= 2:
            write_compact_nullable_string(out, self.error_message)
        out.append(compact_array_length(len(self.topics)))
        for topics_item in self.topics:
            topics_item.write(out, version)
        if version >= 2:
            out.append(compact_array_length(len(self.nodes)))
            for nodes_item in self.nodes:
                nodes_item.write(out, version)
        elif self.nodes:
            raise unsupported("nodes", version)
        out.append(b"\x00")

    @classmethod
    def read(cls, reader: Reader, version: int) -> DescribeQuorumResponse:
        error_code: int = reader.int16()
        error_message: str | None = ""
        if version >= 2:
            error_message = reader.compact_nullable_string()
        topics: list[DescribeQuorumResponse.TopicData] = [DescribeQuorumResponse.TopicData.read(reader, version) for _ in range(reader.compact_array_length())]
        nodes: list[DescribeQuorumResponse.Node] = []
        if version >= 2:
            nodes = [DescribeQuorumResponse.Node.read(reader, version) for _ in range(reader.compact_array_length())]
        reader.skip_tagged_fields()
        return cls(
            error_code=error_code,
            error_message=error_message,
            topics=topics,
            nodes=nodes,
        )
