"""RequestHeader.

Generated from kafka-clients 4.2.0 by libs/kafka/codegen; do not edit.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from korvet.kafka.message import Message
from korvet.kafka.primitives import int16, int32, write_nullable_string, Reader


@dataclass(slots=True, kw_only=True)
class RequestHeader(Message):
    API_KEY: ClassVar[int] = -1
    MIN_VERSION: ClassVar[int] = 1
    MAX_VERSION: ClassVar[int] = 2
    FLEXIBLE_FROM: ClassVar[int] = 2

    request_api_key: int = 0
    request_api_version: int = 0
    correlation_id: int = 0
    client_id: str | None = ""

    def write(self, out: list[bytes], version: int) -> None:
        flexible = version >= 2
        out.append(int16(self.request_api_key))
        out.append(int16(self.request_api_version))
        out.append(int32(self.correlation_id))
        write_nullable_string(out, self.client_id)
        if flexible:
            out.append(b"\x00")

    @classmethod
    def read(cls, reader: Reader, version: int) -> RequestHeader:
        flexible = version >= 2
        request_api_key: int = reader.int16()
        request_api_version: int = reader.int16()
        correlation_id: int = reader.int32()
        client_id: str | None = reader.nullable_string()
        if flexible:
            reader.skip_tagged_fields()
        return cls(
            request_api_key=request_api_key,
            request_api_version=request_api_version,
            correlation_id=correlation_id,
            client_id=client_id,
        )
