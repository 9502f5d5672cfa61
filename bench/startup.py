"""How long until a system that was just started answers its first request."""

import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from bench.systems import opened


@dataclass(frozen=True, slots=True, kw_only=True)
class Started:
    # From the start of its process to an answer to Metadata that names a broker.
    ready_s: float


def start(system: str) -> Started:
    """Start it on an empty folder, and stop it again."""
    with tempfile.TemporaryDirectory(prefix="korvet-bench-") as folder:
        begun = time.perf_counter()
        with opened(system, Path(folder) / system):
            return Started(ready_s=time.perf_counter() - begun)
