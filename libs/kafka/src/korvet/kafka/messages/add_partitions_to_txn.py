"""AddPartitionsToTxn (24), v0-v5.

Generated from kafka-clients 4.2.0 by libs/kafka/codegen; do not edit.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

from korvet.kafka.message import Message, Struct, unsupported
from korvet.kafka.primitives import int16, int32, int64, boolean, write_string, write_compact_string, array_length, compact_array_length, Reader


@dataclass(slots=True, kw_only=True)
class AddPartitionsToTxnRequest(Message):
    API_KEY: ClassVar[int] = 24
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 5
    FLEXIBLE_FROM: ClassVar[int] = 3

    @dataclass(slots=True, kw_only=True)
    class AddPartitionsToTxnTopic(Struct):
        name: str = ""
        partitions: list[int] = field(default_factory=list)

        def write(self, out: list[bytes], version: int) -> None:
            flexible = version >= 3
            if flexible:
                write_compact_string(out, self.name)
            else:
                write_string(out, self.name)
            out.append(compact_array_length(len(self.partitions)) if flexible else array_length(len(self.partitions)))
            out += map(int32, self.partitions)
            if flexible:
                out.append(b"\x00")

        @classmethod
        def read(cls, reader: Reader, version: int) -> AddPartitionsToTxnRequest.AddPartitionsToTxnTopic:
            flexible = version >= 3
            name: str = reader.compact_string() if flexible else reader.string()
            partitions: list[int] = [reader.int32() for _ in range(reader.compact_array_length() if flexible else reader.array_length())]
            if flexible:
                reader.skip_tagged_fields()
            return cls(
                name=name,
                partitions=partitions,
            )

    @dataclass(slots=True, kw_only=True)
    class AddPartitionsToTxnTransaction(Struct):
        transactional_id: str = ""
        producer_id: int = 0
        producer_epoch: int = 0
        verify_only: bool = False
        topics: list[AddPartitionsToTxnRequest.AddPartitionsToTxnTopic] = field(default_factory=list)

        def write(self, out: list[bytes], version: int) -> None:
            write_compact_string(out, self.transactional_id)
            out.append(int64(self.producer_id))
            out.append(int16(self.producer_epoch))
            out.append(boolean(self.verify_only))
            out.append(compact_array_length(len(self.topics)))
            for topics_item in self.topics:
                topics_item.write(out, version)
            out.append(b"\x00")

        @classmethod
        def read(cls, reader: Reader, version: int) -> AddPartitionsToTxnRequest.AddPartitionsToTxnTransaction:
            transactional_id: str = reader.compact_string()
            producer_id: int = reader.int64()
            producer_epoch: int = reader.int16()
            verify_only: bool = reader.boolean()
            topics: list[AddPartitionsToTxnRequest.AddPartitionsToTxnTopic] = [AddPartitionsToTxnRequest.AddPartitionsToTxnTopic.read(reader, version) for _ in range(reader.compact_array_length())]
            reader.skip_tagged_fields()
            return cls(
                transactional_id=transactional_id,
                producer_id=producer_id,
                producer_epoch=producer_epoch,
                verify_only=verify_only,
                topics=topics,
            )

    transactions: list[AddPartitionsToTxnRequest.AddPartitionsToTxnTransaction] = field(default_factory=list)
    v3_and_below_transactional_id: str = ""
    v3_and_below_producer_id: int = 0
    v3_and_below_producer_epoch: int = 0
    v3_and_below_topics: list[AddPartitionsToTxnRequest.AddPartitionsToTxnTopic] = field(default_factory=list)

    def write(self, out: list[bytes], version: int) -> None:
        flexible = version >= 3
        if version >= 4:
            out.append(compact_array_length(len(self.transactions)) if flexible else array_length(len(self.transactions)))
            for transactions_item in self.transactions:
                transactions_item.write(out, version)
        elif self.transactions:
            raise unsupported("transactions", version)
        if version <= 3:
            if flexible:
                write_compact_string(out, self.v3_and_below_transactional_id)
            else:
                write_string(out, self.v3_and_below_transactional_id)
        elif self.v3_and_below_transactional_id != "":
            raise unsupported("v3_and_below_transactional_id", version)
        if version <= 3:
            out.append(int64(self.v3_and_below_producer_id))
        elif self.v3_and_below_producer_id != 0:
            raise unsupported("v3_and_below_producer_id", version)
        if version <= 3:
            out.append(int16(self.v3_and_below_producer_epoch))
        elif self.v3_and_below_producer_epoch != 0:
            raise unsupported("v3_and_below_producer_epoch", version)
        if version <= 3:
            out.append(compact_array_length(len(self.v3_and_below_topics)) if flexible else array_length(len(self.v3_and_below_topics)))
            for v3_and_below_topics_item in self.v3_and_below_topics:
                v3_and_below_topics_item.write(out, version)
        elif self.v3_and_below_topics:
            raise unsupported("v3_and_below_topics", version)
        if flexible:
            out.append(b"\x00")

    @classmethod
    def read(cls, reader: Reader, version: int) -> AddPartitionsToTxnRequest:
        flexible = version >= 3
        transactions: list[AddPartitionsToTxnRequest.AddPartitionsToTxnTransaction] = []
        if version >= 4:
            transactions = [AddPartitionsToTxnRequest.AddPartitionsToTxnTransaction.read(reader, version) for _ in range(reader.compact_array_length() if flexible else reader.array_length())]
        v3_and_below_transactional_id: str = ""
        if version <= 3:
            v3_and_below_transactional_id = reader.compact_string() if flexible else reader.string()
        v3_and_below_producer_id: int = 0
        if version <= 3:
            v3_and_below_producer_id = reader.int64()
        v3_and_below_producer_epoch: int = 0
        if version <= 3:
            v3_and_below_producer_epoch = reader.int16()
        v3_and_below_topics: list[AddPartitionsToTxnRequest.AddPartitionsToTxnTopic] = []
        if version <= 3:
            v3_and_below_topics = [AddPartitionsToTxnRequest.AddPartitionsToTxnTopic.read(reader, version) for _ in range(reader.compact_array_length() if flexible else reader.array_length())]
        if flexible:
            reader.skip_tagged_fields()
        return cls(
            transactions=transactions,
            v3_and_below_transactional_id=v3_and_below_transactional_id,
            v3_and_below_producer_id=v3_and_below_producer_id,
            v3_and_below_producer_epoch=v3_and_below_producer_epoch,
            v3_and_below_topics=v3_and_below_topics,
        )


@dataclass(slots=True, kw_only=True)
class AddPartitionsToTxnResponse(Message):
    API_KEY: ClassVar[int] = 24
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 5
    FLEXIBLE_FROM: ClassVar[int] = 3

    @dataclass(slots=True, kw_only=True)
    class AddPartitionsToTxnTopicResult(Struct):
        name: str = ""
        results_by_partition: list[AddPartitionsToTxnResponse.AddPartitionsToTxnPartitionResult] = field(default_factory=list)

        def write(self, out: list[bytes], version: int) -> None:
            flexible = version >= 3
            if flexible:
                write_compact_string(out, self.name)
            else:
                write_string(out, self.name)
            out.append(compact_array_length(len(self.results_by_partition)) if flexible else array_length(len(self.results_by_partition)))
            for results_by_partition_item in self.results_by_partition:
                results_by_partition_item.write(out, version)
            if flexible:
                out.append(b"\x00")

        @classmethod
        def read(cls, reader: Reader, version: int) -> AddPartitionsToTxnResponse.AddPartitionsToTxnTopicResult:
            flexible = version >= 3
            name: str = reader.compact_string() if flexible else reader.string()
            results_by_partition: list[AddPartitionsToTxnResponse.AddPartitionsToTxnPartitionResult] = [AddPartitionsToTxnResponse.AddPartitionsToTxnPartitionResult.read(reader, version) for _ in range(reader.compact_array_length() if flexible else reader.array_length())]
            if flexible:
                reader.skip_tagged_fields()
            return cls(
                name=name,
                results_by_partition=results_by_partition,
            )

    @dataclass(slots=True, kw_only=True)
    class AddPartitionsToTxnPartitionResult(Struct):
        partition_index: int = 0
        partition_error_code: int = 0

        def write(self, out: list[bytes], version: int) -> None:
            flexible = version >= 3
            out.append(int32(self.partition_index))
            out.append(int16(self.partition_error_code))
            if flexible:
                out.append(b"\x00")

        @classmethod
        def read(cls, reader: Reader, version: int) -> AddPartitionsToTxnResponse.AddPartitionsToTxnPartitionResult:
            flexible = version >= 3
            partition_index: int = reader.int32()
            partition_error_code: int = reader.int16()
            if flexible:
                reader.skip_tagged_fields()
            return cls(
                partition_index=partition_index,
                partition_error_code=partition_error_code,
            )

    @dataclass(slots=True, kw_only=True)
    class AddPartitionsToTxnResult(Struct):
        transactional_id: str = ""
        topic_results: list[AddPartitionsToTxnResponse.AddPartitionsToTxnTopicResult] = field(default_factory=list)

        def write(self, out: list[bytes], version: int) -> None:
            write_compact_string(out, self.transactional_id)
            out.append(compact_array_length(len(self.topic_results)))
            for topic_results_item in self.topic_results:
                topic_results_item.write(out, version)
            out.append(b"\x00")

        @classmethod
        def read(cls, reader: Reader, version: int) -> AddPartitionsToTxnResponse.AddPartitionsToTxnResult:
            transactional_id: str = reader.compact_string()
            topic_results: list[AddPartitionsToTxnResponse.AddPartitionsToTxnTopicResult] = [AddPartitionsToTxnResponse.AddPartitionsToTxnTopicResult.read(reader, version) for _ in range(reader.compact_array_length())]
            reader.skip_tagged_fields()
            return cls(
                transactional_id=transactional_id,
                topic_results=topic_results,
            )

    throttle_time_ms: int = 0
    error_code: int = 0
    results_by_transaction: list[AddPartitionsToTxnResponse.AddPartitionsToTxnResult] = field(default_factory=list)
    results_by_topic_v3_and_below: list[AddPartitionsToTxnResponse.AddPartitionsToTxnTopicResult] = field(default_factory=list)

    def write(self, out: list[bytes], version: int) -> None:
        flexible = version >= 3
        out.append(int32(self.throttle_time_ms))
        if version >= 4:
            out.append(int16(self.error_code))
        if version >= 4:
            out.append(compact_array_length(len(self.results_by_transaction)) if flexible else array_length(len(self.results_by_transaction)))
            for results_by_transaction_item in self.results_by_transaction:
                results_by_transaction_item.write(out, version)
        elif self.results_by_transaction:
            raise unsupported("results_by_transaction", version)
        if version <= 3:
            out.append(compact_array_length(len(self.results_by_topic_v3_and_below)) if flexible else array_length(len(self.results_by_topic_v3_and_below)))
            for results_by_topic_v3_and_below_item in self.results_by_topic_v3_and_below:
                results_by_topic_v3_and_below_item.write(out, version)
        elif self.results_by_topic_v3_and_below:
            raise unsupported("results_by_topic_v3_and_below", version)
        if flexible:
            out.append(b"\x00")

    @classmethod
    def read(cls, reader: Reader, version: int) -> AddPartitionsToTxnResponse:
        flexible = version >= 3
        throttle_time_ms: int = reader.int32()
        error_code: int = 0
        if version >= 4:
            error_code = reader.int16()
        results_by_transaction: list[AddPartitionsToTxnResponse.AddPartitionsToTxnResult] = []
        if version >= 4:
            results_by_transaction = [AddPartitionsToTxnResponse.AddPartitionsToTxnResult.read(reader, version) for _ in range(reader.compact_array_length() if flexible else reader.array_length())]
        results_by_topic_v3_and_below: list[AddPartitionsToTxnResponse.AddPartitionsToTxnTopicResult] = []
        if version <= 3:
            results_by_topic_v3_and_below = [AddPartitionsToTxnResponse.AddPartitionsToTxnTopicResult.read(reader, version) for _ in range(reader.compact_array_length() if flexible else reader.array_length())]
        if flexible:
            reader.skip_tagged_fields()
        return cls(
            throttle_time_ms=throttle_time_ms,
            error_code=error_code,
            results_by_transaction=results_by_transaction,
            results_by_topic_v3_and_below=results_by_topic_v3_and_below,
        )
