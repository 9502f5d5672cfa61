"""Every generated message, found by looking, so that a new API is tested without a list."""

from collections.abc import Iterator
from importlib import import_module
from pkgutil import iter_modules

import korvet.kafka.messages
from korvet.kafka.message import Message


def _messages() -> Iterator[type[Message]]:
    for module in iter_modules(korvet.kafka.messages.__path__):
        name = f"korvet.kafka.messages.{module.name}"
        for value in vars(import_module(name)).values():
            is_class = isinstance(value, type)
            if is_class and issubclass(value, Message) and value is not Message:
                yield value


MESSAGES: tuple[type[Message], ...] = tuple(sorted(_messages(), key=lambda m: m.__name__))

# Every message in every version.
ALL_VERSIONS: tuple[tuple[type[Message], int], ...] = tuple(
    (message, version)
    for message in MESSAGES
    for version in range(message.MIN_VERSION, message.MAX_VERSION + 1)
)


def label(value: object) -> str:
    """A readable id for a parametrised test."""
    return value.__name__ if isinstance(value, type) else f"v{value}"
