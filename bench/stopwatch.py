"""Time, CPU and memory of one measured stretch, ours and of the processes behind it."""

import gc
import time
from types import TracebackType

import psutil

from bench.processes import Roles, cpu_seconds, forget_peaks, peak_rss_mb

# Our own share among the roles.
CLIENT = "client"


class Stopwatch:
    """Measures what happens inside its `with` block."""

    def __init__(self, roles: Roles) -> None:
        self._roles = roles
        self._cpu_before: dict[str, float] = {}
        self._started = 0.0
        self._threads_before: dict[int, float] = {}
        self.seconds = 0.0
        # How much of the time our busiest thread worked: near 1, we are the limit.
        self.client_busy = 0.0
        self.cpu: dict[str, float] = {}
        self.peak_rss_mb: dict[str, float] = {}

    def __enter__(self) -> "Stopwatch":
        # A collection in the middle would be the benchmark's time, not the system's.
        gc.collect()
        gc.freeze()
        gc.disable()
        forget_peaks(self._roles)
        self._cpu_before = self._cpu_so_far()
        self._threads_before = _threads()
        self._started = time.perf_counter()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.seconds = time.perf_counter() - self._started
        now = self._cpu_so_far()
        self.cpu = {role: now[role] - before for role, before in self._cpu_before.items()}
        self.peak_rss_mb = peak_rss_mb(self._roles)
        before = self._threads_before
        busiest = max(cpu - before.get(id_, 0.0) for id_, cpu in _threads().items())
        self.client_busy = busiest / self.seconds
        gc.enable()

    def cpu_us(self, count: int) -> dict[str, float]:
        """CPU microseconds for each of `count` records, by role."""
        return {role: seconds / count * 1e6 for role, seconds in self.cpu.items()}

    def _cpu_so_far(self) -> dict[str, float]:
        return {CLIENT: time.process_time(), **cpu_seconds(self._roles)}


def _threads() -> dict[int, float]:
    return {one.id: one.user_time + one.system_time for one in psutil.Process().threads()}
