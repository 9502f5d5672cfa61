"""PURE: how a record is written on a line.

As text: what was asked for, separated by tabs, with the bytes as they are; null is `null`.
As JSON: everything. Bytes that are UTF-8 are a string, others {"base64": "…"}, so that
nothing is lost and nothing is ambiguous.
"""

import base64
import json
from dataclasses import dataclass
from typing import Any, Protocol


class ReadRecord(Protocol):
    """What is written of a record; aiokafka's ConsumerRecord is one."""

    topic: str
    partition: int
    offset: int
    timestamp: int
    key: bytes | None
    value: bytes | None
    headers: "tuple[tuple[str, bytes | None], ...]"


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordLines:
    keys: bool = False
    headers: bool = False
    offsets: bool = False
    as_json: bool = False

    def line(self, record: ReadRecord) -> bytes:
        if self.as_json:
            return json.dumps(_object(record), ensure_ascii=False).encode() + b"\n"
        parts = []
        if self.offsets:
            parts.append(b"%d:%d" % (record.partition, record.offset))
        if self.headers:
            parts.append(
                b",".join(b"%b=%b" % (n.encode(), _text(v)) for n, v in record.headers)
            )
        if self.keys:
            parts.append(_text(record.key))
        parts.append(_text(record.value))
        return b"\t".join(parts) + b"\n"


def _text(value: bytes | None) -> bytes:
    return b"null" if value is None else value


def _object(record: ReadRecord) -> dict[str, Any]:
    return {
        "topic": record.topic,
        "partition": record.partition,
        "offset": record.offset,
        "timestamp_ms": record.timestamp,
        "key": _json(record.key),
        "value": _json(record.value),
        "headers": [[name, _json(value)] for name, value in record.headers],
    }


def _json(value: bytes | None) -> Any:
    if value is None:
        return None
    try:
        return value.decode()
    except UnicodeDecodeError:
        return {"base64": base64.b64encode(value).decode()}
