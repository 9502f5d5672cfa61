"""kio, an independent Kafka codec, as the judge of ours.

kio has a class for each version; ours have one for all. `Pair` builds the same message in
both from one source of values, so that their bytes can be compared.
"""

import datetime
import io
from collections.abc import Callable
from dataclasses import Field, fields, is_dataclass
from types import NoneType, UnionType
from typing import Any, NamedTuple, Union, cast, get_args, get_origin
from uuid import UUID

from kio.index import load_entity_schema, load_request_schema, load_response_schema
from kio.schema.errors import ErrorCode as KioErrorCode
from kio.serial import entity_reader, entity_writer
from kio.static.constants import EntityType
from kio.static.protocol import Entity

from korvet.kafka.message import Message, Struct

_EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)
_MILLISECOND = datetime.timedelta(milliseconds=1)


class Pair(NamedTuple):
    """One message as kio has it and as we have it."""

    kio: Entity
    ours: Message


class Values:
    """Where the values of a message come from. As it stands: all fields filled."""

    def scalar(self, kafka_type: str, index: int) -> Any:
        """A value of the type; `index` counts the fields of the message."""
        match kafka_type:
            case "bool":
                return index % 2 == 0
            case "string":
                return f"näme-{index}"
            case "bytes" | "records":
                return bytes([index % 256]) * (index % 300)
            case "uuid":
                return bytes([1, index % 256]) * 8
            case "error_code":
                return index % 120
            case "int8":
                return index % 100 - 50
            case "int16" | "uint16":
                return index % 30_000 + 1
            case "int32" | "timedelta_i32":
                return 70_000 + index
            case "int64" | "datetime_i64" | "timedelta_i64":
                return 5_000_000_000 + index
            case "float64":
                return index / 7
        raise AssertionError(kafka_type)

    def length(self) -> int:
        return 2

    def is_null(self) -> bool:
        return False

    def is_tag_present(self) -> bool:
        return True


def load(message: type[Message], version: int) -> type[Entity]:
    """kio's class for one of our messages in one version."""
    if message.__name__ == "RequestHeader":
        return load_entity_schema("request_header", version, EntityType.header)
    if message.__name__ == "ResponseHeader":
        return load_entity_schema("response_header", version, EntityType.header)
    if message.__name__.endswith("Request"):
        return load_request_schema(message.API_KEY, version)
    return load_response_schema(message.API_KEY, version)


def encode(entity: Entity) -> bytes:
    buffer = io.BytesIO()
    entity_writer(type(entity))(buffer, entity)
    return buffer.getvalue()


def decode(schema: type[Entity], data: bytes) -> Entity:
    entity, size = entity_reader(schema)(data, 0)
    assert size == len(data)
    return entity


def build(message: type[Message], version: int, values: Values) -> Pair:
    builder = _Builder(message, values)
    kio, ours = builder.struct(load(message, version), message)
    assert isinstance(ours, message)
    return Pair(kio, ours)


class _Builder:
    def __init__(self, message: type[Message], values: Values) -> None:
        self._message = message
        self._values = values
        self._index = 0

    def struct(self, schema: type[Entity], ours: type[Struct]) -> tuple[Entity, Struct]:
        known = {field.name for field in fields(ours)}  # type: ignore[arg-type]
        kio_values, our_values = {}, {}
        for field in fields(schema):
            # kio drops the unit of durations, since it has a type for them.
            name = field.name if field.name in known else f"{field.name}_ms"
            if "tag" in field.metadata and not self._values.is_tag_present():
                continue
            kio_values[field.name], our_values[name] = self._field(field)
        return schema(**kio_values), ours(**our_values)

    def _field(self, field: "Field[Any]") -> tuple[Any, Any]:
        type_, optional = _strip_optional(field.type)
        kafka_type = field.metadata.get("kafka_type")
        # uuids, and times that may be absent, are never null on the wire.
        optional = optional and kafka_type not in ("uuid", "datetime_i64")
        if optional and self._values.is_null():
            return None, None
        if get_origin(type_) is not tuple:
            return self._value(type_, kafka_type)
        item = get_args(type_)[0]
        pairs = [self._value(item, kafka_type) for _ in range(self._values.length())]
        return tuple(kio for kio, _ in pairs), [ours for _, ours in pairs]

    def _value(self, type_: Any, kafka_type: str | None) -> tuple[Any, Any]:
        if is_dataclass(type_):
            schema = cast(type[Entity], type_)
            return self.struct(schema, getattr(self._message, schema.__name__))
        assert kafka_type is not None
        self._index += 1
        ours = self._values.scalar(kafka_type, self._index)
        return _to_kio(kafka_type)(ours), ours


def _to_kio(kafka_type: str) -> Callable[[Any], Any]:
    match kafka_type:
        case "uuid":
            return lambda value: UUID(bytes=value) if any(value) else None
        case "error_code":
            return KioErrorCode
        case "timedelta_i32" | "timedelta_i64":
            return lambda value: value * _MILLISECOND
        case "datetime_i64":
            return lambda value: _EPOCH + value * _MILLISECOND
    return lambda value: value


def _strip_optional(type_: Any) -> tuple[Any, bool]:
    if get_origin(type_) not in (Union, UnionType):
        return type_, False
    inner = [one for one in get_args(type_) if one is not NoneType]
    return inner[0], True
