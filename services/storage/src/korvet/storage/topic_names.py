"""PURE: what a topic may be called.

A valid name holds no colon, so that a key built from one never collides with another.
"""

import re
from typing import Final

from korvet.kafka.errors import ErrorCode, KafkaError

MAX_LENGTH: Final = 249

_ALLOWED: Final = re.compile(r"[a-zA-Z0-9._-]+")


def check_topic_name(name: str) -> None:
    """Raise KafkaError(INVALID_TOPIC_EXCEPTION) that says what is wrong with the name."""
    reason = _problem(name)
    if reason:
        raise KafkaError(ErrorCode.INVALID_TOPIC_EXCEPTION, reason)


def is_topic_name(name: str) -> bool:
    return _problem(name) is None


def collision_form(name: str) -> str | None:
    """What two names share that Kafka refuses to have side by side; None: no danger.

    Kafka's metrics write a dot as an underscore, so `a.b` and `a_b` would be one there.
    """
    return name.replace(".", "_") if "." in name or "_" in name else None


def _problem(name: str) -> str | None:
    if not name:
        return "Topic name is invalid: it cannot be empty"
    if name in (".", ".."):
        return f"Topic name is invalid: '{name}' is not allowed"
    if len(name) > MAX_LENGTH:
        return (
            f"Topic name is invalid: it has {len(name)} characters, "
            f"at most {MAX_LENGTH} are allowed"
        )
    if not _ALLOWED.fullmatch(name):
        return (
            f"Topic name is invalid: {name!r} contains other characters than ASCII letters "
            "and digits, '.', '_' and '-'"
        )
    if name.startswith("__"):
        return f"Topic name is invalid: '{name}' starts with '__', which is reserved"
    return None
