"""Metadata (3), v0-v13.

Generated from kafka-clients 4.2.0 by libs/kafka/codegen; do not edit.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

from korvet.kafka.message import Message, Struct, not_nullable, unsupported
from korvet.kafka.primitives import ZERO_UUID, int16, int32, boolean, uuid, write_string, write_nullable_string, write_compact_string, write_compact_nullable_string, array_length, compact_array_length, Reader


@dataclass(slots=True, kw_only=True)
class MetadataRequest(Message):
    API_KEY: ClassVar[int] = 3
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 13
    FLEXIBLE_FROM: ClassVar[int] = 9

    @dataclass(slots=True, kw_only=True)
    class MetadataRequestTopic(Struct):
        topic_id: bytes = ZERO_UUID
        name: str | None = ""

        def write(self, out: list[bytes], version: int) -> None:
            flexible = version >= 9
            if version >= 10:
                out.append(uuid(self.topic_id))
            if self.name is None and not (version >= 10):
                raise not_nullable("name", version)
            if flexible:
                write_compact_nullable_string(out, self.name)
            else:
                write_nullable_string(out, self.name)
            if flexible:
                out.append(b"\x00")

        @classmethod
        def read(cls, reader: Reader, version: int) -> MetadataRequest.MetadataRequestTopic:
            flexible = version >= 9
            topic_id: bytes = ZERO_UUID
            if version >= 10:
                topic_id = reader.uuid()
            name: str | None = (
                (reader.compact_nullable_string() if flexible else reader.nullable_string())
                if version >= 10
                else reader.compact_string() if flexible else reader.string()
            )
            if flexible:
                reader.skip_tagged_fields()
            return cls(
                topic_id=topic_id,
                name=name,
            )

    topics: list[MetadataRequest.MetadataRequestTopic] | None = field(default_factory=list)
    allow_auto_topic_creation: bool = True
    include_cluster_authorized_operations: bool = False
    include_topic_authorized_operations: bool = False

    def write(self, out: list[bytes], version: int) -> None:
        flexible = version >= 9
        if self.topics is None and not (version >= 1):
            raise not_nullable("topics", version)
        if self.topics is None:
            out.append(compact_array_length(-1) if flexible else array_length(-1))
        else:
            out.append(compact_array_length(len(self.topics)) if flexible else array_length(len(self.topics)))
            for topics_item in self.topics:
                topics_item.write(out, version)
        if version >= 4:
            out.append(boolean(self.allow_auto_topic_creation))
        elif not self.allow_auto_topic_creation:
            raise unsupported("allow_auto_topic_creation", version)
        if 8 <= version <= 10:
            out.append(boolean(self.include_cluster_authorized_operations))
        elif self.include_cluster_authorized_operations:
            raise unsupported("include_cluster_authorized_operations", version)
        if version >= 8:
            out.append(boolean(self.include_topic_authorized_operations))
        elif self.include_topic_authorized_operations:
            raise unsupported("include_topic_authorized_operations", version)
        if flexible:
            out.append(b"\x00")

    @classmethod
    def read(cls, reader: Reader, version: int) -> MetadataRequest:
        flexible = version >= 9
        length = (reader.compact_nullable_array_length() if flexible else reader.nullable_array_length()) if version >= 1 else (reader.compact_array_length() if flexible else reader.array_length())
        topics: list[MetadataRequest.MetadataRequestTopic] | None = None if length < 0 else [MetadataRequest.MetadataRequestTopic.read(reader, version) for _ in range(length)]
        allow_auto_topic_creation: bool = True
        if version >= 4:
            allow_auto_topic_creation = reader.boolean()
        include_cluster_authorized_operations: bool = False
        if 8 <= version <= 10:
            include_cluster_authorized_operations = reader.boolean()
        include_topic_authorized_operations: bool = False
        if version >= 8:
            include_topic_authorized_operations = reader.boolean()
        if flexible:
            reader.skip_tagged_fields()
        return cls(
            topics=topics,
            allow_auto_topic_creation=allow_auto_topic_creation,
            include_cluster_authorized_operations=include_cluster_authorized_operations,
            include_topic_authorized_operations=include_topic_authorized_operations,
        )


@dataclass(slots=True, kw_only=True)
class MetadataResponse(Message):
    API_KEY: ClassVar[int] = 3
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 13
    FLEXIBLE_FROM: ClassVar[int] = 9

    @dataclass(slots=True, kw_only=True)
    class MetadataResponseBroker(Struct):
        node_id: int = 0
        host: str = ""
        port: int = 0
        rack: str | None = None

        def write(self, out: list[bytes], version: int) -> None:
            flexible = version >= 9
            out.append(int32(self.node_id))
            if flexible:
                write_compact_string(out, self.host)
            else:
                write_string(out, self.host)
            out.append(int32(self.port))
            if version >= 1:
                if flexible:
                    write_compact_nullable_string(out, self.rack)
                else:
                    write_nullable_string(out, self.rack)
            if flexible:
                out.append(b"\x00")

        @classmethod
        def read(cls, reader: Reader, version: int) -> MetadataResponse.MetadataResponseBroker:
            flexible = version >= 9
            node_id: int = reader.int32()
            host: str = reader.compact_string() if flexible else reader.string()
            port: int = reader.int32()
            rack: str | None = None
            if version >= 1:
                rack = reader.compact_nullable_string() if flexible else reader.nullable_string()
            if flexible:
                reader.skip_tagged_fields()
            return cls(
                node_id=node_id,
                host=host,
                port=port,
                rack=rack,
            )

    @dataclass(slots=True, kw_only=True)
    class MetadataResponsePartition(Struct):
        error_code: int = 0
        partition_index: int = 0
        leader_id: int = 0
        leader_epoch: int = -1
        replica_nodes: list[int] = field(default_factory=list)
        isr_nodes: list[int] = field(default_factory=list)
        offline_replicas: list[int] = field(default_factory=list)

        def write(self, out: list[bytes], version: int) -> None:
            flexible = version >= 9
            out.append(int16(self.error_code))
            out.append(int32(self.partition_index))
            out.append(int32(self.leader_id))
            if version >= 7:
                out.append(int32(self.leader_epoch))
            out.append(compact_array_length(len(self.replica_nodes)) if flexible else array_length(len(self.replica_nodes)))
            out += map(int32, self.replica_nodes)
            out.append(compact_array_length(len(self.isr_nodes)) if flexible else array_length(len(self.isr_nodes)))
            out += map(int32, self.isr_nodes)
            if version >= 5:
                out.append(compact_array_length(len(self.offline_replicas)) if flexible else array_length(len(self.offline_replicas)))
                out += map(int32, self.offline_replicas)
            if flexible:
                out.append(b"\x00")

        @classmethod
        def read(cls, reader: Reader, version: int) -> MetadataResponse.MetadataResponsePartition:
            flexible = version >= 9
            error_code: int = reader.int16()
            partition_index: int = reader.int32()
            leader_id: int = reader.int32()
            leader_epoch: int = -1
            if version >= 7:
                leader_epoch = reader.int32()
            replica_nodes: list[int] = [reader.int32() for _ in range(reader.compact_array_length() if flexible else reader.array_length())]
            isr_nodes: list[int] = [reader.int32() for _ in range(reader.compact_array_length() if flexible else reader.array_length())]
            offline_replicas: list[int] = []
            if version >= 5:
                offline_replicas = [reader.int32() for _ in range(reader.compact_array_length() if flexible else reader.array_length())]
            if flexible:
                reader.skip_tagged_fields()
            return cls(
                error_code=error_code,
                partition_index=partition_index,
                leader_id=leader_id,
                leader_epoch=leader_epoch,
                replica_nodes=replica_nodes,
                isr_nodes=isr_nodes,
                offline_replicas=offline_replicas,
            )

    @dataclass(slots=True, kw_only=True)
    class MetadataResponseTopic(Struct):
        error_code: int = 0
        name: str | None = ""
        topic_id: bytes = ZERO_UUID
        is_internal: bool = False
        partitions: list[MetadataResponse.MetadataResponsePartition] = field(default_factory=list)
        topic_authorized_operations: int = -2147483648

        def write(self, out: list[bytes], version: int) -> None:
            flexible = version >= 9
            out.append(int16(self.error_code))
            if self.name is None and not (version >= 12):
                raise not_nullable("name", version)
            if flexible:
                write_compact_nullable_string(out, self.name)
            else:
                write_nullable_string(out, self.name)
            if version >= 10:
                out.append(uuid(self.topic_id))
            if version >= 1:
                out.append(boolean(self.is_internal))
            out.append(compact_array_length(len(self.partitions)) if flexible else array_length(len(self.partitions)))
            for partitions_item in self.partitions:
                partitions_item.write(out, version)
            if version >= 8:
                out.append(int32(self.topic_authorized_operations))
            elif self.topic_authorized_operations != -2147483648:
                raise unsupported("topic_authorized_operations", version)
            if flexible:
                out.append(b"\x00")

        @classmethod
        def read(cls, reader: Reader, version: int) -> MetadataResponse.MetadataResponseTopic:
            flexible = version >= 9
            error_code: int = reader.int16()
            name: str | None = (
                (reader.compact_nullable_string() if flexible else reader.nullable_string())
                if version >= 12
                else reader.compact_string() if flexible else reader.string()
            )
            topic_id: bytes = ZERO_UUID
            if version >= 10:
                topic_id = reader.uuid()
            is_internal: bool = False
            if version >= 1:
                is_internal = reader.boolean()
            partitions: list[MetadataResponse.MetadataResponsePartition] = [MetadataResponse.MetadataResponsePartition.read(reader, version) for _ in range(reader.compact_array_length() if flexible else reader.array_length())]
            topic_authorized_operations: int = -2147483648
            if version >= 8:
                topic_authorized_operations = reader.int32()
            if flexible:
                reader.skip_tagged_fields()
            return cls(
                error_code=error_code,
                name=name,
                topic_id=topic_id,
                is_internal=is_internal,
                partitions=partitions,
                topic_authorized_operations=topic_authorized_operations,
            )

    throttle_time_ms: int = 0
    brokers: list[MetadataResponse.MetadataResponseBroker] = field(default_factory=list)
    cluster_id: str | None = None
    controller_id: int = -1
    topics: list[MetadataResponse.MetadataResponseTopic] = field(default_factory=list)
    cluster_authorized_operations: int = -2147483648
    error_code: int = 0

    def write(self, out: list[bytes], version: int) -> None:
        flexible = version >= 9
        if version >= 3:
            out.append(int32(self.throttle_time_ms))
        out.append(compact_array_length(len(self.brokers)) if flexible else array_length(len(self.brokers)))
        for brokers_item in self.brokers:
            brokers_item.write(out, version)
        if version >= 2:
            if flexible:
                write_compact_nullable_string(out, self.cluster_id)
            else:
                write_nullable_string(out, self.cluster_id)
        if version >= 1:
            out.append(int32(self.controller_id))
        out.append(compact_array_length(len(self.topics)) if flexible else array_length(len(self.topics)))
        for topics_item in self.topics:
            topics_item.write(out, version)
        if 8 <= version <= 10:
            out.append(int32(self.cluster_authorized_operations))
        elif self.cluster_authorized_operations != -2147483648:
            raise unsupported("cluster_authorized_operations", version)
        if version >= 13:
            out.append(int16(self.error_code))
        if flexible:
            out.append(b"\x00")

    @classmethod
    def read(cls, reader: Reader, version: int) -> MetadataResponse:
        flexible = version >= 9
        throttle_time_ms: int = 0
        if version >= 3:
            throttle_time_ms = reader.int32()
        brokers: list[MetadataResponse.MetadataResponseBroker] = [MetadataResponse.MetadataResponseBroker.read(reader, version) for _ in range(reader.compact_array_length() if flexible else reader.array_length())]
        cluster_id: str | None = None
        if version >= 2:
            cluster_id = reader.compact_nullable_string() if flexible else reader.nullable_string()
        controller_id: int = -1
        if version >= 1:
            controller_id = reader.int32()
        topics: list[MetadataResponse.MetadataResponseTopic] = [MetadataResponse.MetadataResponseTopic.read(reader, version) for _ in range(reader.compact_array_length() if flexible else reader.array_length())]
        cluster_authorized_operations: int = -2147483648
        if 8 <= version <= 10:
            cluster_authorized_operations = reader.int32()
        error_code: int = 0
        if version >= 13:
            error_code = reader.int16()
        if flexible:
            reader.skip_tagged_fields()
        return cls(
            throttle_time_ms=throttle_time_ms,
            brokers=brokers,
            cluster_id=cluster_id,
            controller_id=controller_id,
            topics=topics,
            cluster_authorized_operations=cluster_authorized_operations,
            error_code=error_code,
        )
