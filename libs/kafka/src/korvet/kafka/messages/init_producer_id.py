"""InitProducerId (22), v0-v6.

Generated from kafka-clients 4.2.0 by libs/kafka/codegen; do not edit.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from korvet.kafka.message import Message, unsupported
from korvet.kafka.primitives import int16, int32, int64, boolean, write_nullable_string, write_compact_nullable_string, Reader


@dataclass(slots=True, kw_only=True)
class InitProducerIdRequest(Message):
    API_KEY: ClassVar[int] = 22
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 6
    FLEXIBLE_FROM: ClassVar[int] = 2

    transactional_id: str | None = ""
    transaction_timeout_ms: int = 0
    producer_id: int = -1
    producer_epoch: int = -1
    enable2_pc: bool = False
    keep_prepared_txn: bool = False

    def write(self, out: list[bytes], version: int) -> None:
        flexible = version >= 2
        if flexible:
            write_compact_nullable_string(out, self.transactional_id)
        else:
            write_nullable_string(out, self.transactional_id)
        out.append(int32(self.transaction_timeout_ms))
        if version >= 3:
            out.append(int64(self.producer_id))
        elif self.producer_id != -1:
            raise unsupported("producer_id", version)
        if version >= 3:
            out.append(int16(self.producer_epoch))
        elif self.producer_epoch != -1:
            raise unsupported("producer_epoch", version)
        if version >= 6:
            out.append(boolean(self.enable2_pc))
        elif self.enable2_pc:
            raise unsupported("enable2_pc", version)
        if version >= 6:
            out.append(boolean(self.keep_prepared_txn))
        elif self.keep_prepared_txn:
            raise unsupported("keep_prepared_txn", version)
        if flexible:
            out.append(b"\x00")

    @classmethod
    def read(cls, reader: Reader, version: int) -> InitProducerIdRequest:
        flexible = version >= 2
        transactional_id: str | None = reader.compact_nullable_string() if flexible else reader.nullable_string()
        transaction_timeout_ms: int = reader.int32()
        producer_id: int = -1
        if version >= 3:
            producer_id = reader.int64()
        producer_epoch: int = -1
        if version >= 3:
            producer_epoch = reader.int16()
        enable2_pc: bool = False
        if version >= 6:
            enable2_pc = reader.boolean()
        keep_prepared_txn: bool = False
        if version >= 6:
            keep_prepared_txn = reader.boolean()
        if flexible:
            reader.skip_tagged_fields()
        return cls(
            transactional_id=transactional_id,
            transaction_timeout_ms=transaction_timeout_ms,
            producer_id=producer_id,
            producer_epoch=producer_epoch,
            enable2_pc=enable2_pc,
            keep_prepared_txn=keep_prepared_txn,
        )


@dataclass(slots=True, kw_only=True)
class InitProducerIdResponse(Message):
    API_KEY: ClassVar[int] = 22
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 6
    FLEXIBLE_FROM: ClassVar[int] = 2

    throttle_time_ms: int = 0
    error_code: int = 0
    producer_id: int = -1
    producer_epoch: int = 0
    ongoing_txn_producer_id: int = -1
    ongoing_txn_producer_epoch: int = -1

    def write(self, out: list[bytes], version: int) -> None:
        flexible = version >= 2
        out.append(int32(self.throttle_time_ms))
        out.append(int16(self.error_code))
        out.append(int64(self.producer_id))
        out.append(int16(self.producer_epoch))
        if version >= 6:
            out.append(int64(self.ongoing_txn_producer_id))
        elif self.ongoing_txn_producer_id != -1:
            raise unsupported("ongoing_txn_producer_id", version)
        if version >= 6:
            out.append(int16(self.ongoing_txn_producer_epoch))
        elif self.ongoing_txn_producer_epoch != -1:
            raise unsupported("ongoing_txn_producer_epoch", version)
        if flexible:
            out.append(b"\x00")

    @classmethod
    def read(cls, reader: Reader, version: int) -> InitProducerIdResponse:
        flexible = version >= 2
        throttle_time_ms: int = reader.int32()
        error_code: int = reader.int16()
        producer_id: int = reader.int64()
        producer_epoch: int = reader.int16()
        ongoing_txn_producer_id: int = -1
        if version >= 6:
            ongoing_txn_producer_id = reader.int64()
        ongoing_txn_producer_epoch: int = -1
        if version >= 6:
            ongoing_txn_producer_epoch = reader.int16()
        if flexible:
            reader.skip_tagged_fields()
        return cls(
            throttle_time_ms=throttle_time_ms,
            error_code=error_code,
            producer_id=producer_id,
            producer_epoch=producer_epoch,
            ongoing_txn_producer_id=ongoing_txn_producer_id,
            ongoing_txn_producer_epoch=ongoing_txn_producer_epoch,
        )
