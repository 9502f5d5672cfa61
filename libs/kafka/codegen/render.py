"""Messages as Python source: one slotted dataclass a struct, with straight-line code.

Conditions on the version are only written where a field's versions differ from those in
which its struct occurs, so that what is generated reads like Kafka's protocol guide.
"""

import keyword
import re
from collections.abc import Iterable, Iterator
from typing import Final

from korvet.kafka import primitives
from libs.kafka.codegen import fields
from libs.kafka.codegen.description import Field, MessageType, StructType

_SHARED: Final = ("Message", "Struct", "not_nullable", "unsupported")
_PRIMITIVES: Final = tuple(name for name in vars(primitives) if not name.startswith("_"))
# Names that generated methods use for themselves.
_RESERVED: Final = frozenset(
    {"out", "reader", "version", "flexible", "length", "tag", "end", "tags"}
)


def render_module(title: str, source: str, messages: Iterable[MessageType]) -> str:
    body = "\n".join(line for message in messages for line in _message(message))
    return "\n".join(
        (
            f'"""{title}.',
            "",
            f"Generated from {source} by libs/kafka/codegen; do not edit.",
            '"""',
            "",
            "from __future__ import annotations",
            "",
            f"from dataclasses import {_used(body, 'dataclass', 'field')}",
            "from typing import ClassVar",
            "",
            f"from korvet.kafka.message import {_used(body, *_SHARED)}",
            f"from korvet.kafka.primitives import {_used(body, *_PRIMITIVES)}",
            body,
            "",
        )
    )


def _used(body: str, *names: str) -> str:
    """The names that the body uses as its own, not as those of another object."""
    return ", ".join(name for name in names if re.search(rf"(?<![.\w]){name}\b", body))


def _message(message: MessageType) -> Iterator[str]:
    yield from ("", "", "@dataclass(slots=True, kw_only=True)")
    yield f"class {message.name}(Message):"
    yield f"    API_KEY: ClassVar[int] = {message.api_key}"
    yield f"    MIN_VERSION: ClassVar[int] = {message.versions.lowest}"
    yield f"    MAX_VERSION: ClassVar[int] = {message.versions.highest}"
    yield f"    FLEXIBLE_FROM: ClassVar[int] = {message.flexible_from}"
    yield ""
    for struct in message.structs:
        yield "    @dataclass(slots=True, kw_only=True)"
        yield f"    class {struct.name}(Struct):"
        yield from _indent(2, _body(struct, message))
        yield ""
    yield from _indent(1, _body(message, message))
    for name in sorted(_tagged_structs(message)):
        yield from ("", "")
        yield f"{fields.default_name(name)} = {message.name}.{name}()"


def _tagged_structs(message: MessageType) -> set[str]:
    """Structs that are compared with their default, to leave them out."""
    return {
        field.type
        for field in message.all_fields
        if field.is_struct and not field.is_array and field.default is not None
    }


def _body(struct: StructType | MessageType, message: MessageType) -> Iterator[str]:
    for field in struct.fields:
        if keyword.iskeyword(field.name) or field.name in _RESERVED:
            raise ValueError(f"{message.name}: {field.name} needs another name")
        yield fields.declaration(field, message.name)
    yield ""
    yield "def write(self, out: list[bytes], version: int) -> None:"
    yield from _indent(1, _write(struct, message))
    yield ""
    yield "@classmethod"
    yield f"def read(cls, reader: Reader, version: int) -> {_qualified(struct, message)}:"
    yield from _indent(1, _read(struct, message))


def _qualified(struct: StructType | MessageType, message: MessageType) -> str:
    return message.name if struct is message else f"{message.name}.{struct.name}"


def _write(struct: StructType | MessageType, message: MessageType) -> Iterator[str]:
    flexible = _flexible(struct, message)
    if flexible is None:
        yield f"flexible = version >= {message.flexible_from}"
    tagged = sorted((f for f in struct.fields if f.tag is not None), key=_tag)
    for field in (f for f in struct.fields if f.tag is None):
        condition = fields.condition(field.versions, struct.versions)
        write = list(fields.write(field, flexible))
        if not condition:
            yield from write
            continue
        yield f"if {condition}:"
        yield from _indent(1, write)
        if not field.ignorable:
            yield f"elif {fields.differs(field)}:"
            yield f'    raise unsupported("{field.name}", version)'
    yield from _write_tags(struct, tagged, flexible)


def _write_tags(
    struct: StructType | MessageType, tagged: list[Field], flexible: bool | None
) -> Iterator[str]:
    if tagged:
        yield "tags: list[tuple[int, list[bytes]]] = []"
    for field in tagged:
        condition = fields.condition(field.versions, struct.versions)
        differs = fields.differs(field)
        if not condition:
            yield f"if {differs}:"
            yield from _indent(1, _write_tag(field))
            continue
        yield f"if {condition}:"
        yield f"    if {differs}:"
        yield from _indent(2, _write_tag(field))
        if not field.ignorable:
            yield f"elif {differs}:"
            yield f'    raise unsupported("{field.name}", version)'
    write = "write_tagged_fields(out, tags)" if tagged else 'out.append(b"\\x00")'
    if flexible is None:
        yield "if flexible:"
        yield f"    {write}"
    elif flexible:
        yield write


def _write_tag(field: Field) -> Iterator[str]:
    yield f"{field.name}: list[bytes] = []"
    yield from fields.write(field, flexible=True, out=field.name)
    yield f"tags.append(({field.tag}, {field.name}))"


def _read(struct: StructType | MessageType, message: MessageType) -> Iterator[str]:
    flexible = _flexible(struct, message)
    if flexible is None:
        yield f"flexible = version >= {message.flexible_from}"
    tagged = sorted((f for f in struct.fields if f.tag is not None), key=_tag)
    for field in (f for f in struct.fields if f.tag is None):
        condition = fields.condition(field.versions, struct.versions)
        declared = f"{field.name}: {fields.annotation(field, message.name)}"
        if not condition:
            yield from fields.read(field, declared, flexible, message.name)
            continue
        yield f"{declared} = {fields.default(field, message.name)}"
        yield f"if {condition}:"
        yield from _indent(1, fields.read(field, field.name, flexible, message.name))
    for field in tagged:
        annotation = fields.annotation(field, message.name)
        yield f"{field.name}: {annotation} = {fields.default(field, message.name)}"
    if flexible is None:
        yield "if flexible:"
        yield from _indent(1, _read_tags(struct, tagged, message))
    elif flexible:
        yield from _read_tags(struct, tagged, message)
    yield "return cls("
    yield from (f"    {field.name}={field.name}," for field in struct.fields)
    yield ")"


def _read_tags(
    struct: StructType | MessageType, tagged: list[Field], message: MessageType
) -> Iterator[str]:
    if not tagged:
        yield "reader.skip_tagged_fields()"
        return
    yield "for _ in range(reader.unsigned_varint()):"
    yield "    tag, end = reader.tagged_field()"
    word = "if"
    for field in tagged:
        condition = fields.condition(field.versions, struct.versions)
        test = f"tag == {field.tag}" + (f" and {condition}" if condition else "")
        yield f"    {word} {test}:"
        read = fields.read(field, field.name, True, message.name)
        yield from _indent(2, read)
        yield "        reader.end_tagged_field(end)"
        word = "elif"
    yield "    else:"
    yield "        reader.position = end"


def _flexible(struct: StructType | MessageType, message: MessageType) -> bool | None:
    """Whether the struct is always or never in a flexible version; None if it depends."""
    if struct.versions.lowest >= message.flexible_from:
        return True
    if struct.versions.highest < message.flexible_from:
        return False
    return None


def _tag(field: Field) -> int:
    assert field.tag is not None
    return field.tag


def _indent(levels: int, lines: Iterable[str]) -> Iterator[str]:
    return (" " * 4 * levels + line if line else "" for line in lines)
