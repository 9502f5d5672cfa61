"""PURE: what topics are called in SQL, where a name has no dots and dashes."""

import re
from collections.abc import Iterable
from typing import Final

_OTHER: Final = re.compile(r"[^a-z0-9_]")
_WORD: Final = re.compile(r"[A-Za-z0-9_]+|`[^`]*`")


def view_names(topics: Iterable[str]) -> dict[str, str]:
    """A name for each topic, by topic; none needs quotes, and no two are the same.

    SQL tells no capitals from others. Of topics that would share a name the first in order
    keeps it; the others get a number.
    """
    names: dict[str, str] = {}
    taken: set[str] = set()
    for topic in sorted(topics, key=lambda topic: (_plain(topic) != topic, topic)):
        base = _plain(topic)
        name, number = base, 1
        while name in taken:
            number += 1
            name = f"{base}_{number}"
        taken.add(name)
        names[topic] = name
    return names


def mentioned(query: str, names: dict[str, str]) -> list[str]:
    """The topics that a query may be about: it has their view's name or, quoted, their own.

    One too many does no harm.
    """
    words = {word.lower() for word in _WORD.findall(query)}
    return [
        topic
        for topic, name in names.items()
        if name in words or f"`{name}`" in words or f"`{topic.lower()}`" in words
    ]


def _plain(topic: str) -> str:
    name = _OTHER.sub("_", topic.lower())
    return f"_{name}" if name[:1].isdigit() else name
