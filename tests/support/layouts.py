"""The ways in which a topic can be kept, for tests that break all of them at once."""

import uuid
from collections.abc import Mapping
from typing import Final

from korvet.kafka.errors import ErrorCode
from tests.support.wire_client import WireClient

LAYOUTS: Final[dict[str, Mapping[str, str]]] = {
    f"{storage_format}-{encoding}": {
        "storage.format": storage_format,
        "offset.encoding": encoding,
    }
    for storage_format in ("record", "batch")
    for encoding in ("time", "dense")
}


def layout_name(configs: Mapping[str, str]) -> str:
    """Under which name LAYOUTS has it."""
    return f"{configs['storage.format']}-{configs['offset.encoding']}"


def create_topics(wire: WireClient) -> dict[str, str]:
    """Create a topic of each layout, with a name of its own; return them by layout."""
    topics: dict[str, str] = {}
    for layout, configs in LAYOUTS.items():
        topics[layout] = f"{layout}-{uuid.uuid4().hex[:8]}"
        created = wire.create_topic(topics[layout], configs)
        assert created is ErrorCode.NONE, f"{topics[layout]}: {created!r}"
    return topics
