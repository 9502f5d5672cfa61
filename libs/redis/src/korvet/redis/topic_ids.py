"""PURE: topic ids, and how they are written in Redis and by Kafka's tools."""

import base64
import secrets
from collections.abc import Callable
from typing import Final

TOPIC_ID_BYTES: Final = 16


def new_topic_id(random: Callable[[int], bytes] = secrets.token_bytes) -> bytes:
    """A random id. As with Kafka's, its text never looks like a command-line option."""
    while True:
        topic_id = random(TOPIC_ID_BYTES)
        if any(topic_id) and not topic_id_text(topic_id).startswith("-"):
            return topic_id


def topic_id_text(topic_id: bytes) -> str:
    """22 characters, as Kafka writes its ids."""
    return base64.urlsafe_b64encode(topic_id).rstrip(b"=").decode()


def parse_topic_id(text: str) -> bytes:
    """The id that `topic_id_text` wrote; ValueError where it is none."""
    topic_id = base64.b64decode(f"{text}==", altchars=b"-_", validate=True)
    if len(topic_id) != TOPIC_ID_BYTES:
        raise ValueError(f"{text!r} is not a topic id")
    return topic_id
