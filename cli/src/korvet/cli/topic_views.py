"""How topics look: as tables for people, as JSON for programs."""

from collections import defaultdict
from collections.abc import Sequence
from typing import Any

from korvet.cli.terminal import Column, console, print_table, readable_bytes
from korvet.client import PartitionLog, Topic


def partitions(topic: Topic) -> str:
    return "1 partition" if topic.partitions == 1 else f"{topic.partitions} partitions"


def print_listing(topics: Sequence[Topic], logs: Sequence[PartitionLog]) -> None:
    records, sizes = _totals(logs)
    print_table(
        [
            Column("Topic"),
            Column("Partitions", is_number=True),
            Column("Records", is_number=True),
            Column("Size", is_number=True),
        ],
        [
            (
                topic.name,
                topic.partitions,
                f"{records[topic.name]:,}",
                readable_bytes(sizes[topic.name]),
            )
            for topic in topics
        ],
    )


def listing_json(topics: Sequence[Topic], logs: Sequence[PartitionLog]) -> Any:
    records, sizes = _totals(logs)
    return [
        {
            "name": topic.name,
            "id": topic.id,
            "partitions": topic.partitions,
            "records": records[topic.name],
            "bytes": sizes[topic.name],
        }
        for topic in topics
    ]


def print_description(
    topic: Topic, logs: Sequence[PartitionLog], *, all_configs: bool
) -> None:
    console.print(f"[bold]{topic.name}[/]: {partitions(topic)}, id {topic.id}\n")
    print_table(
        [
            Column("Partition", is_number=True),
            Column("Records", is_number=True),
            Column("Size", is_number=True),
            Column("First offset", is_number=True),
            Column("Next offset", is_number=True),
        ],
        [
            (
                log.partition,
                f"{log.record_count:,}",
                readable_bytes(log.size_bytes),
                log.log_start_offset,
                log.high_watermark,
            )
            for log in logs
        ],
    )
    console.print()
    shown = [
        (config.name, config.value, config.source)
        for _, config in sorted(topic.configs.items())
        if all_configs or config.source != "default"
    ]
    if shown:
        print_table([Column("Config"), Column("Value"), Column("Set by")], shown)
        console.print()
    if not all_configs:
        others = "All other configs" if shown else "All configs"
        console.print(f"{others} have their defaults; --all shows them.")


def description_json(topic: Topic, logs: Sequence[PartitionLog]) -> Any:
    return {
        **topic_json(topic),
        "logs": [
            {
                "partition": log.partition,
                "records": log.record_count,
                "bytes": log.size_bytes,
                "log_start_offset": log.log_start_offset,
                "high_watermark": log.high_watermark,
            }
            for log in logs
        ],
    }


def topic_json(topic: Topic) -> dict[str, Any]:
    return {
        "name": topic.name,
        "id": topic.id,
        "partitions": topic.partitions,
        "configs": {
            name: {"value": config.value, "source": config.source}
            for name, config in sorted(topic.configs.items())
        },
    }


def _totals(logs: Sequence[PartitionLog]) -> tuple[dict[str, int], dict[str, int]]:
    """Records and bytes of each topic; 0 for one that was made just now."""
    records: defaultdict[str, int] = defaultdict(int)
    sizes: defaultdict[str, int] = defaultdict(int)
    for log in logs:
        records[log.topic] += log.record_count
        sizes[log.topic] += log.size_bytes
    return records, sizes
