"""What an archive leaves in the memory of its driver, measured in a process of its own.

In local mode the driver's JVM does the tasks' work too, and its heap fills up to its limit
before anything is collected. So what is compared is what is live: the heap after a
collection, when all is archived and the session still knows all that it has done, and the
Python process's peak.
"""

import resource
import threading
from dataclasses import dataclass
from typing import Any

import psutil

_MB = 1e6


@dataclass(frozen=True, slots=True, kw_only=True)
class DriverMemory:
    # The heap after a collection, and the most that Python ever had.
    live_mb: float
    python_mb: float
    heap_mb: float
    # The JVM's largest, which its settings bound and not the topic.
    jvm_peak_mb: float


def driver_memory(storage: str, topic: str, folder: str) -> DriverMemory:
    # Here, where it runs: the parent has a JVM of its own, which must not be used.
    from bench.lake import archive
    from korvet.pipeline.lake import Lake
    from korvet.pipeline.spark_session import spark_session

    settings = {"spark.driver.memory": "1g"}
    with spark_session("bench", master="local[2]", settings=settings) as spark:
        jvm: Any = spark._jvm
        runtime = jvm.java.lang.Runtime.getRuntime()
        process = psutil.Process(int(jvm.java.lang.ProcessHandle.current().pid()))
        ended = threading.Event()
        peak = _Peak(process, ended)
        watching = threading.Thread(target=peak.watch)
        watching.start()
        try:
            archive(Lake.create(spark, folder), storage, topic)
        finally:
            ended.set()
            watching.join()
        for _ in range(3):
            jvm.java.lang.System.gc()
        heap = (runtime.totalMemory() - runtime.freeMemory()) / _MB
    # Kilobytes, on Linux.
    python = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e3
    return DriverMemory(
        live_mb=heap + python, python_mb=python, heap_mb=heap, jvm_peak_mb=peak.most / _MB
    )


class _Peak:
    def __init__(self, process: psutil.Process, ended: threading.Event) -> None:
        self._process = process
        self._ended = ended
        self.most = 0

    def watch(self) -> None:
        while not self._ended.wait(0.1):
            self.most = max(self.most, self._process.memory_info().rss)
