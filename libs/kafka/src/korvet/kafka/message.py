"""What every generated message has in common.

A message knows no version: it holds the fields of all of them, and the version is an
argument of encode and decode.
"""

import struct
from abc import ABC, abstractmethod
from typing import ClassVar, Final, Self

from korvet.kafka.errors import DecodeError
from korvet.kafka.primitives import Buffer, Reader

_LONG_LIST: Final = 100


class Struct(ABC):
    """A part of a message."""

    __slots__ = ()

    @abstractmethod
    def write(self, out: list[bytes], version: int) -> None:
        """Append the encoding to `out`, in chunks."""

    @classmethod
    @abstractmethod
    def read(cls, reader: Reader, version: int) -> Self:
        """Take one from where the reader stands."""


class Message(Struct):
    """A request, a response or a header."""

    __slots__ = ()

    API_KEY: ClassVar[int]
    MIN_VERSION: ClassVar[int]
    MAX_VERSION: ClassVar[int]
    # The first version with compact lengths and tagged fields; above all if there is none.
    FLEXIBLE_FROM: ClassVar[int]

    @property
    def is_long(self) -> bool:
        """Whether encoding it may take milliseconds: a list of it has many elements."""
        return any(
            type(value) is list and len(value) > _LONG_LIST
            for value in map(self.__getattribute__, self.__slots__)
        )

    def encode(self, version: int) -> bytes:
        """Encode for `version`.

        Raises ValueError for a value that the version cannot carry.
        """
        return b"".join(self.chunks(version))

    def chunks(self, version: int) -> list[bytes]:
        """Encode without joining: large fields are in the list as they are."""
        self._check(version)
        out: list[bytes] = []
        try:
            self.write(out, version)
        except struct.error as error:
            raise ValueError(f"{type(self).__name__} v{version}: {error}") from error
        return out

    @classmethod
    def decode(cls, buffer: Buffer, version: int, position: int = 0) -> Self:
        """Decode the message that fills `buffer` from `position` to its end."""
        cls._check(version)
        reader = Reader(buffer, position)
        try:
            message = cls.read(reader, version)
            reader.finish()
        except DecodeError as error:
            raise DecodeError(f"{cls.__name__} v{version}: {error}") from error
        return message

    @classmethod
    def _check(cls, version: int) -> None:
        if not cls.MIN_VERSION <= version <= cls.MAX_VERSION:
            raise ValueError(f"{cls.__name__} has no version {version}")


def unsupported(name: str, version: int) -> ValueError:
    return ValueError(f"v{version} cannot carry {name}, and it must not be lost")


def not_nullable(name: str, version: int) -> ValueError:
    return ValueError(f"{name} is null, which v{version} cannot carry")
