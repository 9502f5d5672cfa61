"""The systems that speak Kafka, by the names under which results are kept."""

from collections.abc import Mapping
from contextlib import AbstractContextManager
from pathlib import Path

from bench.kafka_peer import kafka
from bench.korvet_peer import korvet
from bench.peer import Peer
from bench.summary import KAFKA


def opened(
    system: str, folder: Path, settings: Mapping[str, str] | None = None
) -> AbstractContextManager[Peer]:
    """The system, started in a folder that it makes, until the block ends."""
    if system == KAFKA:
        return kafka(folder, settings)
    return korvet(folder, system.partition("-")[2], settings)


def turned(systems: tuple[str, ...], by: int) -> tuple[str, ...]:
    """An order of their own for each round."""
    cut = by % len(systems) if systems else 0
    return systems[cut:] + systems[:cut]
