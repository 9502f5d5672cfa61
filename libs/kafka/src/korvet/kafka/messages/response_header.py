"""ResponseHeader.

Generated from kafka-clients 4.2.0 by libs/kafka/codegen; do not edit.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from korvet.kafka.message import Message
from korvet.kafka.primitives import int32, Reader


@dataclass(slots=True, kw_only=True)
class ResponseHeader(Message):
    API_KEY: ClassVar[int] = -1
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 1
    FLEXIBLE_FROM: ClassVar[int] = 1

    correlation_id: int = 0

    def write(self, out: list[bytes], version: int) -> None:
        flexible = version >= 1
        out.append(int32(self.correlation_id))
        if flexible:
            out.append(b"\x00")

    @classmethod
    def read(cls, reader: Reader, version: int) -> ResponseHeader:
        flexible = version >= 1
        correlation_id: int = reader.int32()
        if flexible:
            reader.skip_tagged_fields()
        return cls(
            correlation_id=correlation_id,
        )
