"""docs/redis-layout.md lists the keys and fields that the code has, and no others."""

import re
from pathlib import Path

from korvet.redis.keys import Keys
from korvet.storage.scripts import APPEND

DOCUMENT = Path("docs/redis-layout.md").read_text()


def first_column(heading: str) -> set[str]:
    """What stands in backquotes in the first column of the first table under a heading."""
    table = DOCUMENT.split(heading, 1)[1].split("\n\n|", 1)[1].split("\n\n", 1)[0]
    cells = [line.strip("|").split("|")[0] for line in table.splitlines()]
    return {name for cell in cells for name in re.findall(r"`([^`]+)`", cell)}


def test_every_key_is_documented_and_every_documented_key_exists() -> None:
    keys = Keys()
    built = {
        keys.topics,
        keys.topic_ids,
        keys.topic("{topic}"),
        keys.deletions,
        keys.catalogue_version,
        keys.groups,
        "korvet:group:{group}",
        "korvet:group:{group}:offsets",
        "korvet:commit:{streamKey}:{group}",
        "korvet:group:{group}:transactions",
        "korvet:group:{group}:pending",
        keys.transactional_ids,
        "korvet:transaction:{transactionalId}",
        keys.coordinators,
        keys.gateways,
        keys.producer_ids,
        keys.cluster_id,
        keys.layout,
        "korvet:deleted:{topicId}:{kind}:{partition}",
        # The placeholders stand where a number goes, too.
        *(
            key.replace(":7", ":{partition}")
            for key in keys.of_partition("{topic}", 7).values()
        ),
    }
    assert keys.group("a:b") == "korvet:group:a%3Ab"
    assert keys.group_offsets("a{b}") == "korvet:group:a%7Bb%7D:offsets"
    assert keys.group_transactions("a") == "korvet:group:a:transactions"
    assert keys.group_pending("a:b") == "korvet:group:a%3Ab:pending"
    assert keys.transaction("a:b") == "korvet:transaction:a%3Ab"
    stream = keys.stream("orders", 0)
    assert keys.commit(stream, "mine") == "korvet:commit:korvet:stream:orders:0:mine"
    retired = keys.retired("{topicId}", 7)

    assert first_column("# What is in Redis") == built
    assert retired["stream"] == "korvet:deleted:{topicId}:stream:7"
    assert keys.appended("{topic}", 7).replace(":7", ":{partition}") in DOCUMENT
    assert keys.changes in DOCUMENT
    assert keys.confirmations in DOCUMENT


def test_every_field_of_a_partition_is_documented() -> None:
    declared = APPEND.text.split("local STATE = {", 1)[1].split("}", 1)[0]

    assert first_column("## The partition's hash") == set(re.findall(r"'(\w+)'", declared))
