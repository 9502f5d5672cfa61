"""PURE: the kinds of value that a config can have: what is allowed, and how it is written.

Values travel and are stored as text, as in Kafka. `canonical` accepts what Kafka's own
parsers accept and returns the one way in which we write it; `ValueError` says what is
allowed instead.
"""

import re
from dataclasses import dataclass
from typing import Final, Protocol, TypeAlias

from korvet.proto.storage.v1 import storage_service_pb2 as pb

ConfigType: TypeAlias = "pb.ConfigType.ValueType"

LONG_MAX: Final = (1 << 63) - 1
INT_MAX: Final = (1 << 31) - 1

_WHOLE: Final = re.compile(r"[+-]?[0-9]{1,19}")
_DECIMAL: Final = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]{1,3})?")
# "partition:broker"; anything but Kafka's wildcard for all of them.
_THROTTLED_REPLICA: Final = re.compile(r"[0-9]{1,10}:[0-9]{1,10}")


class ValueKind(Protocol):
    @property
    def type(self) -> ConfigType: ...

    @property
    def allowed(self) -> str:
        """Continues the sentence "must be …"."""

    def canonical(self, text: str) -> str: ...


@dataclass(frozen=True, slots=True)
class Flag:
    type: ConfigType = pb.CONFIG_TYPE_BOOLEAN
    allowed: str = "true or false"

    def canonical(self, text: str) -> str:
        value = text.strip().lower()
        if value not in ("true", "false"):
            raise ValueError(self.allowed)
        return value


@dataclass(frozen=True, slots=True)
class Whole:
    """A whole number between two bounds, or one that stands for something by itself."""

    low: int
    high: int
    type: ConfigType
    also: int | None = None

    @property
    def allowed(self) -> str:
        if self.high in (INT_MAX, LONG_MAX):
            bounds = f"a whole number of at least {self.low}"
        else:
            bounds = f"a whole number from {self.low} to {self.high}"
        return bounds if self.also is None else f"{bounds}, or {self.also}"

    def canonical(self, text: str) -> str:
        if not _WHOLE.fullmatch(text.strip()):
            raise ValueError(self.allowed)
        value = int(text)
        if not self.low <= value <= self.high and value != self.also:
            raise ValueError(self.allowed)
        return str(value)


def long(low: int, high: int = LONG_MAX) -> Whole:
    return Whole(low, high, pb.CONFIG_TYPE_LONG)


def integer(low: int, high: int = INT_MAX, *, also: int | None = None) -> Whole:
    return Whole(low, high, pb.CONFIG_TYPE_INT, also)


@dataclass(frozen=True, slots=True)
class Share:
    """A number from 0 to 1."""

    type: ConfigType = pb.CONFIG_TYPE_DOUBLE
    allowed: str = "a number from 0 to 1"

    def canonical(self, text: str) -> str:
        if not _DECIMAL.fullmatch(text.strip()) or not 0 <= float(text) <= 1:
            raise ValueError(self.allowed)
        return str(float(text))


@dataclass(frozen=True, slots=True)
class OneOf:
    values: tuple[str, ...]
    type: ConfigType = pb.CONFIG_TYPE_STRING

    @property
    def allowed(self) -> str:
        return "one of " + ", ".join(self.values)

    def canonical(self, text: str) -> str:
        value = text.strip()
        if value not in self.values:
            raise ValueError(self.allowed)
        return value


@dataclass(frozen=True, slots=True)
class AnyOf:
    """A list of some of the values; the only kind that can be appended to."""

    values: tuple[str, ...]
    type: ConfigType = pb.CONFIG_TYPE_LIST

    @property
    def allowed(self) -> str:
        return "a list of " + ", ".join(self.values)

    def canonical(self, text: str) -> str:
        items = split_list(text)
        if not all(item in self.values for item in items):
            raise ValueError(self.allowed)
        return ",".join(items)


@dataclass(frozen=True, slots=True)
class ThrottledReplicas:
    """Kafka's list of replicas whose replication is throttled."""

    type: ConfigType = pb.CONFIG_TYPE_LIST
    allowed: str = "a list of partition:broker, or *"

    def canonical(self, text: str) -> str:
        items = split_list(text)
        wildcard = items == ("*",)
        if not wildcard and not all(_THROTTLED_REPLICA.fullmatch(item) for item in items):
            raise ValueError(self.allowed)
        return ",".join(items)


def split_list(text: str) -> tuple[str, ...]:
    """The items of a list value, each once, in their order."""
    return tuple(dict.fromkeys(item.strip() for item in text.split(",") if item.strip()))
