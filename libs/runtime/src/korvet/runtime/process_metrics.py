"""What a process takes of its machine, and whether it serves."""

import os
import resource
import time
from pathlib import Path
from typing import Final

from korvet.runtime import metrics

_STATM: Final = Path("/proc/self/statm")

_ready: Final = metrics.gauge(
    "korvet.ready",
    unit="{process}",
    description="1 while the process serves, 0 while it waits for what it needs or drains.",
)
_cpu: Final = metrics.counter(
    "process.cpu.time",
    unit="s",
    description="Processor time that the process has used.",
    attributes=("cpu.mode",),
)
_memory: Final = metrics.gauge(
    "process.memory.usage",
    unit="By",
    description="Physical memory that the process has; where there is no /proc, the most"
    " that it had.",
)
_started: Final = time.monotonic()
_uptime: Final = metrics.gauge(
    "process.uptime", unit="s", description="How long the process has been running."
)


def set_ready(is_ready: bool) -> None:
    _ready.of().value = int(is_ready)


def _look() -> None:
    times = os.times()
    _cpu.of("user").value = times.user
    _cpu.of("system").value = times.system
    _memory.of().value = _resident_bytes()
    _uptime.of().value = round(time.monotonic() - _started, 3)


def _resident_bytes() -> int:
    try:
        return int(_STATM.read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except OSError:
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


set_ready(False)
metrics.REGISTRY.observe(_look)
