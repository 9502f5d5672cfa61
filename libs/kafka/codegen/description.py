"""Kafka's message descriptions as typed values.

The format is described in the jar itself, common/message/README.md. A description that uses
something unknown here is refused: better no code than wrong code.
"""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any, Final, NamedTuple

NO_VERSION: Final = 0x7FFF

_INTEGERS: Final = frozenset({"int8", "int16", "uint16", "int32", "int64"})
_SCALARS: Final = _INTEGERS | {"bool", "float64", "uuid", "string", "bytes", "records"}
# What decides on code; the others are for people and for Java.
_USED_KEYS: Final = frozenset(
    {
        "name",
        "type",
        "versions",
        "fields",
        "default",
        "nullableVersions",
        "ignorable",
        "taggedVersions",
        "tag",
        "flexibleVersions",
    }
)
_UNUSED_KEYS: Final = frozenset({"about", "entityType", "mapKey", "zeroCopy"})


class Versions(NamedTuple):
    lowest: int
    highest: int

    @staticmethod
    def parse(text: str) -> "Versions":
        if text == "none":
            return Versions(NO_VERSION, NO_VERSION - 1)
        if text.endswith("+"):
            return Versions(int(text[:-1]), NO_VERSION)
        first, _, last = text.partition("-")
        return Versions(int(first), int(last or first))

    def within(self, other: "Versions") -> "Versions":
        return Versions(max(self.lowest, other.lowest), min(self.highest, other.highest))

    @property
    def is_empty(self) -> bool:
        return self.lowest > self.highest


@dataclass(frozen=True, slots=True, kw_only=True)
class Field:
    name: str
    # A scalar or the name of a struct; of each element if this is an array.
    type: str
    is_array: bool
    versions: Versions
    nullable: Versions
    tag: int | None
    ignorable: bool
    default: Any
    # Whether lengths are compact in flexible versions, which one header field is not.
    compact: bool

    @property
    def is_struct(self) -> bool:
        return self.type not in _SCALARS

    @property
    def is_nullable(self) -> bool:
        return not self.nullable.is_empty


@dataclass(frozen=True, slots=True, kw_only=True)
class StructType:
    name: str
    # Those in which it can occur at all.
    versions: Versions
    fields: tuple[Field, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class MessageType:
    name: str
    versions: Versions
    api_key: int
    flexible_from: int
    fields: tuple[Field, ...]
    # Those that a struct uses come before it.
    structs: tuple[StructType, ...]

    @property
    def all_fields(self) -> Iterator[Field]:
        yield from self.fields
        for struct in self.structs:
            yield from struct.fields


def snake_case(name: str) -> str:
    name = re.sub(r"(.)([A-Z][a-z]+)", r"\1_\2", name)
    return re.sub(r"([a-z0-9])([A-Z])", r"\1_\2", name).lower()


def parse_message(text: str) -> MessageType:
    raw = json.loads(re.sub(r"^\s*//.*$", "", text, flags=re.MULTILINE))
    versions = Versions.parse(raw["validVersions"])
    structs: dict[str, StructType] = {}
    for common in raw.get("commonStructs", ()):
        _add_struct(structs, common["name"], common["fields"], versions)
    fields = tuple(_fields(raw["fields"], versions, structs))
    message = MessageType(
        name=raw["name"],
        api_key=raw.get("apiKey", -1),
        versions=versions,
        flexible_from=Versions.parse(raw["flexibleVersions"]).lowest,
        fields=fields,
        structs=tuple(structs.values()),
    )
    _check_elements(message)
    return message


def _add_struct(
    structs: dict[str, StructType], name: str, raw: list[dict[str, Any]], within: Versions
) -> None:
    fields = tuple(_fields(raw, within, structs))
    if name in structs:
        raise ValueError(f"two structs are called {name}")
    structs[name] = StructType(name=name, versions=within, fields=fields)


def _fields(
    raw: list[dict[str, Any]], within: Versions, structs: dict[str, StructType]
) -> Iterator[Field]:
    for one in raw:
        field = _field(one, within)
        if field.versions.is_empty:
            continue
        if one.get("fields"):
            _add_struct(structs, field.type, one["fields"], field.versions)
        yield field


def _field(raw: dict[str, Any], within: Versions) -> Field:
    if unknown := raw.keys() - _USED_KEYS - _UNUSED_KEYS:
        raise ValueError(f"{raw['name']}: unknown attributes {sorted(unknown)}")
    type_ = raw["type"]
    is_array = type_.startswith("[]")
    versions = Versions.parse(raw["versions"]).within(within)
    tagged = Versions.parse(raw.get("taggedVersions", "none")).within(within)
    if not tagged.is_empty and tagged != versions:
        raise ValueError(f"{raw['name']}: tagged in some versions only")
    field = Field(
        name=snake_case(raw["name"]),
        type=type_.removeprefix("[]"),
        is_array=is_array,
        versions=versions,
        nullable=Versions.parse(raw.get("nullableVersions", "none")).within(versions),
        tag=raw.get("tag"),
        ignorable=raw.get("ignorable", False),
        default=None,
        compact=raw.get("flexibleVersions") != "none",
    )
    return replace(field, default=_default(field, raw.get("default")))


def _default(field: Field, raw: Any) -> Any:
    """The default as a Python value; for arrays and structs None or (), the empty one."""
    if raw == "null":
        return None
    if field.is_array or field.is_struct:
        return ()
    if field.type == "records":
        return None if field.is_nullable else b""
    if field.type == "bytes":
        return b""
    if field.type == "uuid":
        return bytes(16)
    if field.type == "string":
        return raw or ""
    if field.type == "bool":
        return str(raw).lower() == "true"
    if field.type == "float64":
        return float(raw or 0)
    return int(str(raw or 0), 0)


def _check_elements(message: MessageType) -> None:
    """Refuse arrays of nothing: a decoder caps counts at one byte an element."""
    by_name = {struct.name: struct for struct in message.structs}
    for field in message.all_fields:
        if not (field.is_array and field.is_struct):
            continue
        for version in range(field.versions.lowest, field.versions.highest + 1):
            if version < message.flexible_from and not any(
                inner.versions.lowest <= version <= inner.versions.highest
                for inner in by_name[field.type].fields
            ):
                raise ValueError(f"{message.name}.{field.name} is empty in v{version}")
