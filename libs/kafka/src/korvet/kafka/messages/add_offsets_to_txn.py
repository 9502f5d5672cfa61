"""AddOffsetsToTxn (25), v0-v4.

Generated from kafka-clients 4.2.0 by libs/kafka/codegen; do not edit.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from korvet.kafka.message import Message
from korvet.kafka.primitives import int16, int32, int64, write_string, write_compact_string, Reader


@dataclass(slots=True, kw_only=True)
class AddOffsetsToTxnRequest(Message):
    API_KEY: ClassVar[int] = 25
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 4
    FLEXIBLE_FROM: ClassVar[int] = 3

    transactional_id: str = ""
    producer_id: int = 0
    producer_epoch: int = 0
    group_id: str = ""

    def write(self, out: list[bytes], version: int) -> None:
        flexible = version >= 3
        if flexible:
            write_compact_string(out, self.transactional_id)
        else:
            write_string(out, self.transactional_id)
        out.append(int64(self.producer_id))
        out.append(int16(self.producer_epoch))
        if flexible:
            write_compact_string(out, self.group_id)
        else:
            write_string(out, self.group_id)
        if flexible:
            out.append(b"\x00")

    @classmethod
    def read(cls, reader: Reader, version: int) -> AddOffsetsToTxnRequest:
        flexible = version >= 3
        transactional_id: str = reader.compact_string() if flexible else reader.string()
        producer_id: int = reader.int64()
        producer_epoch: int = reader.int16()
        group_id: str = reader.compact_string() if flexible else reader.string()
        if flexible:
            reader.skip_tagged_fields()
        return cls(
            transactional_id=transactional_id,
            producer_id=producer_id,
            producer_epoch=producer_epoch,
            group_id=group_id,
        )


@dataclass(slots=True, kw_only=True)
class AddOffsetsToTxnResponse(Message):
    API_KEY: ClassVar[int] = 25
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 4
    FLEXIBLE_FROM: ClassVar[int] = 3

    throttle_time_ms: int = 0
    error_code: int = 0

    def write(self, out: list[bytes], version: int) -> None:
        flexible = version >= 3
        out.append(int32(self.throttle_time_ms))
        out.append(int16(self.error_code))
        if flexible:
            out.append(b"\x00")

    @classmethod
    def read(cls, reader: Reader, version: int) -> AddOffsetsToTxnResponse:
        flexible = version >= 3
        throttle_time_ms: int = reader.int32()
        error_code: int = reader.int16()
        if flexible:
            reader.skip_tagged_fields()
        return cls(
            throttle_time_ms=throttle_time_ms,
            error_code=error_code,
        )
