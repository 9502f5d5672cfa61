"""ListTransactions (66), v0-v2.

Generated from kafka-clients 4.2.0 by libs/kafka/codegen; do not edit.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import ClassVar

from korvet.kafka.message import Message, Struct, unsupported
from korvet.kafka.primitives import int16, int32, int64, write_compact_string, write_compact_nullable_string, compact_array_length, Reader


@dataclass(slots=True, kw_only=True)
class ListTransactionsRequest(Message):
    API_KEY: ClassVar[int] = 66
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 2
    FLEXIBLE_FROM: ClassVar[int] = 0

    state_filters: list[str] = field(default_factory=list)
    producer_id_filters: list[int] = field(default_factory=list)
    duration_filter: int = -1
    transactional_id_pattern: str | None = None

    def write(self, out: list[bytes], version: int) -> None:
        out.append(compact_array_length(len(self.state_filters)))
        for state_filters_item in self.state_filters:
            write_compact_string(out, state_filters_item)
        out.append(compact_array_length(len(self.producer_id_filters)))
        out += map(int64, self.producer_id_filters)
        if version >= 1:
            out.append(int64(self.duration_filter))
        elif self.duration_filter != -1:
            raise unsupported("duration_filter", version)
        if version >= 2:
            write_compact_nullable_string(out, self.transactional_id_pattern)
        elif self.transactional_id_pattern is not None:
            raise unsupported("transactional_id_pattern", version)
        out.append(b"\x00")

    @classmethod
    def read(cls, reader: Reader, version: int) -> ListTransactionsRequest:
        state_filters: list[str] = [reader.compact_string() for _ in range(reader.compact_array_length())]
        producer_id_filters: list[int] = [reader.int64() for _ in range(reader.compact_array_length())]
        duration_filter: int = -1
        if version >= 1:
            duration_filter = reader.int64()
        transactional_id_pattern: str | None = None
        if version >= 2:
            transactional_id_pattern = reader.compact_nullable_string()
        reader.skip_tagged_fields()
        return cls(
            state_filters=state_filters,
            producer_id_filters=producer_id_filters,
            duration_filter=duration_filter,
            transactional_id_pattern=transactional_id_pattern,
        )


@dataclass(slots=True, kw_only=True)
class ListTransactionsResponse(Message):
    API_KEY: ClassVar[int] = 66
    MIN_VERSION: ClassVar[int] = 0
    MAX_VERSION: ClassVar[int] = 2
    FLEXIBLE_FROM: ClassVar[int] = 0

    @dataclass(slots=True, kw_only=True)
    class TransactionState(Struct):
        transactional_id: str = ""
        producer_id: int = 0
        transaction_state: str = ""

        def write(self, out: list[bytes], version: int) -> None:
            write_compact_string(out, self.transactional_id)
            out.append(int64(self.producer_id))
            write_compact_string(out, self.transaction_state)
            out.append(b"\x00")

        @classmethod
        def read(cls, reader: Reader, version: int) -> ListTransactionsResponse.TransactionState:
            transactional_id: str = reader.compact_string()
            producer_id: int = reader.int64()
            transaction_state: str = reader.compact_string()
            reader.skip_tagged_fields()
            return cls(
                transactional_id=transactional_id,
                producer_id=producer_id,
                transaction_state=transaction_state,
            )

    throttle_time_ms: int = 0
    error_code: int = 0
    unknown_state_filters: list[str] = field(default_factory=list)
    transaction_states: list[ListTransactionsResponse.TransactionState] = field(default_factory=list)

    def write(self, out: list[bytes], version: int) -> None:
        out.append(int32(self.throttle_time_ms))
        out.append(int16(self.error_code))
        out.append(compact_array_length(len(self.unknown_state_filters)))
        for unknown_state_filters_item in self.unknown_state_filters:
            write_compact_string(out, unknown_state_filters_item)
        out.append(compact_array_length(len(self.transaction_states)))
        for transaction_states_item in self.transaction_states:
            transaction_states_item.write(out, version)
        out.append(b"\x00")

    @classmethod
    def read(cls, reader: Reader, version: int) -> ListTransactionsResponse:
        throttle_time_ms: int = reader.int32()
        error_code: int = reader.int16()
        unknown_state_filters: list[str] = [reader.compact_string() for _ in range(reader.compact_array_length())]
        transaction_states: list[ListTransactionsResponse.TransactionState] = [ListTransactionsResponse.TransactionState.read(reader, version) for _ in range(reader.compact_array_length())]
        reader.skip_tagged_fields()
        return cls(
            throttle_time_ms=throttle_time_ms,
            error_code=error_code,
            unknown_state_filters=unknown_state_filters,
            transaction_states=transaction_states,
        )
