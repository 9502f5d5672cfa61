"""Fetch (1), v4-v18.

Generated from kafka-clients 4.2.0 by libs/kafka/codegen; do not edit.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

from korvet.kafka.message import Message, Struct, unsupported
from korvet.kafka.primitives import ZERO_UUID, int8, int16, int32, int64, uuid, write_string, write_compact_string, write_compact_nullable_string, write_nullable_data, write_compact_nullable_data, array_length, compact_array_length, write_tagged_fields, Reader


@dataclass(slots=True, kw_only=True)
class FetchRequest(Message):
    API_KEY: ClassVar[int] = 1
    MIN_VERSION: ClassVar[int] = 4
    MAX_VERSION: ClassVar[int] = 18
    FLEXIBLE_FROM: ClassVar[int] = 12

    @dataclass(slots=True, kw_only=True)
    class ReplicaState(Struct):
        replica_id: int = -1
        replica_epoch: int = -1

        def write(self, out: list[bytes], version: int) -> None:
            out.append(int32(self.replica_id))
            out.append(int64(self.replica_epoch))
            out.append(b"\x00")

        @classmethod
        def read(cls, reader: Reader, version: int) -> FetchRequest.ReplicaState:
            replica_id: int = reader.int32()
            replica_epoch: int = reader.int64()
            reader.skip_tagged_fields()
            return cls(
                replica_id=replica_id,
                replica_epoch=replica_epoch,
            )

    @dataclass(slots=True, kw_only=True)
    class FetchPartition(Struct):
        partition: int = 0
        current_leader_epoch: int = -1
        fetch_offset: int = 0
        last_fetched_epoch: int = -1
        log_start_offset: int = -1
        partition_max_bytes: int = 0
        replica_directory_id: bytes = ZERO_UUID
        high_watermark: int = 9223372036854775807

        def write(self, out: list[bytes], version: int) -> None:
            flexible = version >= 12
            out.append(int32(self.partition))
            if version >= 9:
                out.append(int32(self.current_leader_epoch))
            out.append(int64(self.fetch_offset))
            if version >= 12:
                out.append(int32(self.last_fetched_epoch))
            elif self.last_fetched_epoch != -1:
                raise unsupported("last_fetched_epoch", version)
            if version >= 5:
                out.append(int64(self.log_start_offset))
            out.append(int32(self.partition_max_bytes))
            tags: list[tuple[int, list[bytes]]] = []
            if version >= 17:
                if self.replica_directory_id != ZERO_UUID:
                    replica_directory_id: list[bytes] = []
                    replica_directory_id.append(uuid(self.replica_directory_id))
                    tags.append((0, replica_directory_id))
            if version >= 18:
                if self.high_watermark != 9223372036854775807:
                    high_watermark: list[bytes] = []
                    high_watermark.append(int64(self.high_watermark))
                    tags.append((1, high_watermark))
            if flexible:
                write_tagged_fields(out, tags)

        @classmethod
        def read(cls, reader: Reader, version: int) -> FetchRequest.FetchPartition:
            flexible = version >= 12
            partition: int = reader.int32()
            current_leader_epoch: int = -1
            if version >= 9:
                current_leader_epoch = reader.int32()
            fetch_offset: int = reader.int64()
            last_fetched_epoch: int = -1
            if version >= 12:
                last_fetched_epoch = reader.int32()
            log_start_offset: int = -1
            if version >= 5:
                log_start_offset = reader.int64()
            partition_max_bytes: int = reader.int32()
            replica_directory_id: bytes = ZERO_UUID
            high_watermark: int = 9223372036854775807
            if flexible:
                for _ in range(reader.unsigned_varint()):
                    tag, end = reader.tagged_field()
                    if tag == 0 and version >= 17:
                        replica_directory_id = reader.uuid()
                        reader.end_tagged_field(end)
                    elif tag == 1 and version >= 18:
                        high_watermark = reader.int64()
                        reader.end_tagged_field(end)
                    else:
                        reader.position = end
            return cls(
                partition=partition,
                current_leader_epoch=current_leader_epoch,
                fetch_offset=fetch_offset,
                last_fetched_epoch=last_fetched_epoch,
                log_start_offset=log_start_offset,
                partition_max_bytes=partition_max_bytes,
                replica_directory_id=replica_directory_id,
                high_watermark=high_watermark,
            )

    @dataclass(slots=True, kw_only=True)
    class FetchTopic(Struct):
        topic: str = ""
        topic_id: bytes = ZERO_UUID
        partitions: list[FetchRequest.FetchPartition] = field(default_factory=list)

        def write(self, out: list[bytes], version: int) -> None:
            flexible = version >= 12
            if version <= 12:
                if flexible:
                    write_compact_string(out, self.topic)
                else:
                    write_string(out, self.topic)
            if version >= 13:
                out.append(uuid(self.topic_id))
            out.append(compact_array_length(len(self.partitions)) if flexible else array_length(len(self.partitions)))
            for partitions_item in self.partitions:
                partitions_item.write(out, version)
            if flexible:
                out.append(b"\x00")

        @classmethod
        def read(cls, reader: Reader, version: int) -> FetchRequest.FetchTopic:
            flexible = version >= 12
            topic: str = ""
            if version <= 12:
                topic = reader.compact_string() if flexible else reader.string()
            topic_id: bytes = ZERO_UUID
            if version >= 13:
                topic_id = reader.uuid()
            partitions: list[FetchRequest.FetchPartition] = [FetchRequest.FetchPartition.read(reader, version) for _ in range(reader.compact_array_length() if flexible else reader.array_length())]
            if flexible:
                reader.skip_tagged_fields()
            return cls(
                topic=topic,
                topic_id=topic_id,
                partitions=partitions,
            )

    @dataclass(slots=True, kw_only=True)
    class ForgottenTopic(Struct):
        topic: str = ""
        topic_id: bytes = ZERO_UUID
        partitions: list[int] = field(default_factory=list)

        def write(self, out: list[bytes], version: int) -> None:
            flexible = version >= 12
            if version <= 12:
                if flexible:
                    write_compact_string(out, self.topic)
                else:
                    write_string(out, self.topic)
            if version >= 13:
                out.append(uuid(self.topic_id))
            out.append(compact_array_length(len(self.partitions)) if flexible else array_length(len(self.partitions)))
            out += map(int32, self.partitions)
            if flexible:
                out.append(b"\x00")

        @classmethod
        def read(cls, reader: Reader, version: int) -> FetchRequest.ForgottenTopic:
            flexible = version >= 12
            topic: str = ""
            if version <= 12:
                topic = reader.compact_string() if flexible else reader.string()
            topic_id: bytes = ZERO_UUID
            if version >= 13:
                topic_id = reader.uuid()
            partitions: list[int] = [reader.int32() for _ in range(reader.compact_array_length() if flexible else reader.array_length())]
            if flexible:
                reader.skip_tagged_fields()
            return cls(
                topic=topic,
                topic_id=topic_id,
                partitions=partitions,
            )

    cluster_id: str | None = None
    replica_id: int = -1
    replica_state: FetchRequest.ReplicaState = field(default_factory=lambda: FetchRequest.ReplicaState())
    max_wait_ms: int = 0
    min_bytes: int = 0
    max_bytes: int = 2147483647
    isolation_level: int = 0
    session_id: int = 0
    session_epoch: int = -1
    topics: list[FetchRequest.FetchTopic] = field(default_factory=list)
    forgotten_topics_data: list[FetchRequest.ForgottenTopic] = field(default_factory=list)
    rack_id: str = ""

    def write(self, out: list[bytes], version: int) -> None:
        flexible = version >= 12
        if version <= 14:
            out.append(int32(self.replica_id))
        elif self.replica_id != -1:
            raise unsupported("replica_id", version)
        out.append(int32(self.max_wait_ms))
        out.append(int32(self.min_bytes))
        out.append(int32(self.max_bytes))
        out.append(int8(self.isolation_level))
        if version >= 7:
            out.append(int32(self.session_id))
        if version >= 7:
            out.append(int32(self.session_epoch))
        out.append(compact_array_length(len(self.topics)) if flexible else array_length(len(self.topics)))
        for topics_item in self.topics:
            topics_item.write(out, version)
        if version >= 7:
            out.append(compact_array_length(len(self.forgotten_topics_data)) if flexible else array_length(len(self.forgotten_topics_data)))
            for forgotten_topics_data_item in self.forgotten_topics_data:
                forgotten_topics_data_item.write(out, version)
        elif self.forgotten_topics_data:
            raise unsupported("forgotten_topics_data", version)
        if version >= 11:
            if flexible:
                write_compact_string(out, self.rack_id)
            else:
                write_string(out, self.rack_id)
        tags: list[tuple[int, list[bytes]]] = []
        if version >= 12:
            if self.cluster_id is not None:
                cluster_id: list[bytes] = []
                write_compact_nullable_string(cluster_id, self.cluster_id)
                tags.append((0, cluster_id))
        if version >= 15:
            if self.replica_state != _DEFAULT_REPLICA_STATE:
                replica_state: list[bytes] = []
                self.replica_state.write(replica_state, version)
                tags.append((1, replica_state))
        elif self.replica_state != _DEFAULT_REPLICA_STATE:
            raise unsupported("replica_state", version)
        if flexible:
            write_tagged_fields(out, tags)

    @classmethod
    def read(cls, reader: Reader, version: int) -> FetchRequest:
        flexible = version >= 12
        replica_id: int = -1
        if version <= 14:
            replica_id = reader.int32()
        max_wait_ms: int = reader.int32()
        min_bytes: int = reader.int32()
        max_bytes: int = reader.int32()
        isolation_level: int = reader.int8()
        session_id: int = 0
        if version >= 7:
            session_id = reader.int32()
        session_epoch: int = -1
        if version >= 7:
            session_epoch = reader.int32()
        topics: list[FetchRequest.FetchTopic] = [FetchRequest.FetchTopic.read(reader, version) for _ in range(reader.compact_array_length() if flexible else reader.array_length())]
        forgotten_topics_data: list[FetchRequest.ForgottenTopic] = []
        if version >= 7:
            forgotten_topics_data = [FetchRequest.ForgottenTopic.read(reader, version) for _ in range(reader.compact_array_length() if flexible else reader.array_length())]
        rack_id: str = ""
        if version >= 11:
            rack_id = reader.compact_string() if flexible else reader.string()
        cluster_id: str | None = None
        replica_state: FetchRequest.ReplicaState = FetchRequest.ReplicaState()
        if flexible:
            for _ in range(reader.unsigned_varint()):
                tag, end = reader.tagged_field()
                if tag == 0 and version >= 12:
                    cluster_id = reader.compact_nullable_string()
                    reader.end_tagged_field(end)
                elif tag == 1 and version >= 15:
                    replica_state = FetchRequest.ReplicaState.read(reader, version)
                    reader.end_tagged_field(end)
                else:
                    reader.position = end
        return cls(
            cluster_id=cluster_id,
            replica_id=replica_id,
            replica_state=replica_state,
            max_wait_ms=max_wait_ms,
            min_bytes=min_bytes,
            max_bytes=max_bytes,
            isolation_level=isolation_level,
            session_id=session_id,
            session_epoch=session_epoch,
            topics=topics,
            forgotten_topics_data=forgotten_topics_data,
            rack_id=rack_id,
        )


_DEFAULT_REPLICA_STATE = FetchRequest.ReplicaState()


@dataclass(slots=True, kw_only=True)
class FetchResponse(Message):
    API_KEY: ClassVar[int] = 1
    MIN_VERSION: ClassVar[int] = 4
    MAX_VERSION: ClassVar[int] = 18
    FLEXIBLE_FROM: ClassVar[int] = 12

    @dataclass(slots=True, kw_only=True)
    class EpochEndOffset(Struct):
        epoch: int = -1
        end_offset: int = -1

        def write(self, out: list[bytes], version: int) -> None:
            out.append(int32(self.epoch))
            out.append(int64(self.end_offset))
            out.append(b"\x00")

        @classmethod
        def read(cls, reader: Reader, version: int) -> FetchResponse.EpochEndOffset:
            epoch: int = reader.int32()
            end_offset: int = reader.int64()
            reader.skip_tagged_fields()
            return cls(
                epoch=epoch,
                end_offset=end_offset,
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
        def read(cls, reader: Reader, version: int) -> FetchResponse.LeaderIdAndEpoch:
            leader_id: int = reader.int32()
            leader_epoch: int = reader.int32()
            reader.skip_tagged_fields()
            return cls(
                leader_id=leader_id,
                leader_epoch=leader_epoch,
            )

    @dataclass(slots=True, kw_only=True)
    class SnapshotId(Struct):
        end_offset: int = -1
        epoch: int = -1

        def write(self, out: list[bytes], version: int) -> None:
            out.append(int64(self.end_offset))
            out.append(int32(self.epoch))
            out.append(b"\x00")

        @classmethod
        def read(cls, reader: Reader, version: int) -> FetchResponse.SnapshotId:
            end_offset: int = reader.int64()
            epoch: int = reader.int32()
            reader.skip_tagged_fields()
            return cls(
                end_offset=end_offset,
                epoch=epoch,
            )

    @dataclass(slots=True, kw_only=True)
    class AbortedTransaction(Struct):
        producer_id: int = 0
        first_offset: int = 0

        def write(self, out: list[bytes], version: int) -> None:
            flexible = version >= 12
            out.append(int64(self.producer_id))
            out.append(int64(self.first_offset))
            if flexible:
                out.append(b"\x00")

        @classmethod
        def read(cls, reader: Reader, version: int) -> FetchResponse.AbortedTransaction:
            flexible = version >= 12
            producer_id: int = reader.int64()
            first_offset: int = reader.int64()
            if flexible:
                reader.skip_tagged_fields()
            return cls(
                producer_id=producer_id,
                first_offset=first_offset,
            )

    @dataclass(slots=True, kw_only=True)
    class PartitionData(Struct):
        partition_index: int = 0
        error_code: int = 0
        high_watermark: int = 0
        last_stable_offset: int = -1
        log_start_offset: int = -1
        diverging_epoch: FetchResponse.EpochEndOffset = field(default_factory=lambda: FetchResponse.EpochEndOffset())
        current_leader: FetchResponse.LeaderIdAndEpoch = field(default_factory=lambda: FetchResponse.LeaderIdAndEpoch())
        snapshot_id: FetchResponse.SnapshotId = field(default_factory=lambda: FetchResponse.SnapshotId())
        aborted_transactions: list[FetchResponse.AbortedTransaction] | None = field(default_factory=list)
        preferred_read_replica: int = -1
        records: bytes | None = field(default=None, repr=False)

        def write(self, out: list[bytes], version: int) -> None:
            flexible = version >= 12
            out.append(int32(self.partition_index))
            out.append(int16(self.error_code))
            out.append(int64(self.high_watermark))
            out.append(int64(self.last_stable_offset))
            if version >= 5:
                out.append(int64(self.log_start_offset))
            if self.aborted_transactions is None:
                out.append(compact_array_length(-1) if flexible else array_length(-1))
            else:
                out.append(compact_array_length(len(self.aborted_transactions)) if flexible else array_length(len(self.aborted_transactions)))
                for aborted_transactions_item in self.aborted_transactions:
                    aborted_transactions_item.write(out, version)
            if version >= 11:
                out.append(int32(self.preferred_read_replica))
            elif self.preferred_read_replica != -1:
                raise unsupported("preferred_read_replica", version)
            if flexible:
                write_compact_nullable_data(out, self.records)
            else:
                write_nullable_data(out, self.records)
            tags: list[tuple[int, list[bytes]]] = []
            if version >= 12:
                if self.diverging_epoch != _DEFAULT_EPOCH_END_OFFSET:
                    diverging_epoch: list[bytes] = []
                    self.diverging_epoch.write(diverging_epoch, version)
                    tags.append((0, diverging_epoch))
            elif self.diverging_epoch != _DEFAULT_EPOCH_END_OFFSET:
                raise unsupported("diverging_epoch", version)
            if version >= 12:
                if self.current_leader != _DEFAULT_LEADER_ID_AND_EPOCH:
                    current_leader: list[bytes] = []
                    self.current_leader.write(current_leader, version)
                    tags.append((1, current_leader))
            elif self.current_leader != _DEFAULT_LEADER_ID_AND_EPOCH:
                raise unsupported("current_leader", version)
            if version >= 12:
                if self.snapshot_id != _DEFAULT_SNAPSHOT_ID:
                    snapshot_id: list[bytes] = []
                    self.snapshot_id.write(snapshot_id, version)
                    tags.append((2, snapshot_id))
            elif self.snapshot_id != _DEFAULT_SNAPSHOT_ID:
                raise unsupported("snapshot_id", version)
            if flexible:
                write_tagged_fields(out, tags)

        @classmethod
        def read(cls, reader: Reader, version: int) -> FetchResponse.PartitionData:
            flexible = version >= 12
            partition_index: int = reader.int32()
            error_code: int = reader.int16()
            high_watermark: int = reader.int64()
            last_stable_offset: int = reader.int64()
            log_start_offset: int = -1
            if version >= 5:
                log_start_offset = reader.int64()
            length = reader.compact_nullable_array_length() if flexible else reader.nullable_array_length()
            aborted_transactions: list[FetchResponse.AbortedTransaction] | None = None if length < 0 else [FetchResponse.AbortedTransaction.read(reader, version) for _ in range(length)]
            preferred_read_replica: int = -1
            if version >= 11:
                preferred_read_replica = reader.int32()
            records: bytes | None = reader.compact_nullable_data() if flexible else reader.nullable_data()
            diverging_epoch: FetchResponse.EpochEndOffset = FetchResponse.EpochEndOffset()
            current_leader: FetchResponse.LeaderIdAndEpoch = FetchResponse.LeaderIdAndEpoch()
            snapshot_id: FetchResponse.SnapshotId = FetchResponse.SnapshotId()
            if flexible:
                for _ in range(reader.unsigned_varint()):
                    tag, end = reader.tagged_field()
                    if tag == 0 and version >= 12:
                        diverging_epoch = FetchResponse.EpochEndOffset.read(reader, version)
                        reader.end_tagged_field(end)
                    elif tag == 1 and version >= 12:
                        current_leader = FetchResponse.LeaderIdAndEpoch.read(reader, version)
                        reader.end_tagged_field(end)
                    elif tag == 2 and version >= 12:
                        snapshot_id = FetchResponse.SnapshotId.read(reader, version)
                        reader.end_tagged_field(end)
                    else:
                        reader.position = end
            return cls(
                partition_index=partition_index,
                error_code=error_code,
                high_watermark=high_watermark,
                last_stable_offset=last_stable_offset,
                log_start_offset=log_start_offset,
                diverging_epoch=diverging_epoch,
                current_leader=current_leader,
                snapshot_id=snapshot_id,
                aborted_transactions=aborted_transactions,
                preferred_read_replica=preferred_read_replica,
                records=records,
            )

    @dataclass(slots=True, kw_only=True)
    class FetchableTopicResponse(Struct):
        topic: str = ""
        topic_id: bytes = ZERO_UUID
        partitions: list[FetchResponse.PartitionData] = field(default_factory=list)

        def write(self, out: list[bytes], version: int) -> None:
            flexible = version >= 12
            if version <= 12:
                if flexible:
                    write_compact_string(out, self.topic)
                else:
                    write_string(out, self.topic)
            if version >= 13:
                out.append(uuid(self.topic_id))
            out.append(compact_array_length(len(self.partitions)) if flexible else array_length(len(self.partitions)))
            for partitions_item in self.partitions:
                partitions_item.write(out, version)
            if flexible:
                out.append(b"\x00")

        @classmethod
        def read(cls, reader: Reader, version: int) -> FetchResponse.FetchableTopicResponse:
            flexible = version >= 12
            topic: str = ""
            if version <= 12:
                topic = reader.compact_string() if flexible else reader.string()
            topic_id: bytes = ZERO_UUID
            if version >= 13:
                topic_id = reader.uuid()
            partitions: list[FetchResponse.PartitionData] = [FetchResponse.PartitionData.read(reader, version) for _ in range(reader.compact_array_length() if flexible else reader.array_length())]
            if flexible:
                reader.skip_tagged_fields()
            return cls(
                topic=topic,
                topic_id=topic_id,
                partitions=partitions,
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
        def read(cls, reader: Reader, version: int) -> FetchResponse.NodeEndpoint:
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

    throttle_time_ms: int = 0
    error_code: int = 0
    session_id: int = 0
    responses: list[FetchResponse.FetchableTopicResponse] = field(default_factory=list)
    node_endpoints: list[FetchResponse.NodeEndpoint] = field(default_factory=list)

    def write(self, out: list[bytes], version: int) -> None:
        flexible = version >= 12
        out.append(int32(self.throttle_time_ms))
        if version >= 7:
            out.append(int16(self.error_code))
        if version >= 7:
            out.append(int32(self.session_id))
        elif self.session_id != 0:
            raise unsupported("session_id", version)
        out.append(compact_array_length(len(self.responses)) if flexible else array_length(len(self.responses)))
        for responses_item in self.responses:
            responses_item.write(out, version)
        tags: list[tuple[int, list[bytes]]] = []
        if version >= 16:
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
    def read(cls, reader: Reader, version: int) -> FetchResponse:
        flexible = version >= 12
        throttle_time_ms: int = reader.int32()
        error_code: int = 0
        if version >= 7:
            error_code = reader.int16()
        session_id: int = 0
        if version >= 7:
            session_id = reader.int32()
        responses: list[FetchResponse.FetchableTopicResponse] = [FetchResponse.FetchableTopicResponse.read(reader, version) for _ in range(reader.compact_array_length() if flexible else reader.array_length())]
        node_endpoints: list[FetchResponse.NodeEndpoint] = []
        if flexible:
            for _ in range(reader.unsigned_varint()):
                tag, end = reader.tagged_field()
                if tag == 0 and version >= 16:
                    node_endpoints = [FetchResponse.NodeEndpoint.read(reader, version) for _ in range(reader.compact_array_length())]
                    reader.end_tagged_field(end)
                else:
                    reader.position = end
        return cls(
            throttle_time_ms=throttle_time_ms,
            error_code=error_code,
            session_id=session_id,
            responses=responses,
            node_endpoints=node_endpoints,
        )


_DEFAULT_EPOCH_END_OFFSET = FetchResponse.EpochEndOffset()


_DEFAULT_LEADER_ID_AND_EPOCH = FetchResponse.LeaderIdAndEpoch()


_DEFAULT_SNAPSHOT_ID = FetchResponse.SnapshotId()
