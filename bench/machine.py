"""Where and from what a result was measured, to be kept with it."""

import os
import platform
import shutil
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

import confluent_kafka
import psutil

ROOT: Final = Path(__file__).resolve().parent.parent


def provenance() -> dict[str, Any]:
    """Commit, command, time and machine."""
    changed = _output("git", "-C", str(ROOT), "status", "--porcelain")
    return {
        "commit": _output("git", "-C", str(ROOT), "rev-parse", "HEAD"),
        "uncommitted_changes": bool(changed),
        "command": " ".join(["python", "-m", _module(), *sys.argv[1:]]),
        "when": datetime.now(UTC).isoformat(timespec="seconds"),
        "machine": {
            "cpu": _cpu(),
            "cores": os.cpu_count(),
            "memory_gb": round(psutil.virtual_memory().total / 1e9),
            "kernel": platform.release(),
            # Other work on the machine when the run began.
            "load_average": os.getloadavg()[0],
        },
        "versions": {
            "python": platform.python_version(),
            "librdkafka": confluent_kafka.libversion()[0],
            "redis": _first_line("redis-server", "--version"),
            "java": _first_line("java", "--version"),
        },
    }


def _module() -> str:
    return f"bench.{Path(sys.argv[0]).stem}"


def _cpu() -> str:
    for line in Path("/proc/cpuinfo").read_text().splitlines():
        if line.startswith("model name"):
            return line.partition(":")[2].strip()
    return platform.processor()


def _first_line(*command: str) -> str:
    return _output(*command).partition("\n")[0]


def _output(*command: str) -> str:
    if shutil.which(command[0]) is None:
        return ""
    done = subprocess.run(command, capture_output=True, text=True, timeout=30, check=False)
    return done.stdout.strip()
