"""Produce (0), v3-v13.

Generated from kafka-clients 4.2.0 by libs/kafka/codegen; do not edit.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

from korvet.kafka.message import Message, Struct, unsupported
from korvet.kafka.primitives import ZERO_UUID, int16, int32, int64, uuid, write_string, write_nullable_string, write_compact_string, write_compact_nullable_string, write_nullable_data, write_compact_nullable_data, array_length, compact_array_length, write_tagged_fields, Reader


@dataclass(slots=True, kw_only=True)
class ProduceRequest(Message):
    API_KEY: ClassVar[int] = 0
    MIN_VERSION: ClassVar[int] = 3
    MAX_VERSION: ClassVar[int] = 13
    FLEXIBLE_FROM: ClassVar[int] = 9

    @dataclass(slots=True, kw_only=True)
    class PartitionProduceData(Struct):
        index: int = 0
        records: bytes | None = field(default=None, repr=False)

        def write(self, out: list[bytes], version: int) -> None:
            flexible = version >= 9
            out.append(int32(self.index))
            if flexible:
                write_compact_nullable_data(out, self.records)
            else:
                write_nullable_data(out, self.records)
            if flexible:
                out.append(b"\x00")

        @classmethod
        def read(cls, reader: Reader, version: int) -> ProduceRequest.PartitionProduceData:
            flexible = version >= 9
            index: int = reader.int32()
            records: bytes | None = reader.compact_nullable_data() if flexible else reader.nullable_data()
            if flexible:
                reader.skip_tagged_fields()
            return cls(
                index=index,
                records=records,
            )

    @dataclass(slots=True, kw_only=True)
    class TopicProduceData(Struct):
        name: str = ""
        topic_id: bytes = ZERO_UUID
        partition_data: list[ProduceRequest.PartitionProduceData] = field(default_factory=list)

        def write(self, out: list[bytes], version: int) -> None:
            flexible = version >= 9
            if version <= 12:
                if flexible:
                    write_compact_string(out, self.name)
                else:
                    write_string(out, self.name)
            if version >= 13:
                out.append(uuid(self.topic_id))
            out.append(compact_array_length(len(self.partition_data)) if flexible else array_length(len(self.partition_data)))
            for partition_data_item in self.partition_data:
                partition_data_item.write(out, version)
            if flexible:
                out.append(b"\x00")

        @classmethod
        def read(cls, reader: Reader, version: int) -> ProduceRequest.TopicProduceData:
            flexible = version >= 9
            name: str = ""
            if version <= 12:
                name = reader.compact_string() if flexible else reader.string()
            topic_id: bytes = ZERO_UUID
            if version >= 13:
                topic_id = reader.uuid()
            partition_data: list[ProduceRequest.PartitionProduceData] = [ProduceRequest.PartitionProduceData.read(reader, version) for _ in range(reader.compact_array_length() if flexible else reader.array_length())]
            if flexible:
                reader.skip_tagged_fields()
            return cls(
                name=name,
                topic_id=topic_id,
                partition_data=partition_data,
            )

    transactional_id: str | None = None
    acks: int = 0
    timeout_ms: int = 0
    topic_data: list[ProduceRequest.TopicProduceData] = field(default_factory=list)

    def write(self, out: list[bytes], version: int) -> None:
        flexible = version >= 9
        if flexible:
            write_compact_nullable_string(out, self.transactional_id)
        else:
            write_nullable_string(out, self.transactional_id)
        out.append(int16(self.acks))
        out.append(int32(self.timeout_ms))
        out.append(compact_array_length(len(self.topic_data)) if flexible else array_length(len(self.topic_data)))
        for topic_data_item in self.topic_data:
            topic_data_item.write(out, version)
        if flexible:
            out.append(b"\x00")

    @classmethod
    def read(cls, reader: Reader, version: int) -> ProduceRequest:
        flexible = version >= 9
        transactional_id: str | None = reader.compact_nullable_string() if flexible else reader.nullable_string()
        acks: int = reader.int16()
        timeout_ms: int = reader.int32()
        topic_data: list[ProduceRequest.TopicProduceData] = [ProduceRequest.TopicProduceData.read(reader, version) for _ in range(reader.compact_array_length() if flexible else reader.array_length())]
        if flexible:
            reader.skip_tagged_fields()
        return cls(
            transactional_id=transactional_id,
            acks=acks,
            timeout_ms=timeout_ms,
            topic_data=topic_data,
        )


@dataclass(slots=True, kw_only=True)
class ProduceResponse(Message):
    API_KEY: ClassVar[int] = 0
    MIN_VERSION: ClassVar[int] = 3
    MAX_VERSION: ClassVar[int] = 13
    FLEXIBLE_FROM: ClassVar[int] = 9

    @dataclass(slots=True, kw_only=True)
    class BatchIndexAndErrorMessage(Struct):
        batch_index: int = 0
        batch_index_error_message: str | None = None

        def write(self, out: list[bytes], version: int) -> None:
            flexible = version >= 9
            out.append(int32(self.batch_index))
            if flexible:
                write_compact_nullable_string(out, self.batch_index_error_message)
            else:
                write_nullable_string(out, self.batch_index_error_message)
            if flexible:
                out.append(b"\x00")

        @classmethod
        def read(cls, reader: Reader, version: int) -> ProduceResponse.BatchIndexAndErrorMessage:
            flexible = version >= 9
            batch_index: int = reader.int32()
            batch_index_error_message: str | None = reader.compact_nullable_string() if flexible else reader.nullable_string()
            if flexible:
                reader.skip_tagged_fields()
            return cls(
                batch_index=batch_index,
                batch_index_error_message=batch_index_error_message,
            )

    @dataclass(slots=True, kw_only=True)
    class LeaderIdAndEpoch(Struct):
        leader_id: int = -1
        leader_epoch: int = -1

        def write(self, out: list[bytes], version: int) -> None:
            out.append(int32(self.leader_id))
            out.append(int32(self.leader_epoch))
            out.append(b"\x00")

        @classmethod
        def read(cls, reader: Reader, version: int) -> ProduceResponse.LeaderIdAndEpoch:
            leader_id: int = reader.int32()
            leader_epoch: int = reader.int32()
            reader.skip_tagged_fields()
            return cls(
                leader_id=leader_id,
                leader_epoch=leader_epoch,
            )

    @dataclass(slots=True, kw_only=True)
    class PartitionProduceResponse(Struct):
        index: int = 0
        error_code: int = 0
        base_offset: int = 0
        log_append_time_ms: int = -1
        log_start_offset: int = -1
        record_errors: list[ProduceResponse.BatchIndexAndErrorMessage] = field(default_factory=list)
        error_message: str | None = None
        current_leader: ProduceResponse.LeaderIdAndEpoch = field(default_factory=lambda: ProduceResponse.LeaderIdAndEpoch())

        def write(self, out: list[bytes], version: int) -> None:
            flexible = version >= 9
            out.append(int32(self.index))
            out.append(int16(self.error_code))
            out.append(int64(self.base_offset))
            out.append(int64(self.log_append_time_ms))
            if version >= 5:
                out.append(int64(self.log_start_offset))
            if version >= 8:
                out.append(compact_array_length(len(self.record_errors)) if flexible else array_length(len(self.record_errors)))
                for record_errors_item in self.record_errors:
                    record_errors_item.write(out, version)
            if version >= 8:
                if flexible:
                    write_compact_nullable_string(out, self.error_message)
                else:
                    write_nullable_string(out, self.error_message)
            tags: list[tuple[int, list[bytes]]] = []
            if version >= 10:
                if self.current_leader != _DEFAULT_LEADER_ID_AND_EPOCH:
                    current_leader: list[bytes] = []
                    self.current_leader.write(current_leader, version)
                    tags.append((0, current_leader))
            elif self.current_leader != _DEFAULT_LEADER_ID_AND_EPOCH:
                raise unsupported("current_leader", version)
            if flexible:
                write_tagged_fields(out, tags)

        @classmethod
        def read(cls, reader: Reader, version: int) -> ProduceResponse.PartitionProduceResponse:
            flexible = version >= 9
            index: int = reader.int32()
            error_code: int = reader.int16()
            base_offset: int = reader.int64()
            log_append_time_ms: int = reader.int64()
            log_start_offset: int = -1
            if version >= 5:
                log_start_offset = reader.int64()
            record_errors: list[ProduceResponse.BatchIndexAndErrorMessage] = []
            if version >= 8:
                record_errors = [ProduceResponse.BatchIndexAndErrorMessage.read(reader, version) for _ in range(reader.compact_array_length() if flexible else reader.array_length())]
            error_message: str | None = None
            if version >= 8:
                error_message = reader.compact_nullable_string() if flexible else reader.nullable_string()
            current_leader: ProduceResponse.LeaderIdAndEpoch = ProduceResponse.LeaderIdAndEpoch()
            if flexible:
                for _ in range(reader.unsigned_varint()):
                    tag, end = reader.tagged_field()
                    if tag == 0 and version >= 10:
                        current_leader = ProduceResponse.LeaderIdAndEpoch.read(reader, version)
                        reader.end_tagged_field(end)
                    else:
                        reader.position = end
            return cls(
                index=index,
                error_code=error_code,
                base_offset=base_offset,
                log_append_time_ms=log_append_time_ms,
                log_start_offset=log_start_offset,
                record_errors=record_errors,
                error_message=error_message,
                current_leader=current_leader,
            )

    @dataclass(slots=True, kw_only=True)
    class TopicProduceResponse(Struct):
        name: str = ""
        topic_id: bytes = ZERO_UUID
        partition_responses: list[ProduceResponse.PartitionProduceResponse] = field(default_factory=list)

        def write(self, out: list[bytes], version: int) -> None:
            flexible = version >= 9
            if version <= 12:
                if flexible:
                    write_compact_string(out, self.name)
                else:
                    write_string(out, self.name)
            if version >= 13:
                out.append(uuid(self.topic_id))
            out.append(compact_array_length(len(self.partition_responses)) if flexible else array_length(len(self.partition_responses)))
            for partition_responses_item in self.partition_responses:
                partition_responses_item.write(out, version)
            if flexible:
                out.append(b"\x00")

        @classmethod
        def read(cls, reader: Reader, version: int) -> ProduceResponse.TopicProduceResponse:
            flexible = version >= 9
            name: str = ""
            if version <= 12:
                name = reader.compact_string() if flexible else reader.string()
            topic_id: bytes = ZERO_UUID
            if version >= 13:
                topic_id = reader.uuid()
            partition_responses: list[ProduceResponse.PartitionProduceResponse] = [ProduceResponse.PartitionProduceResponse.read(reader, version) for _ in range(reader.compact_array_length() if flexible else reader.array_length())]
            if flexible:
                reader.skip_tagged_fields()
            return cls(
                name=name,
                topic_id=topic_id,
                partition_responses=partition_responses,
            )

    @dataclass(slots=True, kw_only=True)
    class NodeEndpoint(Struct):
        node_id: int = 0
        host: str = ""
        port: int = 0
        rack: str | None = None

        def write(self, out: list[bytes], version: int) -> None:
            out.append(int32(self.node_id))
            write_compact_string(out, self.host)
            out.append(int32(self.port))
            write_compact_nullable_string(out, self.rack)
            out.append(b"\x00")

        @classmethod
        def read(cls, reader: Reader, version: int) -> ProduceResponse.NodeEndpoint:
            node_id: int = reader.int32()
            host: str = reader.compact_string()
            port: int = reader.int32()
            rack: str | None = reader.compact_nullable_string()
            reader.skip_tagged_fields()
            return cls(
                node_id=node_id,
                host=host,
                port=port,
                rack=rack,
            )

    responses: list[ProduceResponse.TopicProduceResponse] = field(default_factory=list)
    throttle_time_ms: int = 0
    node_endpoints: list[ProduceResponse.NodeEndpoint] = field(default_factory=list)

    def write(self, out: list[bytes], version: int) -> None:
        flexible = version >= 9
        out.append(compact_array_length(len(self.responses)) if flexible else array_length(len(self.responses)))
        for responses_item in self.responses:
            responses_item.write(out, version)
        out.append(int32(self.throttle_time_ms))
        tags: list[tuple[int, list[bytes]]] = []
        if version >= 10:
            if self.node_endpoints:
                node_endpoints: list[bytes] = []
                node_endpoints.append(compact_array_length(len(self.node_endpoints)))
                for node_endpoints_item in self.node_endpoints:
                    node_endpoints_item.write(node_endpoints, version)
                tags.append((0, node_endpoints))
        elif self.node_endpoints:
            raise unsupported("node_endpoints", version)
        if flexible:
            write_tagged_fields(out, tags)

    @classmethod
    def read(cls, reader: Reader, version: int) -> ProduceResponse:
        flexible = version >= 9
        responses: list[ProduceResponse.TopicProduceResponse] = [ProduceResponse.TopicProduceResponse.read(reader, version) for _ in range(reader.compact_array_length() if flexible else reader.array_length())]
        throttle_time_ms: int = reader.int32()
        node_endpoints: list[ProduceResponse.NodeEndpoint] = []
        if flexible:
            for _ in range(reader.unsigned_varint()):
                tag, end = reader.tagged_field()
                if tag == 0 and version >= 10:
                    node_endpoints = [ProduceResponse.NodeEndpoint.read(reader, version) for _ in range(reader.compact_array_length())]
                    reader.end_tagged_field(end)
                else:
                    reader.position = end
        return cls(
            responses=responses,
            throttle_time_ms=throttle_time_ms,
            node_endpoints=node_endpoints,
        )


_DEFAULT_LEADER_ID_AND_EPOCH = ProduceResponse.LeaderIdAndEpoch()
