"""PURE: which topics `--topics` means: names, and regular expressions for whole names."""

import re
from dataclasses import dataclass
from typing import Final

from korvet.pipeline.failure import LakeError

# What a topic's name may have: anything else makes it an expression.
_NAME: Final = re.compile(r"[a-zA-Z0-9._-]+")


@dataclass(frozen=True, slots=True, kw_only=True)
class TopicSelection:
    names: tuple[str, ...]
    patterns: tuple[str, ...]

    @classmethod
    def parse(cls, text: str) -> "TopicSelection":
        parts = [part.strip() for part in text.split(",") if part.strip()]
        if not parts:
            raise LakeError("No topic was named.", "As in --topics orders,'audit-.*'")
        names = tuple(part for part in parts if _NAME.fullmatch(part))
        patterns = tuple(part for part in parts if not _NAME.fullmatch(part))
        for pattern in patterns:
            check_pattern(pattern)
        return cls(names=names, patterns=patterns)

    def matches(self, topic: str) -> bool:
        return topic in self.names or any(
            re.fullmatch(pattern, topic) for pattern in self.patterns
        )

    def check_named(self, there: set[str], place: str) -> None:
        """Raise LakeError where a topic that is named is not there."""
        for name in self.names:
            if name not in there:
                raise LakeError(
                    f"There is no topic {name}{place}.",
                    "A name that may come later is found with an expression, as in"
                    f" --topics '({name})'.",
                )


def check_pattern(pattern: str) -> None:
    try:
        re.compile(pattern)
    except re.error as error:
        raise LakeError(f"{pattern} is no regular expression: {error}.") from None
