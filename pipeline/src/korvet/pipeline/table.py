"""PURE: what a lake is made of, one Delta table a topic, and how a folder is known as one.

A record's key is (topicId, partition, offset): a topic that was deleted and made again
under its name has another id, and is another history in the same table. The columns that
Spark's own `kafka` source has, too, have its names.
"""

import json
from base64 import urlsafe_b64encode
from typing import Final

from korvet.pipeline.failure import LakeError

# `ingestDate` is the day of the archive, in UTC.
COLUMNS: Final = {
    "topic": "STRING",
    "partition": "INT",
    "offset": "BIGINT",
    "timestamp": "TIMESTAMP",
    # Kafka's: 0 is the producer's time, 1 that of the append.
    "timestampType": "INT",
    "key": "BINARY",
    "value": "BINARY",
    # In order, with duplicates; a value may be null, which is not empty. The list is never
    # null itself.
    "headers": "ARRAY<STRUCT<key: STRING, value: BINARY>>",
    "topicId": "STRING",
    "leaderEpoch": "INT",
    "ingestDate": "DATE",
}
PARTITION_COLUMN: Final = "ingestDate"
# What the `korvet` source yields: a table's columns but for the one that the archive adds.
SOURCE_COLUMNS: Final = {
    name: kind for name, kind in COLUMNS.items() if name != PARTITION_COLUMN
}

CREATE_TIME: Final = 0
LOG_APPEND_TIME: Final = 1

_MARKER: Final = {"format": "korvet-lake", "version": 1}


def ddl(columns: dict[str, str]) -> str:
    """As Spark's SQL writes a schema: `schema(ddl(COLUMNS))`, `CREATE TABLE … (ddl)`."""
    return ", ".join(f"{name} {kind}" for name, kind in columns.items())


def topic_id_text(topic_id: bytes) -> str:
    """A topic id as Kafka's tools write it."""
    return urlsafe_b64encode(topic_id).decode().rstrip("=")


def marker_path(lake: str) -> str:
    return f"{lake.rstrip('/')}/korvet-lake.json"


def tables_path(lake: str) -> str:
    return f"{lake.rstrip('/')}/topics"


def table_path(lake: str, topic: str) -> str:
    return f"{tables_path(lake)}/{topic}"


def marker() -> str:
    return json.dumps(_MARKER) + "\n"


def check_marker(lake: str, content: str) -> None:
    """Raise LakeError unless the file says that this is a lake which this release knows."""
    try:
        found = json.loads(content)
    except ValueError:
        found = None
    if not isinstance(found, dict) or found.get("format") != _MARKER["format"]:
        raise not_a_lake(lake)
    if found.get("version") != _MARKER["version"]:
        raise LakeError(
            f"{lake} is a lake of version {found.get('version')}, and this release knows"
            f" version {_MARKER['version']}.",
            "Use the release that wrote it, or a newer one.",
        )


def not_a_lake(lake: str) -> LakeError:
    return LakeError(
        f"{lake} is not a Korvet lake: it has files, and no korvet-lake.json.",
        "Give another folder with --lake. A new or empty one becomes a lake at the first"
        " archive.",
    )
