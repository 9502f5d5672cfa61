"""DescribeCluster (60), v0-v2.

Generated from kafka-clients 4.2.0 by libs/kafka/codegen; do not edit.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

from korvet.kafka.message import Message, Struct, unsupported
from korvet.kafka.primitives import int8, int16, int32, boolean, write_compact_string, write_compact_nullable_string, compact_array_length, Reader


@dataclass(slots=True, kw_only=True)
class DescribeClusterRequest(Message):
    API_KEY: ClassVar[int] = 60
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 2
    FLEXIBLE_FROM: ClassVar[int] = 0

    include_cluster_authorized_operations: bool = False
    endpoint_type: int = 1
    include_fenced_brokers: bool = False

    def write(self, out: list[bytes], version: int) -> None:
        out.append(boolean(self.include_cluster_authorized_operations))
        if version >= 1:
            out.append(int8(self.endpoint_type))
        elif self.endpoint_type != 1:
            raise unsupported("endpoint_type", version)
        if version >= 2:
            out.append(boolean(self.include_fenced_brokers))
        elif self.include_fenced_brokers:
            raise unsupported("include_fenced_brokers", version)
        out.append(b"\x00")

    @classmethod
    def read(cls, reader: Reader, version: int) -> DescribeClusterRequest:
        include_cluster_authorized_operations: bool = reader.boolean()
        endpoint_type: int = 1
        if version >= 1:
            endpoint_type = reader.int8()
        include_fenced_brokers: bool = False
        if version >= 2:
            include_fenced_brokers = reader.boolean()
        reader.skip_tagged_fields()
        return cls(
            include_cluster_authorized_operations=include_cluster_authorized_operations,
            endpoint_type=endpoint_type,
            include_fenced_brokers=include_fenced_brokers,
        )


@dataclass(slots=True, kw_only=True)
class DescribeClusterResponse(Message):
    API_KEY: ClassVar[int] = 60
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 2
    FLEXIBLE_FROM: ClassVar[int] = 0

    @dataclass(slots=True, kw_only=True)
    class DescribeClusterBroker(Struct):
        broker_id: int = 0
        host: str = ""
        port: int = 0
        rack: str | None = None
        is_fenced: bool = False

        def write(self, out: list[bytes], version: int) -> None:
            out.append(int32(self.broker_id))
            write_compact_string(out, self.host)
            out.append(int32(self.port))
            write_compact_nullable_string(out, self.rack)
            if version >= 2:
                out.append(boolean(self.is_fenced))
            elif self.is_fenced:
                raise unsupported("is_fenced", version)
            out.append(b"\x00")

        @classmethod
        def read(cls, reader: Reader, version: int) -> DescribeClusterResponse.DescribeClusterBroker:
            broker_id: int = reader.int32()
            host: str = reader.compact_string()
            port: int = reader.int32()
            rack: str | None = reader.compact_nullable_string()
            is_fenced: bool = False
            if version >= 2:
                is_fenced = reader.boolean()
            reader.skip_tagged_fields()
            return cls(
                broker_id=broker_id,
                host=host,
                port=port,
                rack=rack,
                is_fenced=is_fenced,
            )

    throttle_time_ms: int = 0
    error_code: int = 0
    error_message: str | None = None
    endpoint_type: int = 1
    cluster_id: str = ""
    controller_id: int = -1
    brokers: list[DescribeClusterResponse.DescribeClusterBroker] = field(default_factory=list)
    cluster_authorized_operations: int = -2147483648

    def write(self, out: list[bytes], version: int) -> None:
        out.append(int32(self.throttle_time_ms))
        out.append(int16(self.error_code))
        write_compact_nullable_string(out, self.error_message)
        if version >= 1:
            out.append(int8(self.endpoint_type))
        elif self.endpoint_type != 1:
            raise unsupported("endpoint_type", version)
        write_compact_string(out, self.cluster_id)
        out.append(int32(self.controller_id))
        out.append(compact_array_length(len(self.brokers)))
        for brokers_item in self.brokers:
            brokers_item.write(out, version)
        out.append(int32(self.cluster_authorized_operations))
        out.append(b"\x00")

    @classmethod
    def read(cls, reader: Reader, version: int) -> DescribeClusterResponse:
        throttle_time_ms: int = reader.int32()
        error_code: int = reader.int16()
        error_message: str | None = reader.compact_nullable_string()
        endpoint_type: int = 1
        if version >= 1:
            endpoint_type = reader.int8()
        cluster_id: str = reader.compact_string()
        controller_id: int = reader.int32()
        brokers: list[DescribeClusterResponse.DescribeClusterBroker] = [DescribeClusterResponse.DescribeClusterBroker.read(reader, version) for _ in range(reader.compact_array_length())]
        cluster_authorized_operations: int = reader.int32()
        reader.skip_tagged_fields()
        return cls(
            throttle_time_ms=throttle_time_ms,
            error_code=error_code,
            error_message=error_message,
            endpoint_type=endpoint_type,
            cluster_id=cluster_id,
            controller_id=controller_id,
            brokers=brokers,
            cluster_authorized_operations=cluster_authorized_operations,
        )
