"""One field of a message, as the lines that declare, write and read it."""

import json
from collections.abc import Iterator
from typing import Final

from libs.kafka.codegen.description import Field, Versions, snake_case

_PYTHON_TYPES: Final = {
    "bool": "bool",
    "float64": "float",
    "string": "str",
    "uuid": "bytes",
    "bytes": "bytes",
    "records": "bytes",
}
# Types with a length before them, which is compact in flexible versions.
_SIZED: Final = {"string": "string", "bytes": "data", "records": "data"}
_FIXED: Final = {"bool": "boolean"}


def condition(versions: Versions, context: Versions) -> str:
    """When a version of the context is among `versions`; empty if it always is."""
    low = versions.lowest if versions.lowest > context.lowest else None
    high = versions.highest if versions.highest < context.highest else None
    if low is not None and high is not None:
        return f"{low} <= version <= {high}"
    if low is not None:
        return f"version >= {low}"
    return f"version <= {high}" if high is not None else ""


def default_name(struct: str) -> str:
    return f"_DEFAULT_{snake_case(struct).upper()}"


def annotation(field: Field, message: str) -> str:
    name = _python_type(field, message)
    if field.is_array:
        name = f"list[{name}]"
    return f"{name} | None" if field.is_nullable else name


def _python_type(field: Field, message: str) -> str:
    if field.is_struct:
        return f"{message}.{field.type}"
    return _PYTHON_TYPES.get(field.type, "int")


def default(field: Field, message: str) -> str:
    if field.default is None:
        return "None"
    if field.is_array:
        return "[]"
    if field.is_struct:
        return f"{message}.{field.type}()"
    if field.type == "uuid":
        return "ZERO_UUID"
    return json.dumps(field.default) if field.type == "string" else repr(field.default)


def declaration(field: Field, message: str) -> str:
    value = default(field, message)
    if value == "[]":
        value = "field(default_factory=list)"
    elif value.endswith("()"):
        value = f"field(default_factory=lambda: {value})"
    elif field.type in ("bytes", "records"):
        # Megabytes of records have no place in a log line.
        value = f"field(default={value}, repr=False)"
    return f"{field.name}: {annotation(field, message)} = {value}"


def differs(field: Field) -> str:
    """An expression: the field has another value than its default."""
    own = f"self.{field.name}"
    if field.default is None:
        return f"{own} is not None"
    if field.is_array:
        return f"{own} != []" if field.is_nullable else own
    if field.is_struct:
        return f"{own} != {default_name(field.type)}"
    if field.type == "bool":
        return f"not {own}" if field.default else own
    return f"{own} != {default(field, '')}"


def write(field: Field, flexible: bool | None, out: str = "out") -> Iterator[str]:
    own = f"self.{field.name}"
    if field.is_nullable and (may_be_null := condition(field.nullable, field.versions)):
        yield f"if {own} is None and not {_grouped(may_be_null)}:"
        yield f'    raise not_nullable("{field.name}", version)'
    if field.is_array:
        yield from _write_array(field, own, flexible, out)
    elif field.is_struct:
        yield from _write_struct(field, own, out)
    elif field.type in _SIZED:
        nullable = "nullable_" if field.is_nullable else ""
        name = f"{nullable}{_SIZED[field.type]}"
        if field.compact and flexible is None:
            yield "if flexible:"
            yield f"    write_compact_{name}({out}, {own})"
            yield "else:"
            yield f"    write_{name}({out}, {own})"
        else:
            compact = "compact_" if field.compact and flexible else ""
            yield f"write_{compact}{name}({out}, {own})"
    else:
        yield f"{out}.append({_FIXED.get(field.type, field.type)}({own}))"


def _grouped(expression: str) -> str:
    return f"({expression})" if " " in expression else expression


def _write_struct(field: Field, own: str, out: str) -> Iterator[str]:
    if not field.is_nullable:
        yield f"{own}.write({out}, version)"
        return
    yield f"if {own} is None:"
    yield f"    {out}.append(int8(-1))"
    yield "else:"
    yield f"    {out}.append(int8(1))"
    yield f"    {own}.write({out}, version)"


def _write_array(field: Field, own: str, flexible: bool | None, out: str) -> Iterator[str]:
    if field.is_nullable:
        yield f"if {own} is None:"
        yield f"    {out}.append({_length('-1', flexible)})"
        yield "else:"
        yield from ("    " + line for line in _write_items(field, own, flexible, out))
    else:
        yield from _write_items(field, own, flexible, out)


def _length(length: str, flexible: bool | None) -> str:
    if flexible is None:
        return f"compact_array_length({length}) if flexible else array_length({length})"
    return f"{'compact_' if flexible else ''}array_length({length})"


def _write_items(field: Field, own: str, flexible: bool | None, out: str) -> Iterator[str]:
    yield f"{out}.append({_length(f'len({own})', flexible)})"
    # A name for each array, since a type checker wants one type for each name.
    item = f"{field.name}_item"
    if field.is_struct:
        yield f"for {item} in {own}:"
        yield f"    {item}.write({out}, version)"
    elif field.type in _SIZED:
        name = _SIZED[field.type]
        yield f"for {item} in {own}:"
        if flexible is None:
            yield "    if flexible:"
            yield f"        write_compact_{name}({out}, {item})"
            yield "    else:"
            yield f"        write_{name}({out}, {item})"
        else:
            yield f"    write_{'compact_' if flexible else ''}{name}({out}, {item})"
    else:
        yield f"{out} += map({_FIXED.get(field.type, field.type)}, {own})"


def read(field: Field, target: str, flexible: bool | None, message: str) -> Iterator[str]:
    """Lines that read the field into `target`, which may carry an annotation."""
    if not field.is_nullable:
        yield f"{target} = {_read_value(field, flexible, message, nullable=False)}"
        return
    may_be_null = condition(field.nullable, field.versions)
    if field.is_array:
        yield from _read_nullable_array(field, target, may_be_null, flexible, message)
    elif field.is_struct:
        struct = f"{message}.{field.type}"
        yield f"{target} = {struct}.read(reader, version) if reader.int8() >= 0 else None"
    elif not may_be_null:
        yield f"{target} = {_read_value(field, flexible, message, nullable=True)}"
    else:
        yield f"{target} = ("
        yield f"    {_grouped(_read_value(field, flexible, message, nullable=True))}"
        yield f"    if {may_be_null}"
        yield f"    else {_read_value(field, flexible, message, nullable=False)}"
        yield ")"


def _read_nullable_array(
    field: Field, target: str, may_be_null: str, flexible: bool | None, message: str
) -> Iterator[str]:
    length = _read_sized("nullable_array_length", flexible)
    if may_be_null:
        present = _read_sized("array_length", flexible)
        length = f"({length}) if {may_be_null} else ({present})"
    yield f"length = {length}"
    items = f"[{_read_item(field, flexible, message)} for _ in range(length)]"
    yield f"{target} = None if length < 0 else {items}"


def _read_value(
    field: Field, flexible: bool | None, message: str, *, nullable: bool
) -> str:
    if field.is_array:
        length = _read_sized("array_length", flexible)
        return f"[{_read_item(field, flexible, message)} for _ in range({length})]"
    if field.type in _SIZED and nullable:
        compact = flexible if field.compact else False
        return _read_sized(f"nullable_{_SIZED[field.type]}", compact)
    return _read_item(field, flexible, message)


def _read_item(field: Field, flexible: bool | None, message: str) -> str:
    if field.is_struct:
        return f"{message}.{field.type}.read(reader, version)"
    if field.type in _SIZED:
        return _read_sized(_SIZED[field.type], flexible if field.compact else False)
    return f"reader.{_FIXED.get(field.type, field.type)}()"


def _read_sized(name: str, flexible: bool | None) -> str:
    if flexible is None:
        return f"reader.compact_{name}() if flexible else reader.{name}()"
    return f"reader.{'compact_' if flexible else ''}{name}()"
